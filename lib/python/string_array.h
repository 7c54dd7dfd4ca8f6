// The class StringArray of the module: strings in two buffers, as Apache Arrow has them. String i
// is data[offsets[i]] .. data[offsets[i + 1]].
#ifndef NESTLINE_LIB_PYTHON_STRING_ARRAY_H_
#define NESTLINE_LIB_PYTHON_STRING_ARRAY_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string_view>

#include "lib/python/buffer.h"
#include "lib/python/busy.h"

namespace nestline::python {

class StringArray : public Zeroed {
 public:
  // Offsets of 32 or 64 bits, one more than there are strings, ascending and inside `data`. Throws
  // TypeError and ValueError.
  StringArray(py::handle offsets, py::handle data);

  [[nodiscard]] std::size_t size() const { return size_; }

  // Needs no interpreter's lock. The buffers may be writable and change after they were checked, so
  // each string is checked again: throws std::invalid_argument when it lies outside.
  [[nodiscard]] std::string_view string(std::size_t i) const {
    const std::uint64_t begin = offset(i), end = offset(i + 1);
    if (begin > end || end > data_.bytes()) {
      throw std::invalid_argument("the offsets of a StringArray were changed while it was in use");
    }
    return {data_.data() + begin, static_cast<std::size_t>(end - begin)};
  }

 private:
  // A negative offset becomes a large one, which is outside.
  [[nodiscard]] std::uint64_t offset(std::size_t i) const {
    return wide_ ? static_cast<std::uint64_t>(loaded<std::int64_t>(i))
                 : static_cast<std::uint64_t>(std::int64_t{loaded<std::int32_t>(i)});
  }
  template <typename T>
  [[nodiscard]] T loaded(std::size_t i) const {
    T value;
    std::memcpy(&value, offsets_.data() + i * sizeof(T), sizeof(T));
    return value;
  }

  Buffer offsets_, data_;
  bool wide_ = false;
  std::size_t size_ = 0;
};

}  // namespace nestline::python

#endif  // NESTLINE_LIB_PYTHON_STRING_ARRAY_H_
