// From a hash to its part of a logical filter (nestline/cluster.h), and so to a server.
//
// What decides a place inside the part are high bits of products of the hash (hash.h). This mixes
// the hash once more before it takes high bits, so the two are independent: a part is filled, and
// errs, as any filter of its size (tests/faces/cluster/parts_test.cc). Frozen: clients of different
// versions share logical filters.
#ifndef NESTLINE_LIB_ENGINE_PLACE_PARTS_H_
#define NESTLINE_LIB_ENGINE_PLACE_PARTS_H_

#include <cstdint>

#include "nestline/internal/home.h"

namespace nestline { inline namespace v0_3 {

inline constexpr std::uint64_t kPartMultiplier1 = 0x9c2b1f3d5e80a7c5u;
inline constexpr std::uint64_t kPartMultiplier2 = 0xd6a7e4f1b35c298bu;

// Below `parts`, which is at least 1.
NESTLINE_INLINE constexpr std::uint32_t part_of(std::uint64_t hash, std::uint32_t parts) {
  std::uint64_t x = hash ^ hash >> 32;
  x *= kPartMultiplier1;
  x ^= x >> 29;
  x *= kPartMultiplier2;
  return static_cast<std::uint32_t>(internal::multiply_high(x, parts));
}

}}  // namespace nestline

#endif  // NESTLINE_LIB_ENGINE_PLACE_PARTS_H_
