// Copies and pickles, also of subclasses with attributes. A state is the content (bytes, or a
// tuple), or with attributes a list: content, __dict__, slots. pybind11's constructor __setstate__
// makes objects of a state. Users get a function before it that refuses an object with content,
// which the constructor would pass over in silence.
#ifndef NESTLINE_LIB_FACES_PYTHON_COPIES_H_
#define NESTLINE_LIB_FACES_PYTHON_COPIES_H_

#include <memory>
#include <type_traits>
#include <utility>

#include "lib/faces/python/released.h"

namespace nestline { inline namespace v0_3 { namespace python {

// [content, __dict__, slots], or the content alone if there are no attributes.
py::object with_attributes(py::handle self, const py::object& content);
// The two parts of a content. Throws std::invalid_argument with this sentence for anything else.
std::pair<py::object, py::object> pair_in(const py::object& content, const char* otherwise);
void set_state(py::handle self, const py::object& construct, const py::object& state);
// What copy.copy makes of an object that has no function of its own for that.
py::object copy_by_state(py::handle self);
// For all classes: object's __reduce_ex__ with protocol 2 or later, and a sentence as TypeError.
void bind_reduction(py::handle type);
// Makes objects of the base of all classes a TypeError; pybind11 ends the process. Call it first.
void guard_base();

// For copy and pickle: by copy(Held&), content(Held&) and from(content). `copy` and `from` return a
// std::unique_ptr<Held>; a null `copy`: objects are their own copies.
template <auto copy, auto content, auto from, typename Held>
void bind_state(py::class_<Held>& type, const char* copy_doc = "") {
  constexpr bool kOwnCopy = std::is_null_pointer_v<decltype(copy)>;
  type.def(
      py::pickle([](Held& held) -> py::object { return content(held); },
                 [](const py::object& state) -> std::unique_ptr<Held> { return from(state); }));
  const py::object construct = type.attr("__setstate__");
  const auto held_in = [](const py::object& self) -> Held& {
    if (!py::isinstance<Held>(self)) throw py::type_error("self is of another class");
    return self.cast<Held&>();
  };
  const auto member = [&](const char* name, const char* called, auto function, auto... more) {
    type.attr(name) = py::cpp_function(function, py::name(called), py::is_method(type), more...);
  };
  const auto copied = [held_in](const py::object& self) -> py::object {
    Held& held = held_in(self);
    if (!py::type::handle_of(self).is(py::type::of<Held>())) return copy_by_state(self);
    if constexpr (kOwnCopy) {
      return self;
    } else {
      return py::cast(copy(held));
    }
  };
  member("__copy__", "__copy__", copied);
  if constexpr (kOwnCopy) {
    member(
        "__deepcopy__", "__deepcopy__", [](const py::object& self, py::handle) { return self; },
        py::arg("memo"));
  } else {
    member("copy", "copy", copied, copy_doc);
  }
  member("__getstate__", "__getstate__", [held_in](const py::object& self) {
    return with_attributes(self, content(held_in(self)));
  });
  // pybind11 takes a function of the name __setstate__ for a constructor.
  member(
      "__setstate__", "set_state",
      [construct, held_in](const py::object& self, const py::object& state) {
        (void)held_in(self);
        set_state(self, construct, state);
      },
      py::arg("state"));
}

}}}  // namespace nestline::python

#endif  // NESTLINE_LIB_FACES_PYTHON_COPIES_H_
