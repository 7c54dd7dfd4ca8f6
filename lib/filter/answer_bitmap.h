// The answers of a batch as bits, 64 keys per word. The kernels make them, and turn them into bytes
// and positions.
#ifndef NESTLINE_LIB_FILTER_ANSWER_BITMAP_H_
#define NESTLINE_LIB_FILTER_ANSWER_BITMAP_H_

#include <bit>
#include <cstddef>
#include <cstdint>

namespace nestline {

// Words that hold the bits of `keys` keys.
constexpr std::size_t bitmap_words(std::size_t keys) { return keys / 64 + (keys % 64 != 0); }

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

}  // namespace nestline

#endif  // NESTLINE_LIB_FILTER_ANSWER_BITMAP_H_
