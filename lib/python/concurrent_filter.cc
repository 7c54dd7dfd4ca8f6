// The class ConcurrentFilter. Its calls may run beside each other; only freeze may not.
#include <span>
#include <string>
#include <utility>

#include "lib/python/bindings.h"
#include "lib/python/members.h"
#include "nestline/io.h"

namespace nestline::python {
namespace {

std::unique_ptr<PyConcurrentFilter> shared_one(Filter&& filter) {
  return std::make_unique<PyConcurrentFilter>(ConcurrentFilter(std::move(filter)));
}

std::unique_ptr<PyFilter> snapshot(PyConcurrentFilter& held) {
  const auto filter = held.shared();
  const py::gil_scoped_release released;
  return boxed(filter->snapshot());
}

std::unique_ptr<PyConcurrentFilter> copy_of(PyConcurrentFilter& held) {
  const auto filter = held.shared();
  const py::gil_scoped_release released;
  return shared_one(filter->snapshot());
}

template <typename Held>
void merge(PyConcurrentFilter& held, Held& other) {
  const auto filter = held.shared();
  const auto added = other.shared();
  const py::gil_scoped_release released;
  filter->merge(*added);
}

template <typename Held, typename Type>
void bind_merge(Type& type, const char* doc, const char* can_merge_doc) {
  type.def("merge", &merge<Held>, py::arg("other"), doc);
  type.def(
      "__ior__",
      [](py::object self, Held& other) {
        merge(self.cast<PyConcurrentFilter&>(), other);
        return self;
      },
      py::arg("other"), py::is_operator());
  type.def(
      "can_merge",
      [](PyConcurrentFilter& held, Held& other) {
        return held.shared()->can_merge(*other.shared());
      },
      py::arg("other"), can_merge_doc);
}

}  // namespace

void bind_concurrent_filter(py::module_& module) {
  py::class_<PyConcurrentFilter> type(
      module, "ConcurrentFilter",
      R"(ConcurrentFilter(capacity, fpr=None, bits=0, max_capacity=0, seed=0, load=0.95)

A Filter that any number of threads read and change at the same time. Batches run
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
  type.def(py::init([](py::handle capacity, const py::object& fpr, int bits,
                       py::handle max_capacity, py::handle seed, double load) {
             const Options options = options_of(capacity, fpr, bits, max_capacity, seed, load);
             return std::make_unique<PyConcurrentFilter>(ConcurrentFilter(options));
           }),
           py::arg("capacity"), py::arg("fpr") = py::none(), py::arg("bits") = 0,
           py::arg("max_capacity") = 0, py::arg("seed") = 0, py::arg("load") = 0.95);
  type.def_static(
      "from_filter",
      [](PyFilter& held) {
        const auto filter = held.shared();
        const py::gil_scoped_release released;
        return shared_one(filter->clone());
      },
      py::arg("filter"), "from_filter(filter)\n\nOne with the content of a Filter, which stays.");
  bind_questions(type);
  bind_changes<false>(type);
  type.def(
      "clear",
      [](PyConcurrentFilter& held) {
        const auto filter = held.shared();
        const py::gil_scoped_release released;
        filter->clear();
      },
      "clear()\n\nRemoves everything, at one instant.");
  type.def(
      "grow",
      [](PyConcurrentFilter& held) {
        const auto filter = held.shared();
        const py::gil_scoped_release released;
        return filter->grow();
      },
      "grow()\n\nAs of Filter. Lookups go on meanwhile.");
  bind_merge<PyFilter>(type, R"(merge(other)

Adds everything that is in a Filter or ConcurrentFilter, at one instant; so does
filter |= other. Errors as of Filter.

>>> filter = ConcurrentFilter(1000)
>>> filter |= Filter.build(["a"], capacity=1000)
>>> "a" in filter
True
)",
                       "can_merge(other)\n\nWhether both have the same width, seed and blocks.");
  bind_merge<PyConcurrentFilter>(type, "", "");
  type.def("snapshot", &snapshot,
           "snapshot()\n\nA Filter with the content of one instant, for saving or shipping.");
  type.def("copy", &copy_of, "copy()\n\nA copy of one instant; copy.copy() makes one too.");
  type.def("__copy__", &copy_of);
  type.def(
      "__deepcopy__", [](PyConcurrentFilter& held, const py::object&) { return copy_of(held); },
      py::arg("memo"));
  type.def(
      "to_bytes",
      [](PyConcurrentFilter& held) {
        const auto filter = held.shared();
        return bytes_of([&] { return to_bytes(filter->snapshot()); });
      },
      "to_bytes()\n\nThe bytes that save would write, of one instant.");
  type.def(py::pickle(
      [](PyConcurrentFilter& held) {
        const auto filter = held.shared();
        return bytes_of([&] { return to_bytes(filter->snapshot()); });
      },
      [](const py::bytes& bytes) {
        const Buffer buffer(bytes, PyBUF_SIMPLE);
        return shared_one(from_bytes(std::as_bytes(std::span(buffer.text()))));
      }));
  type.def("__repr__", [](PyConcurrentFilter& held) {
    return "<nestline.ConcurrentFilter: " + figures_of(*held.shared()) + ">";
  });
}

}  // namespace nestline::python
