// The three forms of a batch's answers: bits, bytes, positions. The kernels produce bits; this file
// makes the other two from them, 64 keys per word.
#ifndef NESTLINE_LIB_FILTER_ANSWER_BITMAP_H_
#define NESTLINE_LIB_FILTER_ANSWER_BITMAP_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace nestline {

// Words that hold the bits of `keys` keys.
constexpr std::size_t bitmap_words(std::size_t keys) { return keys / 64 + (keys % 64 != 0); }

// Writes `count` (at most 64) bytes, 1 or 0, for the lowest bits of a word.
inline void bits_to_bytes(std::uint64_t bits, std::size_t count, std::uint8_t* bytes) {
  for (std::size_t i = 0; i < count; i += 8, bits >>= 8) {
    // Each byte gets the eight bits and keeps its own; then non-zero becomes 1.
    const std::uint64_t own = ((bits & 0xff) * 0x0101010101010101u) & 0x8040201008040201u;
    std::uint64_t ones = ((own + 0x7f7f7f7f7f7f7f7fu) >> 7) & 0x0101010101010101u;
    if constexpr (std::endian::native == std::endian::big) ones = __builtin_bswap64(ones);
    std::memcpy(bytes + i, &ones, std::min<std::size_t>(8, count - i));
  }
}

// Calls `visit` with first + i for every bit i that is set, ascending.
template <typename Visit>
void for_each_bit(std::uint64_t bits, std::size_t first, Visit&& visit) {
  for (; bits != 0; bits &= bits - 1) {
    visit(first + static_cast<std::size_t>(std::countr_zero(bits)));
  }
}

// How many of the bits are set.
inline std::size_t count_bits(const std::uint64_t* bitmap, std::size_t keys) {
  std::size_t total = 0;
  for (std::size_t word = 0; word < bitmap_words(keys); ++word) {
    total += static_cast<std::size_t>(std::popcount(bitmap[word]));
  }
  return total;
}

// Writes a byte, 1 or 0, for each key; returns how many are 1.
inline std::size_t bitmap_to_bytes(const std::uint64_t* bitmap, std::size_t keys,
                                   std::uint8_t* bytes) {
  std::size_t total = 0;
  for (std::size_t first = 0; first < keys; first += 64) {
    const std::uint64_t bits = bitmap[first / 64];
    bits_to_bytes(bits, std::min<std::size_t>(64, keys - first), bytes + first);
    total += static_cast<std::size_t>(std::popcount(bits));
  }
  return total;
}

// Writes position_of(i) for each key i whose bit is set, ascending; returns how many. It never
// writes more positions than it has looked at, so they may overwrite what position_of reads.
template <typename PositionOf>
std::size_t bitmap_to_positions(const std::uint64_t* bitmap, std::size_t keys,
                                std::uint32_t* positions, PositionOf&& position_of) {
  std::size_t total = 0;
  for (std::size_t first = 0; first < keys; first += 64) {
    for_each_bit(bitmap[first / 64], first, [&](std::size_t i) {
      positions[total++] = static_cast<std::uint32_t>(position_of(i));
    });
  }
  return total;
}

}  // namespace nestline

#endif  // NESTLINE_LIB_FILTER_ANSWER_BITMAP_H_
