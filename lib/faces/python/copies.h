// Copies and pickles of the classes; nestline/_copies.py has what Python can do of it.
#ifndef NESTLINE_LIB_FACES_PYTHON_COPIES_H_
#define NESTLINE_LIB_FACES_PYTHON_COPIES_H_

#include <memory>
#include <type_traits>
#include <utility>

#include "lib/faces/python/released.h"

namespace nestline { inline namespace v0_3 { namespace python {

// The two parts of a content. Throws std::invalid_argument with this sentence for anything else.
std::pair<py::object, py::object> pair_in(const py::object& content, const char* otherwise);
// The rest of bind_state, for a class with the functions of py::pickle.
void bind_copies(py::handle type, const py::object& copied, const char* doc);
// For all classes: object's __reduce_ex__ with protocol 2 or later, and a sentence as TypeError.
void bind_reduction(py::handle type);
// Makes objects of the base of all classes a TypeError; pybind11 ends the process. Call it first.
void guard_base();

// For copy and pickle: by copy(Held&), content(Held&) and from(content). `copy` and `from` return a
// std::unique_ptr<Held>; a null `copy`: objects are their own copies.
template <auto copy, auto content, auto from, typename Held>
void bind_state(py::class_<Held>& type, const char* copy_doc = "") {
  type.def(
      py::pickle([](Held& held) -> py::object { return content(held); },
                 [](const py::object& state) -> std::unique_ptr<Held> { return from(state); }));
  py::object copied = py::none();
  if constexpr (!std::is_null_pointer_v<decltype(copy)>) copied = py::cpp_function(copy);
  bind_copies(type, copied, copy_doc);
}

}}}  // namespace nestline::python

#endif  // NESTLINE_LIB_FACES_PYTHON_COPIES_H_
