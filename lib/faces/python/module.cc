// The extension module nestline._nestline, and the library's exceptions as Python's. pybind11 does
// those of the standard library; std::system_error is an OSError, or the class for its errno;
// FormatError, StoreError and ClusterError are classes of the module.
#include <hwy/targets.h>

#include <array>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "lib/engine/engine.h"
#include "lib/faces/python/arguments.h"
#include "lib/faces/python/bindings.h"
#include "lib/faces/python/copies.h"
#include "lib/faces/python/signatures.h"
#include "nestline/format_error.h"
#include "nestline/version.h"
#ifdef NESTLINE_PYTHON_CLUSTER
#include "nestline/cluster.h"
#endif
#ifdef NESTLINE_PYTHON_STORE
#include "nestline/store.h"
#endif

namespace nestline { inline namespace v0_3 { namespace python { namespace {

// The classes live as long as the interpreter.
PyObject* format_error = nullptr;
PyObject* store_error = nullptr;
PyObject* cluster_error = nullptr;

PyObject* new_class(py::module_& module, const char* name, PyObject* base, const char* doc) {
  const std::string full = std::string("nestline.") + name;
  PyObject* const made = PyErr_NewExceptionWithDoc(full.c_str(), doc, base, nullptr);
  if (made == nullptr) throw py::error_already_set();
  module.attr(name) = py::handle(made);
  return made;
}

template <typename... Attributes>
void raise(PyObject* type, const char* what, Attributes&&... attributes) {
  const py::object error = py::handle(type)(what);
  (..., py::setattr(error, attributes.first, py::cast(attributes.second)));
  PyErr_SetObject(type, error.ptr());
}

// what() is "FILE: the system's message", or of what has no file the message.
void raise_system_error(const std::system_error& error) {
  const bool has_errno = error.code().category() == std::generic_category() ||
                         error.code().category() == std::system_category();
  if (!has_errno) {
    PyErr_SetString(PyExc_OSError, error.what());
    return;
  }
  const std::string message = error.code().message();
  const std::string_view said = error.what();
  py::object file = py::none();
  if (said.ends_with(": " + message)) {
    file = path_as_text(said.substr(0, said.size() - message.size() - 2));
  }
  const py::object made = py::handle(PyExc_OSError)(error.code().value(), message, file);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
}

void translate(std::exception_ptr exception) {
  using Number = std::pair<const char*, std::uint64_t>;
  using Text = std::pair<const char*, std::string>;
  try {
    std::rethrow_exception(exception);
  } catch (const FormatError& error) {
    raise(format_error, error.what(), Text("file", error.file), Number("offset", error.offset),
          Text("cause", error.cause));
#ifdef NESTLINE_PYTHON_STORE
  } catch (const StoreError& error) {
    raise(store_error, error.what());
#endif
#ifdef NESTLINE_PYTHON_CLUSTER
  } catch (const ClusterError& error) {
    const bool unknown = error.effect() == ClusterError::Effect::unknown;
    raise(cluster_error, error.what(), Text("effect", unknown ? "unknown" : "none"));
#endif
  } catch (const std::system_error& error) {
    raise_system_error(error);
  }
}

void bind_errors(py::module_& module) {
  format_error = new_class(module, "FormatError", PyExc_ValueError,
                           "Bytes that are not a filter, or a damaged one.\n\n"
                           "file, offset and cause say where and why.");
#ifdef NESTLINE_PYTHON_STORE
  store_error = new_class(module, "StoreError", PyExc_RuntimeError,
                          "A damaged store, or one that another process has open.");
#endif
#ifdef NESTLINE_PYTHON_CLUSTER
  cluster_error = new_class(module, "ClusterError", PyExc_RuntimeError,
                            "A failure of a call on a logical filter.\n\n"
                            "effect is 'none' if nothing was changed. It is 'unknown' if the\n"
                            "connection was lost before the answer: repeat an insert by\n"
                            "insert_unique, which adds no second copy.");
#endif
  py::register_exception_translator(&translate);
}

void fill(py::module_ module) {
  py::options options;
  options.disable_function_signatures();  // sign() gives them in another form
  guard_base();
  module.doc() = "The compiled part of nestline.";
  module.attr("__version__") = NESTLINE_VERSION_STRING;
  module.def(
      "target", [] { return hwy::TargetName(filter_engine(8, Placement::anywhere).target); },
      "The instruction set that batches use on this processor.");
  bind_errors(module);
  bind_keys(module);
  bind_filters(module);
  bind_maplet(module);
  bind_expiring(module);
#ifdef NESTLINE_PYTHON_STORE
  bind_store(module);
#endif
#ifdef NESTLINE_PYTHON_CLUSTER
  bind_cluster(module);
#endif
  // What users see, also in tracebacks and pickles, is the package.
  for (const auto& [name, value] : module.attr("__dict__").cast<py::dict>()) {
    if (!PyType_Check(value.ptr())) continue;
    py::setattr(value, "__module__", py::str("nestline"));
    if (PyObject_HasAttrString(value.ptr(), "__cause__") != 0) continue;  // an error
    bind_reduction(value);
    sign(value);
  }
  sign(module);
  bind_outcome(module);
}

// One module for the process, since pybind11 has one set of classes: a second import gets it again.
PyObject* create(PyObject* spec, PyModuleDef* /*definition*/) {
  static PyObject* module = nullptr;  // lives as long as the interpreter
  if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
    PyErr_SetString(PyExc_ImportError,
                    "nestline can be imported in the main interpreter only, and this is a "
                    "subinterpreter; for mod_wsgi set WSGIApplicationGroup %{GLOBAL}");
    return nullptr;
  }
  if (module == nullptr) {
    try {
      py::object made = object_from(
          [&] { return PyModule_NewObject(py::str(py::handle(spec).attr("name")).ptr()); });
      fill(py::reinterpret_borrow<py::module_>(made));
      module = made.release().ptr();
    }
    PYBIND11_CATCH_INIT_EXCEPTIONS
  }
  return py::handle(module).inc_ref().ptr();
}

}  // namespace
}}}  // namespace nestline::python

// Without pybind11's macro, which would wait for ever in a subinterpreter.
extern "C" PYBIND11_EXPORT PyObject* PyInit__nestline() {
  static std::array<PyModuleDef_Slot, 2> slots = {
      {{Py_mod_create, reinterpret_cast<void*>(&nestline::python::create)}, {0, nullptr}}};
  static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_nestline", nullptr, 0,      nullptr,
                                   slots.data(),          nullptr,     nullptr, nullptr};
  return PyModuleDef_Init(&definition);
}
