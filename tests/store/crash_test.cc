// A store on a disk that loses its power keeps its promises, at every change of the disk.
// NESTLINE_CRASHES says how many power losses all tests together should see (default: 4000).
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "lib/store/state.h"
#include "tests/store/crash_history.h"
#include "tests/store/on_call.h"
#include "tests/store/simulated_disk.h"
#include "tests/store/store_operations.h"

namespace nestline::test { namespace {

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
      play(1'000'000, power_losses(40), {.operations = 40, .one_in = 1, .crashes = 1});
  EXPECT_GT(report.kills, 0u);
}

TEST(Crash, AtSomeChangesOfLongHistories) {
  const CrashReport report =
      play(2'000'000, power_losses(10), {.operations = 400, .one_in = 16, .crashes = 1});
  // The histories are long enough for what they are there for.
  EXPECT_GT(report.compactions, 0u);
  EXPECT_GT(report.most_segments, 10u);
  EXPECT_GT(report.most_index_slots, 512u);
}

TEST(Crash, InTheRecoveryFromACrash) {
  (void)play(3'000'000, power_losses(20), {.operations = 60, .one_in = 8, .crashes = 2});
}

TEST(Crash, BetweenTheChangesOfAnOpening) {
  const CrashReport report =
      play(6'000'000, power_losses(20), {.operations = 40, .one_in = 30, .kills_openings = true});
  EXPECT_GT(report.kills, 0u);
}

TEST(Crash, OfADiskThatRefusesCalls) {
  const CrashReport report = play(5'000'000, power_losses(10),
                                  {.operations = 120, .one_in = 12, .refusals = 4, .crashes = 2});
  EXPECT_GT(report.refused, 10u);
}

// A batch of several files that the disk refuses, and a loss of power while it is taken back.
TEST(Crash, OfABatchThatIsRefused) {
  Store::Batch batch;
  Content before, after;
  for (std::size_t i = 0; i < 120; ++i) batch.put(key_of(i), after[key_of(i)] = "of a batch");
  before["first"] = after["first"] = "1";
  for (const Call call : {Call::create, Call::write, Call::sync, Call::sync_folder}) {
    for (std::uint64_t number = 0; number < 5; ++number) {
      for (std::uint64_t seed = 0; seed < 2; ++seed) {
        const auto machine = SimulatedMachine::make(seed);
        Store store = Store::State::open(machine->disk(), options_of(2048, Sync::each), kOnCall);
        store.put("first", "1");
        std::vector<std::shared_ptr<SimulatedMachine>> left;
        machine->before_change = [&](const SimulatedMachine& now) {
          left.push_back(now.after_power_loss(left.size() + 100 * seed));
        };
        machine->fail(call, number, EIO, seed % 2 == 1);
        try {
          store.write(batch);
        } catch (const std::exception&) {
        }
        machine->before_change = nullptr;
        for (std::uint64_t fate = 0; fate < 40; ++fate) {
          left.push_back(machine->after_power_loss(fate));
        }
        for (const auto& each : left) {
          try {
            expect_before_or_after(
                content_of(Store::State::open(each->disk(), options_of(2048), kOnCall)), before,
                after);
          } catch (const std::exception& error) {
            FAIL() << "call " << static_cast<int>(call) << ' ' << number << ", seed " << seed
                   << ": " << error.what();
          }
        }
      }
    }
  }
}

TEST(Crash, AgainAndAgain) {
  (void)play(4'000'000, power_losses(20), {.operations = 100, .one_in = 20, .crashes = 5});
}

}  // namespace
}  // namespace nestline::test
