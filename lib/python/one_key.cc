// Reads single keys with the interpreter's own functions, without copying.
#include "lib/python/one_key.h"

#include <stdexcept>
#include <string>

namespace nestline::python {
namespace {

bool is_bytes_like(PyObject* object) {
  return PyBytes_Check(object) || PyByteArray_Check(object) || PyMemoryView_Check(object);
}

[[noreturn]] void refuse(PyObject* object) {
  throw py::type_error("a key is an int, a str, bytes or a nestline.Hash, not " +
                       std::string(Py_TYPE(object)->tp_name));
}

// Python's and NumPy's, which has __index__ too.
bool is_bool(py::handle object) {
  if (PyLong_Check(object.ptr())) return PyBool_Check(object.ptr());
  return PyObject_CheckBuffer(object.ptr()) != 0 &&
         ItemType::of(Buffer(object, PyBUF_RECORDS_RO).view()).code == '?';
}

}  // namespace

const py::object& hashes_in(py::handle object) {
  const py::object& value = object.cast<const Hashes&>().value;
  if (!value) throw std::invalid_argument("it is a Hash without a value");
  return value;
}

std::uint64_t integer_of(py::handle object) {
  if (is_bool(object)) throw py::type_error("a bool is not a key: use int(key)");
  py::object index;
  if (!PyLong_Check(object.ptr())) {
    index = py::reinterpret_steal<py::object>(PyNumber_Index(object.ptr()));
    if (!index) throw py::error_already_set();
    object = index;
  }
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(object.ptr(), &overflow);
  if (overflow == 0) {
    if (number == -1 && PyErr_Occurred() != nullptr) throw py::error_already_set();
    return static_cast<std::uint64_t>(number);
  }
  if (overflow > 0) {
    const unsigned long long large = PyLong_AsUnsignedLongLong(object.ptr());
    if (large != static_cast<unsigned long long>(-1) || PyErr_Occurred() == nullptr) return large;
    PyErr_Clear();
  }
  PyErr_SetString(PyExc_OverflowError, "an integer key is from -2**63 to 2**64 - 1");
  throw py::error_already_set();
}

std::string_view utf8_of(py::handle object) {
  Py_ssize_t size = 0;
  const char* const text = PyUnicode_AsUTF8AndSize(object.ptr(), &size);
  if (text == nullptr) throw py::error_already_set();
  return {text, static_cast<std::size_t>(size)};
}

bool is_one_key(py::handle object) {
  PyObject* const key = object.ptr();
  if (PyLong_Check(key) || PyUnicode_Check(key) || is_bytes_like(key)) return true;
  if (py::isinstance<Hashes>(object)) return is_one_key(hashes_in(object));
  if (PyList_Check(key) || PyTuple_Check(key)) return false;
  if (!PyIndex_Check(key)) return false;
  // Arrays of NumPy have __index__ too, but have dimensions.
  if (PyObject_CheckBuffer(key) == 0) return true;
  return Buffer(object, PyBUF_RECORDS_RO).view().ndim == 0;
}

OneKey::OneKey(py::handle object) {
  PyObject* const key = object.ptr();
  if (PyUnicode_Check(key)) {
    key_ = utf8_of(object);
  } else if (is_bytes_like(key)) {
    key_ = bytes_.emplace(object, PyBUF_SIMPLE).text();
  } else if (PyLong_Check(key) || PyIndex_Check(key)) {
    key_ = integer_of(object);
  } else if (py::isinstance<Hashes>(object)) {
    key_ = Hash{integer_of(hashes_in(object))};
  } else {
    refuse(key);
  }
}

Bytes::Bytes(py::handle object, const char* what) {
  if (PyUnicode_Check(object.ptr())) {
    text_ = utf8_of(object);
  } else if (is_bytes_like(object.ptr())) {
    text_ = bytes_.emplace(object, PyBUF_SIMPLE).text();
  } else {
    throw py::type_error(std::string(what) + " is a str or bytes, not " +
                         Py_TYPE(object.ptr())->tp_name);
  }
}

}  // namespace nestline::python
