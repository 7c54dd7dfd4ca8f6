// The extension module nestline._nestline, and the library's exceptions as Python's. pybind11 does
// those of the standard library; std::system_error is an OSError, or the class for its errno;
// FormatError, StoreError and ClusterError are classes of the module.
#include <hwy/targets.h>

#include <cstdlib>
#include <system_error>

#include "lib/kernels/kernels.h"
#include "lib/python/arguments.h"
#include "lib/python/bindings.h"
#include "lib/python/copies.h"
#include "nestline/format_error.h"
#include "nestline/version.h"
#ifdef NESTLINE_PYTHON_CLUSTER
#include "nestline/cluster.h"
#endif
#ifdef NESTLINE_PYTHON_STORE
#include "nestline/store.h"
#endif

namespace nestline::inline v0_2::python {
namespace {

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

// what() is "FILE: the system's message".
void raise_system_error(const std::system_error& error) {
  const bool has_errno = error.code().category() == std::generic_category() ||
                         error.code().category() == std::system_category();
  if (!has_errno) {
    PyErr_SetString(PyExc_OSError, error.what());
    return;
  }
  std::string file = error.what();
  const std::string said = ": " + error.code().message();
  if (file.size() > said.size() && file.ends_with(said)) file.resize(file.size() - said.size());
  const py::object made =
      py::handle(PyExc_OSError)(error.code().value(), error.code().message(),
                                py::reinterpret_steal<py::object>(PyUnicode_DecodeFSDefaultAndSize(
                                    file.data(), static_cast<Py_ssize_t>(file.size()))));
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

// What inspect.signature and help() read before the docstring: "insert(self, keys, out=None)".
std::string signature_of(const py::detail::function_record& record) {
  std::vector<std::string> parameters;
  for (const auto& argument : record.args) {
    if (parameters.size() == record.nargs_pos && !record.has_args) parameters.emplace_back("*");
    parameters.emplace_back(argument.name);
    if (argument.value) parameters.back() += "=" + std::string(py::repr(argument.value));
  }
  if (parameters.empty() && record.is_method) parameters.emplace_back("self");
  if (record.has_args) parameters.emplace_back("*args");
  if (record.has_kwargs) parameters.emplace_back("**kwargs");
  std::string text = record.name + std::string("(");
  for (const std::string& parameter : parameters) {
    text += (text.back() == '(' ? "" : ", ") + parameter;
  }
  return text + ")\n--\n\n";
}

void sign(py::handle owner) {
  for (const auto& [name, value] : py::dict(owner.attr("__dict__"))) {
    const py::object member = py::getattr(owner, name);
    PyObject* const function = PyInstanceMethod_Check(member.ptr())
                                   ? PyInstanceMethod_GET_FUNCTION(member.ptr())
                                   : member.ptr();
    if (!PyCFunction_Check(function)) continue;
    const py::handle self = PyCFunction_GET_SELF(function);
    if (!self || !PyCapsule_CheckExact(self.ptr())) continue;
    const auto capsule = py::reinterpret_borrow<py::capsule>(self);
    const py::detail::function_record& record = *capsule.get_pointer<py::detail::function_record>();
    const std::string doc = record.def->ml_doc == nullptr ? "" : record.def->ml_doc;
    // pybind11 frees it.
    std::free(const_cast<char*>(record.def->ml_doc));
    record.def->ml_doc = strdup((signature_of(record) + doc).c_str());
  }
}

}  // namespace
}  // namespace nestline::inline v0_2::python

PYBIND11_MODULE(_nestline, module) {
  using namespace nestline::python;
  pybind11::options options;
  options.disable_function_signatures();  // sign() gives them in another form
  guard_base();
  module.doc() = "The compiled part of nestline.";
  module.attr("__version__") = NESTLINE_VERSION_STRING;
  module.def(
      "target", [] { return hwy::TargetName(nestline::kernels_for(8).target); },
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
  for (const auto& [name, value] : module.attr("__dict__").cast<pybind11::dict>()) {
    if (!PyType_Check(value.ptr())) continue;
    pybind11::setattr(value, "__module__", pybind11::str("nestline"));
    if (PyObject_HasAttrString(value.ptr(), "__cause__") != 0) continue;  // an error
    bind_reduction(value);
    sign(value);
  }
  sign(module);
  bind_outcome(module);
}
