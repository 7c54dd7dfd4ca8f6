// The histories of history_test.cc on filters with guest lanes: they are linearizable too.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <tuple>

#include "lib/filters/filter/blocks.h"
#include "nestline/concurrent_filter.h"
#include "tests/filters/concurrent/history_runner.h"
#include "tests/filters/concurrent/history_scene.h"
#include "tests/support/hooks.h"

namespace nestline::test { namespace {

class LaneHistoryTest : public testing::TestWithParam<std::tuple<int, Family>> {
 protected:
  void play(std::uint64_t first_seed) {
    const auto [bits, family] = GetParam();
    const bool waits =
        family == Family::growing || family == Family::clearing || family == Family::whole;
    const std::uint64_t count = of_histories(waits ? 128 : 384);
    Crew crew;
    const Verdict verdict = play_histories<ConcurrentFilter>(crew, family, bits, first_seed, count,
                                                             false, Placement::guest_lanes);
    EXPECT_EQ(verdict.failed, 0u) << verdict.first_failure;
    EXPECT_EQ(verdict.played, count);
  }
};

TEST_P(LaneHistoryTest, LinearizableAtFullSpeed) { play(1); }

TEST_P(LaneHistoryTest, LinearizableWithWaitsInside) {
  const Hooks hooks(perturb);
  play(1'000'001);
}

TEST_P(LaneHistoryTest, LinearizableWithReadersThatLock) {
  const Hooks hooks(perturb);
  test_hooks::lock_at_once = true;
  play(2'000'001);
}

// Otherwise the histories would show nothing.
TEST(LaneHistoryScenes, HaveGuests) {
  int scenes = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Scene scene = make_scene(Family::crowded, 8, seed, Placement::guest_lanes);
    const BlocksView& view = FilterAccess::blocks(*scene.filter).view;
    bool has_guests = false;
    for (std::uint64_t b = 0; b < view.geometry.blocks(); ++b) {
      has_guests |= view.blocks[b].guest_level() != 0;
    }
    scenes += has_guests;
  }
  EXPECT_GT(scenes, 50);
}

std::string lane_history_name(const testing::TestParamInfo<std::tuple<int, Family>>& one) {
  const auto [bits, family] = one.param;
  return std::string(name_of(family)) + std::to_string(bits);
}

INSTANTIATE_TEST_SUITE_P(All, LaneHistoryTest,
                         testing::Combine(testing::ValuesIn(kHistoryWidths),
                                          testing::ValuesIn(kFamilies)),
                         lane_history_name);

}}  // namespace nestline::test
