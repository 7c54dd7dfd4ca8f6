// Random operation sequences on small, nearly full filters against the exact model: no false
// negative ever, counts right, failed inserts change no byte, marks never fall.
#include "tests/support/model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "lib/engine/place/layout.h"

namespace nestline::test { namespace {

class ModelTest : public testing::TestWithParam<std::tuple<int, std::uint64_t>> {
 protected:
  static Options options() {
    return {.capacity = std::get<1>(GetParam()), .bits = std::get<0>(GetParam())};
  }
};

TEST_P(ModelTest, RandomOperations) {
  const std::uint64_t seed =
      std::get<1>(GetParam()) * 100 + static_cast<std::uint64_t>(std::get<0>(GetParam()));
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  CheckedFilter checked(options());
  std::vector<std::uint64_t> stored;
  // Hashes are drawn anew, or taken again, so that copies happen too.
  const auto draw = [&] {
    return !stored.empty() && random() % 8 == 0 ? stored[random() % stored.size()] : random();
  };
  const auto take = [&] {
    const std::size_t at = random() % stored.size();
    std::swap(stored[at], stored.back());
    const std::uint64_t hash = stored.back();
    stored.pop_back();
    return hash;
  };
  std::uint64_t failures = 0;
  auto marks = marks_of(checked.filter());
  const int steps = static_cast<int>(4000 + 12 * std::get<1>(GetParam()));
  for (int step = 0; step < steps && !HasFailure(); ++step) {
    const std::uint64_t what = random() % 100;
    // Inserts outweigh erases until the filter is full; then both keep it there.
    if (what < 55 || stored.empty()) {
      const std::uint64_t hash = draw();
      const Outcome outcome = what < 45 ? checked.insert(hash) : checked.insert_unique(hash);
      if (outcome == Outcome::stored) stored.push_back(hash);
      failures += outcome == Outcome::full || outcome == Outcome::too_many_copies;
    } else if (what < 85) {
      checked.erase(take());
    } else if (what < 95) {
      const std::uint64_t old_hash = take();
      const std::uint64_t new_hash = draw();
      const bool updated = checked.update(old_hash, new_hash) == Outcome::stored;
      stored.push_back(updated ? new_hash : old_hash);
    } else {
      checked.check(random());
    }
    const auto now = marks_of(checked.filter());
    for (std::size_t b = 0; b < now.size(); ++b) EXPECT_GE(now[b], marks[b]);
    marks = now;
    if (step % 64 == 0) {
      for (const std::uint64_t hash : stored) checked.check(hash);
      checked.check_blocks();
    }
  }
  EXPECT_GT(failures, 0u) << "the filter never became full: the test is too weak";
  for (const std::uint64_t hash : stored) checked.check(hash);
  while (!stored.empty()) checked.erase(take());
  checked.check_blocks();
  EXPECT_EQ(checked.filter().size(), 0u);
}

TEST_P(ModelTest, CopiesStopAndHarmNoOtherKey) {
  std::mt19937_64 random(std::get<1>(GetParam()));
  CheckedFilter checked(options());
  const auto choices = static_cast<unsigned>(checked.filter().bits() == 16 ? 5 : 4);
  std::vector<std::uint64_t> others;
  for (std::uint64_t i = 0; i < checked.filter().capacity() / 2; ++i) {
    const std::uint64_t hash = random();
    if (checked.insert(hash) == Outcome::stored) others.push_back(hash);
  }
  for (int round = 0; round < 20; ++round) {
    const std::uint64_t hash = random();
    if (checked.model().at_both(hash) != 0) continue;
    const Place home = checked.model().place(hash);
    const bool has_alternate = alternate_of(checked.model().geometry(), home) != home.block;
    unsigned copies = 0;
    Outcome outcome = Outcome::stored;
    while ((outcome = checked.insert(hash)) == Outcome::stored) ++copies;
    EXPECT_EQ(outcome, Outcome::too_many_copies);
    EXPECT_EQ(copies, has_alternate ? 2 * choices : choices);
    EXPECT_EQ(checked.filter().count(Hash{hash}), copies);
    for (const std::uint64_t other : others) checked.check(other);
    for (unsigned i = 0; i < copies; ++i) checked.erase(hash);
    EXPECT_FALSE(checked.filter().may_contain(Hash{hash}));
  }
}

// Batches do what their keys do one by one: the same answers, the same blocks.
TEST_P(ModelTest, BatchesAgreeWithSingleKeys) {
  std::mt19937_64 random(std::get<1>(GetParam()) + 1);
  Filter batch(options());
  Filter single(options());
  for (int round = 0; round < 30; ++round) {
    std::vector<Hash> keys(random() % 200);
    for (Hash& key : keys) key = {random() % 500 * 0x9e3779b97f4a7c15u};
    std::vector<std::uint8_t> done(keys.size());
    std::vector<std::uint8_t> expected(keys.size());
    std::vector<Outcome> outcomes(keys.size());
    std::vector<Outcome> wanted(keys.size());
    std::size_t total = 0;
    std::size_t batch_total = 0;
    if (round % 3 == 2) {
      batch_total = batch.erase(keys, done);
      for (std::size_t i = 0; i < keys.size(); ++i) total += expected[i] = single.erase(keys[i]);
    } else {
      const bool unique = round % 6 == 1;
      batch_total = unique ? batch.insert_unique(keys, outcomes) : batch.insert(keys, outcomes);
      for (std::size_t i = 0; i < keys.size(); ++i) {
        const Inserted one = unique ? single.insert_unique(keys[i]) : single.insert(keys[i]);
        wanted[i] = one.outcome;
        total += bool(one);
      }
    }
    ASSERT_EQ(done, expected);
    ASSERT_EQ(outcomes, wanted);
    EXPECT_EQ(batch_total, total);
    EXPECT_EQ(batch.size(), single.size());
    ASSERT_EQ(block_bytes(batch), block_bytes(single));
    batch.count(keys, done);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      EXPECT_EQ(done[i], single.count(keys[i]));
    }
    const std::size_t found = batch.may_contain(keys, done);
    EXPECT_EQ(found, static_cast<std::size_t>(std::count(done.begin(), done.end(), 1)));
    for (std::size_t i = 0; i < keys.size(); ++i) {
      EXPECT_EQ(done[i], single.may_contain(keys[i]));
    }
  }
}

TEST_P(ModelTest, ClearForgetsEverything) {
  CheckedFilter checked(options());
  std::mt19937_64 random(5);
  std::vector<std::uint64_t> hashes(checked.filter().capacity());
  for (std::uint64_t& hash : hashes) checked.insert(hash = random());
  const std::size_t memory = checked.filter().memory_bytes();
  checked.clear();
  for (const std::uint64_t hash : hashes) checked.check(hash);
  checked.check_blocks();
  EXPECT_EQ(checked.filter().memory_bytes(), memory);
  EXPECT_EQ(checked.filter().load_factor(), 0);
  EXPECT_EQ(checked.filter().expected_fpr(), 0);
}

INSTANTIATE_TEST_SUITE_P(Widths, ModelTest,
                         testing::Combine(testing::ValuesIn(kFilterWidths),
                                          testing::Values(1, 50, 100, 150, 400, 1000)));

}  // namespace
}  // namespace nestline::test
