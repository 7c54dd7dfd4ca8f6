// From a key to its hash and its home block: the part of a lookup that callers inline. Not for
// direct use.
//
// lib/engine/place/hash.h has the design, and the rest of it.
#ifndef NESTLINE_INTERNAL_HOME_H_
#define NESTLINE_INTERNAL_HOME_H_

#include <cstdint>
#include <type_traits>

#include "nestline/keys.h"

namespace nestline { inline namespace v0_3 { namespace internal {

struct Block;

__extension__ using Wide = unsigned __int128;

// High 64 bits of the 128-bit product.
NESTLINE_INLINE constexpr std::uint64_t multiply_high(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint64_t>((static_cast<Wide>(a) * b) >> 64);
}

// The integer mixer: two products with the high bits folded down before each. Its highest bits,
// which alone decide a place, depend on every bit of the key; a third fold would mix the lowest
// bits too, which nothing reads. The first shift is not 32, so that keys of two equal halves do not
// cancel themselves out. key_families_test measures progressions, pairs, floating-point numbers and
// text. (Folding the halves of a single product of 128 bits leaves progressions in progression:
// filters of such keys answered wrong up to 8 times as often as they should.)
inline constexpr std::uint64_t kMixMultiplier1 = 0x3ff5c6bd6e2a43f1u;
inline constexpr std::uint64_t kMixMultiplier2 = 0xaa4deb21cc59b9f1u;
inline constexpr int kMixShift = 29;

struct MixSecrets {
  std::uint64_t before;      // xor-ed to the key
  std::uint64_t multiplier;  // odd
};

NESTLINE_INLINE constexpr std::uint64_t mix_integer(std::uint64_t key, const MixSecrets& secrets) {
  std::uint64_t h = key ^ secrets.before;
  h ^= h >> kMixShift;
  h *= secrets.multiplier;
  h ^= h >> 32;
  return h * kMixMultiplier2;
}

// Hashes the keys of filters with one seed; the secrets are derived from it.
class KeyHasher {
 public:
  NESTLINE_HERE KeyHasher(std::uint64_t seed, const MixSecrets& secrets) noexcept
      : seed_(seed), secrets_(secrets) {}

  [[nodiscard]] NESTLINE_HERE Hash operator()(Key key) const noexcept {
    return key.visit([this](auto one) {
      if constexpr (std::is_same_v<decltype(one), std::uint64_t>) {
        return Hash{mix_integer(one, secrets_)};
      } else {
        return hash_key(one, seed_);
      }
    });
  }

 private:
  std::uint64_t seed_;
  MixSecrets secrets_;
};

// How keys are placed in blocks. guest_lanes: lib/engine/place/lanes.h; older_lanes: the same by
// the rules of hash version 3, only while a file is mapped or loaded. anywhere: by the rule of
// filters made before there were guest lanes, of maplets and of expiring filters.
enum class Placement : std::uint32_t { anywhere, guest_lanes, older_lanes };

// A filter has base_blocks * 2^growth blocks (lib/engine/place/geometry.h).
struct Geometry {
  std::uint64_t base_blocks = 1;
  std::uint32_t growth = 0;
  Placement placement = Placement::anywhere;

  [[nodiscard]] NESTLINE_HERE std::uint64_t blocks() const { return base_blocks << growth; }
};

// A hash's home block, and the 32 bits below the base from which its fingerprint and bucket offset
// come.
struct Home {
  std::uint64_t block;
  std::uint32_t rest;
};
NESTLINE_INLINE Home home_block_of(const Geometry& geometry, std::uint64_t hash) {
  const Wide product = static_cast<Wide>(hash) * geometry.base_blocks;
  const auto rest = static_cast<std::uint32_t>(static_cast<std::uint64_t>(product) >> 32);
  auto block = static_cast<std::uint64_t>(product >> 64);
  if (geometry.growth != 0) block = block << geometry.growth | rest >> (32 - geometry.growth);
  return {block, rest};
}

// What a lookup needs to know of a filter.
struct BlocksView {
  const Block* blocks;
  Geometry geometry;
  MixSecrets secrets;  // for integer keys
  // For lookups in the caller's code: the number of the layout, and its table of buckets.
  int layout = 0;
  const void* buckets = nullptr;
};

}}}  // namespace nestline::internal

#endif  // NESTLINE_INTERNAL_HOME_H_
