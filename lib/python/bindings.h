// What each file of classes adds to the module, in the order in which module.cc calls them.
#ifndef NESTLINE_LIB_PYTHON_BINDINGS_H_
#define NESTLINE_LIB_PYTHON_BINDINGS_H_

#include <pybind11/pybind11.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/python/busy.h"
#include "nestline/concurrent_filter.h"
#include "nestline/filter.h"
#include "nestline/mapped_filter.h"

namespace nestline::python {

namespace py = pybind11;

using PyFilter = Box<Filter>;
using PyConcurrentFilter = Box<ConcurrentFilter>;

inline std::unique_ptr<PyFilter> boxed(Filter&& filter) {
  return std::make_unique<PyFilter>(std::move(filter));
}

// The bytes that make() returns, made with the interpreter's lock released.
template <typename Make>
py::bytes bytes_of(Make&& make) {
  std::vector<std::byte> bytes;
  {
    const py::gil_scoped_release released;
    bytes = make();
  }
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Remembers its path, by which another process can map it.
class PyMappedFilter : public Box<MappedFilter> {
 public:
  PyMappedFilter(MappedFilter&& filter, std::string path, std::string verify)
      : Box(std::move(filter)), path_(std::move(path)), verify_(std::move(verify)) {}

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& verify() const { return verify_; }

 private:
  std::string path_, verify_;
};

void bind_hashes(py::module_& module);
void bind_filter(py::module_& module);
void bind_concurrent_filter(py::module_& module);
void bind_mapped_filter(py::module_& module);
void bind_files(py::module_& module);
void bind_maplet(py::module_& module);
void bind_store(py::module_& module);
void bind_cluster(py::module_& module);

// The instruction set that batches use on this processor: "AVX2" and so on.
std::string target_name();

}  // namespace nestline::python

#endif  // NESTLINE_LIB_PYTHON_BINDINGS_H_
