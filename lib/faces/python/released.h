// Python's lock: released around the library's work. When a program ends while a daemon thread is
// at work, that thread never gets it again: up to Python 3.13 the interpreter unwinds its stack
// (pthread_exit), from 3.14 on it hangs. Unwinding would destroy what holds objects of Python
// without the lock, and abort. So here the thread hangs in every version, where it asked: in a
// Released, or in in_python(), a call that may run code of Python and so give the lock away.
#ifndef NESTLINE_LIB_FACES_PYTHON_RELEASED_H_
#define NESTLINE_LIB_FACES_PYTHON_RELEASED_H_

#include <Python.h>
#include <pybind11/pybind11.h>

#include <chrono>
#include <cstddef>
#include <exception>
#include <thread>

namespace nestline { inline namespace v0_3 { namespace python {

namespace py = pybind11;

// Hangs if the interpreter ends the thread in it: work() only calls functions of Python's C
// interface, and has no object with a destructor. Errors are of std::exception, pybind11's too.
template <typename Work>
decltype(auto) in_python(Work&& work) {
  try {
    return work();
  } catch (const std::exception&) {
    throw;
  } catch (...) {
    // The unwinding, which has no name that all compilers know. It must not leave this block.
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
  }
}

// The new object that a function of Python's C interface returns, or its error.
template <typename Work>
py::object object_from(Work&& work) {
  PyObject* const made = in_python(work);
  if (made == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(made);
}

// Runs the handlers of signals that have come, such as that of Ctrl-C. Throws their error.
inline void run_signal_handlers() {
  if (in_python([] { return PyErr_CheckSignals(); }) != 0) throw py::error_already_set();
}

inline py::object attribute_of(py::handle object, py::handle name) {
  PyObject* const found = in_python([&] { return PyObject_GetAttr(object.ptr(), name.ptr()); });
  if (found == nullptr) PyErr_Clear();
  return py::reinterpret_steal<py::object>(found);
}
inline py::object attribute_of(py::handle object, const char* name) {
  return attribute_of(object, py::str(name));
}

class Released {
 public:
  // A batch of so many keys takes less time than getting the lock back might.
  static constexpr std::size_t kFew = 512;
  Released() : state_(PyEval_SaveThread()) {}
  // Does nothing for few keys.
  explicit Released(std::size_t keys) : state_(keys > kFew ? PyEval_SaveThread() : nullptr) {}
  Released& operator=(Released&&) = delete;
  ~Released() {
    if (state_ != nullptr) take();
  }

  template <typename Work>
  decltype(auto) call(Work&& work) const {
    struct Taken {
      explicit Taken(const Released& released) { released.take(); }
      Taken& operator=(Taken&&) = delete;
      ~Taken() { (void)PyEval_SaveThread(); }
    };
    const Taken taken(*this);
    return work();
  }

  // Between two pieces of the work, for handlers of signals to run: takes the lock, but only some
  // time after the last call, since another thread may keep it for 5 ms. Throws their error.
  void let_signals_in() const {
    constexpr std::chrono::milliseconds kApart(50);
    if (state_ == nullptr) return;
    const auto now = std::chrono::steady_clock::now();
    if (last_look_ == std::chrono::steady_clock::time_point()) last_look_ = now;
    if (now - last_look_ < kApart) return;
    call([] { run_signal_handlers(); });
    last_look_ = now;
  }

 private:
  void take() const {
    in_python([&] { PyEval_RestoreThread(state_); });
  }

  PyThreadState* state_;
  mutable std::chrono::steady_clock::time_point last_look_;
};

}}}  // namespace nestline::python

#endif  // NESTLINE_LIB_FACES_PYTHON_RELEASED_H_
