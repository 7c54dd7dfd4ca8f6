// One key, as Python has it: an int, a str, bytes or the like, or a Hash. And what tells one key
// from many, which key_batch.h reads. A OneKey refers to the memory of its object and keeps it; it
// is made and destroyed with the interpreter's lock held.
#ifndef NESTLINE_LIB_FACES_PYTHON_ONE_KEY_H_
#define NESTLINE_LIB_FACES_PYTHON_ONE_KEY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "lib/faces/python/buffer.h"
#include "lib/faces/python/busy.h"
#include "nestline/keys.h"

namespace nestline { inline namespace v0_3 { namespace python {

struct Hashes : Zeroed {
  explicit Hashes(py::object given) : value(std::move(given)) {}
  py::object value;
};

// The value of a Hash. Throws ValueError for one that was never given any.
const py::object& hashes_in(py::handle object);
// An int as a 64-bit key: -1 is 2**64 - 1. Throws TypeError, and OverflowError above 64 bits.
std::uint64_t integer_of(py::handle object);
// Good as long as the object is there. Throws UnicodeEncodeError for a surrogate.
std::string_view utf8_of(py::handle object);
// The kind of an object's dtype, such as "i" and "b" of NumPy; empty if none. And it as text.
std::string kind_of(py::handle object);
std::string type_of(py::handle object);
// A bool of Python or NumPy, which has __index__ and __float__ too.
bool is_bool(py::handle object);
// The int of what has __index__. Throws its error, TypeError for the rest.
py::object index_of(py::handle object);
// By the object's own word; none of others. TypeError for a masked one: its mask would be lost.
std::optional<std::int64_t> dimensions_of(py::handle object);
// Whether it is one key: an integer, text, or memory that does not say that it is numbers, such as
// bytes, an mmap or a buffer of Arrow. What is neither one key nor many counts as many.
bool is_one_key(py::handle object);

class OneKey {
 public:
  explicit OneKey(py::handle object);
  OneKey& operator=(OneKey&&) = delete;
  // NOLINTNEXTLINE(google-explicit-constructor)
  operator Key() const { return key_; }

 private:
  std::optional<Buffer> bytes_;
  Key key_ = Hash{0};
};

class Bytes {
 public:
  Bytes(py::handle object, const char* what);
  Bytes& operator=(Bytes&&) = delete;
  // NOLINTNEXTLINE(google-explicit-constructor)
  operator std::string_view() const { return text_; }

 private:
  std::optional<Buffer> bytes_;
  std::string_view text_;
};

}}}  // namespace nestline::python

#endif  // NESTLINE_LIB_FACES_PYTHON_ONE_KEY_H_
