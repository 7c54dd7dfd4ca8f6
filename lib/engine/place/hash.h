// Hashing, versions 2 and 3: from a key to 64 bits, and from those bits to every part of a place.
//
// Every mixing constant of a place is in this file or, for what callers inline, in
// nestline/internal/home.h and buckets.h; those that divide keys among parts are in parts.h. The
// file format freezes all of it (docs/FORMAT.md, "Hash version 2"): a change needs a new
// kHashVersion, and tests/engine/place/hash_test.cc pins it with vectors.
//
//   integer key --mix_integer(seed)--+
//   string key  --XXH3(seed)---------+--> 64-bit hash h
//   Hash        ---------------------+
//
//   h * base_blocks, 128 bits:   | base: the high 64 bits | rest: the next 32 bits | unused |
//   rest:                        | fingerprint: the high 8 to 16 bits, low byte never 0     |
//                                | bucket offset: the 16 bits below, scaled onto [0, R) |
//
// The rest is where in its base's share of all hashes h is, so it is independent of the base, and
// the highest bits of h decide both: the lowest ones need not be mixed. Up to 2^32 bases 32 bits of
// h are left for the rest, and at the limit of 2^40 24, which the fingerprint uses first. A low
// byte of 0 becomes 1, so 1 is twice as frequent: that raises the false-positive rate by 0.4 % of
// itself.
//
// (fingerprint, bucket offset) alone determines the rotations, the eviction rank and the alternate
// block: what is stored is enough to move it. Rotations are 16-bit products scaled to [0, R): two
// instructions for a vector. Their multipliers come from a search over 6000 random sets for the
// fewest pairs of fingerprints that share 3 or 4 of their 4 slots; in this set no two of the 255
// 8-bit fingerprints share all four, of the 510 of 9 bits two do, and 92 pairs of the 1020 of 10
// bits (by chance 59 and 301 pairs would).
//
// The eviction rank is the fingerprint's low byte less 1: the fingerprint that leaves a full block
// is found by one minimum over its bytes, and a lookup compares the low byte with the mark.
#ifndef NESTLINE_LIB_ENGINE_PLACE_HASH_H_
#define NESTLINE_LIB_ENGINE_PLACE_HASH_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "nestline/internal/buckets.h"

namespace nestline { inline namespace v0_3 {

using internal::KeyHasher;
using internal::kMixMultiplier1;
using internal::kMixMultiplier2;
using internal::kMixShift;
using internal::kRotationMultiplier;
using internal::mix_integer;
using internal::MixSecrets;
using internal::multiply_high;
using internal::rotation;
using internal::scale16;
using internal::Wide;

inline constexpr std::uint32_t kHashVersion = 2;
inline constexpr std::uint32_t kOlderLanesHashVersion = 3;  // the same but for alternates
inline constexpr std::uint32_t kGuestLanesHashVersion = 4;  // as 3, by other rules (lanes.h)

// The two secrets are two steps of the mixer itself, so that similar seeds give unrelated secrets.
inline constexpr MixSecrets derive_secrets(std::uint64_t seed) {
  const std::uint64_t first = mix_integer(seed, {kMixMultiplier2, kMixMultiplier1});
  return {first, mix_integer(first + seed, {kMixMultiplier1, kMixMultiplier2}) | 1};
}

// XXH3-64 of the bytes under the seed.
std::uint64_t hash_bytes(std::string_view bytes, std::uint64_t seed) noexcept;
// What hashes the keys of filters with this seed.
inline KeyHasher hasher_of(std::uint64_t seed) { return {seed, derive_secrets(seed)}; }
// XXH3-64 without a seed, for the checksums of files.
std::uint64_t checksum_bytes(const void* bytes, std::size_t size) noexcept;

// Eviction rank, 0 to 254. A mark of m covers the low bytes up to m.
inline constexpr std::uint32_t kEvictionRanks = 255;

NESTLINE_INLINE constexpr std::uint32_t eviction_rank(std::uint32_t fingerprint) {
  return (fingerprint & 0xff) - 1;
}

// A 64-bit hash of (fingerprint, bucket offset), or from version 3 on of the class alone, the
// fingerprint's low byte: home and alternate add up to it, scaled onto the bases.
inline constexpr std::uint64_t kPairMultiplier1 = 0x93f632e505cee36fu;
inline constexpr std::uint64_t kPairMultiplier2 = 0x5494fc2a78752677u;

// The bits of (fingerprint << 4 | bucket offset) that count.
NESTLINE_INLINE constexpr std::uint64_t pair_mask(internal::Placement placement) {
  return placement == internal::Placement::anywhere ? ~std::uint64_t{0} : 0xff0;
}
NESTLINE_INLINE constexpr std::uint64_t pair_hash(std::uint32_t fingerprint,
                                                  std::uint32_t bucket_offset,
                                                  internal::Placement placement) {
  std::uint64_t x = std::uint64_t{fingerprint} << 4 | bucket_offset;
  x = (x & pair_mask(placement)) * kPairMultiplier1;
  x ^= x >> 32;
  return x * kPairMultiplier2;
}

}}  // namespace nestline

#endif  // NESTLINE_LIB_ENGINE_PLACE_HASH_H_
