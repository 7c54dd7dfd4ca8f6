// How members get into classes of Python, and the members that the filters have in common, with
// their docstrings. The examples in them are tests (tests/python/examples_test.py).
#ifndef NESTLINE_LIB_PYTHON_MEMBERS_H_
#define NESTLINE_LIB_PYTHON_MEMBERS_H_

#include <pybind11/pybind11.h>

#include <cstddef>
#include <functional>
#include <span>
#include <type_traits>
#include <vector>

#include "lib/python/arguments.h"
#include "lib/python/calls.h"
#include "lib/python/copies.h"
#include "nestline/io.h"

namespace nestline::python {

// Adds a method. The compiler needs a long time for each type of function and each length of text
// that pybind11 gets: here they are pointers, so that methods of the same parameters share it.
template <typename Type, typename Function, typename... More>
void method(Type& type, const char* name, Function function, const char* doc, More... more) {
  type.def(name, function, more..., doc);
}

// For a class whose objects come from functions: what calling it says.
template <typename Held>
void made_by(py::class_<Held>& type, const char* what) {
  type.def("__init__",
           [what](py::handle, const py::args&, const py::kwargs&) { throw py::type_error(what); });
}

// Adds a property: get(object), a lambda without captures, or what a member of the object answers.
template <typename Held, typename Get>
void figure(py::class_<Held>& type, const char* name, const char* doc, Get /*get*/) {
  py::object (*const get)(Held&) = [](Held& held) { return py::cast(Get()(*held.shared())); };
  type.def_property_readonly(name, get, doc);
}
template <auto member, typename Held>
void figure(py::class_<Held>& type, const char* name, const char* doc) {
  figure(type, name, doc, [](auto& object) { return (object.*member)(); });
}

// What a member without parameters, or a function of the object alone, returns, called with the
// interpreter's lock released.
template <auto member, bool alone, typename Held>
auto unlocked(Held& held) {
  const auto one = typename Held::Use(held, alone);
  const Released released;
  if constexpr (std::is_class_v<decltype(std::invoke(member, *one))>) {
    return boxed(std::invoke(member, *one));
  } else {
    return std::invoke(member, *one);
  }
}

// The bytes that save_as writes, made with the interpreter's lock released.
template <typename Held>
py::bytes bytes_in(Held& held) {
  std::vector<std::byte> bytes;
  {
    const auto one = held.shared();
    const Released released;
    if constexpr (requires { to_bytes(*one); }) {
      bytes = to_bytes(*one);
    } else if constexpr (requires { to_bytes(one->snapshot()); }) {
      bytes = to_bytes(one->snapshot());
    } else {
      save(*one, [&](std::span<const std::byte> piece) {
        bytes.insert(bytes.end(), piece.begin(), piece.end());
      });
    }
  }
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// What make() makes of bytes.
template <auto make>
auto made_of(py::handle object) {
  const Buffer buffer(object, PyBUF_SIMPLE);
  const Released released;
  return boxed(make(std::as_bytes(std::span(buffer.text()))));
}

// What make() makes of the file's name.
template <auto make>
auto opened(py::handle file) {
  const std::filesystem::path path = path_of(file);
  const Released released;
  return boxed(make(path));
}

// Writes the file; of a ConcurrentFilter, the content of one instant.
template <typename Held>
void save_as(Held& held, py::handle file) {
  const auto one = held.shared();
  const std::filesystem::path path = path_of(file);
  const Released released;
  if constexpr (requires { save(*one, path); }) {
    save(*one, path);
  } else {
    save(one->snapshot(), path);
  }
}

// copy, to_bytes and what the modules copy and pickle call. copy and from are functions.
template <auto copy, auto from, typename Held>
void bind_copies(py::class_<Held>& type, const char* copy_doc, const char* bytes_doc) {
  method(type, "to_bytes", &bytes_in<Held>, bytes_doc);
  bind_state<copy, &bytes_in<Held>, from>(type, copy_doc);
}

// merge, |= and can_merge with an object of the class Other.
template <auto merge, typename Other, typename Held>
void bind_merge(py::class_<Held>& type, const char* other, const char* doc) {
  method(type, "merge", merge, doc, py::arg(other));
  type.def(
      "__ior__",
      [](py::object self, Other& added) {
        merge(self.cast<Held&>(), added);
        return self;
      },
      py::arg(other), py::is_operator());
}
template <typename Other, typename Held>
void bind_can_merge(py::class_<Held>& type, const char* doc) {
  bool (*const can_merge)(Held&, Other&) = [](Held& held, Other& other) {
    return held.shared()->can_merge(*other.shared());
  };
  method(type, "can_merge", can_merge, doc, py::arg("other"));
}

// close, and the end of a with block.
template <auto close, typename Held>
void bind_end(py::class_<Held>& type, const char* doc) {
  method(type, "close", close, doc);
  type.def("__enter__", [](py::object self) { return self; });
  type.def("__exit__", [](Held& held, const py::args&) { close(held); });
}

template <typename Held>
void close(Held& held) {
  held.take();
}

// may_contain, count, select, `in`, len and the figures.
template <typename Held>
void bind_lookups(py::class_<Held>& type) {
  method(type, "may_contain", &may_contain<Held>,
         R"(False: the key is certainly not in the filter. True: it is, or it is one of the
few that look the same. For many keys, an array of bool.

>>> import numpy as np
>>> filter = Filter.build(np.arange(1000), fpr=0.0001)
>>> filter.may_contain(5), filter.may_contain("5")
(True, False)
>>> filter.may_contain([5, 1005])
array([ True, False])
)",
         py::arg("keys"), py::arg("out") = py::none());
  method(type, "__contains__", &contains<Held>, "Whether a key may be in the filter.",
         py::arg("key"));
  method(type, "count", &count<Held>,
         R"(How many copies of the key there are; it may count copies of another key that
looks the same. For many keys, an array of uint8.

>>> filter = Filter(1000)
>>> filter.insert(["a", "a", "b"])
array([ True,  True,  True])
>>> filter.count("a"), filter.count(["a", "b", "c"])
(2, array([2, 1, 0], dtype=uint8))
)",
         py::arg("keys"), py::arg("out") = py::none());
  method(type, "select", &select<Held>,
         R"(The positions of the keys that may be in the filter, ascending, as an array of
uint32. With a selection, which is such an array, only the keys at those
positions are looked up, in its order. A mask is a TypeError: give
np.flatnonzero(mask).

>>> filter = Filter.build([10, 11, 12], fpr=0.0001)
>>> filter.select([12, 99, 10])
array([0, 2], dtype=uint32)
>>> filter.select([12, 99, 10], selection=[1, 2])
array([2], dtype=uint32)
)",
         py::arg("keys"), py::arg("selection") = py::none());
  method(
      type, "__len__", +[](Held& held) { return held.shared()->size(); }, "");
  figure(type, "capacity", "Keys that it promises to hold.",
         [](auto& filter) { return filter.capacity(); });
  figure(type, "max_capacity", "Up to how many keys it grows by itself; 0: it does not.",
         [](auto& filter) { return filter.max_capacity(); });
  figure(type, "growth", "How often it has doubled.", [](auto& filter) { return filter.growth(); });
  figure(type, "slots", "Slots: each holds one copy of a key. They are never all in use.",
         [](auto& filter) { return filter.slots(); });
  figure(type, "load_factor", "Share of the slots in use.",
         [](auto& filter) { return filter.load_factor(); });
  figure(type, "expected_fpr", "The false-positive rate at the present load and growth.",
         [](auto& filter) { return filter.expected_fpr(); });
  figure(type, "bits", "Bits of a fingerprint: 8, 12 or 16.",
         [](auto& filter) { return filter.bits(); });
  figure(type, "seed", "The seed of the hash.", [](auto& filter) { return filter.seed(); });
  figure(type, "memory_bytes", "Bytes of memory, or of the mapped file.",
         [](auto& filter) { return filter.memory_bytes(); });
}

// insert, insert_unique, update, erase. `alone`: whether they may run beside no other call.
template <bool alone, typename Held>
void bind_changes(py::class_<Held>& type) {
  method(type, "insert", &insert<alone, Held>,
         R"(Stores one copy of the key, or of each key. True for a key that was stored.
False: there is no room, and the key will be missed.

>>> filter = Filter(1000)
>>> filter.insert("user:17")
True
>>> filter.insert([b"user:18", b"user:19"])
array([ True,  True])
>>> len(filter), "user:18" in filter
(3, True)
)",
         py::arg("keys"), py::arg("out") = py::none());
  method(type, "insert_unique", &insert_unique<alone, Held>,
         R"(Stores the key, or each key, unless it may be there already. True for a key that
was stored. False: it was there, or it looks like one that is there, or there is
no room, in which case may_contain says False.

>>> filter = Filter(1000, fpr=0.0001)
>>> filter.insert_unique([1, 2, 1])
array([ True,  True, False])
)",
         py::arg("keys"), py::arg("out") = py::none());
  method(type, "update", &update<alone, Held>,
         R"(Replaces one copy of old_key, which must have been inserted, by new_key. False:
there is no room for new_key, and old_key is still there.

>>> filter = Filter.build(["a"], fpr=0.0001)
>>> filter.update("a", "b"), "a" in filter, "b" in filter
(True, False, True)
)",
         py::arg("old_key"), py::arg("new_key"));
  method(type, "erase", &erase<alone, Held>,
         R"(Removes one copy of the key, or of each key. True for a key that was found. Only
for keys that were inserted: otherwise a key that looks the same may be lost.

>>> filter = Filter.build(["a", "b"], fpr=0.0001)
>>> filter.erase("a"), filter.erase(["b", "c"])
(True, array([ True, False]))
)",
         py::arg("keys"), py::arg("out") = py::none());
}

}  // namespace nestline::python

#endif  // NESTLINE_LIB_PYTHON_MEMBERS_H_
