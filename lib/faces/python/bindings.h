// What each file of classes adds to the module, in the order in which module.cc calls them.
// The file of a class has its constructor, its own members and its __repr__. What several classes
// have is in members.h and calls.h.
#ifndef NESTLINE_LIB_FACES_PYTHON_BINDINGS_H_
#define NESTLINE_LIB_FACES_PYTHON_BINDINGS_H_

#include <pybind11/pybind11.h>

namespace nestline { inline namespace v0_3 { namespace python {

namespace py = pybind11;

void bind_keys(py::module_& module);
void bind_filters(py::module_& module);
void bind_maplet(py::module_& module);
void bind_expiring(py::module_& module);
void bind_store(py::module_& module);
void bind_cluster(py::module_& module);

}}}  // namespace nestline::python

#endif  // NESTLINE_LIB_FACES_PYTHON_BINDINGS_H_
