// The members that the filters have in common, with their docstrings. The examples in them are
// tests (tests/python/examples_test.py).
#ifndef NESTLINE_LIB_PYTHON_MEMBERS_H_
#define NESTLINE_LIB_PYTHON_MEMBERS_H_

#include <string>

#include "lib/python/arguments.h"
#include "lib/python/calls.h"

namespace nestline::python {

// may_contain, count, select, `in`, len and the figures.
template <typename Held, typename... More>
void bind_questions(py::class_<Held, More...>& type) {
  type.def("may_contain", &may_contain<Held>, py::arg("keys"), py::arg("out") = py::none(),
           R"(may_contain(keys, out=None)

False: the key is certainly not in the filter. True: it is, or it is one of the
few that look the same. For many keys, an array of bool.

>>> import numpy as np
>>> filter = Filter.build(np.arange(1000), fpr=0.0001)
>>> filter.may_contain(5), filter.may_contain("5")
(True, False)
>>> filter.may_contain([5, 1005])
array([ True, False])
)");
  type.def("__contains__", &contains<Held>, py::arg("key"), "Whether a key may be in the filter.");
  type.def("count", &count<Held>, py::arg("keys"), py::arg("out") = py::none(),
           R"(count(keys, out=None)

How many copies of the key there are; it may count copies of another key that
looks the same. For many keys, an array of uint8.

>>> filter = Filter(1000)
>>> filter.insert(["a", "a", "b"])
array([ True,  True,  True])
>>> filter.count("a"), filter.count(["a", "b", "c"])
(2, array([2, 1, 0], dtype=uint8))
)");
  type.def("select", &select<Held>, py::arg("keys"), py::arg("selection") = py::none(),
           R"(select(keys, selection=None)

The positions of the keys that may be in the filter, ascending, as an array of
uint32. With a selection, which is such an array, only the keys at those
positions are looked up, in its order.

>>> filter = Filter.build([10, 11, 12], fpr=0.0001)
>>> filter.select([12, 99, 10])
array([0, 2], dtype=uint32)
>>> filter.select([12, 99, 10], selection=[1, 2])
array([2], dtype=uint32)
)");
  type.def("__len__", [](Held& held) { return held.shared()->size(); });
  const auto figure = [&](const char* name, auto member, const char* doc) {
    type.def_property_readonly(
        name, [member](Held& held) { return member(*held.shared()); }, doc);
  };
  figure(
      "capacity", [](const auto& filter) { return filter.capacity(); },
      "Keys that it promises to hold.");
  figure(
      "max_capacity", [](const auto& filter) { return filter.max_capacity(); },
      "Up to how many keys it grows by itself; 0: it does not.");
  figure(
      "growth", [](const auto& filter) { return filter.growth(); }, "How often it has doubled.");
  figure(
      "slots", [](const auto& filter) { return filter.slots(); },
      "Slots: each holds one copy of a key. They are never all in use.");
  figure(
      "load_factor", [](const auto& filter) { return filter.load_factor(); },
      "Share of the slots in use.");
  figure(
      "expected_fpr", [](const auto& filter) { return filter.expected_fpr(); },
      "The false-positive rate at the present load and growth.");
  figure(
      "bits", [](const auto& filter) { return filter.bits(); },
      "Bits of a fingerprint: 8, 12 or 16.");
  figure(
      "seed", [](const auto& filter) { return filter.seed(); }, "The seed of the hash.");
  figure(
      "memory_bytes", [](const auto& filter) { return filter.memory_bytes(); },
      "Bytes of memory, or of the mapped file.");
}

// insert, insert_unique, update, erase. `alone`: whether they may run beside no other call.
template <bool alone, typename Held, typename... More>
void bind_changes(py::class_<Held, More...>& type) {
  type.def("insert", &insert<alone, Held>, py::arg("keys"), py::arg("out") = py::none(),
           R"(insert(keys, out=None)

Stores one copy of the key, or of each key. True for a key that was stored.
False: there is no room, and the key will be missed.

>>> filter = Filter(1000)
>>> filter.insert("user:17")
True
>>> filter.insert([b"user:18", b"user:19"])
array([ True,  True])
>>> len(filter), "user:18" in filter
(3, True)
)");
  type.def("insert_unique", &insert_unique<alone, Held>, py::arg("keys"),
           py::arg("out") = py::none(),
           R"(insert_unique(keys, out=None)

Stores the key, or each key, unless it may be there already. True for a key that
was stored. False: it was there, or it looks like one that is there, or there is
no room, in which case may_contain says False.

>>> filter = Filter(1000, fpr=0.0001)
>>> filter.insert_unique([1, 2, 1])
array([ True,  True, False])
)");
  type.def("update", &update<alone, Held>, py::arg("old_key"), py::arg("new_key"),
           R"(update(old_key, new_key)

Replaces one copy of old_key, which must have been inserted, by new_key. False:
there is no room for new_key, and old_key is still there.

>>> filter = Filter.build(["a"], fpr=0.0001)
>>> filter.update("a", "b"), "a" in filter, "b" in filter
(True, False, True)
)");
  type.def("erase", &erase<alone, Held>, py::arg("keys"), py::arg("out") = py::none(),
           R"(erase(keys, out=None)

Removes one copy of the key, or of each key. True for a key that was found. Only
for keys that were inserted: otherwise a key that looks the same may be lost.

>>> filter = Filter.build(["a", "b"], fpr=0.0001)
>>> filter.erase("a"), filter.erase(["b", "c"])
(True, array([ True, False]))
)");
}

}  // namespace nestline::python

#endif  // NESTLINE_LIB_PYTHON_MEMBERS_H_
