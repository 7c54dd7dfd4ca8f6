// The members of a family are one filter, against an exact multiset of hashes. Blocks are few and
// fingerprints narrow: many keys look alike, are away from home, or swap home and alternate.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "lib/engine/place/layout.h"
#include "lib/faces/embed/value/sub_filter_list.h"
#include "lib/faces/embed/value/sub_filter_plan.h"

namespace nestline::redis { namespace {

constexpr std::uint64_t kSeed = 7;

SubFilter member(int bits, std::uint64_t base_blocks, unsigned growth) {
  const GenerationShape shape{bits, growth, 4, base_blocks, capacity_of(bits, base_blocks, growth),
                              3};
  return {shape, kSeed, nullptr};
}

struct Family {
  std::vector<SubFilter> members;
  std::vector<std::uint64_t> keys;  // every copy

  std::uint64_t stored() const {
    std::uint64_t stored = 0;
    for (const SubFilter& each : members) stored += each.size();
    return stored;
  }

  void add(std::mt19937_64& random, bool copies = true) {
    const bool again = copies && random() % 3 == 0 && !keys.empty();
    const std::uint64_t key = again ? keys[random() % keys.size()] : random();
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

TEST(Family, CompactsIntoFewMembersThatAreNearlyFull) {
  for (std::uint64_t items = 1000; items < 200'000; items = items * 5 / 4) {
    Family family;
    for (const unsigned growth : {2U, 1U, 1U, 2U, 3U, 3U}) {
      family.members.push_back(member(16, 200, growth));
    }
    std::mt19937_64 random(items);
    for (std::uint64_t i = 0; i < items; ++i) family.add(random, false);
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
