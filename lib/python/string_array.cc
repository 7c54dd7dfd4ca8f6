// Checks the offsets once, when the array is made.
#include "lib/python/string_array.h"

#include <string>

namespace nestline::python {

StringArray::StringArray(py::handle offsets, py::handle data)
    : offsets_(offsets, PyBUF_ND | PyBUF_FORMAT), data_(data, PyBUF_SIMPLE) {
  const ItemType type = ItemType::of(offsets_.view());
  const Py_ssize_t width = offsets_.view().itemsize;
  if (!type.is_integer() || type.swapped || (width != 4 && width != 8)) {
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

void bind_string_array(py::module_& module) {
  py::class_<StringArray>(module, "StringArray", R"(StringArray(offsets, data)

Strings in two buffers, as Apache Arrow has them: string i is
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

}  // namespace nestline::python
