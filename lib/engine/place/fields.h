// The numbers of a format, described once for writing and for reading:
//
//   constexpr auto kHead = [](auto& at, auto& head) {
//     at(0, 8, kMagic);
//     at(8, 4, head.parts, head.bits);
//     at(16, 8, head.seed, head.rate);
//   };
//   put_fields(bytes, kHead, head);
//   if (!get_fields(bytes, kHead, head)) ...
//
// at(): where the first of some variables is, and how many bytes each of them has; a double is its
// bits. Reading refuses a number that the variable cannot hold, and any but that of a constant.
// Bytes between fields are left alone. All fields must lie inside the bytes.
#ifndef NESTLINE_LIB_ENGINE_PLACE_FIELDS_H_
#define NESTLINE_LIB_ENGINE_PLACE_FIELDS_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

namespace nestline { inline namespace v0_3 {

inline constexpr std::uint64_t kNoBits = 0;  // of a field that is 0

template <typename Value>
std::uint64_t as_bits(const Value& value) {
  if constexpr (std::is_same_v<Value, double>) return std::bit_cast<std::uint64_t>(value);
  return static_cast<std::uint64_t>(value);
}

template <typename Fields, typename Values>
void put_fields(std::span<std::byte> to, const Fields& fields, const Values& values) {
  const auto put_bits = [&](std::size_t at, std::size_t length, std::uint64_t bits) {
    for (std::size_t i = 0; i < length; ++i) to[at + i] = static_cast<std::byte>(bits >> 8 * i);
  };
  const auto put_all = [&](std::size_t at, std::size_t length, const auto&... variables) {
    (put_bits(std::exchange(at, at + length), length, as_bits(variables)), ...);
  };
  fields(put_all, values);
}

template <typename Fields, typename Values>
bool get_fields(std::span<const std::byte> from, const Fields& fields, Values& values) {
  bool fit = true;
  const auto get_one = [&]<typename Value>(std::size_t at, std::size_t length, Value& variable) {
    std::uint64_t bits = 0;
    for (std::size_t i = length; i-- > 0;)
      bits = bits << 8 | std::to_integer<unsigned>(from[at + i]);
    if constexpr (std::is_same_v<Value, double>) {
      variable = std::bit_cast<double>(bits);
    } else if constexpr (!std::is_const_v<Value>) {
      variable = static_cast<Value>(bits);
    }
    fit = fit && as_bits(variable) == bits;
  };
  const auto get_all = [&](std::size_t at, std::size_t length, auto&... variables) {
    (get_one(std::exchange(at, at + length), length, variables), ...);
  };
  fields(get_all, values);
  return fit;
}

}}  // namespace nestline

#endif  // NESTLINE_LIB_ENGINE_PLACE_FIELDS_H_
