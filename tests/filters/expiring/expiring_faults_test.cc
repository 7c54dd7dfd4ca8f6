// Faults of lib/engine/place/aging.h that show only when a filter has turned over: one thread plays
// random keys and lives on a crowded filter of a few slices, tick after tick, beside the exact
// model. The same play without a fault must be right.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "lib/engine/engine.h"
#include "lib/engine/place/aging.h"
#include "lib/engine/place/geometry.h"
#include "lib/engine/place/layout.h"
#include "lib/engine/place/locking.h"
#include "lib/engine/place/test_hooks.h"
#include "nestline/expiring_filter.h"
#include "tests/filters/concurrent/history_scene.h"
#include "tests/filters/expiring/expiring_model.h"
#include "tests/filters/expiring/small_filter.h"

namespace nestline::test { namespace {

// What is wrong first in so many ticks; empty if nothing is.
std::string first_error(int bits, std::uint64_t seed, std::uint64_t ticks) {
  constexpr std::uint64_t kBlocks = 2 * kSlice + 10;
  ExpiringFilter filter = small_expiring_filter(bits, kBlocks);
  ExpiringModel model(filter);
  Random random(seed);
  // A key lives for 8 ticks on average.
  const std::uint64_t each = filter.slots() * 93 / 100 / 8;
  std::uint64_t next = 0;
  std::deque<std::uint64_t> recent;
  const auto insert = [&](std::uint64_t key) {
    const auto life = static_cast<unsigned>(1 + random() % ExpiringFilter::kMaxTtlTicks);
    const Outcome outcome = filter.insert(key, life).outcome;
    if (outcome != Outcome::full) {
      const bool possible =
          outcome == Outcome::present ? model.most(key) != 0 : model.least(key) == 0;
      model.insert(key, life);
      return possible;
    }
    return model.least(key) == 0;
  };
  for (std::uint64_t tick = 0; tick < ticks; ++tick) {
    const auto where = [&] { return " in tick " + std::to_string(tick); };
    for (std::uint64_t i = 0; i < each; ++i) {
      const bool renews = !recent.empty() && random() % 4 == 0;
      const std::uint64_t key = renews ? recent[random() % recent.size()] : next++;
      if (!renews) recent.push_back(key);
      if (!insert(key)) return "a wrong outcome" + where();
    }
    while (recent.size() > 20 * each) recent.pop_front();
    for (const std::uint64_t key : recent) {
      const bool found = filter.may_contain(key);
      if (!found && model.least(key) != 0) return "a key that lives was not found" + where();
      if (found && model.most(key) == 0) return "a dead key was found" + where();
    }
    filter.advance();
    model.advance(1);
  }
  return {};
}

class ExpiringFaults : public testing::TestWithParam<int> {
 protected:
  static void expect_caught(std::atomic<bool>& fault) {
    fault = true;
    std::string error;
    for (std::uint64_t seed = 1; error.empty() && seed < 50; ++seed) {
      error = first_error(GetParam(), seed, 100);
    }
    fault = false;
    EXPECT_NE(error, "");
  }
};

TEST_P(ExpiringFaults, WithoutOneNothingIsWrong) { EXPECT_EQ(first_error(GetParam(), 1, 120), ""); }

TEST_P(ExpiringFaults, RenewalsThatForgetTheYoungMarkAreCaught) {
  expect_caught(test_hooks::forget_young_marks);
}

TEST_P(ExpiringFaults, SweepsThatAreTooEarlyAreCaught) {
  expect_caught(test_hooks::sweep_too_early);
}

// Full blocks, of which the sweep has passed every other one, and few of which have free slots: so
// inserts need chains of moves, on which they meet dead slots of blocks that were not swept.
template <class L, class Locks>
class CrowdedBlocks {
 public:
  explicit CrowdedBlocks(std::uint64_t seed)
      : random_(seed), memory_(kHeadBlocks + with_next_overflow_marks(kBlocks)) {
    set_tick(blocks(), kTick);
    for (std::uint64_t b = 0; b < kBlocks; ++b) {
      for (std::uint32_t s = 0; s < L::kSlots; ++s) {
        if (b % 16 == 0 && random_() % 4 == 0) continue;
        const auto rest = static_cast<std::uint32_t>(random_());
        const bool dead = !is_swept(b) && random_() % 4 == 0;
        const std::uint64_t left = dead ? 0 : 1 + random_() % (kMaxLife + 1);
        L::set(blocks()[b], s, L::fingerprint_of(rest),
               static_cast<std::uint32_t>(kTick + left) & 15);
      }
    }
  }

  // Inserts keys. Whether nobody was lost or added but they, and no swept block has dead slots.
  bool play() {
    const BlocksView view = {blocks(), kGeometry, {}};
    const ExpiringOperations& expiring = expiring_engine(L::kNumber, Placement::anywhere)
                                             .of_expiring_filters()
                                             .operations.template with<Locks>();
    std::uint32_t emptied = 0;
    auto expected = residents();
    for (int i = 0; i < 100; ++i) {
      const std::uint64_t hash = random_();
      const Place home = home_of<L>(kGeometry, hash);
      const auto life = static_cast<std::uint32_t>(1 + random_() % kMaxLife);
      const Result outcome = expiring.renew(view, hash, life, emptied);
      if (outcome == Outcome::stored) expected.insert(resident(home, death_after(kTick, life)));
      if (outcome == Outcome::present) expected = residents();
    }
    for (std::uint64_t b = 0; b < kBlocks; ++b) {
      for (std::uint32_t s = 0; is_swept(b) && s < L::kSlots; ++s) {
        if (L::get(blocks()[b], s) != 0 && ticks_left(L::value(blocks()[b], s), kTick) == 0) {
          return false;
        }
      }
    }
    return residents() == expected;
  }

 private:
  static constexpr std::uint64_t kBlocks = 160;
  static constexpr Geometry kGeometry{kBlocks, 0};
  static constexpr std::uint64_t kTick = 21;
  static bool is_swept(std::uint64_t block) { return block % 2 == 0; }

  Block* blocks() { return memory_.data() + kHeadBlocks; }
  // Who lives where: fingerprint, bucket offset, one block and the other, death.
  using Resident =
      std::tuple<std::uint32_t, std::uint32_t, std::uint64_t, std::uint64_t, std::uint32_t>;
  static Resident resident(const Place& place, std::uint32_t death) {
    const std::uint64_t other = alternate_of(kGeometry, place);
    return {place.fingerprint, place.bucket_offset, std::min(place.block, other),
            std::max(place.block, other), death};
  }
  std::multiset<Resident> residents() {
    std::multiset<Resident> all;
    for (std::uint64_t b = 0; b < kBlocks; ++b) {
      for (std::uint32_t s = 0; s < L::kSlots; ++s) {
        const std::uint32_t f = L::get(blocks()[b], s);
        const std::uint32_t death = L::value(blocks()[b], s);
        if (f == 0 || ticks_left(death, kTick) == 0) continue;
        all.insert(resident({b, 0, f, L::bucket_offset_at(f, s)}, death));
      }
    }
    return all;
  }

  Random random_;
  std::vector<Block> memory_;
};

// How many of so many plays are right.
template <class Locks>
int right_plays(int bits, int plays) {
  int right = 0;
  for (int seed = 0; seed < plays; ++seed) {
    visit_expiring_layout(expiring_layout(bits), [&](auto layout) {
      right += CrowdedBlocks<decltype(layout), Locks>(static_cast<std::uint64_t>(seed)).play();
    });
  }
  return right;
}

TEST_P(ExpiringFaults, DeadSlotsThatMoveToOtherBlocksAreCaught) {
  EXPECT_EQ(right_plays<OneWriter>(GetParam(), 100), 100);
  EXPECT_EQ(right_plays<BlockLocks>(GetParam(), 100), 100);
  test_hooks::move_the_dead = true;
  EXPECT_LT(right_plays<OneWriter>(GetParam(), 100), 100);
  EXPECT_LT(right_plays<BlockLocks>(GetParam(), 100), 100);
  test_hooks::move_the_dead = false;
}

INSTANTIATE_TEST_SUITE_P(Widths, ExpiringFaults, testing::Values(8, 12));

}  // namespace
}  // namespace nestline::test
