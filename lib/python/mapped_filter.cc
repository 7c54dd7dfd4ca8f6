// The class MappedFilter, and filters in files.
#include <string>
#include <utility>

#include "lib/python/bindings.h"
#include "lib/python/members.h"
#include "nestline/io.h"

namespace nestline::python {
namespace {

Verify verify_of(const std::string& name) {
  if (name == "none") return Verify::none;
  if (name == "lazily") return Verify::lazily;
  if (name == "all") return Verify::all;
  throw std::invalid_argument("verify is 'none', 'lazily' or 'all', not '" + name + "'");
}

std::unique_ptr<PyMappedFilter> mapped(py::handle file, const std::string& verify) {
  const std::filesystem::path path = std::filesystem::absolute(path_of(file));
  const Verify how = verify_of(verify);
  const py::gil_scoped_release released;
  return std::make_unique<PyMappedFilter>(MappedFilter::open(path, how), path.string(), verify);
}

py::object path_as_text(const std::string& path) {
  return py::reinterpret_steal<py::object>(
      PyUnicode_DecodeFSDefaultAndSize(path.data(), static_cast<Py_ssize_t>(path.size())));
}

}  // namespace

void bind_mapped_filter(py::module_& module) {
  py::class_<PyMappedFilter> type(module, "MappedFilter", R"(MappedFilter(path, verify="lazily")

A Filter that answers from its file, without loading it. Processes that map the
same file share its memory. Ends with close(), or at the end of a with block.

verify: when blocks are checked against their checksums: "lazily", when they are
first needed, so that a damaged one never denies a key; "all", at once; "none".

>>> save(Filter.build(["a", "b"], fpr=0.0001), "words.nest")
>>> with MappedFilter("words.nest") as filter:
...     filter.may_contain(["a", "c"])
array([ True, False])
)");
  type.def(py::init(&mapped), py::arg("path"), py::arg("verify") = "lazily");
  type.def_static("open", &mapped, py::arg("path"), py::arg("verify") = "lazily",
                  "open(path, verify=\"lazily\")\n\nThe same as MappedFilter(path, verify).");
  bind_questions(type);
  type.def(
      "verify",
      [](PyMappedFilter& held) {
        const auto filter = held.shared();
        const py::gil_scoped_release released;
        filter->verify();
      },
      "verify()\n\nReads and checks the whole file. FormatError for the first flaw.");
  type.def(
      "damage",
      [](PyMappedFilter& held) -> py::object {
        const auto damage = held.shared()->damage();
        if (!damage) return py::none();
        return py::cast(std::string(damage->what()));
      },
      "damage()\n\nThe first damaged section that lookups have found, as a sentence, or None.");
  type.def(
      "snapshot",
      [](PyMappedFilter& held) {
        const auto filter = held.shared();
        const py::gil_scoped_release released;
        return boxed(filter->snapshot());
      },
      "snapshot()\n\nA Filter with a copy of the content. Checks everything.");
  type.def(
      "close",
      [](PyMappedFilter& held) {
        const auto gone = held.take();
        (void)gone;
      },
      "close()\n\nEnds the mapping. Later calls are a ValueError.");
  type.def("__enter__", [](py::object self) { return self; });
  type.def("__exit__", [](PyMappedFilter& held, const py::args&) { held.take(); });
  type.def_property_readonly(
      "path", [](const PyMappedFilter& held) { return path_as_text(held.path()); },
      "The file's path.");
  // What never changes is its own copy, as of a str.
  type.def("__copy__", [](py::object self) { return self; });
  type.def(
      "__deepcopy__", [](py::object self, const py::object&) { return self; }, py::arg("memo"));
  type.def(py::pickle(
      [](const PyMappedFilter& held) {
        return py::make_tuple(path_as_text(held.path()), held.verify());
      },
      [](const py::tuple& state) { return mapped(state[0], state[1].cast<std::string>()); }));
  type.def("__repr__", [](PyMappedFilter& held) {
    if (!held.is_open()) return std::string("<nestline.MappedFilter: closed>");
    return "<nestline.MappedFilter: " + figures_of(*held.shared()) + ">";
  });
}

void bind_files(py::module_& module) {
  module.def(
      "save",
      [](PyFilter& held, py::handle file) {
        const auto filter = held.shared();
        const std::filesystem::path path = path_of(file);
        const py::gil_scoped_release released;
        save(*filter, path);
      },
      py::arg("filter"), py::arg("path"), R"(save(filter, path)

Writes a filter or a maplet to a file, and replaces a file there atomically. Of a
ConcurrentFilter, the content of one instant. OSError if the system refuses.

>>> save(Filter.build(["a", "b"], fpr=0.0001), "words.nest")
>>> filter = load("words.nest")
>>> "a" in filter, "c" in filter
(True, False)
)");
  module.def(
      "save",
      [](PyConcurrentFilter& held, py::handle file) {
        const auto filter = held.shared();
        const std::filesystem::path path = path_of(file);
        const py::gil_scoped_release released;
        save(filter->snapshot(), path);
      },
      py::arg("filter"), py::arg("path"), "");
  module.def(
      "load",
      [](py::handle file) {
        const std::filesystem::path path = path_of(file);
        const py::gil_scoped_release released;
        return boxed(load(path));
      },
      py::arg("path"), R"(load(path)

The Filter in a file; every byte is checked. FormatError if there is none in it,
FileNotFoundError and other kinds of OSError if it cannot be read.
)");
}

}  // namespace nestline::python
