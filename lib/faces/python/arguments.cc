// See arguments.h. What can run code of Python, such as __float__, is called by in_python().
#include "lib/faces/python/arguments.h"

#include <pybind11/numpy.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "lib/faces/python/one_key.h"

namespace nestline { inline namespace v0_3 { namespace python {

std::uint64_t number_of(py::handle object, const char* name) {
  if (is_bool(object)) throw py::type_error(std::string(name) + " is an int, not a bool");
  (void)dimensions_of(object);  // throws for a masked one
  const py::object index = index_of(object);
  const unsigned long long number = PyLong_AsUnsignedLongLong(index.ptr());
  if (number == static_cast<unsigned long long>(-1) && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    PyErr_Format(PyExc_OverflowError, "%s is from 0 to 2**64 - 1, not %S", name, index.ptr());
    throw py::error_already_set();
  }
  return number;
}

int small_of(py::handle object, const char* name) {
  constexpr std::uint64_t kMost = std::numeric_limits<int>::max();
  return static_cast<int>(std::min(number_of(object, name), kMost));
}

double real_of(py::handle object, const char* name) {
  if (is_bool(object) || dimensions_of(object).value_or(0) != 0) {
    throw py::type_error(std::string(name) + " is a number, not " + Py_TYPE(object.ptr())->tp_name);
  }
  const double number = in_python([&] { return PyFloat_AsDouble(object.ptr()); });
  if (number == -1 && PyErr_Occurred() != nullptr) throw py::error_already_set();
  return number;
}

std::chrono::milliseconds duration_of(py::handle object, const char* name) {
  const double seconds = real_of(object, name);
  if (!(seconds >= 0.001 && seconds <= 1e6)) {
    throw std::invalid_argument(std::string(name) + " is from 0.001 to 1000000 seconds");
  }
  return std::chrono::milliseconds(std::llround(seconds * 1000));
}

std::vector<std::uint64_t> numbers_of(py::handle object, const char* noun,
                                      std::optional<std::uint64_t> none) {
  const KeyBatch batch(object, 0, noun, none);
  std::vector<std::uint64_t> numbers(batch.size());
  const Released released(batch.size());
  batch.each_piece(released, [&](KeySpan piece, std::size_t first) {
    piece.visit([&](auto span) {
      if constexpr (IntegerKey<typename decltype(span)::value_type>) {
        std::ranges::transform(span, numbers.begin() + static_cast<std::ptrdiff_t>(first),
                               [](auto number) { return static_cast<std::uint64_t>(number); });
      }
    });
  });
  return numbers;
}

py::object room_of(const py::object& capacity, const KeyBatch& keys) {
  return capacity.is_none() ? py::int_(std::max<std::size_t>(keys.size(), 1)) : capacity;
}

std::filesystem::path path_of(py::handle object) {
  PyObject* bytes = nullptr;
  if (in_python([&] { return PyUnicode_FSConverter(object.ptr(), &bytes); }) == 0) {
    throw py::error_already_set();
  }
  const auto path = py::reinterpret_steal<py::bytes>(bytes);
  return std::filesystem::path(static_cast<std::string>(path));
}

py::object path_as_text(std::string_view path) {
  return object_from([&] {
    return PyUnicode_DecodeFSDefaultAndSize(path.data(), static_cast<Py_ssize_t>(path.size()));
  });
}

Options options_of(py::handle capacity, const py::object& fpr, py::handle bits,
                   py::handle max_capacity, py::handle seed, py::handle load, bool turns_over,
                   bool may_fold, const py::object& shrink_below) {
  Options options;
  options.capacity = number_of(capacity, "capacity");
  if (!fpr.is_none()) {
    options.fpr = real_of(fpr, "fpr");
    // The library's 0 means that there is none.
    if (!(options.fpr > 0 && options.fpr < 1)) {
      throw std::invalid_argument("fpr is above 0 and below 1, or None");
    }
  }
  options.bits = small_of(bits, "bits");
  options.max_capacity = number_of(max_capacity, "max_capacity");
  options.seed = number_of(seed, "seed");
  options.load = real_of(load, "load");
  options.turns_over = turns_over;
  options.may_fold = may_fold;
  if (!shrink_below.is_none()) options.shrink_below = real_of(shrink_below, "shrink_below");
  return options;
}

namespace {

PyObject* outcome_class = nullptr;  // lives as long as the interpreter
static_assert(Outcome{1} == Outcome::stored && Outcome{2} == Outcome::present &&
                  Outcome{3} == Outcome::full && Outcome{4} == Outcome::too_many_copies,
              "as _renamed.py has them");

}  // namespace

void bind_outcome(py::module_& module) {
  const py::object made = py::module_::import("nestline._renamed").attr("Outcome");
  module.attr("Outcome") = made;
  outcome_class = made.inc_ref().ptr();
}

py::object Answers::one(Kind kind, std::uint8_t answer) {
  switch (kind) {
    case Kind::yes_or_no:
      return py::bool_(answer != 0);
    case Kind::numbers:
      return py::int_(answer);
    default:
      return py::handle(outcome_class)(answer);
  }
}

Answers::Answers(const KeyBatch& keys, const py::object& out, Kind kind) : array_(out) {
  const std::size_t width = kind == Kind::sets ? sizeof(std::uint64_t) : 1;
  if (out.is_none()) {
    const auto size = static_cast<py::ssize_t>(keys.size());
    array_ = kind == Kind::yes_or_no ? py::object(py::array_t<bool>(size))
             : kind == Kind::sets    ? py::object(py::array_t<std::uint64_t>(size))
                                     : py::object(py::array_t<std::uint8_t>(size));
  } else {
    (void)dimensions_of(out);  // throws for a masked one
    if (const std::string type = kind_of(out); !type.empty() && type != "b" && type != "u") {
      throw py::type_error("out is an array of " + type_of(out) + ", and answers are " +
                           (kind == Kind::sets ? "uint64" : "bool or uint8"));
    }
  }
  const Py_buffer& view =
      buffer_.emplace(array_, PyBUF_WRITABLE | PyBUF_FORMAT | PyBUF_STRIDES).view();
  const ItemType type = ItemType::of(view);
  const bool fits =
      kind == Kind::sets
          ? type.is_integer() && !type.is_signed() && !type.swapped && view.itemsize == 8
          : type.code == 'B' || (type.code == '?' && kind == Kind::yes_or_no);
  if (!fits) {
    throw py::type_error(kind == Kind::yes_or_no ? "out is an array of bool or uint8"
                         : kind == Kind::sets    ? "out is an array of uint64"
                                                 : "out is an array of uint8");
  }
  const std::size_t size = buffer_->bytes() / width;
  if (view.ndim != 1 || size != keys.size()) {
    throw std::invalid_argument("out has " + std::to_string(size) + " elements and there are " +
                                std::to_string(keys.size()) +
                                " keys: give an array of one dimension with one for each key");
  }
  if (view.strides != nullptr && view.strides[0] != view.itemsize && keys.size() > 1) {
    throw std::invalid_argument("the elements of out lie apart: give an array that is contiguous");
  }
  if (reinterpret_cast<std::uintptr_t>(view.buf) % width != 0) {
    throw std::invalid_argument("out is not at a multiple of 8 bytes: give another array");
  }
  if (keys.overlaps(view.buf, buffer_->bytes())) {
    throw std::invalid_argument("out and the keys are the same memory: give another array");
  }
  bytes_ = {static_cast<std::uint8_t*>(view.buf), buffer_->bytes()};
}

}}}  // namespace nestline::python
