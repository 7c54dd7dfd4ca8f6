// Checks or makes the array of the answers.
#include "lib/python/answers.h"

#include <pybind11/numpy.h>

#include <stdexcept>
#include <string>

namespace nestline::python {

Answers::Answers(const KeyBatch& keys, const py::object& out, Kind kind) : array_(out) {
  if (out.is_none()) {
    const auto size = static_cast<py::ssize_t>(keys.size());
    array_ = kind == Kind::yes_or_no ? py::object(py::array_t<bool>(size))
                                     : py::object(py::array_t<std::uint8_t>(size));
  }
  const Py_buffer& view =
      buffer_.emplace(array_, PyBUF_WRITABLE | PyBUF_FORMAT | PyBUF_STRIDES).view();
  const char type = ItemType::of(view).code;
  if (type != 'B' && !(type == '?' && kind == Kind::yes_or_no)) {
    throw py::type_error(kind == Kind::yes_or_no ? "out is an array of bool or uint8"
                                                 : "out is an array of uint8");
  }
  if (view.ndim != 1 || buffer_->bytes() != keys.size()) {
    throw std::invalid_argument("out has " + std::to_string(buffer_->bytes()) +
                                " elements and there are " + std::to_string(keys.size()) +
                                " keys: give an array of one dimension with one for each key");
  }
  if (view.strides != nullptr && view.strides[0] != 1 && keys.size() > 1) {
    throw std::invalid_argument("the elements of out lie apart: give an array that is contiguous");
  }
  if (keys.overlaps(view.buf, buffer_->bytes())) {
    throw std::invalid_argument("out and the keys are the same memory: give another array");
  }
  bytes_ = {static_cast<std::uint8_t*>(view.buf), buffer_->bytes()};
}

}  // namespace nestline::python
