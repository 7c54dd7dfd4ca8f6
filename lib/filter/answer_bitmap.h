// The three shapes in which a batch's answers leave: bits, bytes, positions. Bits are what the
// kernels make; the other two are made from them here, 64 keys a word.
#ifndef NESTLINE_LIB_FILTER_ANSWER_BITMAP_H_
#define NESTLINE_LIB_FILTER_ANSWER_BITMAP_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace nestline {

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

}  // namespace nestline

#endif  // NESTLINE_LIB_FILTER_ANSWER_BITMAP_H_
