// Reads pybind11's own record of each function (detail::function_record), and puts checked_call in
// front of pybind11's entry. So look here too when a new pybind11 does not compile.
#include "lib/faces/python/signatures.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>
#include <vector>

namespace nestline { inline namespace v0_3 { namespace python {
namespace {

namespace py = pybind11;
using Function = py::detail::function_record;

// "(self, keys, out=None)"
std::string parameters_of(const Function& function, bool with_self) {
  std::vector<std::string> parameters;
  for (const auto& argument : function.args) {
    if (parameters.size() == function.nargs_pos && !function.has_args) parameters.emplace_back("*");
    parameters.emplace_back(argument.name);
    if (argument.value) parameters.back() += "=" + std::string(py::repr(argument.value));
  }
  if (parameters.empty() && function.is_method) parameters.emplace_back("self");
  if (function.has_args) parameters.emplace_back("*args");
  if (function.has_kwargs) parameters.emplace_back("**kwargs");
  if (function.is_method && !with_self) parameters.erase(parameters.begin());
  std::string text = "(";
  for (const std::string& parameter : parameters) {
    text += (text.size() == 1 ? "" : ", ") + parameter;
  }
  return text + ")";
}

// "Filter.insert", and "Filter" for its constructor.
std::string name_of(const Function& function) {
  if (!PyType_Check(function.scope.ptr())) return function.name;
  const auto owner = function.scope.attr("__name__").cast<std::string>();
  return function.is_constructor ? owner : owner + "." + function.name;
}

// pybind11's "open(path: handle, verify: str = 'lazily') -> nestline._nestline.MappedFilter",
// without what is not Python's: "(path, verify: str = 'lazily')".
std::string types_of(const Function& function) {
  std::string text = function.signature;
  text.erase(text.rfind(" -> "));
  text.erase(0, text.find('('));
  if (function.is_method) text.erase(1, std::min(text.find(", ") + 1, text.size() - 2));
  for (const std::string_view noise : {": handle", ": object", "_nestline."}) {
    for (auto at = text.find(noise); at != std::string::npos; at = text.find(noise)) {
      text.erase(at, noise.size());
    }
  }
  return text;
}

std::size_t position_of(const Function& function, PyObject* name) {
  const auto& known = function.args;
  const auto found = std::find_if(known.begin(), known.end(), [&](const auto& argument) {
    return PyUnicode_CompareWithASCIIString(name, argument.name) == 0;
  });
  return static_cast<std::size_t>(found - known.begin());
}

// What is wrong with the number and the names of the arguments; empty: nothing. All overloads of a
// function have the same.
std::string flaw_of(const Function& function, PyObject* arguments, PyObject* keywords) {
  const auto given = static_cast<std::size_t>(PyTuple_GET_SIZE(arguments));
  const std::size_t self = function.is_method ? 1 : 0;
  if (given > function.nargs_pos && !function.has_args) {
    return std::to_string(given - self) +
           " arguments are given by position, and it takes at most " +
           std::to_string(function.nargs_pos - self);
  }
  PyObject* name = nullptr;
  PyObject* value = nullptr;
  Py_ssize_t at = 0;
  while (keywords != nullptr && PyDict_Next(keywords, &at, &name, &value) != 0) {
    const std::size_t position = position_of(function, name);
    if (position == function.args.size()) {
      if (function.has_kwargs) continue;
      return py::str("there is no argument '{}'").format(py::handle(name));
    }
    if (position < given) return py::str("'{}' is given twice").format(py::handle(name));
  }
  for (std::size_t i = given; i < function.args.size(); ++i) {
    const auto& argument = function.args[i];
    if (argument.value) continue;
    if (keywords == nullptr || PyDict_GetItemString(keywords, argument.name) == nullptr) {
      return std::string(argument.name) + " is missing";
    }
  }
  return {};
}

// "(int, verify=int)"
std::string types_in(PyObject* arguments, PyObject* keywords, bool is_method) {
  std::string text;
  const auto add = [&](const std::string& name, py::handle value) {
    text += (text.empty() ? "" : ", ") + name + Py_TYPE(value.ptr())->tp_name;
  };
  for (Py_ssize_t i = is_method ? 1 : 0; i < PyTuple_GET_SIZE(arguments); ++i) {
    add("", PyTuple_GET_ITEM(arguments, i));
  }
  if (keywords != nullptr) {
    for (const auto& [name, value] : py::reinterpret_borrow<py::dict>(keywords)) {
      add(name.cast<std::string>() + "=", value);
    }
  }
  return "(" + text + ")";
}

// Whether pybind11 has found no overload that takes the arguments. Its sentence begins so.
bool is_misfit(const Function& function) {
  if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) return false;
  py::error_scope kept;
  PyErr_NormalizeException(&kept.type, &kept.value, &kept.trace);
  const std::string said = py::str(py::handle(kept.value));
  return said.starts_with(std::string(function.name) + "(): incompatible ");
}

// pybind11's, for all functions.
PyCFunctionWithKeywords call = nullptr;

PyObject* checked_call(PyObject* self, PyObject* arguments, PyObject* keywords) {
  const auto& function =
      *static_cast<const Function*>(PyCapsule_GetPointer(self, PyCapsule_GetName(self)));
  try {
    if (!function.is_operator) {
      if (const std::string flaw = flaw_of(function, arguments, keywords); !flaw.empty()) {
        const std::string text = name_of(function) + parameters_of(function, false) + ": " + flaw;
        PyErr_SetString(PyExc_TypeError, text.c_str());
        return nullptr;
      }
    }
    PyObject* const result = call(self, arguments, keywords);
    if (result != nullptr || !is_misfit(function)) return result;
    std::string text = name_of(function) + types_of(function);
    for (const Function* other = function.next; other != nullptr; other = other->next) {
      text += " or " + types_of(*other);
    }
    text += " does not take " + types_in(arguments, keywords, function.is_method);
    PyErr_SetString(PyExc_TypeError, text.c_str());
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  }
  return nullptr;
}

}  // namespace

void sign(py::handle owner) {
  for (const auto& [name, value] : py::dict(owner.attr("__dict__"))) {
    const py::object member = py::getattr(owner, name);
    PyObject* const bound = PyInstanceMethod_Check(member.ptr())
                                ? PyInstanceMethod_GET_FUNCTION(member.ptr())
                                : member.ptr();
    if (!PyCFunction_Check(bound)) continue;
    const py::handle self = PyCFunction_GET_SELF(bound);
    if (!self || !PyCapsule_CheckExact(self.ptr())) continue;
    const auto capsule = py::reinterpret_borrow<py::capsule>(self);
    const Function& function = *capsule.get_pointer<Function>();
    const std::string doc = function.def->ml_doc == nullptr ? "" : function.def->ml_doc;
    // pybind11 frees it.
    std::free(const_cast<char*>(function.def->ml_doc));
    function.def->ml_doc =
        strdup((function.name + parameters_of(function, true) + "\n--\n\n" + doc).c_str());
    const auto plain = reinterpret_cast<void (*)()>(function.def->ml_meth);
    if (plain == reinterpret_cast<void (*)()>(&checked_call)) continue;
    call = reinterpret_cast<PyCFunctionWithKeywords>(plain);
    function.def->ml_meth =
        reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&checked_call));
  }
}

}}}  // namespace nestline::python
