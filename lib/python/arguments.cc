// Reads arguments, with sentences for what is wrong with them.
#include "lib/python/arguments.h"

namespace nestline::python {

std::uint64_t number_of(py::handle object, const char* name) {
  const auto index = py::reinterpret_steal<py::object>(PyNumber_Index(object.ptr()));
  if (!index) throw py::error_already_set();
  const unsigned long long number = PyLong_AsUnsignedLongLong(index.ptr());
  if (number == static_cast<unsigned long long>(-1) && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    PyErr_Format(PyExc_OverflowError, "%s is from 0 to 2**64 - 1, not %S", name, index.ptr());
    throw py::error_already_set();
  }
  return number;
}

std::filesystem::path path_of(py::handle object) {
  PyObject* bytes = nullptr;
  if (PyUnicode_FSConverter(object.ptr(), &bytes) == 0) throw py::error_already_set();
  const auto path = py::reinterpret_steal<py::bytes>(bytes);
  return std::filesystem::path(static_cast<std::string>(path));
}

Options options_of(py::handle capacity, const py::object& fpr, int bits, py::handle max_capacity,
                   py::handle seed, double load) {
  Options options;
  options.capacity = number_of(capacity, "capacity");
  if (!fpr.is_none()) {
    options.fpr = fpr.cast<double>();
    // The library's 0 means that there is none.
    if (options.fpr == 0) throw std::invalid_argument("fpr is above 0 and below 1, or None");
  }
  options.bits = bits;
  options.max_capacity = number_of(max_capacity, "max_capacity");
  options.seed = number_of(seed, "seed");
  options.load = load;
  return options;
}

}  // namespace nestline::python
