// What callers that inline lookups need of the block; lib/place/layout.h has the rest of it. Not
// for direct use.
#ifndef NESTLINE_INTERNAL_BLOCK_H_
#define NESTLINE_INTERNAL_BLOCK_H_

#include <cstddef>
#include <cstdint>

namespace nestline::inline v0_2::internal {

inline constexpr std::size_t kBlockBytes = 64;
inline constexpr std::size_t kMarkByte = 60;
// The header word's parts, in a header as Block returns it.
inline constexpr std::uint32_t kHeaderMark = 0xff;
inline constexpr std::uint32_t kHeaderLock = 1u << 8;
inline constexpr std::uint32_t kHeaderVersion = 1u << 9;  // one step; the highest bits wrap

}  // namespace nestline::inline v0_2::internal

#endif  // NESTLINE_INTERNAL_BLOCK_H_
