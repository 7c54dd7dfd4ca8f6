// Text of Python and NumPy, code points of 1, 2 or 4 bytes, as UTF-8.
#ifndef NESTLINE_LIB_FACES_PYTHON_UTF8_H_
#define NESTLINE_LIB_FACES_PYTHON_UTF8_H_

#include <cstddef>
#include <cstdint>

namespace nestline { inline namespace v0_3 { namespace python {

inline constexpr std::size_t kMaxUtf8 = 4;

// Whether UTF-8 has it: no surrogate, and not above the last code point.
constexpr bool is_scalar(std::uint32_t point) {
  return point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
}

// Returns the place after the code point. What UTF-8 does not have becomes some bytes too.
inline char* put_utf8(std::uint32_t point, char* to) {
  const auto put = [&](std::uint32_t byte) { *to++ = static_cast<char>(byte); };
  const auto more = [&](int shift) { put(0x80 | (point >> shift & 0x3f)); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xc0 | point >> 6);
    more(0);
  } else if (point < 0x10000) {
    put(0xe0 | point >> 12);
    more(6);
    more(0);
  } else {
    put(0xf0 | (point >> 18 & 0x07));
    more(12);
    more(6);
    more(0);
  }
  return to;
}

}}}  // namespace nestline::python

#endif  // NESTLINE_LIB_FACES_PYTHON_UTF8_H_
