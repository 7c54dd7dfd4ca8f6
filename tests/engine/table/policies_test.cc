// Filters, plain and with guest lanes, give the same answers and leave the same slots, marks and
// guest levels on every target and under every lock policy, from all operations; and no block stays
// locked. So the code that is compiled once for all policies does in each mode what the first looks
// do that are compiled for one.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/engine/kernels/each_target.h"
#include "tests/support/lane_rules.h"
#include "tests/support/model.h"

namespace nestline::test { namespace {

enum class What : std::uint8_t {
  insert,
  insert_at,
  insert_unique,
  update,
  erase,
  insert_run,
  insert_unique_run,
  erase_run
};
struct Step {
  What what;
  std::uint64_t hash;
  std::uint64_t old;
  std::vector<std::uint64_t> run;
};

// What is in slots, marks and levels, without locks and versions.
std::vector<std::uint8_t> kept_bytes(const std::vector<Block>& blocks) {
  std::vector<std::uint8_t> all;
  for (Block block : blocks) {
    BlockLocks::forget_version(block);
    all.insert(all.end(), block.bytes.begin(), block.bytes.end());
  }
  return all;
}

class Policies : public testing::TestWithParam<std::tuple<int, Placement>> {
 protected:
  static int bits() { return std::get<int>(GetParam()); }
  static Placement placement() { return std::get<Placement>(GetParam()); }
  static Geometry geometry() { return {64, 0, placement()}; }
  static const FilterEngine& engine() { return filter_engine(bits(), placement()).of_filters(); }

  // Steps that keep about this load, or that at which keys are refused, so many after it is
  // reached, played on a Filter, which says what is stored. `meeting` of 100 keys are stored
  // already, and as many are other keys that look the same as one.
  std::vector<Step> make_steps(double load, unsigned meeting, std::uint64_t seed,
                               std::size_t after) {
    std::mt19937_64 random(seed);
    Filter filter = FilterAccess::make(make_blocks({bits(), geometry(), 5, 64}, nullptr));
    auto most = static_cast<std::size_t>(load * static_cast<double>(filter.slots()));
    std::vector<std::uint64_t>& stored = stored_;
    stored.clear();
    std::vector<Step> steps;
    const auto take = [&] {
      std::swap(stored[random() % stored.size()], stored.back());
      const std::uint64_t hash = stored.back();
      stored.pop_back();
      return hash;
    };
    const auto draw = [&] {
      const std::uint64_t what = random() % 100;
      if (stored.empty() || what >= 2 * meeting) return std::uint64_t{random()};
      const std::uint64_t one = stored[random() % stored.size()];
      return what < meeting ? one : twin_of(bits(), geometry(), one);
    };
    for (bool was_full = false; after > 0; after -= was_full) {
      const std::uint64_t what = random() % 100;
      const bool full = stored.size() >= most;
      was_full |= full;
      Step step{};
      if (what < (full ? 35u : 80u) || stored.size() < 40) {
        step.hash = draw();
        step.what = what % 3 == 0   ? What::insert_unique
                    : what % 3 == 1 ? What::insert
                                    : What::insert_at;
        const Outcome outcome = step.what == What::insert_unique
                                    ? filter.insert_unique(Hash{step.hash}).outcome
                                    : filter.insert(Hash{step.hash}).outcome;
        if (outcome == Outcome::stored) stored.push_back(step.hash);
        if (outcome == Outcome::full) most = stored.size();
      } else if (what < 90) {
        step.what = What::erase;
        step.hash = take();
        EXPECT_TRUE(filter.erase(Hash{step.hash}));
      } else if (what < 94) {
        step.what = What::update;
        step.old = take();
        step.hash = draw();
        const bool done{filter.update(Hash{step.old}, Hash{step.hash})};
        stored.push_back(done ? step.hash : step.old);
      } else if (what < 97) {
        step.what = what % 2 == 0 ? What::insert_run : What::insert_unique_run;
        for (std::uint64_t i = random() % 40; i > 0; --i) step.run.push_back(draw());
        for (const std::uint64_t hash : step.run) {
          const Inserted inserted = step.what == What::insert_run
                                        ? filter.insert(Hash{hash})
                                        : filter.insert_unique(Hash{hash});
          if (inserted.outcome == Outcome::stored) stored.push_back(hash);
        }
      } else {
        step.what = What::erase_run;
        for (std::uint64_t i = random() % 30; i > 0; --i) step.run.push_back(take());
        for (const std::uint64_t hash : step.run) {
          EXPECT_TRUE(filter.erase(Hash{hash}));
        }
      }
      steps.push_back(std::move(step));
    }
    return steps;
  }

  static constexpr std::size_t kEach = 100;

  // Plays all of them; what is left after each kEach steps, and what they have answered till then.
  template <class Locks>
  std::vector<std::vector<std::uint8_t>> play(const FilterEngine& engine,
                                              const std::vector<Step>& steps) {
    std::vector<Block> blocks(geometry().blocks());
    const BlocksView view = {blocks.data(), geometry(), {}, bits(), bucket_table(bits())};
    const FilterOperations& filter = engine.operations.with<Locks>();
    std::vector<std::vector<std::uint8_t>> left;
    std::vector<std::uint8_t> answers;
    const auto answer = [&](const Result& outcome, std::size_t step) {
      EXPECT_TRUE(outcome.has_value()) << "step " << step;
      answers.push_back(outcome ? static_cast<std::uint8_t>(*outcome) : 99);
    };
    // Whether and how often each of a step's keys is there now.
    const auto look = [&](const Inputs& keys) {
      std::vector<std::uint8_t> counts(keys.count);
      filter.count_run(view, keys, counts.data(), nullptr);
      for (std::size_t i = 0; i < keys.count; ++i) {
        const std::uint64_t hash = keys.keys[i];
        const unsigned count = filter.count(view, home_of(bits(), geometry(), hash), nullptr);
        EXPECT_EQ(count, counts[i]);
        EXPECT_EQ(filter.contains(view, hash, nullptr), count != 0);
      }
      answers.insert(answers.end(), counts.begin(), counts.end());
    };
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const Step& step = steps[i];
      const Inputs run = {step.run.data(), step.run.size(), InputKind::hashes};
      bool replaced = false;
      switch (step.what) {
        case What::insert:
          answer(filter.insert(view, step.hash), i);
          break;
        case What::insert_at:
          answer(filter.insert_at(view, home_of(bits(), geometry(), step.hash)), i);
          break;
        case What::insert_unique:
          answer(filter.insert_unique(view, step.hash), i);
          break;
        case What::update:
          answer(filter.update(view, step.old, step.hash, replaced), i);
          answers.push_back(replaced);
          break;
        case What::erase:
          EXPECT_TRUE(filter.erase(view, step.hash)) << "step " << i;
          break;
        case What::insert_run:
        case What::insert_unique_run: {
          std::vector<Outcome> outcomes(step.run.size());
          Record record(outcomes, step.run.size());
          const RunEnd end =
              step.what == What::insert_run
                  ? filter.insert_run(view, run, {~std::uint64_t{0}, false}, 0, record)
                  : filter.insert_unique_run(view, run, {~std::uint64_t{0}, false}, 0, record);
          EXPECT_EQ(end.taken, step.run.size()) << "step " << i;
          for (const Outcome outcome : outcomes) answer(outcome, i);
          break;
        }
        case What::erase_run: {
          std::vector<std::uint8_t> erased(step.run.size());
          Record record(erased, step.run.size());
          filter.erase_run(view, run, 0, record);
          answers.insert(answers.end(), erased.begin(), erased.end());
          break;
        }
      }
      look(step.run.empty() ? Inputs{&step.hash, 1, InputKind::hashes} : run);
      for (const Block& block : blocks) {
        if ((block.header() & kHeaderLock) == 0) continue;
        ADD_FAILURE() << "a block stays locked after step " << i << ", operation "
                      << static_cast<int>(step.what);
        return left;
      }
      if (i % kEach != kEach - 1) continue;
      left.push_back(kept_bytes(blocks));
      left.push_back(std::exchange(answers, {}));
    }
    if (placement() == Placement::guest_lanes) {
      EXPECT_EQ(visit_layout(
                    bits(),
                    [&](auto layout) { return broken_lane_rule<decltype(layout)>(view, stored_); }),
                "");
    }
    for (const std::uint64_t hash : stored_) {
      EXPECT_TRUE(filter.contains(view, hash, nullptr)) << "false negative for hash " << hash;
    }
    return left;
  }

  static void expect_same(const std::vector<std::vector<std::uint8_t>>& left,
                          const std::vector<std::vector<std::uint8_t>>& expected,
                          const char* policy) {
    ASSERT_EQ(left.size(), expected.size());
    for (std::size_t i = 0; i < left.size(); ++i) {
      ASSERT_EQ(left[i], expected[i]) << policy << ", after step " << (i / 2 + 1) * kEach;
    }
  }

  std::vector<std::uint64_t> stored_;
};

TEST_P(Policies, AnswerTheSameAndLeaveTheSameBlocks) {
  for (const double load : {0.9, 1.0}) {
    const unsigned meeting = load < 1 ? 0 : 8;
    // A refusal looks at all blocks.
    const auto steps = make_steps(load, meeting, 17 + meeting, load < 1 ? 600 : 200);
    if (HasFailure()) return;
    const auto expected = play<NoLocks>(engine(), steps);
    for_each_target([&](std::int64_t) {
      SCOPED_TRACE("load " + std::to_string(load));
      const FilterEngine& engine = this->engine();
      expect_same(play<NoLocks>(engine, steps), expected, "no locks");
      expect_same(play<OneWriter>(engine, steps), expected, "one writer");
      expect_same(play<BlockLocks>(engine, steps), expected, "block locks");
    });
    if (HasFailure()) return;
  }
}

// With guest lanes blocks open in time, and marks rise and fall.
TEST_P(Policies, LeaveTheSameBlocksInTheLongRun) {
  const auto steps = make_steps(0.9, 0, 17, 4000);
  expect_same(play<BlockLocks>(engine(), steps), play<NoLocks>(engine(), steps), "block locks");
}

INSTANTIATE_TEST_SUITE_P(Widths, Policies,
                         testing::Combine(testing::ValuesIn(kFilterWidths),
                                          testing::Values(Placement::anywhere,
                                                          Placement::guest_lanes)));

}}  // namespace nestline::test
