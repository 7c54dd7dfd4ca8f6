// Growth: through every doubling that the width allows, no key is lost and the rate is the one that
// expected_fpr reports. A filter that cannot grow stays as it was, byte for byte.
#include "lib/filters/filter/growth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "lib/engine/place/layout.h"
#include "lib/filters/filter/sizing.h"
#include "nestline/concurrent_filter.h"
#include "tests/filters/filter/strangers.h"
#include "tests/support/answers.h"
#include "tests/support/child_process.h"
#include "tests/support/model.h"

namespace nestline::test { namespace {

Filter filter_of_blocks(int bits, std::uint64_t blocks, std::uint64_t seed = 1) {
  // One less than they hold: planned sizes are rounded.
  Filter filter({.capacity = safe_keys(bits, {blocks, 0}) - 1, .bits = bits, .seed = seed});
  EXPECT_EQ(filter.memory_bytes(), blocks * kBlockBytes);
  return filter;
}

const Geometry& geometry(const Filter& filter) {
  return FilterAccess::blocks(filter).view.geometry;
}

void expect_fpr(const Filter& filter) {
  const double expected = filter.expected_fpr();
  EXPECT_NEAR(measured_fpr(filter, static_cast<std::uint64_t>(3000 / expected)), expected,
              expected * 0.10);
}

// A filter and the exact number of copies of each key; keys are the integers from 0 on.
class Exact {
 public:
  explicit Exact(Filter filter) : filter_(std::move(filter)) {}

  void insert(std::uint64_t key) {
    if (!filter_.insert(key)) return;
    if (copies_.size() <= key) copies_.resize(key + 1);
    ++copies_[key];
    ++size_;
  }
  // Inserts new keys up to this size, in a batch; returns how many of them were not stored.
  std::uint64_t fill(std::uint64_t size) {
    const auto keys = sequence(copies_.size(), size - std::min(size, size_));
    std::vector<Outcome> outcomes(keys.size());
    copies_.resize(copies_.size() + keys.size());
    const std::uint64_t count = filter_.insert(keys, outcomes);
    size_ += count;
    for (std::size_t i = 0; i < keys.size(); ++i) copies_[keys[i]] = outcomes[i] == Outcome::stored;
    return keys.size() - count;
  }
  // Leaves one copy of each key: capacity and rate are defined for distinct keys.
  void erase_copies() {
    for (std::uint64_t key = 0; key < copies_.size(); ++key) {
      for (; copies_[key] > 1; --copies_[key], --size_) ASSERT_TRUE(filter_.erase(key));
    }
  }
  // A stored key; there must be one.
  std::uint64_t some_key(std::mt19937_64& random) const {
    std::uint64_t key = random() % copies_.size();
    while (copies_[key] == 0) key = (key + 1) % copies_.size();
    return key;
  }
  // Some more are erased than inserted, down to half the keys.
  void random_operations(int count, std::mt19937_64& random) {
    const std::uint64_t fewest = size_ / 2 + 1;
    for (int i = 0; i < count; ++i) {
      if (size_ <= fewest) insert(copies_.size());
      const std::uint64_t key = some_key(random);
      switch (random() % 5) {
        case 0:
          insert(copies_.size());
          break;
        case 1:
          if (copies_[key] < 2) insert(key);
          break;
        case 2:
        case 3:
          ASSERT_TRUE(filter_.erase(key));
          --copies_[key];
          --size_;
          break;
        default: {
          const std::uint64_t other = copies_.size();
          if (!filter_.update(key, other)) break;
          --copies_[key];
          copies_.push_back(1);
        }
      }
    }
  }
  void check() const {
    ASSERT_EQ(filter_.size(), size_);
    const auto keys = sequence(0, copies_.size());
    const Answers answers = answers_of(filter_, keys);
    for (const std::uint64_t key : keys) {
      ASSERT_GE(answers.counts[key], copies_[key]) << key;
      ASSERT_EQ(answers.found[key], answers.counts[key] != 0) << key;
    }
    const double slots = static_cast<double>(geometry(filter_).blocks()) *
                         visit_layout(filter_.bits(), [](auto layout) { return layout.kSlots; });
    ASSERT_DOUBLE_EQ(filter_.load_factor(), static_cast<double>(size_) / slots);
  }

  [[nodiscard]] Filter& filter() { return filter_; }

 private:
  Filter filter_;
  std::vector<std::uint8_t> copies_;
  std::uint64_t size_ = 0;
};

using BitsAndBlocks = std::tuple<int, std::uint64_t>;
class GrowthTest : public testing::TestWithParam<BitsAndBlocks> {};

TEST_P(GrowthTest, EveryDoublingOfTheWidth) {
  const auto [bits, bases] = GetParam();
  // Up to here keys that look the same do not fill their slots (safe_keys).
  const std::uint32_t promised = bits <= 9 ? 1 : bits == 10 ? 2 : bits == 12 ? 4 : 8;
  constexpr std::uint64_t kMaxKeys = 600'000;  // the last doublings of 64 blocks stay half empty
  std::mt19937_64 random(bases);
  Exact exact(filter_of_blocks(bits, bases));
  Filter& filter = exact.filter();
  for (std::uint32_t growth = 0; growth <= max_growth(bits); ++growth) {
    SCOPED_TRACE("doubled " + std::to_string(growth) + " times");
    std::uint64_t failed = exact.fill(std::min(kMaxKeys, filter.capacity() * 9 / 10));
    exact.random_operations(3000, random);
    exact.check();
    exact.erase_copies();
    failed += exact.fill(std::min(kMaxKeys, filter.capacity()));
    exact.check();
    // Further on, a key in a million finds its slots taken by others that look the same.
    ASSERT_LE(failed, growth <= promised ? 0 : 1 + filter.size() / 100'000);
    if (bases == 64) expect_fpr(filter);
    ASSERT_NO_THROW(Filter::load(to_bytes(filter)));  // every fingerprint is in its child

    const auto before = block_bytes(filter);
    const double load = filter.load_factor();
    const std::uint64_t capacity = filter.capacity();
    const double fpr = filter.expected_fpr();
    if (growth == max_growth(bits)) {
      EXPECT_FALSE(filter.grow());
      EXPECT_EQ(block_bytes(filter), before);
      EXPECT_EQ(filter.capacity(), capacity);
      break;
    }
    ASSERT_TRUE(filter.grow());
    exact.check();
    EXPECT_EQ(geometry(filter).base_blocks, bases);
    EXPECT_EQ(geometry(filter).growth, growth + 1);
    EXPECT_EQ(filter.memory_bytes(), 2 * before.size());
    EXPECT_DOUBLE_EQ(filter.load_factor(), load / 2);
    EXPECT_EQ(filter.capacity(),
              std::max(capacity, std::min(2 * capacity, safe_keys(bits, geometry(filter)))));
    EXPECT_GT(filter.capacity(), capacity);
    // Half the load and half the fingerprints.
    EXPECT_NEAR(filter.expected_fpr(), fpr, 0.01 * fpr);
    if (bases == 64) expect_fpr(filter);
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, GrowthTest,
                         testing::Combine(testing::ValuesIn(kFilterWidths),
                                          testing::Values(1u, 2u, 3u, 7u, 64u)));

class GrowthOfWidthTest : public testing::TestWithParam<int> {};

TEST_P(GrowthOfWidthTest, ChurnedFilter) {
  const int bits = GetParam();
  Filter filter = filter_of_blocks(bits, 200);
  const std::uint64_t window = filter.capacity();
  std::uint64_t next = 0;
  for (; next < window; ++next) ASSERT_TRUE(filter.insert(next));
  const auto churn = [&](std::uint64_t keys) {
    for (const std::uint64_t end = next + keys; next < end; ++next) {
      ASSERT_TRUE(filter.erase(next - window));
      ASSERT_TRUE(filter.insert(next));
    }
  };
  churn(6 * window);
  for (int doubling = 0; doubling < 3; ++doubling) {
    ASSERT_TRUE(filter.grow());
    for (std::uint64_t key = next - window; key < next; ++key) {
      ASSERT_TRUE(filter.may_contain(key));
    }
    expect_fpr(filter);
    churn(window);
    expect_fpr(filter);
  }
  for (std::uint64_t key = next - window; key < next; ++key) ASSERT_TRUE(filter.erase(key));
  EXPECT_EQ(filter.size(), 0u);
}

TEST_P(GrowthOfWidthTest, WhatIsKept) {
  const int bits = GetParam();
  Filter filter({.capacity = 1000, .bits = bits, .max_capacity = 8000, .seed = 77});
  EXPECT_TRUE(filter.insert("a string"));
  EXPECT_TRUE(filter.insert(Hash{12345}));
  EXPECT_EQ(FilterAccess::blocks(filter).max_capacity, 8000u);
  while (filter.grow()) {
    EXPECT_EQ(filter.bits(), bits);
    EXPECT_EQ(filter.seed(), 77u);
    EXPECT_EQ(FilterAccess::blocks(filter).max_capacity, 8000u);
    EXPECT_EQ(filter.count("a string"), 1u);
    EXPECT_EQ(filter.count(Hash{12345}), 1u);
    EXPECT_EQ(filter.size(), 2u);
  }
  EXPECT_EQ(geometry(filter).growth, max_growth(bits));
  EXPECT_GE(filter.capacity(), 8000u);
  filter.clear();
  EXPECT_FALSE(filter.may_contain("a string"));
  EXPECT_EQ(geometry(filter).growth, max_growth(bits));
}

// Locks and versions of a concurrent filter do not get into what is made of it.
TEST_P(GrowthOfWidthTest, LockAndVersionAreNotInherited) {
  const int bits = GetParam();
  Filter filter = filter_of_blocks(bits, 50);
  for (std::uint64_t key = 0; key < filter.capacity() * 2 / 5; ++key)
    EXPECT_TRUE(filter.insert(key));
  const auto clean = block_bytes(filter);
  const Blocks& state = FilterAccess::blocks(filter);
  const auto bytes_of = [](OwnedBlocks made) {
    return block_bytes(FilterAccess::make(std::move(made)));
  };
  std::uint64_t left_out = 0;
  const auto merged_bytes = [&] { return bytes_of(merged(state, state, Copies::all, left_out)); };
  const auto clean_grown = bytes_of(grown(state));
  const auto clean_merged = merged_bytes();
  for (std::uint64_t b = 0; b < state.view.geometry.blocks(); ++b) {
    Block& block = state.blocks()[b];
    const auto locks = static_cast<std::uint32_t>((b + 1) * 0x01010101) & ~Block::kHeaderKept;
    store_release(block.header_word(), Block::to_header(block.overflow_mark() | locks));
  }
  EXPECT_EQ(bytes_of(full_copy(state)), clean);
  EXPECT_EQ(bytes_of(grown(state)), clean_grown);
  EXPECT_EQ(merged_bytes(), clean_merged);
  EXPECT_EQ(bytes_of(empty_copy(state)), std::vector<std::uint8_t>(clean.size()));
  EXPECT_EQ(full_copy(state)->size, filter.size());
  EXPECT_EQ(empty_copy(state)->size, 0u);
  EXPECT_EQ(empty_copy(state)->capacity, filter.capacity());
}

INSTANTIATE_TEST_SUITE_P(Widths, GrowthOfWidthTest, testing::ValuesIn(kFilterWidths));

TEST(Growth, NoMoreThanTheMostBlocks) {
  const Blocks state({16, {kMaxBlocks, 0}, 1, 1}, Storage::allocate(1), 0);
  EXPECT_FALSE(grown(state));
}

// One copy too many, in a filter that is full to its capacity: it doubles first if it grows by
// itself, and is then refused all the same. Nothing else changes.
TEST(Growth, ACopyTooManyMayDoubleTheFilterAndNoMore) {
  for (const bool grows : {false, true}) {
    const auto fill = [&](auto& filter, std::uint64_t capacity) {
      std::vector<Hash> hashes(capacity, Hash{42});
      for (std::size_t i = most_copies(8); i < capacity; ++i) hashes[i] = hash_key(i, 7);
      EXPECT_EQ(filter.insert(hashes), capacity);
      EXPECT_EQ(filter.growth(), 0u);
      EXPECT_EQ(filter.insert(Hash{42}).outcome, Outcome::too_many_copies);
      EXPECT_EQ(filter.size(), capacity);
      EXPECT_EQ(filter.growth(), grows ? 1u : 0u);
      for (const Hash hash : hashes) EXPECT_TRUE(filter.may_contain(hash));
      for (const Hash hash : hashes) EXPECT_TRUE(filter.erase(hash));
      EXPECT_EQ(filter.size(), 0u);
    };
    const Options options = {.capacity = 1000, .bits = 8, .max_capacity = grows ? 8000u : 0u};
    Filter filter(options);
    fill(filter, filter.capacity());
    ConcurrentFilter concurrent(options);
    fill(concurrent, concurrent.capacity());
  }
}

// In a child process with limited memory: both throw, and the filter is unchanged.
TEST(Growth, RefusedMemoryChangesNothing) {
  Filter filter({.capacity = 50'000'000, .bits = 8});
  for (std::uint64_t key = 0; key < 1000; ++key) EXPECT_TRUE(filter.insert(key));
  EXPECT_EQ(in_child([&] {
              const auto before = block_bytes(filter);
              if (!limit_memory(std::size_t{16} << 20)) return 2;
              int refused = 0;
              const auto try_to = [&](auto&& work) {
                try {
                  work();
                } catch (const std::bad_alloc&) {
                  ++refused;
                }
              };
              try_to([&] { filter.grow(); });
              try_to([&] { filter.merge(filter); });
              const Blocks& state = FilterAccess::blocks(filter);
              const bool same = state.view.geometry.blocks() * kBlockBytes == before.size() &&
                                std::memcmp(state.view.blocks, before.data(), before.size()) == 0 &&
                                filter.size() == 1000 && filter.may_contain(std::uint64_t{999});
              return refused == 2 && same ? 0 : 3;
            }),
            0);
}

}  // namespace
}  // namespace nestline::test
