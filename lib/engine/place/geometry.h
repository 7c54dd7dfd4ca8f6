// From a hash to its place: block, fingerprint and bucket offset; and the block's alternate.
//
// Of base_blocks * 2^growth blocks, block = base * 2^growth + child: the base from the hash, the
// child from the highest `growth` bits of the fingerprint. So when the filter doubles, block b
// splits into 2b and 2b + 1 by the fingerprints' next bit; no key is hashed again. The alternate of
// a base is (H - base) mod base_blocks, with H from (fingerprint, bucket offset) or, with guest
// lanes, from the class (lanes.h): its own inverse for any number of bases; the child stays the
// same. A key whose alternate is the block itself has none.
#ifndef NESTLINE_LIB_ENGINE_PLACE_GEOMETRY_H_
#define NESTLINE_LIB_ENGINE_PLACE_GEOMETRY_H_

#include <cstdint>

#include "lib/engine/place/lanes.h"

namespace nestline { inline namespace v0_3 {

using internal::BlocksView;
using internal::Geometry;
using internal::Home;
using internal::home_block_of;
using internal::Placement;

// 64 TiB of blocks: the bases are uniform up to here (hash.h), and sizes in bytes fit 64 bits.
inline constexpr std::uint64_t kMaxBlocks = std::uint64_t{1} << 40;

// How often a filter may double: 4 bits of each fingerprint must remain, and none has deaths.
constexpr std::uint32_t max_growth(int bits) {
  return is_expiring(bits) ? 0 : static_cast<std::uint32_t>(fingerprint_bits(bits)) - 4;
}

// Where a key may be: its home, unless said otherwise, and its bucket there as slot bits.
struct Place {
  std::uint64_t block;
  std::uint64_t bucket;
  std::uint32_t fingerprint;
  std::uint32_t bucket_offset;
};

template <class L>
NESTLINE_INLINE Place home_of(const Geometry& geometry, std::uint64_t hash) {
  const auto [block, rest] = home_block_of(geometry, hash);
  const std::uint32_t fingerprint = L::fingerprint_of(rest);
  const std::uint32_t bucket_offset = L::bucket_offset_of(rest);
  return {block, L::bucket(fingerprint, bucket_offset), fingerprint, bucket_offset};
}

// The same for a layout that is no constant, and a bucket of it: behind calls, or each source that
// asks would have the tables of all layouts, 45 KB.
Place home_of(int bits, const Geometry& geometry, std::uint64_t hash) noexcept;
std::uint64_t bucket_of(int bits, std::uint32_t fingerprint, std::uint32_t bucket_offset) noexcept;

// The other block of a fingerprint of `place.block`; that block itself if there is no other.
NESTLINE_INLINE std::uint64_t alternate_of(const Geometry& geometry, const Place& place) {
  const std::uint64_t base = place.block >> geometry.growth;
  const std::uint64_t sum = multiply_high(
      pair_hash(place.fingerprint, place.bucket_offset, geometry.placement), geometry.base_blocks);
  const std::uint64_t other = sum >= base ? sum - base : sum + geometry.base_blocks - base;
  return other << geometry.growth | (place.block - (base << geometry.growth));
}

// The hash version that a placement is known by in files.
constexpr std::uint32_t hash_version(Placement placement) {
  return kHashVersion + (placement == Placement::anywhere      ? 0
                         : placement == Placement::older_lanes ? 1
                                                               : 2);
}
inline bool has_guest_lanes(const Geometry& geometry) {
  return geometry.placement == Placement::guest_lanes;
}
NESTLINE_INLINE BlockClasses block_classes(int bits, const Geometry& geometry,
                                           std::uint64_t number) {
  if (!has_guest_lanes(geometry)) return {};
  const std::uint32_t high_bits = static_cast<std::uint32_t>(bits) - 8;
  if (geometry.growth <= high_bits) return {kClassRanges.data()};
  const std::uint32_t children = 1u << (geometry.growth - high_bits);
  return {&kClassRanges[children - 1 + (static_cast<std::uint32_t>(number) & (children - 1))]};
}
template <class L>
NESTLINE_INLINE BlockClasses block_classes(const Geometry& geometry, std::uint64_t number) {
  if constexpr (!L::kHasGuestLanes) return {};
  return block_classes(L::kBits, geometry, number);
}
// As what a native comes to a block of such a filter.
inline Residence native_of(const Geometry& geometry) {
  return has_guest_lanes(geometry) ? Residence::native : Residence::anywhere;
}

// The same fingerprint in its other block.
inline Place moved(const Geometry& geometry, Place place) {
  place.block = alternate_of(geometry, place);
  return place;
}

// Whether a key may be in its alternate, by home's mark; sets `away` if the mark covers it.
inline bool may_be_away(const Geometry& geometry, std::uint32_t mark, const Place& home,
                        Place& away) {
  if (eviction_rank(home.fingerprint) >= mark) return false;
  away = moved(geometry, home);
  return away.block != home.block;
}

}}  // namespace nestline

#endif  // NESTLINE_LIB_ENGINE_PLACE_GEOMETRY_H_
