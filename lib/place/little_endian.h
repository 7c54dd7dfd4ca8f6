// Numbers as bytes, lowest byte first on every machine, as all our formats store them.
#ifndef NESTLINE_LIB_PLACE_LITTLE_ENDIAN_H_
#define NESTLINE_LIB_PLACE_LITTLE_ENDIAN_H_

#include <cstddef>
#include <span>

namespace nestline {

// The number at byte `at`; all its bytes must lie inside.
template <typename Number>
Number get(std::span<const std::byte> bytes, std::size_t at) {
  Number number = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    number |= static_cast<Number>(std::to_integer<Number>(bytes[at + i]) << (8 * i));
  }
  return number;
}

template <typename Number>
void put(std::span<std::byte> bytes, std::size_t at, Number number) {
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    bytes[at + i] = static_cast<std::byte>(number >> (8 * i) & 0xff);
  }
}

}  // namespace nestline

#endif  // NESTLINE_LIB_PLACE_LITTLE_ENDIAN_H_
