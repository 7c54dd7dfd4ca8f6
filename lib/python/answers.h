// Where batches put their answers: an array that the caller gives as `out`, or a new one of NumPy.
#ifndef NESTLINE_LIB_PYTHON_ANSWERS_H_
#define NESTLINE_LIB_PYTHON_ANSWERS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "lib/python/buffer.h"
#include "lib/python/key_batch.h"

namespace nestline::python {

// One byte for each key. Made and destroyed with the interpreter's lock held.
class Answers {
 public:
  enum class Kind { yes_or_no, numbers };

  // `out` is None, or a writable array of bool or uint8 with one element for each key, which does
  // not overlap with the keys; throws TypeError and ValueError otherwise.
  Answers(const KeyBatch& keys, const py::object& out, Kind kind);

  [[nodiscard]] std::span<std::uint8_t> bytes() const { return bytes_; }
  // What the function of Python returns.
  [[nodiscard]] py::object array() const { return array_; }

 private:
  py::object array_;
  std::optional<Buffer> buffer_;
  std::span<std::uint8_t> bytes_;
};

}  // namespace nestline::python

#endif  // NESTLINE_LIB_PYTHON_ANSWERS_H_
