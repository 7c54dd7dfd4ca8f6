// The members of a family are one filter, against an exact multiset of hashes. Blocks are few and
// fingerprints narrow: many keys look alike, are away from home, or swap home and alternate. With
// and without guest lanes; what lineage.h says of a family is checked for each key.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "lib/engine/place/geometry.h"
#include "lib/engine/place/lanes.h"
#include "lib/engine/place/layout.h"
#include "lib/faces/embed/value/sub_filter_list.h"
#include "lib/faces/embed/value/sub_filter_plan.h"

namespace nestline::redis { namespace {

constexpr std::uint64_t kSeed = 7;
constexpr std::uint32_t kNumber = 3;

SubFilter member(int bits, std::uint64_t base_blocks, unsigned growth, bool turns_over = false) {
  const GenerationShape shape{bits,
                              growth,
                              4,
                              base_blocks,
                              capacity_of(bits, base_blocks, growth),
                              kNumber,
                              placement_of(turns_over, base_blocks)};
  return {shape, kSeed, nullptr};
}

std::vector<Block> copied_blocks(const SubFilter& member) {
  std::vector<std::byte> copy;
  const auto bytes = member.bytes(0, member.block_bytes(), copy);
  std::vector<Block> blocks(bytes.size() / kBlockBytes);
  std::memcpy(blocks.data(), bytes.data(), bytes.size());
  return blocks;
}

std::uint64_t open_blocks(const SubFilter& member) {
  std::uint64_t open = 0;
  for (const Block& block : copied_blocks(member)) open += is_open_level(block.guest_level());
  return open;
}

// What all keys with one home, fingerprint and bucket offset are, in all filters of a lineage.
using Alike = std::tuple<std::uint64_t, std::uint32_t, std::uint32_t>;
struct Counts {
  std::uint64_t keys = 0;
  std::uint64_t twins = 0;   // keys of the alternate that look the same
  std::uint64_t copies = 0;  // of both
  std::uint64_t least = 0;   // of the copies those that must be of the keys, and those that can
  std::uint64_t most = 0;
};

// Adds what a member has of keys with this home in its first geometry.
template <class L>
void add_copies(const Geometry& geometry, const std::vector<Block>& blocks, const Alike& alike,
                Counts& counts) {
  const std::uint64_t base = std::get<0>(alike);
  const std::uint32_t fingerprint = std::get<1>(alike), offset = std::get<2>(alike);
  std::uint64_t number = base << geometry.growth;
  if (geometry.growth != 0) number |= fingerprint >> (L::kBits - geometry.growth);
  const Place home = {number, L::bucket(fingerprint, offset), fingerprint, offset};
  const Place away = moved(geometry, home);
  const Block &here = blocks[home.block], &there = blocks[away.block];
  const auto copies_in = [&](const Block& block, std::uint64_t slots) {
    std::uint64_t copies = 0;
    for (std::uint64_t rest = home.bucket & slots; rest != 0; rest &= rest - 1) {
      copies += L::get(block, first_slot(rest)) == fingerprint;
    }
    return copies;
  };
  const BlockClasses classes = block_classes(L::kBits, geometry, home.block);
  const auto is_known = [&](const Block& block) {
    return has_guest_lanes(geometry) && !classes.is_unknown_at(block.guest_level(), fingerprint);
  };
  // The slots of guests: those of the lane, once the level covers the class.
  const auto guests_of = [&](const Block& block) {
    const std::uint64_t lane = ((std::uint64_t{1} << L::kSlotsPerSegment) - 1)
                               << class_of(fingerprint) % 4 * L::kSlotsPerSegment;
    return classes.have_lanes() && class_of(fingerprint) <= classes.highest_at(block.guest_level())
               ? lane
               : 0;
  };
  const bool is_covered = eviction_rank(fingerprint) < here.overflow_mark();
  const bool twins_are_covered = eviction_rank(fingerprint) < there.overflow_mark();
  const std::uint64_t at_home = copies_in(here, ~std::uint64_t{0});
  const std::uint64_t natives = copies_in(here, ~guests_of(here));
  counts.copies += at_home;
  counts.least += is_known(here) ? natives : twins_are_covered ? 0 : at_home;
  counts.most += is_known(here) ? natives : at_home;
  if (away.block == home.block) return;
  const std::uint64_t in_alternate = copies_in(there, ~std::uint64_t{0});
  const std::uint64_t guests = copies_in(there, guests_of(there));
  counts.copies += in_alternate;
  if (is_known(there)) {
    counts.least += guests;
    counts.most += guests;
    ASSERT_TRUE(guests == 0 || is_covered);
  } else if (is_covered) {
    counts.most += in_alternate;
  }
}

struct Family {
  std::vector<SubFilter> members;
  std::vector<std::uint64_t> keys;  // every copy

  std::uint64_t stored() const {
    std::uint64_t stored = 0;
    for (const SubFilter& each : members) stored += each.size();
    return stored;
  }

  void add(std::mt19937_64& random, unsigned copies_in_100 = 33) {
    const bool again = random() % 100 < copies_in_100 && !keys.empty();
    // Some keys get as many copies as find room.
    const std::size_t among =
        random() % 2 == 0 ? keys.size() : std::min<std::size_t>(keys.size(), 30);
    const std::uint64_t key = again ? keys[random() % among] : random();
    SubFilter& to = members[random() % members.size()];
    if (to.has_room() && to.insert(key) == Outcome::stored) keys.push_back(key);
  }

  void erase(std::mt19937_64& random) {
    if (keys.empty()) return;
    const std::size_t at = random() % keys.size();
    ASSERT_TRUE(erase_from(members, keys[at]));
    keys[at] = keys.back();
    keys.pop_back();
  }

  void compact() {
    std::vector<SubFilter> fresh = compact_members(members, kSeed, nullptr);
    if (fresh.empty()) return;
    move_family(members, fresh);
    for (SubFilter& each : members) {
      if (each.size() != 0) fresh.push_back(std::move(each));
    }
    members = std::move(fresh);
  }

  void expect_all() const {
    ASSERT_EQ(stored(), keys.size());
    std::map<std::uint64_t, std::uint64_t> copies;
    for (const std::uint64_t key : keys) ++copies[key];
    for (const auto& [key, count] : copies) ASSERT_GE(count_in(members, key), count);
    visit_layout(members[0].bits(), [&](auto layout) { expect_lineage<decltype(layout)>(copies); });
  }

  // That the copies can be dealt out to the keys, as lineage.h has it.
  template <class L>
  void expect_lineage(const std::map<std::uint64_t, std::uint64_t>& copies) const {
    const GenerationShape shape = members[0].shape();
    const Geometry first = {shape.base_blocks, 0, shape.placement};
    const KeyHasher hasher = hasher_of(kSeed + kNumber);
    std::map<Alike, Counts> all;
    for (const auto& [key, count] : copies) {
      const Place home = home_of(L::kBits, first, hasher(key).value);
      const Place away = moved(first, home);
      all[{home.block, home.fingerprint, home.bucket_offset}].keys += count;
      if (away.block != home.block) {
        all[{away.block, home.fingerprint, home.bucket_offset}].twins += count;
      }
    }
    for (const SubFilter& each : members) {
      const Geometry geometry = {shape.base_blocks, each.growth(), shape.placement};
      const std::vector<Block> blocks = copied_blocks(each);
      for (auto& [alike, counts] : all) add_copies<L>(geometry, blocks, alike, counts);
    }
    for (const auto& [alike, counts] : all) {
      ASSERT_EQ(counts.copies, counts.keys + counts.twins);
      ASSERT_LE(counts.least, counts.keys);
      ASSERT_GE(counts.most, counts.keys);
    }
  }
};

TEST(Family, IsOneFilterForErasesAndUnions) {
  for (const int bits : kFilterWidths) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      SCOPED_TRACE(testing::Message() << bits << " bits, seed " << seed);
      std::mt19937_64 random(seed);
      Family family;
      const std::uint64_t blocks = 1 + random() % 12;
      for (const unsigned growth : {2U, 0U, 1U, 1U}) {
        family.members.push_back(member(bits, blocks, growth));
      }
      for (int turn = 0; turn < 6; ++turn) {
        for (int i = 0; i < 4000; ++i) family.add(random);
        family.expect_all();
        for (std::size_t i = family.keys.size() * (random() % 10) / 10; i > 0; --i) {
          family.erase(random);
          if (HasFatalFailure()) return;
        }
        family.expect_all();
        if (HasFatalFailure()) return;
        family.compact();
        family.expect_all();
        if (HasFatalFailure()) return;
        if (random() % 2 == 0)
          family.members.push_back(member(bits, blocks, static_cast<unsigned>(random() % 3)));
      }
      while (!family.keys.empty()) {
        family.erase(random);
        if (HasFatalFailure()) return;
      }
      EXPECT_EQ(family.stored(), 0U);
    }
  }
}

// The smallest blocks that have guest lanes, nearly full, with keys that are replaced by others: a
// choice by copies that merely look alike takes an erase to a filter without any of its own.
TEST(Family, IsOneFilterWithGuestLanes) {
  for (const int bits : kFilterWidths) {
    std::uint64_t open = 0;
    for (std::uint64_t seed = 0; seed < 2; ++seed) {
      SCOPED_TRACE(testing::Message() << bits << " bits, seed " << seed);
      std::mt19937_64 random(seed);
      Family family;
      for (const unsigned growth : {1U, 0U, 0U}) {
        family.members.push_back(member(bits, 64, growth, true));
      }
      for (const unsigned copies_in_100 : {0U, 1U, 5U, 33U}) {
        std::uint64_t room = 0;
        for (const SubFilter& each : family.members) room += each.capacity();
        const std::uint64_t load = 80 + random() % 16;
        for (std::uint64_t i = 0; i < 8 * room && family.keys.size() < room * load / 95; ++i) {
          family.add(random, copies_in_100);
        }
        family.expect_all();
        for (std::size_t i = family.keys.size(); i > 0; --i) {
          family.erase(random);
          family.add(random, copies_in_100);
          if (HasFatalFailure()) return;
        }
        family.expect_all();
        if (HasFatalFailure()) return;
        for (const SubFilter& each : family.members) open += open_blocks(each);
        for (std::size_t i = family.keys.size() * (random() % 9) / 10; i > 0; --i) {
          family.erase(random);
          if (HasFatalFailure()) return;
        }
        family.compact();
        family.expect_all();
        if (HasFatalFailure()) return;
        family.members.push_back(member(bits, 64, static_cast<unsigned>(random() % 2), true));
      }
      while (!family.keys.empty()) {
        family.erase(random);
        if (HasFatalFailure()) return;
      }
      EXPECT_EQ(family.stored(), 0U);
    }
    EXPECT_GT(open, 0U) << bits << " bits";
  }
}

TEST(Family, CompactsIntoFewMembersThatAreNearlyFull) {
  for (std::uint64_t items = 1000; items < 200'000; items = items * 5 / 4) {
    Family family;
    for (const unsigned growth : {2U, 1U, 1U, 2U, 3U, 3U}) {
      family.members.push_back(member(16, 200, growth));
    }
    std::mt19937_64 random(items);
    for (std::uint64_t i = 0; i < items; ++i) family.add(random, 0);
    const std::uint64_t before = units_of(family.members);
    family.compact();
    family.expect_all();
    EXPECT_LE(family.members.size(), kMaxMembers);
    EXPECT_LE(units_of(family.members), before);
    std::uint64_t room = 0;
    for (const SubFilter& each : family.members) room += each.capacity();
    // A member that has not doubled cannot be made smaller.
    const std::uint64_t unit = capacity_of(16, 200, 0);
    EXPECT_LE(room, items * 8 / 7 + unit) << items;
    for (std::size_t i = 0; i + 1 < family.members.size(); ++i) {
      EXPECT_GE(family.members[i].size(), family.members[i].capacity() * 98 / 100);
    }
  }
}

}  // namespace
}  // namespace nestline::redis
