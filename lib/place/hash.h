// Hashing, version 1: from a key to 64 bits, and from those bits to every part of a place.
//
// Every mixing constant of the library is in this file. The file format freezes all of it
// (docs/FORMAT.md, "Hash version 1"): a change needs a new kHashVersion, and
// tests/place/hash_test.cc pins it with vectors.
//
//   integer key --mix_integer(seed)--+
//   string key  --XXH3(seed)---------+--> 64-bit hash h
//   Hash        ---------------------+
//
//   base        = high 64 bits of h * base_blocks       (decided by the high bits of h)
//   fingerprint <- bits 0..15 of h, scaled onto its range, never 0
//   phase       <- bits 8..23 of h, scaled onto [0, R)
//
// Phase and fingerprint share bits 8..15 without harm: the fingerprint's low byte is decided by
// bits 8..15 and the phase by bits 20..23, each up to one part in 16. The lowest 24 bits decide the
// base only beyond 2^40 blocks, which no filter has, so the three are independent.
//
// (fingerprint, phase) alone determines the rotations, the spill class and the alternate block:
// what is stored is enough to move it. Rotations are 16-bit products scaled to [0, R), because that
// takes two instructions for a vector of 16-bit lanes. The rotation multipliers come from a search
// over 6000 random sets for the fewest pairs of fingerprints that share 3 or 4 of their 4 slots; in
// this set no two of the 255 8-bit fingerprints share all four.
#ifndef NESTLINE_LIB_PLACE_HASH_H_
#define NESTLINE_LIB_PLACE_HASH_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "nestline/keys.h"

namespace nestline {

inline constexpr std::uint32_t kHashVersion = 1;

// For the few functions in every lookup: they must be inlined into the kernel that uses them, so
// that they are compiled for its target.
#define NESTLINE_INLINE inline __attribute__((always_inline))

// High 64 bits of the 128-bit product.
NESTLINE_INLINE constexpr std::uint64_t multiply_high(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<Wide>(a) * b) >> 64);
}

// The integer mixer: a bijection of 64 bits in two multiply-xorshift rounds under two secrets. All
// shifts are by 32: vector code makes a 64-bit product of 32-bit halves anyway, so they are free.
// No input bit flips an output bit with a frequency outside 0.5 +- noise (hash_test measures it).
inline constexpr std::uint64_t kMixMultiplier1 = 0x3ff5c6bd6e2a43f1u;
inline constexpr std::uint64_t kMixMultiplier2 = 0xaa4deb21cc59b9f1u;

struct MixSecrets {
  std::uint64_t before;   // xor-ed to the key
  std::uint64_t between;  // added between the rounds
};

NESTLINE_INLINE constexpr std::uint64_t mix_integer(std::uint64_t key, const MixSecrets& secrets) {
  std::uint64_t h = key ^ secrets.before;
  h ^= h >> 32;
  h = h * kMixMultiplier1 + secrets.between;
  h ^= h >> 32;
  h *= kMixMultiplier2;
  return h ^ (h >> 32);
}

// The two secrets are two steps of the mixer itself, so that similar seeds give unrelated secrets.
inline constexpr MixSecrets derive_secrets(std::uint64_t seed) {
  const std::uint64_t first = mix_integer(seed, {kMixMultiplier2, kMixMultiplier1});
  return {first, mix_integer(first + seed, {kMixMultiplier1, kMixMultiplier2})};
}

// XXH3-64 of the bytes under the seed.
std::uint64_t hash_bytes(std::string_view bytes, std::uint64_t seed) noexcept;

// The hash of a key of any kind, under a seed and the secrets derived from it. A signed integer is
// extended by its sign, as nestline::Key does.
template <IntegerKey Integer>
NESTLINE_INLINE constexpr std::uint64_t hash_key(Integer key, const MixSecrets& secrets,
                                                 std::uint64_t) {
  return mix_integer(static_cast<std::uint64_t>(key), secrets);
}
inline std::uint64_t hash_key(std::string_view key, const MixSecrets&,
                              std::uint64_t seed) noexcept {
  return hash_bytes(key, seed);
}
inline std::uint64_t hash_key(Hash key, const MixSecrets&, std::uint64_t) noexcept {
  return key.value;
}

// XXH3-64 without a seed, for the checksums of files.
std::uint64_t checksum_bytes(const void* bytes, std::size_t size) noexcept;

// `x` in [0, 2^16) scaled onto [0, range): the high half of a 16-bit product.
NESTLINE_INLINE constexpr std::uint32_t scale16(std::uint32_t x, std::uint32_t range) {
  return (x * range) >> 16;
}

// Rotation of lane j for a fingerprint: scale16(low 16 bits of f * kRotationMultiplier[j], R).
// Lane 0 is not rotated: only differences between lanes matter.
inline constexpr std::array<std::uint16_t, 5> kRotationMultiplier = {0, 0xddc9, 0x6063, 0x874b,
                                                                     0xa925};

NESTLINE_INLINE constexpr std::uint32_t rotation(std::uint32_t fingerprint, std::size_t lane,
                                                 std::uint32_t slots_per_lane) {
  return scale16((fingerprint * kRotationMultiplier[lane]) & 0xffff, slots_per_lane);
}

// Spill class, 0 to 254: a 16-bit mix of fingerprint and phase, scaled.
inline constexpr std::uint16_t kClassFingerprintMultiplier = 0xb54d;
inline constexpr std::uint16_t kClassPhaseMultiplier = 0x9e37;
inline constexpr std::uint32_t kSpillClasses = 255;

NESTLINE_INLINE constexpr std::uint32_t spill_class(std::uint32_t fingerprint,
                                                    std::uint32_t phase) {
  const std::uint32_t mixed =
      fingerprint * kClassFingerprintMultiplier + phase * kClassPhaseMultiplier;
  return scale16(mixed & 0xffff, kSpillClasses);
}

// A 64-bit hash of (fingerprint, phase): home and alternate add up to it, scaled onto the bases.
inline constexpr std::uint64_t kPairMultiplier1 = 0x93f632e505cee36fu;
inline constexpr std::uint64_t kPairMultiplier2 = 0x5494fc2a78752677u;

NESTLINE_INLINE constexpr std::uint64_t pair_hash(std::uint32_t fingerprint, std::uint32_t phase) {
  std::uint64_t x = (std::uint64_t{fingerprint} << 4 | phase) * kPairMultiplier1;
  x ^= x >> 32;
  return x * kPairMultiplier2;
}

}  // namespace nestline

#endif  // NESTLINE_LIB_PLACE_HASH_H_
