// Which threads use an object of Python at the moment: batches run without the interpreter's lock,
// so a second thread can come in. Counting is done with the lock held, so it needs no atomics. A
// call that breaks the rule "one changes, or many look" is a RuntimeError at once: to wait would
// hide that the program needs a ConcurrentFilter.
#ifndef NESTLINE_LIB_FACES_PYTHON_BUSY_H_
#define NESTLINE_LIB_FACES_PYTHON_BUSY_H_

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>

namespace nestline { inline namespace v0_3 { namespace python {

// Memory that is zero before the constructor runs. Python can make an object without one
// (kind.__new__(kind)) in memory of pybind11: so it is a closed Box, or one without content.
struct Zeroed {
  static void* operator new(std::size_t size) { return std::memset(::operator new(size), 0, size); }
  static void operator delete(void* memory) noexcept { ::operator delete(memory); }
};

template <typename T>
class Box : public Zeroed {
 public:
  using Value = T;
  explicit Box(T&& value) : value_(std::move(value)) {}
  Box& operator=(Box&&) = delete;

  // The T, for as long as this is there. Made and destroyed with the interpreter's lock held.
  class Use {
   public:
    Use(Box& box, bool alone) : box_(box), alone_(alone) {
      if (!box.value_) throw std::invalid_argument("it is closed: open it again");
      if (box.changing_ || (alone && box.looking_ != 0)) throw std::runtime_error(kBusy);
      (alone ? box.changing_ : box.looking_) += 1;
    }
    ~Use() { (alone_ ? box_.changing_ : box_.looking_) -= 1; }
    Use& operator=(Use&&) = delete;

    T& operator*() const { return *box_.value_; }
    T* operator->() const { return &*box_.value_; }

   private:
    Box& box_;
    bool alone_;
  };

  [[nodiscard]] Use shared() { return Use(*this, false); }
  [[nodiscard]] Use alone() { return Use(*this, true); }
  [[nodiscard]] bool is_open() const { return value_.has_value(); }
  // Takes the T out; the box is closed then. Empty if it was closed.
  std::optional<T> take() {
    if (changing_ != 0 || looking_ != 0) throw std::runtime_error(kBusy);
    return std::exchange(value_, std::nullopt);
  }

 private:
  static constexpr const char* kBusy =
      "another thread is at work on this object: let one thread at a time change it, and no other "
      "read it meanwhile, or use a ConcurrentFilter";
  std::optional<T> value_;
  int looking_ = 0;
  int changing_ = 0;
};

template <typename T>
std::unique_ptr<Box<T>> boxed(T&& value) {
  return std::make_unique<Box<T>>(std::move(value));
}

}}}  // namespace nestline::python

#endif  // NESTLINE_LIB_FACES_PYTHON_BUSY_H_
