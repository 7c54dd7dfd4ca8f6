// The rules of guest lanes (lib/engine/place/lanes.h), checked in every block against the keys that
// are stored, and keys that are made to meet.
//
// Keys with equal fingerprint and bucket offset and homes in the same two blocks are alike: no slot
// tells which of them it holds. But a slot of a block that is not open for their class tells
// whether it holds a native or a guest. So for two partners A and B, with x keys at home in A and y
// in B, and copies that are natives, guests or unknown:
//   x + y = all copies,  x >= natives of A + guests of B,  y >= natives of B + guests of A
// with equality where nothing is unknown; and who is away is covered by home's mark.
#ifndef NESTLINE_TESTS_SUPPORT_LANE_RULES_H_
#define NESTLINE_TESTS_SUPPORT_LANE_RULES_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/engine/place/geometry.h"
#include "lib/engine/place/lanes.h"
#include "lib/engine/place/layout.h"
#include "lib/filters/filter/blocks.h"
#include "nestline/filter.h"

namespace nestline::test {

// What the blocks say of keys that are alike.
struct AlikeKeys {
  struct Side {
    std::uint32_t keys = 0;     // stored, with their home here
    std::uint32_t natives = 0;  // slots
    std::uint32_t guests = 0;
    std::uint32_t unknown = 0;
    bool covered = false;  // by this block's mark
  };
  std::array<Side, 2> sides;
  bool alone = false;  // both blocks are one

  [[nodiscard]] bool right() const {
    const auto& [a, b] = sides;
    if (alone) return a.guests == 0 && a.keys == a.natives + a.unknown;
    if (a.keys + b.keys != a.natives + a.guests + a.unknown + b.natives + b.guests + b.unknown) {
      return false;
    }
    return may_have(a, b) && may_have(b, a);
  }
  // Whether the keys of `home` can be where the slots say.
  static bool may_have(const Side& home, const Side& away) {
    if (home.keys < home.natives + away.guests) return false;
    return home.covered ||
           (away.guests == 0 && home.keys - home.natives - away.guests <= home.unknown);
  }
};

// Returns what is wrong, or nothing.
template <class L>
std::string broken_lane_rule(const BlocksView& view, const std::vector<std::uint64_t>& stored) {
  const Geometry& geometry = view.geometry;
  enum What : std::uint64_t { kKey, kNative, kGuest, kUnknown };
  // The lower block of each, its fingerprint and bucket offset, then which side and what: so alike
  // keys follow each other.
  std::vector<std::uint64_t> all;
  all.reserve(2 * stored.size());
  const auto add = [&](const Place& place, What what) {
    const std::uint64_t low = std::min(place.block, alternate_of(geometry, place));
    all.push_back(low << 24 | std::uint64_t{place.bucket_offset} << 20 |
                  std::uint64_t{place.fingerprint} << 4 | std::uint64_t{place.block != low} << 2 |
                  what);
  };
  for (const std::uint64_t hash : stored) add(home_of<L>(geometry, hash), kKey);
  for (std::uint64_t b = 0; b < geometry.blocks(); ++b) {
    const Block& block = view.blocks[b];
    if ((block.header() & kHeaderLock) != 0) return "block " + std::to_string(b) + " is locked";
    const BlockClasses classes = block_classes<Laned<L> >(geometry, b);
    const std::uint32_t highest = classes.highest_at(block.guest_level());
    for (std::uint32_t s = 0; s < L::kSlots; ++s) {
      const std::uint32_t fingerprint = L::get(block, s);
      if (fingerprint == 0) continue;
      const std::uint32_t of = fingerprint & 0xff;
      const bool known = !classes.is_unknown_at(block.guest_level(), fingerprint);
      const bool guest = of <= highest && s / L::kSlotsPerSegment == of % 4;
      add({b, 0, fingerprint, L::bucket_offset_at(fingerprint, s)}, !known  ? kUnknown
                                                                    : guest ? kGuest
                                                                            : kNative);
    }
  }
  std::sort(all.begin(), all.end());
  for (std::size_t i = 0; i < all.size();) {
    const std::uint64_t id = all[i] >> 4;
    const Place place = {id >> 20, 0, static_cast<std::uint32_t>(id & 0xffff),
                         static_cast<std::uint32_t>(id >> 16 & 15)};
    const std::array<std::uint64_t, 2> blocks = {place.block, alternate_of(geometry, place)};
    AlikeKeys alike;
    alike.alone = blocks[0] == blocks[1];
    for (std::size_t side = 0; side < 2; ++side) {
      alike.sides[side].covered =
          eviction_rank(place.fingerprint) < view.blocks[blocks[side]].overflow_mark();
    }
    for (; i < all.size() && all[i] >> 4 == id; ++i) {
      AlikeKeys::Side& side = alike.sides[all[i] >> 2 & 1];
      const std::uint64_t what = all[i] & 3;
      ++(what == kKey      ? side.keys
         : what == kNative ? side.natives
         : what == kGuest  ? side.guests
                           : side.unknown);
    }
    if (alike.right()) continue;
    std::string report = "class " + std::to_string(class_of(place.fingerprint));
    for (std::size_t n = 0; n < 2; ++n) {
      const AlikeKeys::Side& side = alike.sides[n];
      const Block& block = view.blocks[blocks[n]];
      report += "; block " + std::to_string(blocks[n]) + ": mark " +
                std::to_string(block.overflow_mark()) + ", level " +
                std::to_string(block.guest_level()) + ", keys " + std::to_string(side.keys) +
                ", natives " + std::to_string(side.natives) + ", guests " +
                std::to_string(side.guests) + ", unknown " + std::to_string(side.unknown);
    }
    return report;
  }
  return {};
}

inline std::string broken_lane_rule(const Filter& filter,
                                    const std::vector<std::uint64_t>& stored) {
  const BlocksView& view = FilterAccess::blocks(filter).view;
  return visit_layout(
      filter.bits(), [&](auto layout) { return broken_lane_rule<decltype(layout)>(view, stored); });
}

// The rules hold, and every key is found and counted.
inline void expect_lane_rules(const Filter& filter, const std::vector<std::uint64_t>& stored) {
  ASSERT_EQ(filter.size(), stored.size());
  ASSERT_EQ(broken_lane_rule(filter, stored), "");
  std::vector<std::uint64_t> sorted = stored;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size();) {
    const std::uint64_t hash = sorted[i];
    unsigned copies = 0;
    for (; i < sorted.size() && sorted[i] == hash; ++i) ++copies;
    ASSERT_TRUE(filter.may_contain(Hash{hash})) << "false negative for hash " << hash;
    ASSERT_GE(filter.count(Hash{hash}), copies);
  }
}

inline Filter lanes_filter(int bits, std::uint64_t bases, std::uint32_t growth = 0) {
  const Geometry geometry = {bases, growth, Placement::guest_lanes};
  return FilterAccess::make(make_blocks({bits, geometry, 5, geometry.blocks()}, nullptr));
}

// A hash with this rest and its home in base `base`: the product of hash and bases has the base in
// its high 64 bits and the rest in the 32 bits below.
inline std::uint64_t hash_at(std::uint64_t bases, std::uint64_t base, std::uint32_t rest) {
  const Wide product = static_cast<Wide>(base) << 64 | static_cast<Wide>(rest) << 32;
  return static_cast<std::uint64_t>((product + bases - 1) / bases);
}
// A hash that looks the same as this one, with its home in the other's alternate.
inline std::uint64_t twin_of(int bits, const Geometry& geometry, std::uint64_t hash) {
  const std::uint64_t base =
      alternate_of(geometry, home_of(bits, geometry, hash)) >> geometry.growth;
  const auto rest = static_cast<std::uint32_t>(
      static_cast<std::uint64_t>(static_cast<Wide>(hash) * geometry.base_blocks) >> 32);
  return hash_at(geometry.base_blocks, base, rest);
}
// A hash of this class, with its home in base `base`.
template <class Random>
std::uint64_t hash_of_class(int bits, const Geometry& geometry, std::uint64_t base,
                            std::uint32_t of, Random& random) {
  for (;;) {
    const std::uint64_t hash =
        hash_at(geometry.base_blocks, base, static_cast<std::uint32_t>(random()));
    if (class_of(home_of(bits, geometry, hash).fingerprint) == of) return hash;
  }
}

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_SUPPORT_LANE_RULES_H_
