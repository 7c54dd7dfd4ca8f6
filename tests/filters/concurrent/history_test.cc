// ConcurrentFilter is linearizable: random histories of two to four threads on few keys, at each
// width, in each family of scenes (history_scene.h). The test can fail: it does when readers
// trust what they saw without comparing headers, and when writers give a changed block its old
// header back, both in random histories and in the one construct that shows why they must not.
//
// Linked with nestline_hooked, whose readers and writers stop for a moment at the points that
// lib/engine/place/test_hooks.h names.
#include "tests/filters/concurrent/history.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

#include "lib/engine/place/layout.h"
#include "nestline/concurrent_filter.h"
#include "nestline/io.h"
#include "tests/filters/concurrent/history_runner.h"
#include "tests/filters/concurrent/history_scene.h"
#include "tests/filters/concurrent/many_writers.h"
#include "tests/support/hooks.h"
#include "tests/support/model.h"

namespace nestline::test { namespace {

enum class Fault : std::uint8_t { none, skip_validation, forget_changes, publish_early };

// Until the Hooks end.
void plant(Fault fault) {
  test_hooks::skip_validation = fault == Fault::skip_validation;
  test_hooks::forget_changes = fault == Fault::forget_changes;
  test_hooks::publish_early = fault == Fault::publish_early;
}

// NESTLINE_HISTORY_TIMES says how many times as many as usual (default: 1).
//
// Fewer histories where writers have to wait: each wait takes as long as hundreds of operations.
// With guest lanes the thread sanitizer sees a quarter.
std::uint64_t histories(Family family, Placement placement) {
  const bool waits =
      family == Family::growing || family == Family::clearing || family == Family::whole;
  const std::uint64_t usual = waits ? 128 : 384;
  return placement == Placement::anywhere ? usual * history_times() : of_histories(usual);
}

class HistoryTest : public testing::TestWithParam<std::tuple<int, Family, Placement>> {
 protected:
  void play(std::uint64_t first_seed) {
    const auto [bits, family, placement] = GetParam();
    const std::uint64_t count = histories(family, placement);
    Crew crew;
    const Verdict verdict =
        play_histories<ConcurrentFilter>(crew, family, bits, first_seed, count, false, placement);
    EXPECT_EQ(verdict.failed, 0u) << verdict.first_failure;
    EXPECT_EQ(verdict.played, count);
  }
};

TEST_P(HistoryTest, LinearizableAtFullSpeed) { play(1); }

TEST_P(HistoryTest, LinearizableWithWaitsInside) {
  const Hooks hooks(perturb);
  play(1'000'001);
}

TEST_P(HistoryTest, LinearizableWithReadersThatLock) {
  const Hooks hooks(perturb);
  test_hooks::lock_at_once = true;
  play(2'000'001);
}

// Otherwise the histories with guest lanes would show nothing.
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

std::string parameter_name(const testing::TestParamInfo<std::tuple<int, Family, Placement>>& info) {
  const auto [bits, family, placement] = info.param;
  return std::string(name_of(family)) + std::to_string(bits);
}

const auto kOfAllWidths = [](Placement placement) {
  return testing::Combine(testing::ValuesIn(kHistoryWidths), testing::ValuesIn(kFamilies),
                          testing::Values(placement));
};
INSTANTIATE_TEST_SUITE_P(All, HistoryTest, kOfAllWidths(Placement::anywhere), parameter_name);
INSTANTIATE_TEST_SUITE_P(Lanes, HistoryTest, kOfAllWidths(Placement::guest_lanes), parameter_name);

class BrokenProtocol : public testing::TestWithParam<int> {
 protected:
  // kLongest: where threads wait for the others.
  template <int kLongest>
  void expect_caught(Fault fault, Family family) {
    const Hooks hooks([](int point) { point == kLongest ? linger() : perturb(point); });
    plant(fault);
    Crew crew;
    constexpr std::uint64_t kMax = 20'000;
    const Verdict verdict =
        play_histories<ConcurrentFilter>(crew, family, GetParam(), 1, kMax, true);
    EXPECT_GT(verdict.failed, 0u) << "not caught in " << verdict.played << " histories";
    RecordProperty("histories", static_cast<int>(verdict.played));
  }
};

TEST_P(BrokenProtocol, ReadersWithoutValidationAreCaught) {
  expect_caught<NESTLINE_POINT_HOME_READ>(Fault::skip_validation, Family::crossed);
}

TEST_P(BrokenProtocol, ChangesWithoutANewVersionAreCaught) {
  expect_caught<NESTLINE_POINT_HOME_READ>(Fault::forget_changes, Family::crossed);
}

TEST_P(BrokenProtocol, TablesThatAreFoldedInPublicAreCaught) {
  expect_caught<NESTLINE_POINT_BETWEEN_STEPS>(Fault::publish_early, Family::growing);
}

// Makes one thread stop at a point while another one works.
class Stop {
 public:
  Stop() { stopped_ = released_ = false; }
  // Makes the calling thread stop when it comes to `point` for the `nth` time from now on.
  static void arm(int point, int nth = 1) {
    armed_ = point;
    waits_for_ = nth;
  }
  static void at_point(int point) {
    if (point != armed_ || --waits_for_ != 0) return;
    armed_ = 0;
    stopped_ = true;
    while (!released_) std::this_thread::yield();
  }
  // Waits until a thread has stopped; false if none does.
  static bool await() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!stopped_ && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    return stopped_;
  }
  static void release() { released_ = true; }

 private:
  static inline thread_local int armed_ = 0;
  static inline thread_local int waits_for_ = 0;
  static inline std::atomic<bool> stopped_{false};
  static inline std::atomic<bool> released_{false};
};

// x has home a and alternate b, y the reverse; they look the same. x is stored away, in b, which is
// full; a has a free slot. So an insert of y spills it to a, and an erase of y takes the copy in b.
struct Construct {
  std::optional<Filter> filter;
  std::uint64_t x = 0;
  std::uint64_t y = 0;

  // Copies of x's fingerprint in x's home, and in its alternate.
  [[nodiscard]] static std::pair<int, int> copies(const Filter& filter, std::uint64_t hash) {
    const auto& state = FilterAccess::blocks(filter);
    return visit_layout(filter.bits(), [&](auto layout) {
      const Place home = home_of<decltype(layout)>(state.view.geometry, hash);
      const Place away = moved(state.view.geometry, home);
      const auto in = [&](const Place& place) {
        const Block& block = state.view.blocks[place.block];
        return std::popcount(state.engine->block.match(block, place.fingerprint) & place.bucket);
      };
      return std::pair(in(home), in(away));
    });
  }

  // Tries seeds until the fillers happen to lie so.
  explicit Construct(int bits) {
    for (std::uint64_t seed = 1; !filter; ++seed) {
      Random random(seed);
      Filter tried = filter_of_blocks(bits, 2);
      HashSmith smith(bits, 2, random);
      const std::uint32_t rest = smith.draw_rest(true);
      x = smith.hash(0, rest);
      y = smith.hash(1, rest);
      if (smith.alternate(x) != 1) continue;
      const auto fill = [&](std::uint64_t block) {
        std::uint64_t last = 0;
        for (int i = 0; i < 200 && free_slots(tried, block) > 0; ++i) {
          const std::uint64_t hash = smith.hash(block, smith.draw_rest());
          if (tried.insert(Hash{hash})) last = hash;
        }
        return last;
      };
      const std::uint64_t filler = fill(0);
      (void)tried.insert(Hash{x});
      fill(1);
      if (filler == 0 || copies(tried, x) != std::pair(0, 1) || free_slots(tried, 1) != 0) continue;
      tried.erase(Hash{filler});
      Filter rehearsal = Filter::load(to_bytes(tried));
      if (!rehearsal.insert(Hash{y}) || copies(rehearsal, x) != std::pair(1, 1)) continue;
      filter.emplace(std::move(tried));
    }
  }
};

class BrokenLookups : public testing::TestWithParam<std::tuple<int, Writing>> {};

TEST_P(BrokenLookups, AKeyThatMovesBehindTheReader) {
  const auto [bits, writers] = GetParam();
  using Lookup = std::function<bool(const ConcurrentFilter&, Hash)>;
  const std::array<std::pair<const char*, Lookup>, 4> lookups = {{
      {"may_contain", [](const auto& filter, Hash x) { return filter.may_contain(x); }},
      {"a reader", [](const auto& filter, Hash x) { return filter.reader().may_contain(x); }},
      {"count", [](const auto& filter, Hash x) { return filter.count(x) != 0; }},
      {"a batch",
       [](const auto& filter, Hash x) {
         std::uint8_t answer = 0;
         (void)filter.may_contain(std::span(&x, 1), std::span(&answer, 1));
         return answer != 0;
       }},
  }};
  for (const auto& form : lookups) {
    const Lookup& lookup = form.second;
    for (const Fault fault : {Fault::none, Fault::skip_validation, Fault::forget_changes}) {
      SCOPED_TRACE(std::string(form.first) + ", fault " + std::to_string(static_cast<int>(fault)));
      Construct construct(bits);
      const Hash x{construct.x};
      const Hash y{construct.y};
      ConcurrentFilter filter(std::move(*construct.filter));
      EXPECT_TRUE(filter.may_contain(x));
      if (writers == Writing::many) become_many_writers(filter);
      Stop stop;
      const Hooks hooks(Stop::at_point);
      plant(fault);
      bool found = false;
      std::thread reader([&] {
        Stop::arm(NESTLINE_POINT_HOME_READ);
        found = lookup(filter, x);
      });
      EXPECT_TRUE(Stop::await());
      EXPECT_EQ(filter.insert(y).outcome, Outcome::stored);
      EXPECT_TRUE(filter.erase(y));
      Stop::release();
      reader.join();
      // x was stored all the time.
      EXPECT_EQ(found, fault == Fault::none);
      EXPECT_TRUE(filter.may_contain(x));
      const Filter frozen = std::move(filter).freeze();
      EXPECT_EQ(Construct::copies(frozen, x.value), std::pair(1, 0));
    }
  }
}

class InsertBesideErase : public testing::TestWithParam<int> {};

// It has found its bucket full of copies, one of which then leaves: before it searches for room, or
// after, before it looks why there is none.
TEST_P(InsertBesideErase, TakesTheSlotThatIsLeft) {
  using Insert = std::function<Outcome(ConcurrentFilter&, Hash old, Hash x)>;
  const std::array<Insert, 2> inserts = {
      [](auto& filter, Hash, Hash x) { return filter.insert(x).outcome; },
      [](auto& filter, Hash old, Hash x) { return filter.update(old, x).outcome; }};
  for (const Insert& insert : inserts) {
    for (const int nth : {1, 2}) {
      SCOPED_TRACE(std::to_string(&insert - inserts.data()) + ", " + std::to_string(nth));
      Random random(1);
      HashSmith smith(GetParam(), 1, random);
      ConcurrentFilter filter(filter_of_blocks(GetParam(), 1));
      const Hash old{smith.hash(0, smith.draw_rest())};
      EXPECT_TRUE(filter.insert(old));
      const Hash x{smith.hash(0, smith.draw_rest())};
      while (filter.insert(x)) continue;
      const unsigned most = filter.count(x);
      become_many_writers(filter);
      Stop stop;
      const Hooks hooks(Stop::at_point);
      Outcome outcome{};
      std::thread writer([&] {
        Stop::arm(NESTLINE_POINT_UNLOCKED, nth);
        outcome = insert(filter, old, x);
      });
      EXPECT_TRUE(Stop::await());
      EXPECT_TRUE(filter.erase(x));
      Stop::release();
      writer.join();
      EXPECT_EQ(outcome, Outcome::stored);
      EXPECT_EQ(filter.count(x), most);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Widths, InsertBesideErase, testing::ValuesIn(kHistoryWidths));
INSTANTIATE_TEST_SUITE_P(Widths, BrokenProtocol, testing::ValuesIn(kHistoryWidths));
INSTANTIATE_TEST_SUITE_P(Widths, BrokenLookups,
                         testing::Combine(testing::ValuesIn(kHistoryWidths),
                                          testing::Values(Writing::alone, Writing::many)));

}  // namespace
}  // namespace nestline::test
