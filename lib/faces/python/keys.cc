// Single keys, read without copying; the classes Hash and StringArray, and hash_key.
#include <pybind11/numpy.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "lib/faces/python/arguments.h"
#include "lib/faces/python/bindings.h"
#include "lib/faces/python/one_key.h"

namespace nestline { inline namespace v0_3 { namespace python {
namespace {

// There is no object of a module's class before the module is loaded. `kept`: the class, for ever.
bool is_of(PyObject* object, PyObject*& kept, const char* module, const char* name) {
  if (kept == nullptr) {
    PyObject* const loaded = PyDict_GetItemString(PyImport_GetModuleDict(), module);
    if (loaded == nullptr) return false;
    py::object found = attribute_of(loaded, name);
    if (!found || !PyType_Check(found.ptr())) return false;
    kept = found.release().ptr();
  }
  return PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(kept)) != 0;
}

// A NumPy integer, no bool and no array. Differences of times are a kind of them without __index__.
bool is_numpy_integer(PyObject* object) {
  static PyObject* type = nullptr;
  return PyIndex_Check(object) && is_of(object, type, "numpy", "integer");
}

bool is_masked(PyObject* object) {
  static PyObject* type = nullptr;
  return is_of(object, type, "numpy.ma", "MaskedArray");
}

// Arrays are buffers too, but have dimensions, or name items by byte order. Arrow's bytes are
// signed.
bool is_bytes_like(PyObject* object) {
  if (PyBytes_Check(object) || PyByteArray_Check(object) || PyMemoryView_Check(object)) return true;
  static PyObject* array = nullptr;
  if (PyObject_CheckBuffer(object) == 0 || dimensions_of(object) ||
      is_of(object, array, "array", "array")) {
    return false;
  }
  const Buffer buffer(object, PyBUF_RECORDS_RO);
  const std::string_view format = buffer.view().format == nullptr ? "B" : buffer.view().format;
  return buffer.view().ndim == 1 && (format == "B" || format == "b" || format == "c");
}

[[noreturn]] void refuse(PyObject* object) {
  throw py::type_error("a key is an int, a str, bytes or a nestline.Hash, not " +
                       std::string(Py_TYPE(object)->tp_name));
}

Hashes hash_of(py::handle keys, py::handle seed_argument) {
  const std::uint64_t seed = number_of(seed_argument, "seed");
  if (is_one_key(keys)) return Hashes(py::int_(hash_key(OneKey(keys), seed).value));
  const KeyBatch batch(keys, seed);
  py::array_t<std::uint64_t> hashes(static_cast<py::ssize_t>(batch.size()));
  std::uint64_t* const to = hashes.mutable_data();
  {
    const Released released;
    batch.each_piece(released, [&](KeySpan piece, std::size_t first) {
      piece.visit([&](auto span) {
        for (std::size_t i = 0; i < span.size(); ++i) to[first + i] = hash_key(span[i], seed).value;
      });
    });
  }
  return Hashes(std::move(hashes));
}

}  // namespace

const py::object& hashes_in(py::handle object) {
  const py::object& value = object.cast<const Hashes&>().value;
  if (!value) throw std::invalid_argument("it is a Hash without a value");
  return value;
}

std::string kind_of(py::handle object) {
  const py::object type = attribute_of(object, "dtype");
  const py::object kind = type ? attribute_of(type, "kind") : py::object();
  return kind && py::isinstance<py::str>(kind) ? kind.cast<std::string>() : std::string();
}

std::string type_of(py::handle object) {
  const py::object type = attribute_of(object, "dtype");
  return object_from([&] { return PyObject_Str(type.ptr()); }).cast<std::string>();
}

bool is_bool(py::handle object) {
  if (PyLong_Check(object.ptr())) return PyBool_Check(object.ptr());
  if (PyObject_CheckBuffer(object.ptr()) == 0) return false;
  try {
    return ItemType::of(Buffer(object, PyBUF_RECORDS_RO).view()).code == '?';
  } catch (const py::error_already_set&) {
    return false;  // dates have no buffer
  }
}

py::object index_of(py::handle object) {
  return object_from([&] { return PyNumber_Index(object.ptr()); });
}

std::optional<std::int64_t> dimensions_of(py::handle object) {
  const py::object dimensions = attribute_of(object, "ndim");
  if (!dimensions || !PyLong_Check(dimensions.ptr())) return std::nullopt;
  if (is_masked(object.ptr())) {
    throw py::type_error("a masked array would lose its mask: give array.compressed()");
  }
  return PyLong_AsLongLong(dimensions.ptr());
}

std::uint64_t integer_of(py::handle object) {
  py::object index;
  const bool is_int = PyLong_Check(object.ptr());
  if (is_int ? PyBool_Check(object.ptr()) != 0
             : !is_numpy_integer(object.ptr()) && is_bool(object)) {
    throw py::type_error("a bool is not a key: use int(key)");
  }
  if (!is_int) object = index = index_of(object);
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
  if (PyLong_Check(key) || PyUnicode_Check(key) || PyBytes_Check(key) || is_numpy_integer(key)) {
    return true;
  }
  if (PyList_Check(key) || PyTuple_Check(key)) return false;
  if (py::isinstance<Hashes>(object)) return is_one_key(hashes_in(object));
  // Arrays of NumPy have __index__ too, but have dimensions.
  if (PyIndex_Check(key)) return dimensions_of(object).value_or(0) == 0;
  return is_bytes_like(key);
}

OneKey::OneKey(py::handle object) {
  PyObject* const key = object.ptr();
  if (PyUnicode_Check(key)) {
    key_ = utf8_of(object);
  } else if (PyLong_Check(key) || (PyIndex_Check(key) && is_one_key(object))) {
    key_ = integer_of(object);
  } else if (is_bytes_like(key)) {
    key_ = bytes_.emplace(object, PyBUF_SIMPLE).text();
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

// Bytes, as Arrow's buffers are, hold offsets of 32 bits, unless its strings are large.
StringArray::StringArray(py::handle offsets, py::handle data)
    : offsets_(offsets, PyBUF_ND | PyBUF_FORMAT), data_(data, PyBUF_SIMPLE) {
  const ItemType type = ItemType::of(offsets_.view());
  const bool bytes = offsets_.view().itemsize == 1 && offsets_.bytes() % 4 == 0;
  const Py_ssize_t width = bytes ? 4 : offsets_.view().itemsize;
  const bool numbers = type.is_integer() || (bytes && type.code == 'c');
  if (!numbers || type.swapped || (width != 4 && width != 8)) {
    throw py::type_error("offsets are integers of 32 or 64 bits in this machine's byte order");
  }
  if (offsets_.view().ndim != 1) throw std::invalid_argument("offsets have one dimension");
  wide_ = width == 8;
  const std::size_t count = offsets_.bytes() / static_cast<std::size_t>(width);
  if (count == 0) {
    throw std::invalid_argument("there is one offset more than strings: at least one");
  }
  size_ = count - 1;
  for (std::size_t i = 0; i < count; ++i) {
    if (offset(i) > data_.bytes()) {
      throw std::invalid_argument("offset " + std::to_string(i) +
                                  " is outside of the data, which has " +
                                  std::to_string(data_.bytes()) + " bytes");
    }
    if (i != 0 && offset(i - 1) > offset(i)) {
      throw std::invalid_argument("offset " + std::to_string(i) +
                                  " is below the one before it: offsets ascend");
    }
  }
}

void bind_keys(py::module_& module) {
  py::class_<Hashes>(
      module, "Hash",
      R"(A key that is hashed already, or many: an int, or an array or a list of them. All
64 bits are used as they are, so they must be well mixed: a counter is not.

>>> filter = Filter(1000)
>>> filter.insert(Hash(0x9e3779b97f4a7c15))
True
>>> filter.insert(hash_key("user:17", filter.seed)), "user:17" in filter
(True, True)
)")
      .def(py::init([](py::object value) {
             if (py::isinstance<Hashes>(value)) return value.cast<Hashes>();
             if (is_one_key(value)) (void)integer_of(value);  // throws what is wrong with it
             return Hashes(std::move(value));
           }),
           py::arg("value"))
      .def_property_readonly("value", &hashes_in, "The hash or hashes.")
      .def("__repr__", [](py::handle hashes) {
        const py::object& value = hashes_in(hashes);
        return object_from([&] { return PyUnicode_FromFormat("nestline.Hash(%R)", value.ptr()); });
      });
  module.def("hash_key", &hash_of, py::arg("keys"), py::arg("seed") = 0,
             R"(The Hash under which a filter with this seed stores the key, or the keys: for
programs that keep hashes instead of keys, or ask many filters.

>>> filter = Filter.build(["a", "b"], seed=5, fpr=0.0001)
>>> filter.may_contain(hash_key(["a", "c"], 5))
array([ True, False])
)");
  py::class_<StringArray>(module, "StringArray",
                          R"(Strings in two buffers, as Apache Arrow has them: string i is
data[offsets[i]:offsets[i + 1]]. Offsets are integers of 32 or 64 bits. Nothing
is copied. A StringArray is a batch of keys.

>>> import numpy as np
>>> strings = StringArray(np.array([0, 1, 3], np.int32), b"abb")
>>> len(strings), strings[1]
(2, b'bb')
)")
      .def(py::init<py::handle, py::handle>(), py::arg("offsets"), py::arg("data"))
      .def("__len__", &StringArray::size)
      .def(
          "__getitem__",
          [](const StringArray& strings, Py_ssize_t i) {
            const auto size = static_cast<Py_ssize_t>(strings.size());
            if (i < 0) i += size;
            if (i < 0 || i >= size) throw py::index_error("there is no such string");
            return py::bytes(strings.string(static_cast<std::size_t>(i)));
          },
          py::arg("i"), "String i, as bytes.");
}

}}}  // namespace nestline::python
