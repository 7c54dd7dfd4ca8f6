// It uses what pybind11 keeps in its namespace `detail`, so look here first when a new pybind11
// does not compile.
#include "lib/faces/python/copies.h"

#include <stdexcept>

namespace nestline { inline namespace v0_3 { namespace python {
namespace {

namespace inside = py::detail;

py::object function_of(const char* name) {
  return object_from([] { return PyImport_ImportModule("nestline._copies"); }).attr(name);
}

// pybind11 has made the C++ object and what owns it.
bool has_content(py::handle self) {
  inside::values_and_holders parts(reinterpret_cast<inside::instance*>(self.ptr()));
  for (auto& part : parts) {
    if (part.holder_constructed()) return true;
  }
  return false;
}

PyObject* new_object(PyTypeObject* type, PyObject* /*arguments*/, PyObject* /*keywords*/) {
  if (inside::all_type_info(type).empty()) {
    PyErr_Format(PyExc_TypeError, "cannot create '%s' objects", type->tp_name);
    return nullptr;
  }
  return inside::make_new_instance(type);
}

}  // namespace

std::pair<py::object, py::object> pair_in(const py::object& content, const char* otherwise) {
  if (!PyTuple_Check(content.ptr()) || py::len(content) != 2)
    throw std::invalid_argument(otherwise);
  const auto parts = py::reinterpret_borrow<py::tuple>(content);
  return {parts[0], parts[1]};
}

void bind_copies(py::handle type, const py::object& copied, const char* doc) {
  function_of("bind")(type, py::cpp_function(&has_content), copied, doc);
}

void bind_reduction(py::handle type) { function_of("bind_reduction")(type); }

void guard_base() {
  const auto& internals = inside::get_internals();
  // Other modules of the same pybind11 may share the base: their classes have its function already.
  if (!internals.registered_types_py.empty()) return;
  reinterpret_cast<PyTypeObject*>(internals.instance_base)->tp_new = &new_object;
}

}}}  // namespace nestline::python
