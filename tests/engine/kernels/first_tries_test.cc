// The kernels that begin a change, on every target and under every lock policy: what they do to a
// block, what they say when they cannot, and which headers they leave.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <type_traits>
#include <vector>

#include "tests/engine/kernels/each_target.h"

namespace nestline::test { namespace {

template <class L_, class Locks_>
struct Case {
  using L = L_;
  using Locks = Locks_;
};

template <class C>
class FirstTriesTest : public testing::Test {
 protected:
  using L = typename C::L;

  static constexpr Geometry kGeometry{3, 0};
  static constexpr bool kVersions = !std::is_same_v<typename C::Locks, NoLocks>;

  // Blocks that are filled to different degrees, one of them with a mark.
  FirstTriesTest() {
    for (std::uint64_t i = 0; i < L::kSlots * 2; ++i) {
      const Place place = home_of<L>(kGeometry, random_());
      const std::uint64_t free = free_in(place);
      if (free != 0) L::set(blocks_[place.block], first_slot(free), place.fingerprint);
    }
    blocks_[1].raise_overflow_mark(7);
  }

  std::uint64_t slots_with(const Place& place, std::uint32_t fingerprint) const {
    std::uint64_t slots = 0;
    for (std::uint32_t s = 0; s < L::kSlots; ++s) {
      slots |= std::uint64_t{L::get(blocks_[place.block], s) == fingerprint} << s;
    }
    return slots & place.bucket;
  }
  std::uint64_t free_in(const Place& place) const { return slots_with(place, 0); }

  // The header has a new version, if any; else only what `change` sets has changed.
  template <typename Change>
  void expect_changed(const Block& before, const Block& after, Change&& change) {
    Block expected = before;
    change(expected);
    const std::uint32_t step = kVersions ? kHeaderVersion : 0;
    expected.header_word() = Block::to_header(before.header() + step);
    EXPECT_EQ(after.bytes, expected.bytes);
  }

  // On every target, each time on the same blocks.
  template <typename Test>
  void for_each_tries(Test&& test) {
    for_each_target([&, beginning = blocks_](std::int64_t) {
      test(filter_kernels(L::kBits).template first_tries<typename C::Locks>());
      blocks_ = beginning;
    });
  }

  std::mt19937_64 random_{L::kBits};
  std::vector<Block> blocks_ = std::vector<Block>(3);
};

using Cases = testing::Types<Case<FilterLayout<8>, NoLocks>, Case<FilterLayout<8>, OneWriter>,
                             Case<FilterLayout<8>, BlockLocks>, Case<FilterLayout<12>, NoLocks>,
                             Case<FilterLayout<12>, OneWriter>, Case<FilterLayout<12>, BlockLocks>,
                             Case<FilterLayout<16>, NoLocks>, Case<FilterLayout<16>, OneWriter>,
                             Case<FilterLayout<16>, BlockLocks>>;
TYPED_TEST_SUITE(FirstTriesTest, Cases);

TYPED_TEST(FirstTriesTest, StoreByTheShortestWay) {
  using Layout = typename TypeParam::L;
  this->for_each_tries([&, &blocks = this->blocks_](const FirstTries& tries) {
    int stored = 0;
    int refused = 0;
    for (std::uint32_t i = 0; i < 3 * Layout::kSlots; ++i) {
      const std::uint64_t hash = this->random_();
      const Place expected = home_of<Layout>(this->kGeometry, hash);
      const Block before = blocks[expected.block];
      const EvictionPath path = filter_kernels(Layout::kBits).find_path_to_free(before, expected);
      if (tries.store(blocks.data(), this->kGeometry, hash)) {
        ASSERT_TRUE(path);
        this->expect_changed(before, blocks[expected.block], [&](Block& block) {
          walk<Layout>(block, path, expected.fingerprint);
        });
        ++stored;
      } else {
        EXPECT_FALSE(path);
        EXPECT_EQ(blocks[expected.block].bytes, before.bytes);
        ++refused;
      }
    }
    EXPECT_GT(stored, 5);
    EXPECT_GT(refused, 5);
  });
}

TYPED_TEST(FirstTriesTest, EraseACopyAtHome) {
  using Layout = typename TypeParam::L;
  this->for_each_tries([&, &blocks = this->blocks_](const FirstTries& tries) {
    int erased = 0;
    int absent = 0;
    for (int i = 0; i < 200; ++i) {
      const std::uint64_t hash = this->random_();
      const Place expected = home_of<Layout>(this->kGeometry, hash);
      // Every other key is there, at times twice.
      for (int copies = i % 4 - 1; copies > 0; --copies) {
        const std::uint64_t free = this->free_in(expected);
        if (free != 0) Layout::set(blocks[expected.block], first_slot(free), expected.fingerprint);
      }
      const Block before = blocks[expected.block];
      const std::uint64_t copies = this->slots_with(expected, expected.fingerprint);
      if (tries.erase(blocks.data(), this->kGeometry, hash)) {
        ASSERT_NE(copies, 0u);
        this->expect_changed(before, blocks[expected.block],
                             [&](Block& block) { Layout::set(block, first_slot(copies), 0); });
        ++erased;
      } else {
        EXPECT_EQ(copies, 0u);
        EXPECT_EQ(blocks[expected.block].bytes, before.bytes);
        ++absent;
      }
    }
    EXPECT_GT(erased, 20);
    EXPECT_GT(absent, 20);
  });
}

TYPED_TEST(FirstTriesTest, StoreABatchUpToTheFirstThatHasNoWay) {
  using Layout = typename TypeParam::L;
  this->for_each_tries([&](const FirstTries& tries) {
    std::vector<Block> blocks(3);
    std::vector<Block> expected(3);
    std::vector<std::uint64_t> hashes(5 * Layout::kSlots);
    std::vector<Place> places;
    for (std::uint64_t& hash : hashes) {
      hash = this->random_();
      places.push_back(home_of<Layout>(this->kGeometry, hash));
    }
    std::size_t stops = 0;
    for (std::size_t at = 0; at < places.size(); ++stops) {
      const std::size_t stored =
          tries.store_batch(blocks.data(), places.data() + at, places.size() - at);
      for (std::size_t i = at; i < std::min(at + stored + 1, places.size()); ++i) {
        EXPECT_EQ(tries.store(expected.data(), this->kGeometry, hashes[i]), i != at + stored);
      }
      for (std::size_t b = 0; b < 3; ++b) EXPECT_EQ(blocks[b].bytes, expected[b].bytes);
      at += stored + 1;
    }
    EXPECT_GT(stops, Layout::kSlots);
    EXPECT_EQ(tries.store_batch(blocks.data(), places.data(), 0), 0u);
  });
}

}  // namespace
}  // namespace nestline::test
