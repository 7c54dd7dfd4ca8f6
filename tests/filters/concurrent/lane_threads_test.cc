// Threads on filters with guest lanes. Writers erase and insert keys of their own, so that marks
// fall and guests come home, beside readers that look for keys which nobody erases. Faults that are
// planted in homecoming-inl.h must be noticed.
//
// Linked with nestline_hooked.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lib/engine/engine.h"
#include "nestline/concurrent_filter.h"
#include "tests/filters/concurrent/many_writers.h"
#include "tests/support/histories.h"
#include "tests/support/hooks.h"
#include "tests/support/lane_rules.h"

namespace nestline::test { namespace {

struct Crowd {
  int bits;
  std::uint64_t bases = 64;
  double load = 0.9;
  int rounds = 3;         // in which all that was written is checked
  int operations = 3000;  // of each writer in a round
  unsigned meeting = 0;   // percent of a writer's keys that are copies or twins of its own
  int writers = 2;
};

// Plays it; returns what is wrong, or nothing.
std::string play(const Crowd& crowd, std::uint64_t seed, bool grows = false) {
  Filter filter = lanes_filter(crowd.bits, crowd.bases);
  const Geometry geometry = FilterAccess::blocks(filter).view.geometry;
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> kept;  // which nobody erases
  const auto all = static_cast<std::size_t>(crowd.load * static_cast<double>(filter.slots()));
  while (kept.size() < all / 2) {
    const std::uint64_t hash = random();
    if (filter.insert(Hash{hash})) kept.push_back(hash);
  }
  const std::size_t own = (all - kept.size()) / static_cast<std::size_t>(crowd.writers);
  ConcurrentFilter shared(std::move(filter));
  if (crowd.writers > 1) become_many_writers(shared);
  std::vector<std::vector<std::uint64_t>> written(static_cast<std::size_t>(crowd.writers));
  std::atomic<std::uint64_t> missed{0};
  std::atomic<std::uint64_t> lost{0};
  for (int round = 0; round < crowd.rounds; ++round) {
    std::atomic<bool> done{false};
    std::atomic<int> writing{crowd.writers};
    std::vector<std::thread> threads;
    for (std::size_t w = 0; w < written.size(); ++w) {
      threads.emplace_back([&, w] {
        std::mt19937_64 mine(seed * 1000 + w * 100 + static_cast<std::uint64_t>(round));
        auto& stored = written[w];
        for (int i = 0; i < crowd.operations; ++i) {
          const std::uint64_t what = mine() % 16;
          // Nearly all of its keys are there most of the time, so that blocks are full.
          if (stored.size() > own || (stored.size() > own - own / 16 && what < 8)) {
            std::swap(stored[mine() % stored.size()], stored.back());
            const std::uint64_t old = stored.back();
            if (what == 7) {
              const std::uint64_t hash = mine();
              if (shared.update(Hash{old}, Hash{hash}).outcome == Outcome::stored) {
                stored.back() = hash;
              }
              continue;
            }
            stored.pop_back();
            if (!shared.erase(Hash{old})) ++lost;
            continue;
          }
          std::uint64_t hash = mine();
          if (!stored.empty() && hash % 100 < crowd.meeting) {
            hash = stored[mine() % stored.size()];
            if (mine() % 2 == 0) hash = twin_of(crowd.bits, geometry, hash);
          }
          const Outcome outcome = what == 15 ? shared.insert_unique(Hash{hash}).outcome
                                             : shared.insert(Hash{hash}).outcome;
          if (outcome == Outcome::stored) stored.push_back(hash);
        }
        if (--writing == 0) done = true;
      });
    }
    for (int r = 0; r < 2; ++r) {
      threads.emplace_back([&, r] {
        std::mt19937_64 mine(seed + static_cast<std::uint64_t>(r));
        std::vector<Hash> batch(64);
        std::vector<std::uint8_t> found(batch.size());
        while (!done) {
          for (int i = 0; i < 200; ++i) {
            const Hash key{kept[mine() % kept.size()]};
            missed += !(i % 2 == 0 ? shared.may_contain(key) : shared.count(key) != 0);
          }
          for (Hash& key : batch) key = {kept[mine() % kept.size()]};
          missed += batch.size() - shared.may_contain(batch, found);
        }
      });
    }
    if (grows && round % 2 == 0 && shared.growth() < 3) (void)shared.grow();
    for (std::thread& thread : threads) thread.join();
    if (missed != 0) return std::to_string(missed) + " kept keys were missed";
    if (lost != 0) return std::to_string(lost) + " stored keys could not be erased";
    const Filter now = shared.snapshot();
    std::vector<std::uint64_t> stored = kept;
    for (const auto& some : written) stored.insert(stored.end(), some.begin(), some.end());
    if (now.size() != stored.size()) return "a wrong size";
    const std::string broken = broken_lane_rule(now, stored);
    if (!broken.empty()) return broken;
    for (const std::uint64_t hash : stored) {
      if (!now.may_contain(Hash{hash})) return "a false negative at the end of a round";
    }
  }
  return {};
}

class LaneThreads : public testing::TestWithParam<int> {};

TEST_P(LaneThreads, NoKeyIsMissed) {
  for (const double load : {0.8, 0.93}) {
    EXPECT_EQ(play({.bits = GetParam(), .load = load}, 1), "");
  }
}

TEST_P(LaneThreads, NoKeyIsMissedOfKeysThatMeet) {
  EXPECT_EQ(play({.bits = GetParam(), .load = 0.9, .meeting = 20}, 2), "");
}

TEST_P(LaneThreads, NoKeyIsMissedWithWaitsInside) {
  const Hooks hooks(perturb);
  EXPECT_EQ(play({.bits = GetParam(), .operations = 3000, .meeting = 5}, 3), "");
}

TEST_P(LaneThreads, NoKeyIsMissedByReadersThatLock) {
  const Hooks hooks(perturb);
  test_hooks::lock_at_once = true;
  EXPECT_EQ(play({.bits = GetParam(), .operations = 2000}, 4), "");
}

TEST_P(LaneThreads, BesideOneWriter) {
  const Hooks hooks(perturb);
  EXPECT_EQ(play({.bits = GetParam(), .operations = 3000, .meeting = 5, .writers = 1}, 5), "");
}

TEST_P(LaneThreads, WhileItGrows) {
  if (GetParam() < 12) return;
  EXPECT_EQ(play({.bits = GetParam(), .load = 0.9, .meeting = 3}, 6, true), "");
}

INSTANTIATE_TEST_SUITE_P(Widths, LaneThreads, testing::Values(8, 9, 12, 16));

// With a planted fault some of the scenes go wrong; without it none.
class LaneFaults : public testing::TestWithParam<int> {
 protected:
  void expect_noticed(std::atomic<bool>& fault, const Crowd& crowd, void (*at_point)(int)) {
    const Hooks hooks(at_point);
    for (const bool planted : {false, true}) {
      fault = planted;
      std::string noticed;
      std::uint64_t seed = 100;
      const std::uint64_t most = planted ? 400 : 3;
      for (; seed < 100 + most && noticed.empty(); ++seed) noticed = play(crowd, seed);
      EXPECT_NE(noticed.empty(), planted) << noticed << ", seed " << seed;
      if (planted) RecordProperty("seed", static_cast<int>(seed));
    }
  }
};

TEST_P(LaneFaults, AMarkThatFallsEarlyIsNoticed) {
  expect_noticed(test_hooks::lower_marks_early,
                 {.bits = GetParam(), .rounds = 1, .operations = 3000}, perturb);
}

template <class L>
const ByPolicy<FilterOperations>& operations_with_lanes() {
  return filter_engine(L::kNumber, Placement::guest_lanes).of_filters().operations;
}

// Beside one writer: a reader comes between the two steps of a guest's way home.
template <class L>
struct ClearedGuest {
  static inline std::vector<Block> blocks;
  static inline std::uint64_t x = 0;
  static inline std::uint64_t home = 0;
  static inline std::uint64_t away = 0;
  static inline bool missed = false;
  static BlocksView view() {
    return {blocks.data(), {64, 0, Placement::guest_lanes}, {}, L::kBits, bucket_table(L::kBits)};
  }
  static const FilterOperations& filter() { return operations_with_lanes<L>().one_writer; }
  static void at_point(int point) {
    // It would wait for blocks that are locked.
    const bool locked = ((blocks[home].header() | blocks[away].header()) & kHeaderLock) != 0;
    if (point != NESTLINE_POINT_BETWEEN_STEPS || locked) return;
    missed |= !filter().contains(view(), x, nullptr);
  }

  // Whether x is missed on its way.
  static bool play(bool clears_first) {
    std::mt19937_64 random(3);
    const Geometry geometry = view().geometry;
    constexpr std::uint32_t kClass = 6;
    do {
      x = hash_of_class(L::kBits, geometry, random() % 64, kClass, random);
      home = home_of<L>(geometry, x).block;
      away = alternate_of(geometry, home_of<L>(geometry, x));
    } while (away == home);
    blocks.assign(64, Block{});
    const Place place = home_of<L>(geometry, x);
    const std::uint64_t lane = place.bucket & GuestLanes<L>::inside(place.fingerprint);
    blocks[away].set_guest_level(1);
    blocks[home].set_overflow_mark(kClass);
    L::set(blocks[away], first_slot(lane), place.fingerprint);
    const std::uint64_t y = hash_of_class(L::kBits, geometry, home, 200, random);
    EXPECT_EQ(filter().insert(view(), y), Outcome::stored);
    missed = false;
    const Hooks hooks(at_point);
    test_hooks::clear_guests_first = clears_first;
    EXPECT_TRUE(filter().erase(view(), y));
    EXPECT_TRUE(filter().contains(view(), x, nullptr));
    EXPECT_EQ(L::get(blocks[away], first_slot(lane)), 0u);
    EXPECT_LT(blocks[home].overflow_mark(), kClass);
    return missed;
  }
};

TEST_P(LaneFaults, AGuestThatIsClearedFirstIsNoticed) {
  visit_layout(GetParam(), [](auto layout) {
    EXPECT_FALSE(ClearedGuest<decltype(layout)>::play(false));
    EXPECT_TRUE(ClearedGuest<decltype(layout)>::play(true));
  });
}

// x is away in an open block, where another writer moves it to another slot while what
// erases a key of x's home looks for such guests.
template <class L>
struct MovingGuest {
  static inline std::vector<Block> blocks;
  static inline std::uint64_t away = 0;
  static inline std::uint32_t from = 0;
  static inline std::uint32_t to = 0;
  static inline bool armed = false;
  static void at_point(int point) {
    if (!armed) return;
    if (point != NESTLINE_POINT_HOME_READ && point != NESTLINE_POINT_BEFORE_CHECK) return;
    armed = false;
    Block& block = blocks[away];
    L::set(block, to, L::get(block, from));
    L::set(block, from, 0);
    block.header_word() = Block::to_header(block.header() + kHeaderVersion);
  }

  // Whether x is found afterwards.
  static bool play() {
    std::mt19937_64 random(1);
    const Geometry geometry = {64, 0, Placement::guest_lanes};
    constexpr std::uint32_t kClass = 5;
    std::uint64_t x = 0;
    do {
      x = hash_of_class(L::kBits, geometry, random() % 64, kClass, random);
    } while (alternate_of(geometry, home_of<L>(geometry, x)) == home_of<L>(geometry, x).block);
    const Place home = home_of<L>(geometry, x);
    blocks.assign(64, Block{});
    away = alternate_of(geometry, home);
    to = first_slot(home.bucket);
    from = static_cast<std::uint32_t>(std::bit_width(home.bucket)) - 1;
    blocks[away].set_guest_level(kOpenToAllLevel);
    blocks[home.block].set_overflow_mark(kClass);
    L::set(blocks[away], from, home.fingerprint);
    const BlocksView view = {blocks.data(), geometry, {}, L::kBits, bucket_table(L::kBits)};
    const FilterOperations& filter = operations_with_lanes<L>().many_writers;
    EXPECT_TRUE(filter.contains(view, x, nullptr));
    const std::uint64_t y = hash_of_class(L::kBits, geometry, home.block, 200, random);
    EXPECT_EQ(filter.insert(view, y), Outcome::stored);
    const Hooks hooks(at_point);
    test_hooks::trust_partners = trusts;
    armed = true;
    EXPECT_TRUE(filter.erase(view, y));
    EXPECT_FALSE(armed);
    return filter.contains(view, x, nullptr);
  }
  static inline bool trusts = false;
};

TEST_P(LaneFaults, APartnerThatIsReadAtTwoInstantsIsNoticed) {
  visit_layout(GetParam(), [](auto layout) {
    using Moving = MovingGuest<decltype(layout)>;
    Moving::trusts = false;
    EXPECT_TRUE(Moving::play());
    Moving::trusts = true;
    EXPECT_FALSE(Moving::play());
  });
}

// An insert_unique has raised home's mark for its key, which is to be a guest. While it waits for
// the alternate, and has released home for that, another thread's erase lowers the mark again.
template <class L>
struct FallingMark {
  static inline std::vector<Block> blocks;
  static inline std::uint64_t away = 0;
  static inline std::atomic<int> locked{0};  // sessions of the thread that inserts
  static inline thread_local bool inserts = false;
  static void at_point(int point) {
    if (!inserts || point != NESTLINE_POINT_LOCKED) return;
    // The second session raises the mark; the third one, under home's lock, wants the alternate.
    if (locked + 1 == 2) BlockLocks::lock(blocks[away]);
    ++locked;
  }

  static void play() {
    std::mt19937_64 random(2);
    const Geometry geometry = {64, 0, Placement::guest_lanes};
    std::uint64_t hash = 0;
    Place home{};
    do {
      hash = hash_of_class(L::kBits, geometry, random() % 64, 1, random);
      home = home_of<L>(geometry, hash);
      away = alternate_of(geometry, home);
    } while (away >= home.block);
    blocks.assign(64, Block{});
    Block& block = blocks[home.block];
    for (std::uint32_t s = 0; s < L::kSlots; ++s) L::set(block, s, 200);
    const BlocksView view = {blocks.data(), geometry, {}, L::kBits, bucket_table(L::kBits)};
    const FilterOperations& filter = operations_with_lanes<L>().many_writers;
    locked = 0;
    const Hooks hooks(at_point);
    std::thread writer([&] {
      inserts = true;
      EXPECT_EQ(filter.insert_unique(view, hash), Outcome::stored);
    });
    while (locked < 3) std::this_thread::yield();
    // It holds home and releases it, as the alternate is locked.
    while (!BlockLocks::try_lock(block)) std::this_thread::yield();
    EXPECT_EQ(block.overflow_mark(), 1u);
    block.set_overflow_mark(0);  // nobody is away
    BlockLocks::unlock(block, kHeaderVersion);
    BlockLocks::unlock(blocks[away], 0);
    writer.join();
    EXPECT_TRUE(filter.contains(view, hash, nullptr));
  }
};

TEST_P(LaneThreads, AMarkFallsWhileAnInsertWaits) {
  visit_layout(GetParam(), [](auto layout) { FallingMark<decltype(layout)>::play(); });
}

INSTANTIATE_TEST_SUITE_P(Widths, LaneFaults, testing::Values(8, 16));

}}  // namespace nestline::test
