// Attributes of objects, by the modules copy and copyreg: what a subclass of a user's adds to an
// object goes into its state as well. It uses what pybind11 keeps in its namespace `detail`, so
// look here first when a new pybind11 does not compile.
#include "lib/faces/python/copies.h"

#include <algorithm>
#include <stdexcept>

namespace nestline { inline namespace v0_3 { namespace python {
namespace {

namespace inside = py::detail;

template <typename... Arguments>
py::object called(py::handle function, Arguments... arguments) {
  return object_from(
      [&] { return PyObject_CallFunctionObjArgs(function.ptr(), arguments.ptr()..., nullptr); });
}

py::object function_of(const char* module, const char* name) {
  return object_from([&] { return PyImport_ImportModule(module); }).attr(name);
}

// (the __dict__ or None, a dict of the slots that have a value); None without any.
py::object attributes_of(py::handle self) {
  py::object own = attribute_of(self, "__dict__");
  if (!own) own = py::none();
  const py::object names = called(function_of("copyreg", "_slotnames"), py::type::handle_of(self));
  py::dict slots;
  for (const py::handle name : names) {
    if (const py::object value = attribute_of(self, name)) slots[name] = value;
  }
  if ((own.is_none() || py::len(own) == 0) && slots.empty()) return py::none();
  return py::make_tuple(own, slots);
}

void give_attributes(py::handle self, py::handle own, py::handle slots) {
  if (!own.is_none()) {
    const py::object members = attribute_of(self, "__dict__");
    if (!members || !PyDict_Check(members.ptr()) || PyDict_Update(members.ptr(), own.ptr()) != 0) {
      PyErr_Clear();
      throw py::type_error("the state has attributes that the object cannot have");
    }
  }
  const py::dict values = py::reinterpret_borrow<py::dict>(slots);
  for (const auto& slot : values) {
    if (in_python([&] {
          return PyObject_SetAttr(self.ptr(), slot.first.ptr(), slot.second.ptr());
        }) != 0) {
      throw py::error_already_set();
    }
  }
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

py::object with_attributes(py::handle self, const py::object& content) {
  const py::object attributes = attributes_of(self);
  if (attributes.is_none()) return content;
  py::list state;
  state.append(content);
  for (const py::handle part : attributes) state.append(part);
  return state;
}

std::pair<py::object, py::object> pair_in(const py::object& content, const char* otherwise) {
  if (!PyTuple_Check(content.ptr()) || py::len(content) != 2)
    throw std::invalid_argument(otherwise);
  const auto parts = py::reinterpret_borrow<py::tuple>(content);
  return {parts[0], parts[1]};
}

void set_state(py::handle self, const py::object& construct, const py::object& state) {
  if (has_content(self)) throw py::type_error("the object has its content: make another one");
  if (!PyList_Check(state.ptr())) {
    called(construct, self, state);
    return;
  }
  const py::list parts(state);
  if (parts.size() != 3 || !PyDict_Check(py::object(parts[2]).ptr()) ||
      !(PyDict_Check(py::object(parts[1]).ptr()) || py::object(parts[1]).is_none())) {
    throw std::invalid_argument("not the state of an object of this class");
  }
  const py::object content = parts[0], own = parts[1], slots = parts[2];
  called(construct, self, content);
  give_attributes(self, own, slots);
}

py::object copy_by_state(py::handle self) {
  const py::tuple parts = called(self.attr("__reduce_ex__"), py::int_(2));
  const py::object made =
      object_from([&] { return PyObject_CallObject(parts[0].ptr(), py::object(parts[1]).ptr()); });
  called(made.attr("__setstate__"), py::object(parts[2]));
  return made;
}

void bind_reduction(py::handle type) {
  const py::object reduce =
      py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(&PyBaseObject_Type))
          .attr("__reduce_ex__");
  type.attr("__reduce_ex__") = py::cpp_function(
      [reduce](const py::object& self, int protocol) {
        return called(reduce, self, py::int_(std::max(protocol, 2)));
      },
      py::name("__reduce_ex__"), py::is_method(type), py::arg("protocol"));
}

void guard_base() {
  const auto& internals = inside::get_internals();
  // Other modules of the same pybind11 may share the base: their classes have its function already.
  if (!internals.registered_types_py.empty()) return;
  reinterpret_cast<PyTypeObject*>(internals.instance_base)->tp_new = &new_object;
}

}}}  // namespace nestline::python
