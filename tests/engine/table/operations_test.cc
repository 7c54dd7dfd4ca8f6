// Inserts and erases that end at home, on every target and under every lock policy: what they do to
// a block, and which headers they leave. Runs of a batch leave the same blocks as single keys.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
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
class OperationsTest : public testing::Test {
 protected:
  using L = typename C::L;

  static constexpr Geometry kGeometry{3, 0};
  static constexpr bool kVersions = !std::is_same_v<typename C::Locks, NoLocks>;

  // Blocks that are filled to different degrees, one of them with a mark.
  OperationsTest() {
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
  void for_each_operations(Test&& test) {
    for_each_engine<L>([&, beginning = blocks_](const auto& engine) {
      kernels_ = &engine.block;
      test(engine.operations.template with<typename C::Locks>());
      blocks_ = beginning;
    });
  }
  BlocksView view() const { return {blocks_.data(), kGeometry, {}}; }

  const BlockKernels* kernels_ = nullptr;

  std::mt19937_64 random_{L::kBits};
  std::vector<Block> blocks_ = std::vector<Block>(3);
};

using Cases = testing::Types<Case<FilterLayout<8>, NoLocks>, Case<FilterLayout<8>, OneWriter>,
                             Case<FilterLayout<8>, BlockLocks>, Case<FilterLayout<12>, NoLocks>,
                             Case<FilterLayout<12>, OneWriter>, Case<FilterLayout<12>, BlockLocks>,
                             Case<FilterLayout<16>, NoLocks>, Case<FilterLayout<16>, OneWriter>,
                             Case<FilterLayout<16>, BlockLocks>>;
TYPED_TEST_SUITE(OperationsTest, Cases);

TYPED_TEST(OperationsTest, InsertByTheShortestPath) {
  using Layout = typename TypeParam::L;
  this->for_each_operations([&, &blocks = this->blocks_](const FilterOperations& filter) {
    int stored = 0;
    int others = 0;
    for (std::uint32_t i = 0; i < 3 * Layout::kSlots; ++i) {
      const std::uint64_t hash = this->random_();
      const Place expected = home_of<Layout>(this->kGeometry, hash);
      const std::vector<Block> before = blocks;
      const Block& home = before[expected.block];
      const EvictionPath path =
          this->kernels_->find_path_to_free(home, expected, Residence::anywhere, {});
      const Result outcome = filter.insert(this->view(), hash);
      if (path) {
        ASSERT_EQ(outcome, Outcome::stored);
        this->expect_changed(home, blocks[expected.block], [&](Block& block) {
          apply<Layout>(block, path, expected.fingerprint);
        });
        ++stored;
      } else {
        ASSERT_TRUE(outcome == Outcome::stored || outcome == Outcome::full);
        if (outcome == Outcome::full) {
          for (std::size_t b = 0; b < 3; ++b) EXPECT_EQ(blocks[b].bytes, before[b].bytes);
        }
        ++others;
      }
    }
    EXPECT_GT(stored, 5);
    EXPECT_GT(others, 5);
  });
}

TYPED_TEST(OperationsTest, EraseACopyAtHome) {
  using Layout = typename TypeParam::L;
  this->for_each_operations([&, &blocks = this->blocks_](const FilterOperations& filter) {
    blocks[1].set_overflow_mark(0);  // nothing is away
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
      if (filter.erase(this->view(), hash)) {
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

// Up to a full filter, and erased again: what runs do is what single keys do, but for versions.
TYPED_TEST(OperationsTest, RunsAreSingleKeys) {
  using Layout = typename TypeParam::L;
  this->for_each_operations([&](const FilterOperations& filter) {
    std::vector<Block> blocks(3);
    std::vector<Block> expected(3);
    const BlocksView view = {blocks.data(), this->kGeometry, {}};
    const BlocksView expected_view = {expected.data(), this->kGeometry, {}};
    std::vector<std::uint64_t> hashes(5 * Layout::kSlots);
    for (std::uint64_t& hash : hashes) hash = this->random_();
    const Inputs inputs = {hashes.data(), hashes.size(), InputKind::hashes};
    const auto expect_same_slots = [&] {
      for (std::size_t b = 0; b < 3; ++b) {
        for (std::size_t byte = 0; byte <= kOverflowMarkByte; ++byte) {
          ASSERT_EQ(blocks[b].bytes[byte], expected[b].bytes[byte]);
        }
      }
    };
    std::vector<Outcome> outcomes(hashes.size());
    Record record(outcomes, hashes.size());
    const RunEnd end = filter.insert_run(view, inputs, {~std::uint64_t{0}, false}, 0, record);
    EXPECT_EQ(end.taken, hashes.size());
    std::size_t refused = 0;
    for (std::size_t i = 0; i < hashes.size(); ++i) {
      EXPECT_EQ(filter.insert(expected_view, hashes[i]), outcomes[i]);
      refused += outcomes[i] == Outcome::full;
    }
    EXPECT_EQ(end.refused, refused);
    EXPECT_GT(refused, 5u);
    expect_same_slots();
    // At the first key without room a run ends, if it is to.
    Record none(std::span<Outcome>(), hashes.size());
    EXPECT_TRUE(filter.insert_run(view, inputs, {~std::uint64_t{0}, true}, 0, none).full);
    std::vector<std::uint8_t> counts(hashes.size());
    filter.count_run(view, inputs, counts.data(), nullptr);
    std::vector<std::uint8_t> erased(hashes.size());
    for (std::size_t i = 0; i < hashes.size(); ++i) {
      const Place home = home_of<Layout>(this->kGeometry, hashes[i]);
      EXPECT_EQ(filter.count(view, home, nullptr), counts[i]);
    }
    Record gone(erased, hashes.size());
    expected = blocks;
    filter.erase_run(view, inputs, 0, gone);
    for (std::size_t i = 0; i < hashes.size(); ++i) {
      EXPECT_EQ(filter.erase(expected_view, hashes[i]), erased[i] != 0);
    }
    expect_same_slots();
  });
}

}}  // namespace nestline::test
