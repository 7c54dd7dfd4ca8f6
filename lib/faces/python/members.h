// How members get into classes, and those that the filters share. The examples are tests.
#ifndef NESTLINE_LIB_FACES_PYTHON_MEMBERS_H_
#define NESTLINE_LIB_FACES_PYTHON_MEMBERS_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "lib/faces/python/calls.h"
#include "lib/faces/python/copies.h"
#include "nestline/io.h"

namespace nestline { inline namespace v0_3 { namespace python {

// Adds a method. Pointers to functions: the compiler needs long for each type that pybind11 gets.
template <typename Type, typename Function, typename... More>
void method(Type& type, const char* name, Function function, const char* doc, More... more) {
  type.def(name, function, more..., doc);
}

// For a name of an earlier version. `now`: what it is called.
inline void warn_of_old_name(const std::string& now) {
  const std::string sentence = "Deprecated: " + now + " is its name.";
  if (PyErr_WarnEx(PyExc_DeprecationWarning, sentence.c_str(), 1) != 0) {
    throw py::error_already_set();
  }
}

// For a class whose objects come from functions: what calling it says.
template <typename Held>
void made_by(py::class_<Held>& type, const char* what) {
  type.def("__init__",
           [what](py::handle, const py::args&, const py::kwargs&) { throw py::type_error(what); });
}

template <typename Held>
void bind_figures(py::class_<Held>& type) {
  const auto add = [&]<typename Get>(const char* name, const char* doc, Get) {
    if constexpr (std::invocable<Get, typename Held::Value&>) {
      py::object (*const get)(Held&) = [](Held& held) { return py::cast(Get()(*held.shared())); };
      type.def_property_readonly(name, get, doc);
    }
  };
// The property has the name of the member.
#define NESTLINE_FIGURE(name, doc) \
  add(#name, doc, [](auto& one) -> decltype(one.name()) { return one.name(); })
  NESTLINE_FIGURE(name, "Its name.");
  NESTLINE_FIGURE(parts, "How many parts it has.");
  NESTLINE_FIGURE(fpr, "The rate asked for.");
  NESTLINE_FIGURE(capacity, "Keys that it promises to hold; of a ClusterFilter, as created.");
  NESTLINE_FIGURE(max_capacity, "Up to how many keys it grows by itself; 0: it does not.");
  NESTLINE_FIGURE(growth, "How often it has doubled.");
  NESTLINE_FIGURE(turns_over, "Whether it was made with turns_over, of 64 blocks or more.");
  NESTLINE_FIGURE(ttl_ticks, "Ticks that a key lives at least.");
  NESTLINE_FIGURE(slots, "Slots, each for one copy of a key. They are never all in use.");
  NESTLINE_FIGURE(load_factor, "Share of the slots in use, by dead keys not yet swept too.");
  NESTLINE_FIGURE(expected_fpr, "The false-positive rate at the present load and growth.");
  NESTLINE_FIGURE(expected_false_candidates,
                  "How many false candidates an absent key gets on average.");
  NESTLINE_FIGURE(bits, "Bits of a fingerprint.");
  NESTLINE_FIGURE(value_bits, "Bits of a value.");
  NESTLINE_FIGURE(max_value, "The largest value.");
  NESTLINE_FIGURE(anywhere, "The value that means all segments: max_value.");
  NESTLINE_FIGURE(max_copies, "The most pairs of keys that look the same.");
  NESTLINE_FIGURE(seed, "The seed of the hash.");
  NESTLINE_FIGURE(memory_bytes, "Bytes of memory, or of the mapped file.");
#undef NESTLINE_FIGURE
  if constexpr (requires(typename Held::Value & one) { one.size(); }) {
    method(
        type, "__len__", +[](Held& held) { return held.shared()->size(); }, "");
  }
}

// What a member, or a function of the object, returns, with the interpreter's lock released.
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

template <typename Held>
void save_as(Held& held, py::handle file) {
  const auto one = held.shared();
  const std::filesystem::path path = path_of(file);
  const Released released;
  save(*one, path);
}
template <typename Value>
auto opened(py::handle file) {
  const std::filesystem::path path = path_of(file);
  const Released released;
  return boxed(Value::load(path));
}
template <typename Held>
py::bytes bytes_in(Held& held) {
  const std::vector<std::byte> bytes = [&] {
    const auto one = held.shared();
    const Released released;
    return to_bytes(*one);
  }();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
template <typename Value>
auto read(py::handle object) {
  const Buffer buffer(object, PyBUF_SIMPLE);
  const Released released;
  return boxed(Value::load(std::as_bytes(std::span(buffer.text()))));
}
template <typename Value>
auto snapshot_from(const Value& value) {
  return value.snapshot();
}
template <typename Value>
Value copy_of(const Value& value) {
  return Value(value.snapshot());
}

constexpr const char* kCopyDoc = "A copy of one instant; copy.copy() makes one too.";
constexpr const char* kSnapshotDoc = "A copy of one instant, a Filter if it is one.";
constexpr const char* kBytesDoc =
    "The bytes that save would write, but with a small head. pickle uses them too.";

template <typename Held>
void bind_files(py::class_<Held>& type) {
  using Value = typename Held::Value;
  method(type, "save", &save_as<Held>,
         R"(Writes it to a file, as of one instant, and replaces a file there atomically.
OSError if the system refuses.

>>> Filter.build(["a", "b"], fpr=0.0001).save("words.nest")
>>> filter = Filter.load("words.nest")
>>> "a" in filter, "c" in filter
(True, False)
)",
         py::arg("path"));
  type.def_static(
      "load", &opened<Value>, py::arg("path"),
      R"(What is in a file; every byte is checked. FormatError if it is of another kind or
damaged, FileNotFoundError and other kinds of OSError if it cannot be read.)");
  method(type, "to_bytes", &bytes_in<Held>, kBytesDoc);
  type.def_static("from_bytes", &read<Value>, py::arg("data"),
                  R"(What is in these bytes. FormatError as of load.

>>> "a" in Filter.from_bytes(Filter.build(["a"]).to_bytes())
True
)");
  method(type, "snapshot", &unlocked<&snapshot_from<Value>, false, Held>, kSnapshotDoc);
  bind_state<&unlocked<&copy_of<Value>, false, Held>, &bytes_in<Held>, &read<Value>>(type,
                                                                                     kCopyDoc);
}

template <typename Held>
void bind_ior(py::class_<Held>& type) {
  py::object (*const merge)(py::object, const py::object&) = [](py::object self,
                                                                const py::object& other) {
    object_from([&] { return PyObject_CallMethod(self.ptr(), "merge", "O", other.ptr()); });
    return self;
  };
  type.def("__ior__", merge, py::arg("other"), py::is_operator());
}

// shrink, can_shrink and fit. `alone`: whether they may run beside no other call.
template <bool kAlone, class AnyFilter, class Held>
void bind_shrinking(py::class_<Held>& type) {
  method(type, "shrink", &unlocked<&AnyFilter::shrink, kAlone, Held>,
         "Undoes one doubling, without the keys. False: nothing has changed, as it has not\n"
         "doubled, or its keys need the room.");
  method(
      type, "can_shrink", +[](Held& held) { return held.shared()->can_shrink(); },
      "Whether shrink has room for the keys, if not for all copies of one.");
  method(type, "fit", &unlocked<&AnyFilter::fit, kAlone, Held>,
         "Shrinks as often as the keys allow, in one pass; returns how often.");
}

// merge and can_merge with another filter. `alone`: whether merge may run beside no other call.
template <bool alone, typename Other, typename Held>
void bind_merge(py::class_<Held>& type, const char* doc) {
  std::uint64_t (*const merge)(Held&, Other&, const std::string&) = [](Held& held, Other& other,
                                                                       const std::string& copies) {
    const auto which = named<Copies>(
        "copies", copies,
        {{"all", Copies::all}, {"most", Copies::most}, {"that_fit", Copies::that_fit}});
    const auto filter = typename Held::Use(held, alone);
    if constexpr (alone && std::is_same_v<Held, Other>) {
      if (&held == &other) return filter->merge(*filter, which);
    }
    const auto added = other.shared();
    const Released released;
    return filter->merge(*added, which);
  };
  method(type, "merge", merge, doc, py::arg("other"), py::arg("copies") = "all");
  bool (*const can_merge)(Held&, Other&) = [](Held& held, Other& other) {
    return held.shared()->can_merge(*other.shared());
  };
  method(type, "can_merge", can_merge, "Whether merge() accepts the other, but for want of room.",
         py::arg("other"));
}

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

template <typename Held>
void bind_may_contain(py::class_<Held>& type, const char* doc) {
  method(type, "may_contain", &may_contain<Held>, doc, py::arg("keys"),
         py::arg("out") = py::none());
  method(type, "__contains__", &contains<Held>, "Whether a key may be in it.", py::arg("key"));
}

template <typename Held>
void bind_select(py::class_<Held>& type, const char* doc) {
  method(type, "select", &select<Held>, doc, py::arg("keys"), py::arg("selection") = py::none());
}

template <typename Held>
void bind_lookups(py::class_<Held>& type) {
  bind_may_contain(
      type,
      R"(False: the key is certainly not in the filter. True: it is, or it is one of the
few that look the same. For many keys, an array of bool.

>>> import numpy as np
>>> filter = Filter.build(np.arange(1000), fpr=0.0001)
>>> filter.may_contain(5), filter.may_contain("5")
(True, False)
>>> filter.may_contain([5, 1005])
array([ True, False])
)");
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
  bind_select(type,
              R"(The positions of the keys that may be in the filter, ascending, as an array of
uint32. With a selection, which is such an array, only the keys at those
positions are looked up, in its order. A mask is a TypeError: give
np.flatnonzero(mask).

>>> filter = Filter.build([10, 11, 12], fpr=0.0001)
>>> filter.select([12, 99, 10])
array([0, 2], dtype=uint32)
>>> filter.select([12, 99, 10], selection=[1, 2])
array([2], dtype=uint32)
)");
  bind_figures(type);
}

template <typename Type, typename Function, typename... More>
void bind_insert(Type& type, const char* name, Function function, const char* doc, More... more) {
  method(type, name, function, doc, py::arg("keys"), py::arg("out") = py::none(), py::kw_only(),
         py::arg("outcomes").noconvert() = false, more...);
}

// insert, insert_unique, update, erase. `alone`: whether they may run beside no other call.
template <bool alone, typename Held>
void bind_changes(py::class_<Held>& type) {
  bind_insert(type, "insert", &insert<alone, Held>,
              R"(Stores one copy of the key, or of each key. True for a key that was stored.
False: there is no room, and the key will be missed. outcomes=True gives an
Outcome, or an array of uint8 with their numbers, which distinguishes no room
from as many copies as there can be; so it does in all classes.

>>> filter = Filter(1000)
>>> filter.insert("user:17")
True
>>> filter.insert([b"user:18", b"user:19"])
array([ True,  True])
>>> len(filter), "user:18" in filter
(3, True)
)");
  bind_insert(type, "insert_unique", &insert_unique<alone, Held>,
              R"(Stores the key, or each key, unless it may be there already. True for a key that
was stored. False: it was there, or it looks like one that is there, or there is
no room, which outcomes=True distinguishes.

>>> filter = Filter(1000, fpr=0.0001)
>>> filter.insert_unique([1, 2, 1])
array([ True,  True, False])
)");
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

}}}  // namespace nestline::python

#endif  // NESTLINE_LIB_FACES_PYTHON_MEMBERS_H_
