// Keys that lie in memory in another form than the library takes, converted a piece at a time. A
// source does not own the memory, and needs no interpreter's lock.
#ifndef NESTLINE_LIB_PYTHON_KEY_SOURCES_H_
#define NESTLINE_LIB_PYTHON_KEY_SOURCES_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "lib/python/key_batch.h"
#include "lib/python/string_array.h"

namespace nestline::python {

// An array's items: `bytes` apart, which may be negative.
struct Items {
  const char* begin;
  std::ptrdiff_t apart;

  [[nodiscard]] const char* at(std::size_t i) const {
    return begin + static_cast<std::ptrdiff_t>(i) * apart;
  }
};

// Integers of so many bytes. Throws TypeError for widths that no key has.
std::unique_ptr<KeySource> integer_source(std::size_t width, bool is_signed, Items items,
                                          bool swapped, bool hashes);

// NumPy's type S: `width` bytes each.
std::unique_ptr<KeySource> bytes_source(Items items, std::size_t width, std::uint64_t seed);

// NumPy's type U: `width` bytes each, of `size` strings. Throws std::invalid_argument, which names
// the string, for a code point that UTF-8 does not have.
std::unique_ptr<KeySource> text_source(Items items, std::size_t size, std::size_t width,
                                       bool swapped, std::uint64_t seed);

std::unique_ptr<KeySource> strings_source(const StringArray& strings, std::uint64_t seed);

}  // namespace nestline::python

#endif  // NESTLINE_LIB_PYTHON_KEY_SOURCES_H_
