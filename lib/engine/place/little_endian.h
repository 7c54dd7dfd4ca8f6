// Numbers as bytes, lowest byte first on every machine, as all our formats store them.
#ifndef NESTLINE_LIB_ENGINE_PLACE_LITTLE_ENDIAN_H_
#define NESTLINE_LIB_ENGINE_PLACE_LITTLE_ENDIAN_H_

#include <bit>
#include <cstddef>
#include <cstring>
#include <span>

namespace nestline { inline namespace v0_3 {

// The number at byte `at`; all its bytes must lie inside.
template <typename Number>
Number get(std::span<const std::byte> bytes, std::size_t at) {
  Number number = 0;
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(&number, bytes.subspan(at, sizeof number).data(), sizeof number);
  } else {
    for (std::size_t i = 0; i < sizeof number; ++i) {
      number |= static_cast<Number>(std::to_integer<Number>(bytes[at + i]) << (8 * i));
    }
  }
  return number;
}

// The numbers that `bytes` consists of.
template <typename Number>
void get_all(std::span<const std::byte> bytes, std::span<Number> numbers) {
  if constexpr (std::endian::native == std::endian::little) {
    if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), numbers.size_bytes());
  } else {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = get<Number>(bytes, i * sizeof(Number));
    }
  }
}

template <typename Number>
void put(std::span<std::byte> bytes, std::size_t at, Number number) {
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(bytes.subspan(at, sizeof number).data(), &number, sizeof number);
  } else {
    for (std::size_t i = 0; i < sizeof number; ++i) {
      bytes[at + i] = static_cast<std::byte>(number >> (8 * i) & 0xff);
    }
  }
}

// Whether all are 0: the first is, and each equals the one before it.
inline bool is_zero(std::span<const std::byte> bytes) noexcept {
  return bytes.empty() || (bytes[0] == std::byte{0} &&
                           std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

}}  // namespace nestline

#endif  // NESTLINE_LIB_ENGINE_PLACE_LITTLE_ENDIAN_H_
