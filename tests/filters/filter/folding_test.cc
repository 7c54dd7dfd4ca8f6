// Folding: filters that shrink and grow in turn hold exactly what was inserted, at every width and
// with guest lanes; what fit makes is a filter of the right size; a refusal changes no byte.
#include "lib/filters/filter/folding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "lib/engine/place/layout.h"
#include "lib/filters/filter/growth.h"
#include "lib/filters/filter/sizing.h"
#include "nestline/io.h"
#include "tests/support/answers.h"
#include "tests/support/keys_of_kinds.h"
#include "tests/support/lane_rules.h"
#include "tests/support/model.h"

namespace nestline::test { namespace {

Filter filter_of(int bits, const Geometry& geometry, std::uint64_t seed = 5) {
  const std::uint64_t first = safe_keys(bits, {geometry.base_blocks, 0});
  std::uint64_t capacity = first;
  for (std::uint32_t growth = 1; growth <= geometry.growth; ++growth) {
    capacity = grown_capacity(bits, {geometry.base_blocks, growth, geometry.placement}, capacity);
  }
  return FilterAccess::make(make_blocks({bits, geometry, seed, capacity}, nullptr));
}

// A filter and the hashes in it, each as often as it was inserted.
class ExactFolding {
 public:
  ExactFolding(Filter filter, std::uint64_t seed) : filter_(std::move(filter)), random_(seed) {}

  void fill(std::uint64_t size) {
    while (hashes_.size() < size) {
      // Now and then a copy.
      const bool copy = !hashes_.empty() && random_() % 16 == 0;
      const std::uint64_t hash = copy ? some() : random_();
      if (filter_.insert(Hash{hash})) hashes_.push_back(hash);
    }
  }
  void drain(std::uint64_t size) {
    while (hashes_.size() > size) {
      std::swap(some(), hashes_.back());
      ASSERT_TRUE(filter_.erase(Hash{hashes_.back()}));
      hashes_.pop_back();
    }
  }
  void turn_over(std::uint64_t keys) {
    for (; keys != 0; --keys) {
      std::uint64_t& hash = some();
      const std::uint64_t other = random_();
      if (keys % 2 == 0) {
        if (filter_.update(Hash{hash}, Hash{other})) hash = other;
      } else {
        ASSERT_TRUE(filter_.erase(Hash{hash}));
        hash = other;
        if (filter_.insert(Hash{other})) continue;
        std::swap(hash, hashes_.back());
        hashes_.pop_back();
      }
    }
  }
  // Every key is found, and copies are counted as the model knows them; what is found is explained.
  void check() {
    ASSERT_EQ(filter_.size(), hashes_.size());
    Model model(filter_);
    for (const std::uint64_t hash : hashes_) model.insert(hash);
    std::vector<Hash> keys(hashes_.size());
    std::ranges::transform(hashes_, keys.begin(), [](std::uint64_t hash) { return Hash{hash}; });
    const std::size_t stored = keys.size();
    for (int i = 0; i < 5000; ++i) keys.push_back({random_()});
    const Answers answers = answers_of(filter_, keys);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      ASSERT_GE(answers.counts[i], model.at_home(keys[i].value)) << i;
      ASSERT_LE(answers.counts[i], model.at_both(keys[i].value)) << i;
      ASSERT_TRUE(answers.found[i] != 0 || i >= stored) << i;
    }
    // Every fingerprint is in its child, and all numbers are those of a filter that may be.
    const Filter read = Filter::load(to_bytes(filter_));
    ASSERT_EQ(block_bytes(read), block_bytes(filter_));
    ASSERT_EQ(read.capacity(), filter_.capacity());
    if (filter_.turns_over()) expect_lane_rules(filter_, hashes_);
  }
  void empty() {
    drain(0);
    EXPECT_EQ(filter_.size(), 0u);
  }

  Filter& filter() { return filter_; }
  [[nodiscard]] std::uint64_t size() const { return hashes_.size(); }
  [[nodiscard]] std::uint64_t below(std::uint64_t most) { return random_() % most; }

 private:
  std::uint64_t& some() { return hashes_[random_() % hashes_.size()]; }
  Filter filter_;
  std::mt19937_64 random_;
  std::vector<std::uint64_t> hashes_;
};

class FoldingTest : public testing::TestWithParam<std::tuple<int, std::uint64_t, Placement>> {
 protected:
  static int bits() { return std::get<0>(GetParam()); }
  static Geometry geometry(std::uint32_t growth) {
    return {std::get<1>(GetParam()), growth, std::get<2>(GetParam())};
  }
};

// The marks of a filter, and of its halves those that they must cover where guests stay away.
void expect_covering(const std::vector<std::uint32_t>& marks, const Filter& halved) {
  const auto now = marks_of(halved);
  for (std::size_t i = 0; i < marks.size(); ++i) ASSERT_GE(now[i / 2], marks[i]) << i;
}

TEST_P(FoldingTest, ShrinkingAndGrowingInTurn) {
  ExactFolding exact(filter_of(bits(), geometry(2)), std::get<1>(GetParam()));
  Filter& filter = exact.filter();
  unsigned shrunk = 0;
  for (unsigned round = 0; round < 20; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const std::uint64_t capacity = filter.capacity();
    switch (exact.below(6)) {
      case 0:
        if (filter.growth() < (std::get<1>(GetParam()) < 64 ? 4 : 2)) {
          ASSERT_TRUE(filter.grow());
        }
        break;
      case 1:
        exact.fill(capacity);
        break;
      case 2:
        exact.turn_over(exact.size());
        break;
      default: {
        if (filter.growth() == 0) continue;
        const std::uint64_t half =
            shrunk_capacity(bits(), geometry(filter.growth() - 1), filter.capacity());
        const std::uint64_t keys = half - exact.below(1 + half / 4) * (round % 2);
        exact.fill(keys);
        exact.drain(keys);
        const auto before = marks_of(filter);
        const auto bytes = block_bytes(filter);
        EXPECT_TRUE(filter.can_shrink());
        const bool done = filter.shrink();
        // Copies in a filter of a few blocks may be too many.
        EXPECT_TRUE(done || std::get<1>(GetParam()) < 64);
        if (!done) {
          EXPECT_EQ(block_bytes(filter), bytes);
          break;
        }
        ++shrunk;
        EXPECT_EQ(filter.capacity(), half);
        EXPECT_EQ(filter.memory_bytes(), bytes.size() / 2);
        if (!filter.turns_over()) expect_covering(before, filter);
      }
    }
    exact.check();
  }
  EXPECT_GT(shrunk, 1u);
  exact.empty();
}

// Nothing has moved since the doubling, so every byte is as before; but guests go home, and others
// may leave.
TEST_P(FoldingTest, UndoesDoublings) {
  ExactFolding exact(filter_of(bits(), geometry(0)), 1);
  Filter& filter = exact.filter();
  exact.fill(filter.capacity());
  const auto before = to_bytes(filter);
  const double fpr = filter.expected_fpr();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(filter.grow());
  EXPECT_EQ(filter.fit(), 3u);
  if (filter.turns_over()) {
    EXPECT_LE(filter.expected_fpr(), 1.03 * fpr);
    return exact.check();
  }
  EXPECT_EQ(to_bytes(filter), before);
  ASSERT_TRUE(filter.grow());
  ASSERT_TRUE(filter.shrink());
  EXPECT_EQ(to_bytes(filter), before);
}

// Several halvings at once, of a filter that was filled when it was large already.
TEST_P(FoldingTest, FitAtOnce) {
  for (const std::uint32_t most : {1u, 2u, max_growth(bits())}) {
    ExactFolding exact(filter_of(bits(), geometry(most)), most);
    Filter& filter = exact.filter();
    exact.fill(safe_keys(bits(), geometry(0)));
    exact.turn_over(exact.size() / 2);
    const unsigned times = filter.fit();
    EXPECT_TRUE(times == most || std::get<1>(GetParam()) < 64);
    EXPECT_EQ(filter.growth(), most - times);
    exact.check();
    if (times != most) continue;
    EXPECT_EQ(filter.capacity(), safe_keys(bits(), geometry(0)));
    exact.turn_over(exact.size());
    exact.check();
    exact.empty();
  }
}

TEST_P(FoldingTest, RefusalsChangeNothing) {
  const auto expect_refused = [](Filter& filter) {
    const auto before = to_bytes(filter);
    EXPECT_FALSE(filter.can_shrink());
    EXPECT_FALSE(filter.shrink());
    EXPECT_EQ(filter.fit(), 0u);
    EXPECT_EQ(to_bytes(filter), before);
  };
  ExactFolding whole(filter_of(bits(), geometry(0)), 1);
  whole.fill(10);
  expect_refused(whole.filter());
  ExactFolding full(filter_of(bits(), geometry(1)), 2);
  full.fill(shrunk_capacity(bits(), geometry(0), full.filter().capacity()) + 1);
  expect_refused(full.filter());
  full.drain(full.size() - 1);
  EXPECT_TRUE(full.filter().can_shrink());
  full.filter().clear();
  EXPECT_TRUE(full.filter().shrink());
  expect_refused(full.filter());
}

INSTANTIATE_TEST_SUITE_P(Plain, FoldingTest,
                         testing::Combine(testing::ValuesIn(kFilterWidths),
                                          testing::Values(1u, 3u, 7u, 100u),
                                          testing::Values(Placement::anywhere)));
INSTANTIATE_TEST_SUITE_P(TurnsOver, FoldingTest,
                         testing::Combine(testing::ValuesIn(kFilterWidths),
                                          testing::Values(64u, 150u),
                                          testing::Values(Placement::guest_lanes)));

class FoldingOfWidthTest : public testing::TestWithParam<int> {};

// Of one first block: two keys of different children whose buckets share a slot, each with as many
// copies as it may have.
TEST_P(FoldingOfWidthTest, CopiesThatLeaveNoRoom) {
  const int bits = GetParam();
  Filter filter = filter_of(bits, {1, 1});
  std::mt19937_64 random(1);
  const Model model(filter);
  const auto insert_all = [&](std::uint64_t hash) {
    while (filter.insert(Hash{hash})) continue;
  };
  const std::uint64_t first = random();
  const Place one = model.place(first);
  std::uint64_t second = random();
  for (;; second = random()) {
    const Place two = model.place(second);
    if (two.block != one.block && std::popcount(two.bucket & one.bucket) == 1) break;
  }
  insert_all(first);
  insert_all(second);
  const auto before = to_bytes(filter);
  EXPECT_EQ(filter.size(), most_copies(bits));
  EXPECT_TRUE(filter.can_shrink());
  EXPECT_FALSE(filter.shrink());
  EXPECT_EQ(filter.fit(), 0u);
  EXPECT_EQ(to_bytes(filter), before);
  ASSERT_TRUE(filter.erase(Hash{first}));
  ASSERT_TRUE(filter.erase(Hash{second}));
  EXPECT_TRUE(filter.shrink());
  EXPECT_EQ(filter.count(Hash{first}), most_copies(bits) / 2 - 1);
  EXPECT_EQ(filter.count(Hash{second}), most_copies(bits) / 2 - 1);
}

// A filter for the worst case becomes what one is that was made for its keys.
TEST_P(FoldingOfWidthTest, MadeForTheWorstCase) {
  const int bits = GetParam();
  for (const bool turns_over : {false, true}) {
    const Options options{
        .capacity = 1'600'000, .bits = bits, .turns_over = turns_over, .may_fold = true};
    Filter filter(options);
    EXPECT_EQ(filter.memory_bytes(), bytes_for(options));
    EXPECT_GE(filter.capacity(), options.capacity);
    EXPECT_EQ(filter.max_capacity(), options.capacity);
    const unsigned most = filter.growth();
    EXPECT_GE(most, 4u);
    // With turns_over it is lower where doublings leave few classes.
    const double load =
        static_cast<double>(filter.capacity()) / static_cast<double>(filter.slots());
    EXPECT_NEAR(load, turns_over && static_cast<int>(most) + 8 - bits >= 1 ? 0.885 : 0.95, 0.016);
    for (const unsigned times : {2u, most}) {
      // As many as the folded filter promises.
      const auto keys =
          sequence(0, most_folding(FilterAccess::blocks(filter).shape(), 1, times).capacity);
      Filter fitted = filter.snapshot();
      ASSERT_EQ(fitted.insert(keys), keys.size());
      EXPECT_EQ(fitted.fit(), times);
      const Filter made = Filter::build(
          {.capacity = keys.size(), .bits = bits, .load = load, .turns_over = turns_over}, keys);
      const auto near = [](double value, double expected) {
        EXPECT_NEAR(value, expected, 0.01 * expected);
      };
      near(static_cast<double>(fitted.memory_bytes()), static_cast<double>(made.memory_bytes()));
      near(static_cast<double>(fitted.capacity()), static_cast<double>(made.capacity()));
      EXPECT_EQ(answers_of(fitted, keys).hits(), keys.size());
      if (times != most) continue;
      near(fitted.expected_fpr(), made.expected_fpr());
      // Inserts go on as ever: it grows by itself, up to what it was made for.
      const auto more = sequence(keys.size(), options.capacity - keys.size());
      const std::size_t stored = fitted.insert(more);
      // With 16 classes a block, guest lanes have room for all but one key in a million or so.
      EXPECT_GE(stored, more.size() - (turns_over ? 2 : 0));
      EXPECT_EQ(fitted.growth(), most);
      EXPECT_GE(answers_of(fitted, sequence(0, options.capacity)).hits(), keys.size() + stored);
    }
  }
}

// Erasing makes it small again, one key at a time or in batches.
// With turns_over: what filled it up and has gone leaves no trace, though its first keys stay.
TEST_P(FoldingOfWidthTest, FillsUpAndFitsInTurn) {
  const int bits = GetParam();
  constexpr std::uint64_t kFirst = 20'000;
  Filter filter({.capacity = kFirst, .bits = bits, .max_capacity = 8 * kFirst, .turns_over = true});
  std::mt19937_64 random(static_cast<unsigned>(bits));
  const auto draw = [&](std::uint64_t count) {
    std::vector<std::uint64_t> keys(count);
    std::ranges::generate(keys, std::ref(random));
    return keys;
  };
  const auto first = draw(kFirst);
  ASSERT_EQ(filter.insert(first), first.size());
  const double fpr = filter.expected_fpr();
  const std::uint64_t bytes = filter.memory_bytes();
  std::vector<std::uint8_t> found(first.size());
  for (int round = 0; round < 4; ++round) {
    SCOPED_TRACE(round);
    const auto more = draw(7 * kFirst);
    EXPECT_EQ(filter.insert(more), more.size());
    EXPECT_EQ(filter.growth(), 3u);
    EXPECT_EQ(filter.erase(more), more.size());
    EXPECT_EQ(filter.fit(), 3u);
    EXPECT_EQ(filter.memory_bytes(), bytes);
    EXPECT_LE(filter.expected_fpr(), 1.06 * fpr);
    EXPECT_EQ(filter.may_contain(first, found), first.size());
  }
}

TEST_P(FoldingOfWidthTest, ShrinksByItself) {
  const int bits = GetParam();
  Filter filter({.capacity = 5000, .bits = bits, .max_capacity = 80'000, .shrink_below = 0.3});
  const auto keys = sequence(0, 70'000);
  for (const bool batch : {false, true}) {
    ASSERT_EQ(filter.insert(keys), keys.size());
    EXPECT_GE(filter.growth(), 3u);
    constexpr std::size_t kKept = 1000;
    const auto rest = std::span(keys).subspan(kKept);
    if (batch) {
      EXPECT_EQ(filter.erase(rest), rest.size());
    } else {
      for (const std::uint64_t key : rest) {
        ASSERT_TRUE(filter.erase(key));
        ASSERT_TRUE(filter.growth() == 0 || filter.load_factor() >= 0.299);
      }
    }
    EXPECT_EQ(filter.growth(), 0u);
    for (std::size_t i = 0; i < kKept; ++i) ASSERT_TRUE(filter.erase(keys[i]));
  }
  EXPECT_EQ(filter.size(), 0u);
}

// The larger of two is folded, whichever it is, if its keys and the other's have room then.
TEST_P(FoldingOfWidthTest, MergesFoldTheLarger) {
  const Options options{.capacity = 5000, .bits = GetParam(), .max_capacity = 40'000};
  const auto keys = sequence(0, 4000);
  const auto filled = [&](std::size_t first, std::size_t count, int doublings) {
    Filter filter(options);
    for (; doublings != 0; --doublings) EXPECT_TRUE(filter.grow());
    EXPECT_EQ(filter.insert(std::span(keys).subspan(first, count)), count);
    return filter;
  };
  for (const bool is_into : {false, true}) {
    Filter into = filled(0, 2000, is_into ? 3 : 1);
    const Filter other = filled(2000, 2000, is_into ? 1 : 3);
    const auto before = block_bytes(other);
    EXPECT_TRUE(into.can_merge(other));
    EXPECT_EQ(into.merge(other), 0u);
    EXPECT_EQ(into.growth(), 1u);
    EXPECT_EQ(into.max_capacity(), options.max_capacity);
    EXPECT_EQ(answers_of(into, keys).hits(), keys.size());
    EXPECT_EQ(into.erase(keys), keys.size());
    EXPECT_EQ(block_bytes(other), before);
  }
  // Not where the smaller size is too small for the keys of both.
  Filter large = filled(0, 4000, 2);
  EXPECT_EQ(large.insert(sequence(10'000, 9000)), 9000u);
  EXPECT_FALSE(filled(0, 2000, 1).can_merge(large));
  EXPECT_FALSE(large.can_merge(filled(0, 2000, 1)));
}

INSTANTIATE_TEST_SUITE_P(Widths, FoldingOfWidthTest, testing::ValuesIn(kFilterWidths));

}  // namespace
}  // namespace nestline::test
