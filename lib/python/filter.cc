// The class Filter.
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/python/bindings.h"
#include "lib/python/members.h"
#include "nestline/io.h"
#include "nestline/parallel.h"

namespace nestline::python {
namespace {

std::unique_ptr<PyFilter> build(py::handle keys, const py::object& capacity, const py::object& fpr,
                                int bits, py::handle max_capacity, py::handle seed, double load,
                                bool parallel) {
  KeyBatch batch(keys, number_of(seed, "seed"));
  const py::object room =
      capacity.is_none() ? py::int_(std::max<std::size_t>(batch.size(), 1)) : capacity;
  const Options options = options_of(room, fpr, bits, max_capacity, seed, load);
  const py::gil_scoped_release released;
  const KeySpan all = batch.whole();
  return boxed(parallel ? parallel::build(options, all) : Filter::build(options, all));
}

py::bytes bytes_in(PyFilter& held) {
  const auto filter = held.shared();
  return bytes_of([&] { return to_bytes(*filter); });
}

std::unique_ptr<PyFilter> filter_in(py::handle object) {
  const Buffer buffer(object, PyBUF_SIMPLE);
  const py::gil_scoped_release released;
  return boxed(from_bytes(std::as_bytes(std::span(buffer.text()))));
}

std::unique_ptr<PyFilter> copy_of(PyFilter& held) {
  const auto filter = held.shared();
  const py::gil_scoped_release released;
  return boxed(filter->clone());
}

void merge(PyFilter& held, PyFilter& other) {
  const auto filter = held.alone();
  if (&held == &other) {
    filter->merge(*filter);
    return;
  }
  const auto added = other.shared();
  const py::gil_scoped_release released;
  filter->merge(*added);
}

}  // namespace

void bind_filter(py::module_& module) {
  py::class_<PyFilter> type(module, "Filter",
                            R"(Filter(capacity, fpr=None, bits=0, max_capacity=0, seed=0, load=0.95)

A set of keys that answers "maybe" or "certainly not", and can erase keys.

capacity      keys it must hold
fpr           wanted false-positive rate; None: 0.01, or what bits gives
bits          of a fingerprint: 8, 12 or 16; 0: the fewest that give fpr
max_capacity  above capacity: it grows by itself up to here
seed          of the hash; keep it secret where strangers choose the keys
load          share of the slots in use at its capacity

A key is an int (compared by value), a str (its UTF-8), bytes, bytearray or
memoryview, or a Hash. Many keys are a NumPy array of integers or strings, a list
or tuple of one kind of key, a StringArray, or a Hash of an array.

One thread may change it while no other uses it, or many may look: other uses are
a RuntimeError. A ConcurrentFilter has no such rule.

>>> filter = Filter(1_000_000, fpr=0.01)
>>> filter.insert("user:17")
True
>>> "user:17" in filter, "user:18" in filter
(True, False)
)");
  type.def(py::init([](py::handle capacity, const py::object& fpr, int bits,
                       py::handle max_capacity, py::handle seed, double load) {
             const Options options = options_of(capacity, fpr, bits, max_capacity, seed, load);
             return boxed(Filter(options));
           }),
           py::arg("capacity"), py::arg("fpr") = py::none(), py::arg("bits") = 0,
           py::arg("max_capacity") = 0, py::arg("seed") = 0, py::arg("load") = 0.95);
  type.def_static(
      "build", &build, py::arg("keys"), py::kw_only(), py::arg("capacity") = py::none(),
      py::arg("fpr") = py::none(), py::arg("bits") = 0, py::arg("max_capacity") = 0,
      py::arg("seed") = 0, py::arg("load") = 0.95, py::arg("parallel") = false,
      R"(build(keys, *, capacity=None, fpr=None, bits=0, max_capacity=0, seed=0, load=0.95, parallel=False)

A filter of all keys, in a fraction of the time of inserting them; for as many
keys as there are if no capacity is given. parallel: on all cores. ValueError
when a key finds no room.

>>> filter = Filter.build(["a", "b", "c"])
>>> len(filter)
3
)");
  bind_questions(type);
  bind_changes<true>(type);
  type.def(
      "clear", [](PyFilter& held) { held.alone()->clear(); }, "clear()\n\nRemoves everything.");
  type.def(
      "grow",
      [](PyFilter& held) {
        const auto filter = held.alone();
        const py::gil_scoped_release released;
        return filter->grow();
      },
      R"(grow()

Doubles the filter, without the keys. Lookups are then wrong about twice as often
at the same load. False: there is no bit of fingerprint left to take.

>>> filter = Filter(1000)
>>> filter.grow(), filter.growth, filter.capacity >= 1700
(True, 1, True)
)");
  type.def("merge", &merge, py::arg("other"),
           R"(merge(other)

Adds everything that is in another Filter, copies included; so does filter |=
other. Both must have the same width, seed, and number of blocks; otherwise, and
when there is no room, ValueError: the filter is then unchanged.

>>> filter = Filter(1000)
>>> other = Filter(1000)
>>> filter.insert("a"), other.insert("b")
(True, True)
>>> filter |= other
>>> "a" in filter, "b" in filter, len(filter)
(True, True, 2)
)");
  type.def(
      "__ior__",
      [](py::object self, PyFilter& other) {
        merge(self.cast<PyFilter&>(), other);
        return self;
      },
      py::arg("other"), py::is_operator());
  type.def(
      "can_merge",
      [](PyFilter& held, PyFilter& other) { return held.shared()->can_merge(*other.shared()); },
      py::arg("other"), "can_merge(other)\n\nWhether both have the same width, seed and blocks.");
  type.def("copy", &copy_of, "copy()\n\nA copy in memory of its own; copy.copy() makes one too.");
  type.def("__copy__", &copy_of);
  type.def(
      "__deepcopy__", [](PyFilter& held, const py::object&) { return copy_of(held); },
      py::arg("memo"));
  type.def("to_bytes", &bytes_in,
           R"(to_bytes()

The bytes that save would write. pickle uses them too.

>>> filter = Filter.build(["a"])
>>> "a" in Filter.from_bytes(filter.to_bytes())
True
)");
  type.def_static("from_bytes", &filter_in, py::arg("data"),
                  "from_bytes(data)\n\nThe filter in these bytes. FormatError if there is none.");
  type.def(py::pickle(&bytes_in, [](const py::bytes& bytes) { return filter_in(bytes); }));
  type.def("__repr__",
           [](PyFilter& held) { return "<nestline.Filter: " + figures_of(*held.shared()) + ">"; });
}

}  // namespace nestline::python
