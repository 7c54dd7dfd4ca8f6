// The classes Filter, ConcurrentFilter and MappedFilter, and filters in files.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "lib/faces/python/bindings.h"
#include "lib/faces/python/mapped.h"
#include "nestline/parallel.h"
#include "nestline/pass_rate.h"

namespace nestline { inline namespace v0_3 { namespace python {
namespace {

using PyFilter = Box<Filter>;
using PyConcurrentFilter = Box<ConcurrentFilter>;
using PyMappedFilter = MappedBox<MappedFilter>;

std::unique_ptr<PyFilter> build(py::handle keys, const py::object& capacity, const py::object& fpr,
                                py::handle bits, py::handle max_capacity, py::handle seed,
                                py::handle load, bool turns_over, bool may_fold,
                                const py::object& shrink_below, bool parallel) {
  KeyBatch batch(keys, number_of(seed, "seed"));
  const Options options = options_of(room_of(capacity, batch), fpr, bits, max_capacity, seed, load,
                                     turns_over, may_fold, shrink_below);
  const Released released;
  const KeySpan all = batch.whole(released);
  return boxed(parallel ? parallel::build(options, all) : Filter::build(options, all));
}

ConcurrentFilter concurrent_copy_of(const Filter& filter) {
  return ConcurrentFilter(filter.snapshot());
}

template <typename Held>
void bind_constructor(py::class_<Held>& type) {
  type.def(py::init([](py::handle capacity, const py::object& fpr, py::handle bits,
                       py::handle max_capacity, py::handle seed, py::handle load, bool turns_over,
                       bool may_fold, const py::object& shrink_below) {
             const Options options = options_of(capacity, fpr, bits, max_capacity, seed, load,
                                                turns_over, may_fold, shrink_below);
             return boxed(typename Held::Value(options));
           }),
           py::arg("capacity"), py::arg("fpr") = py::none(), py::arg("bits") = 0,
           py::arg("max_capacity") = 0, py::arg("seed") = 0, py::arg("load") = 0.95,
           py::arg("turns_over").noconvert() = false, py::arg("may_fold").noconvert() = false,
           py::arg("shrink_below") = py::none());
}

bool may_overlap(PyFilter& held, PyFilter& other) {
  const auto one = held.shared(), another = other.shared();
  const Released released;
  return one->may_overlap(*another);
}

py::dict count_common(PyFilter& held, PyFilter& other) {
  const Overlap overlap = [&] {
    const auto one = held.shared(), another = other.shared();
    const Released released;
    return one->count_common(*another);
  }();
  using namespace py::literals;
  return py::dict("matches"_a = overlap.matches, "by_chance"_a = overlap.by_chance,
                  "estimate"_a = overlap.estimate, "standard_error"_a = overlap.standard_error);
}

constexpr const char* kFilterDoc =
    R"(A set of keys that answers "maybe" or "certainly not", and can erase keys.

capacity      keys it must hold
fpr           wanted false-positive rate; None: 0.01, or what bits gives
bits          of a fingerprint: 8, 9, 10, 12 or 16; 0: the fewest that give fpr
max_capacity  above capacity: it grows by itself up to here
seed          of the hash; keep it secret where strangers choose the keys
load          share of the slots in use at its capacity
turns_over    keys are erased and others inserted all the time: it stays fast, and
              as seldom wrong; libraries without this refuse its files
may_fold      made for the worst case: it begins doubled, for fit() to make it small
shrink_below  load, up to 0.4, below which erasing shrinks it; None: never

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
)";

void bind_filter(py::module_& module) {
  py::class_<PyFilter> type(module, "Filter", kFilterDoc);
  bind_constructor(type);
  type.def_static("build", &build, py::arg("keys"), py::kw_only(), py::arg("capacity") = py::none(),
                  py::arg("fpr") = py::none(), py::arg("bits") = 0, py::arg("max_capacity") = 0,
                  py::arg("seed") = 0, py::arg("load") = 0.95,
                  py::arg("turns_over").noconvert() = false,
                  py::arg("may_fold").noconvert() = false, py::arg("shrink_below") = py::none(),
                  py::arg("parallel").noconvert() = false,
                  R"(A filter of all keys, in a fraction of the time of inserting them; for as many
keys as there are if no capacity is given. parallel: on all cores. ValueError
when a key finds no room.

>>> filter = Filter.build(["a", "b", "c"])
>>> len(filter)
3
)");
  bind_lookups(type);
  bind_changes<true>(type);
  method(
      type, "clear", +[](PyFilter& held) { held.alone()->clear(); }, "Removes everything.");
  method(type, "grow", &unlocked<&Filter::grow, true, PyFilter>,
         R"(Doubles the filter, without the keys. Lookups are then wrong about twice as often
at the same load. False: there is no bit of fingerprint left to take.

>>> filter = Filter(1000)
>>> filter.grow(), filter.growth, filter.capacity >= 1700
(True, 1, True)
)");
  bind_shrinking<true, Filter, PyFilter>(type);
  bind_merge<true, PyFilter>(
      type,
      R"(Adds everything that is in another Filter, copies included; so does filter |=
other. Both must have the same width, seed, turns_over and number of blocks before
any doubling, and the one that has doubled more often is folded first; otherwise, and
when there is no room, ValueError: the filter is then unchanged. Returns how many
copies were left out: none, unless copies is "most", which leaves out those of keys
that have the most copies already or one less, or "that_fit", which leaves out all
that find no place. may_contain is True for them all the same.

>>> filter = Filter(1000)
>>> other = Filter(1000)
>>> filter.insert("a"), other.insert("b")
(True, True)
>>> filter |= other
>>> "a" in filter, "b" in filter, len(filter)
(True, True, 2)
)");
  method(type, "may_overlap", &may_overlap,
         R"(False: certainly no key is in both filters, which must be as merge wants them;
ValueError if not. True: some may be.)",
         py::arg("other"));
  method(type, "count_common", &count_common,
         R"(What may be common, as a dict: matches, at least as many as keys are common;
by_chance, how many to expect if none was; estimate of the common keys, and its
standard_error.

>>> one = Filter.build(list(range(700)), bits=16)
>>> other = Filter.build(list(range(600, 1300)), bits=16)
>>> one.may_overlap(other), one.count_common(other)["matches"]
(True, 100)
)",
         py::arg("other"));
  bind_ior(type);
  bind_files(type);
  type.def("__repr__",
           [](PyFilter& held) { return "<nestline.Filter: " + figures_of(*held.shared()) + ">"; });
}

void bind_concurrent_filter(py::module_& module) {
  py::class_<PyConcurrentFilter> type(
      module, "ConcurrentFilter",
      R"(A Filter that any number of threads read and change at the same time. Batches run
on as many cores as there are threads, since they release the interpreter's lock.

>>> from concurrent.futures import ThreadPoolExecutor
>>> import numpy as np
>>> filter = ConcurrentFilter(200_000)
>>> with ThreadPoolExecutor(2) as pool:
...     parts = np.arange(100_000).reshape(2, 50_000)
...     stored = sum(found.sum() for found in pool.map(filter.insert, parts))
>>> int(stored), len(filter)
(100000, 100000)
)");
  bind_constructor(type);
  type.def_static("from_filter", &unlocked<&concurrent_copy_of, false, PyFilter>, py::arg("filter"),
                  "One with the content of a Filter, which stays.");
  bind_lookups(type);
  bind_changes<false>(type);
  method(type, "clear", &unlocked<&ConcurrentFilter::clear, false, PyConcurrentFilter>,
         "Removes everything, at one instant.");
  method(type, "grow", &unlocked<&ConcurrentFilter::grow, false, PyConcurrentFilter>,
         "As of Filter. Lookups go on meanwhile.");
  bind_shrinking<false, ConcurrentFilter, PyConcurrentFilter>(type);
  bind_merge<false, PyFilter>(
      type,
      R"(Adds everything that is in a Filter or ConcurrentFilter, at one instant; so does
filter |= other. Errors, copies and the result as of Filter.

>>> filter = ConcurrentFilter(1000)
>>> filter |= Filter.build(["a"], capacity=1000)
>>> "a" in filter
True
)");
  bind_merge<false, PyConcurrentFilter>(type, "");
  bind_ior(type);
  bind_files(type);
  type.def("__repr__", [](PyConcurrentFilter& held) {
    return "<nestline.ConcurrentFilter: " + figures_of(*held.shared()) + ">";
  });
}

void bind_mapped_filter(py::module_& module) {
  py::class_<PyMappedFilter> type(
      module, "MappedFilter",
      R"(A Filter that answers from its file, without loading it. Processes that map the
same file share its memory. Ends with close(), or at the end of a with block.

verify: when blocks are checked against their checksums: "lazily", when they are
first needed, so that a damaged one never denies a key; "all", at once; "none".

>>> Filter.build(["a", "b"], fpr=0.0001).save("words.nest")
>>> with MappedFilter("words.nest") as filter:
...     filter.may_contain(["a", "c"])
array([ True, False])
)");
  bind_mapped(
      type,
      R"(One over bytes that are in memory already, such as an mmap or shared memory, without
a copy. They must begin at a multiple of 64, else ValueError, and must not change;
they are kept until close() or the end of the object.

>>> import mmap
>>> data = Filter.build(["a"], fpr=0.0001).to_bytes()
>>> memory = mmap.mmap(-1, len(data))
>>> memory[:] = data
>>> with MappedFilter.view(memory) as filter:
...     "a" in filter, "b" in filter
(True, False)
)");
  bind_lookups(type);
  method(type, "snapshot", &unlocked<&snapshot_from<MappedFilter>, false, PyMappedFilter>,
         "A Filter with a copy of the content. Checks everything.");
  type.def("__repr__", [](PyMappedFilter& held) {
    if (!held.is_open()) return std::string("<nestline.MappedFilter: closed>");
    return "<nestline.MappedFilter: " + figures_of(*held.shared()) + ">";
  });
}

py::object select_where_it_pays(PassRate& rate, const py::object& filter, const py::object& keys) {
  if (!py::hasattr(filter, "select")) {
    throw py::type_error(std::string("filter is one that has select(), not ") +
                         Py_TYPE(filter.ptr())->tp_name);
  }
  if (is_one_key(keys)) return filter.attr("select")(keys);  // an error
  const std::size_t count = py::isinstance<Hashes>(keys) ? KeyBatch(keys, 0).size() : py::len(keys);
  if (!rate.asks_next(0)) {
    (void)KeyBatch(keys, filter.attr("seed").cast<std::uint64_t>());  // throws as select() would
    (void)rate.asks_next(count);
    return py::module_::import("numpy").attr("arange")(count, py::arg("dtype") = "uint32");
  }
  py::object found = filter.attr("select")(keys);
  rate.note(count, py::len(found));
  return found;
}

double pass_rate_of(PassRate& rate) { return rate.pass_rate(); }

void bind_pass_rate(py::module_& module) {
  py::class_<PassRate> type(
      module, "PassRate",
      R"(How many of the keys that a filter of any kind was asked for passed, and whether it is
worth to ask further. Where more than seven in eight of the last 4096 keys passed, the
next 65536 count as passed without a look, and then it asks again: for work that finds
out by itself, such as a join, not as the result. One for each thread and place of a
program.

>>> import numpy as np
>>> filter = Filter.build(np.arange(100_000))
>>> rate = PassRate()
>>> len(rate.select(filter, np.arange(5000))), rate.pass_rate
(5000, 1.0)
>>> len(rate.select(filter, np.arange(1_000_000, 1_050_000)))  # without a look
50000
)");
  type.def(py::init<>());
  method(
      type, "select", &select_where_it_pays,
      R"(filter.select(keys), or the positions of all keys. Keys have to know how many they are.)",
      py::arg("filter"), py::arg("keys"));
  type.def_property_readonly("pass_rate", &pass_rate_of,
                             "The share of the keys that passed, of all that were looked at.");
}

}  // namespace

void bind_filters(py::module_& module) {
  bind_filter(module);
  bind_concurrent_filter(module);
  bind_mapped_filter(module);
  bind_pass_rate(module);
  module.def(
      "capacity_for",
      [](py::handle bytes, py::handle fpr) {
        return capacity_for(number_of(bytes, "bytes"), real_of(fpr, "fpr"));
      },
      py::arg("bytes"), py::arg("fpr"),
      R"(The most keys that a Filter of this false-positive rate can be made for within so
many bytes.

>>> capacity = capacity_for(1_000_000, fpr=0.01)
>>> Filter(capacity, fpr=0.01).memory_bytes <= 1_000_000
True
)");
  module.def(
      "bytes_for",
      [](py::handle capacity, const py::object& fpr, py::handle bits, py::handle max_capacity,
         py::handle load, bool turns_over, bool may_fold) {
        return bytes_for(
            options_of(capacity, fpr, bits, max_capacity, py::int_(0), load, turns_over, may_fold));
      },
      py::arg("capacity"), py::arg("fpr") = py::none(), py::arg("bits") = 0,
      py::arg("max_capacity") = 0, py::arg("load") = 0.95,
      py::arg("turns_over").noconvert() = false, py::arg("may_fold").noconvert() = false,
      R"(The memory_bytes of a new Filter with these arguments.

>>> bytes_for(1000, fpr=0.01) == Filter(1000, fpr=0.01).memory_bytes
True
)");
}

}}}  // namespace nestline::python
