// Memory of a Python object: it stays in place while the Buffer is there, also without the lock.
#ifndef NESTLINE_LIB_FACES_PYTHON_BUFFER_H_
#define NESTLINE_LIB_FACES_PYTHON_BUFFER_H_

#include <bit>
#include <cstddef>
#include <string_view>
#include <utility>

#include "lib/faces/python/released.h"

namespace nestline { inline namespace v0_3 { namespace python {

namespace py = pybind11;

// Made, moved and destroyed with the interpreter's lock held.
class Buffer {
 public:
  // `flags` as for PyObject_GetBuffer. Throws Python's error.
  Buffer(py::handle object, int flags) {
    if (in_python([&] { return PyObject_GetBuffer(object.ptr(), &view_, flags); }) != 0) {
      throw py::error_already_set();
    }
  }
  Buffer(Buffer&& other) noexcept : view_(std::exchange(other.view_, Py_buffer{})) {}
  Buffer& operator=(Buffer&&) = delete;
  ~Buffer() {
    in_python([&] { PyBuffer_Release(&view_); });  // does nothing if there is no object
  }

  [[nodiscard]] const Py_buffer& view() const { return view_; }
  [[nodiscard]] char* data() const { return static_cast<char*>(view_.buf); }
  [[nodiscard]] std::size_t bytes() const { return static_cast<std::size_t>(view_.len); }
  [[nodiscard]] std::string_view text() const { return {data(), bytes()}; }

 private:
  Py_buffer view_{};
};

// The type of the items of a buffer, from its format: "<q", "5s" and so on.
struct ItemType {
  char code = 0;         // 0: not a simple type
  bool swapped = false;  // whether the bytes are in the other order than this machine's

  static ItemType of(const Py_buffer& view) {
    std::string_view format = view.format == nullptr ? "B" : view.format;
    ItemType type;
    if (!format.empty() && std::string_view("@=<>!").find(format[0]) != std::string_view::npos) {
      const bool big = format[0] == '>' || format[0] == '!';
      const bool little = format[0] == '<';
      type.swapped = std::endian::native == std::endian::little ? big : little;
      format.remove_prefix(1);
    }
    while (format.size() > 1 && format[0] >= '0' && format[0] <= '9') {
      if (format.back() != 's' && format.back() != 'w') return {};
      format.remove_prefix(1);
    }
    if (format.size() != 1) return {};
    type.code = format[0];
    return type;
  }

  [[nodiscard]] bool is_signed() const { return in("bhilqn"); }
  [[nodiscard]] bool is_integer() const { return is_signed() || in("BHILQN"); }

 private:
  [[nodiscard]] bool in(std::string_view codes) const {
    return codes.find(code) != std::string_view::npos;
  }
};

}}}  // namespace nestline::python

#endif  // NESTLINE_LIB_FACES_PYTHON_BUFFER_H_
