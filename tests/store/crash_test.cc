// A store on a disk that loses its power keeps its promises, at every change of the disk.
//
// NESTLINE_CRASHES says how many power losses all tests together should see (default: 4000).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "tests/store/crash_history.h"

namespace nestline::test {
namespace {

// The share of one test, in percent.
std::uint64_t power_losses(std::uint64_t share) {
  const char* const text = std::getenv("NESTLINE_CRASHES");
  return (text == nullptr ? 4000 : std::stoull(text)) * share / 100;
}

// Plays histories until there were enough power losses.
CrashReport play(std::uint64_t first_seed, std::uint64_t power_losses, CrashPlan plan) {
  CrashReport sum;
  for (plan.seed = first_seed; sum.power_losses < power_losses; ++plan.seed) {
    const CrashReport report = play_crashes(plan);
    EXPECT_EQ(report.violation, "");
    if (!report.violation.empty()) return report;
    sum.power_losses += report.power_losses;
    sum.kills += report.kills;
    sum.refused += report.refused;
    sum.compactions += report.compactions;
    sum.most_segments = std::max(sum.most_segments, report.most_segments);
    sum.most_index_slots = std::max(sum.most_index_slots, report.most_index_slots);
  }
  return sum;
}

TEST(Crash, AtEveryChangeOfShortHistories) {
  const CrashReport report =
      play(1'000'000, power_losses(40),
           {.seed = 0, .operations = 40, .one_in = 1, .refusals = 0, .crashes = 1});
  EXPECT_GT(report.kills, 0u);
}

TEST(Crash, AtSomeChangesOfLongHistories) {
  const CrashReport report =
      play(2'000'000, power_losses(10),
           {.seed = 0, .operations = 400, .one_in = 16, .refusals = 0, .crashes = 1});
  // The histories are long enough for what they are there for.
  EXPECT_GT(report.compactions, 0u);
  EXPECT_GT(report.most_segments, 10u);
  EXPECT_GT(report.most_index_slots, 512u);
}

TEST(Crash, InTheRecoveryFromACrash) {
  (void)play(3'000'000, power_losses(20),
             {.seed = 0, .operations = 60, .one_in = 8, .refusals = 0, .crashes = 2});
}

TEST(Crash, BetweenTheChangesOfAnOpening) {
  const CrashReport report =
      play(6'000'000, power_losses(20),
           {.seed = 0, .operations = 40, .one_in = 30, .kills_openings = true});
  EXPECT_GT(report.kills, 0u);
}

TEST(Crash, OfADiskThatRefusesCalls) {
  const CrashReport report =
      play(5'000'000, power_losses(10),
           {.seed = 0, .operations = 120, .one_in = 12, .refusals = 4, .crashes = 2});
  EXPECT_GT(report.refused, 10u);
}

TEST(Crash, AgainAndAgain) {
  (void)play(4'000'000, power_losses(20),
             {.seed = 0, .operations = 100, .one_in = 20, .refusals = 0, .crashes = 5});
}

}  // namespace
}  // namespace nestline::test
