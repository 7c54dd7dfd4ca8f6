// The library's exceptions as Python's.
//
//   std::invalid_argument, std::length_error   ValueError
//   std::bad_alloc                             MemoryError
//   std::system_error                          OSError, or the class of it for its errno
//   FormatError, StoreError, ClusterError      classes of the module
#ifndef NESTLINE_LIB_PYTHON_ERRORS_H_
#define NESTLINE_LIB_PYTHON_ERRORS_H_

#include <pybind11/pybind11.h>

namespace nestline::python {

namespace py = pybind11;

// Adds the classes to the module, and translates from now on.
void bind_errors(py::module_& module);

}  // namespace nestline::python

#endif  // NESTLINE_LIB_PYTHON_ERRORS_H_
