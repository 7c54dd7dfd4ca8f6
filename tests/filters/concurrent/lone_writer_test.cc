// One writer without atomic exchanges (lib/engine/place/locking.h, W8): who may be it, what the
// others see of it, and how it ends.
//
// Linked with nestline_hooked, so that a test can disturb a reader.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "lib/engine/place/locking.h"
#include "lib/engine/place/test_hooks.h"
#include "nestline/concurrent_filter.h"
#include "nestline/io.h"
#include "tests/filters/concurrent/history_runner.h"
#include "tests/filters/concurrent/history_scene.h"

namespace nestline::test { namespace {

using WriteMode = Writers::WriteMode;

TEST(Writers, TheFirstThreadWritesAlone) {
  Writers writers;
  EXPECT_FALSE(writers.are_many());
  EXPECT_EQ(writers.acquire_write_mode(2), WriteMode::alone);
  EXPECT_EQ(writers.acquire_write_mode(2), WriteMode::alone);
  EXPECT_FALSE(writers.are_many());
}

TEST(Writers, AnotherThreadIsRefusedUntilTheyAreMany) {
  Writers writers;
  EXPECT_EQ(writers.acquire_write_mode(2), WriteMode::alone);
  EXPECT_EQ(writers.acquire_write_mode(4), WriteMode::refused);
  EXPECT_EQ(writers.acquire_write_mode(2), WriteMode::alone);
  writers.share();
  EXPECT_TRUE(writers.are_many());
  EXPECT_EQ(writers.acquire_write_mode(2), WriteMode::as_one_of_many);
  EXPECT_EQ(writers.acquire_write_mode(4), WriteMode::as_one_of_many);
}

TEST(Writers, AReadersRequestIsMetAtTheNextTurn) {
  Writers writers;
  writers.request_sharing();
  EXPECT_EQ(writers.acquire_write_mode(2), WriteMode::alone);
  writers.request_sharing();
  writers.request_sharing();
  EXPECT_FALSE(writers.are_many());
  EXPECT_EQ(writers.acquire_write_mode(4), WriteMode::refused);
  EXPECT_EQ(writers.acquire_write_mode(2), WriteMode::as_one_of_many);
  EXPECT_TRUE(writers.are_many());
  writers.request_sharing();
  EXPECT_TRUE(writers.are_many());
}

// Threads write in turn: the first alone, then two. What is stored is what one thread stores in a
// Filter.
TEST(LoneWriter, HandsOverWithoutLoss) {
  for (const int bits : kHistoryWidths) {
    const Options options = {.capacity = 3000, .bits = bits, .max_capacity = 12'000, .seed = 1};
    Filter expected(options);
    ConcurrentFilter filter(options);
    const auto change = [](auto& any, std::uint64_t first) {
      for (std::uint64_t key = first; key < first + 1500; ++key) EXPECT_TRUE(any.insert(key));
      for (std::uint64_t key = first; key < first + 1500; key += 3) EXPECT_TRUE(any.erase(key));
    };
    for (std::uint64_t part = 0; part < 6; ++part) {
      change(expected, part * 10'000);
      if (part % 2 == 0) {
        change(filter, part * 10'000);
      } else {
        std::thread([&] { change(filter, part * 10'000); }).join();
      }
      EXPECT_EQ(filter.size(), expected.size());
      EXPECT_EQ(to_bytes(filter.snapshot()), to_bytes(expected));
    }
    EXPECT_EQ(to_bytes(std::move(filter).freeze()), to_bytes(expected));
  }
}

// Two threads that each write a filter alone, and then look into the other's: at least one of them
// sees the other's key. Without waiting for their own stores before they look, both may miss it.
TEST(LoneWriter, ItsLookupsWaitForItsStores) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "there are no fences under the thread sanitizer";
#endif
  constexpr std::uint64_t kRounds = 50'000;
  constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15u;
  std::array<ConcurrentFilter, 2> filters = {
      ConcurrentFilter({.capacity = 2 * kRounds, .bits = 16}),
      ConcurrentFilter({.capacity = 2 * kRounds, .bits = 16})};
  std::array<std::vector<std::uint8_t>, 2> seen;
  SpinBarrier barrier(2);
  Crew crew;
  crew.run(2, [&](int thread) {
    const auto own = static_cast<std::size_t>(thread);
    ConcurrentFilter& written = filters[own];
    const ConcurrentFilter& read = filters[1 - own];
    seen[own].resize(kRounds);
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      const Hash mine{(2 * round + own + 1) * kSpread};
      const Hash theirs{(2 * round + 2 - own) * kSpread};
      barrier.wait();
      (void)written.insert(mine);
      seen[own][round] = read.may_contain(theirs);
    }
  });
  std::uint64_t missed = 0;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    missed += seen[0][round] == 0 && seen[1][round] == 0;
  }
  EXPECT_EQ(missed, 0u);
}

// A reader whose block changes each time that it is about to compare headers.
struct Chase {
  static inline std::atomic<std::uint64_t> tries{0};    // of the reader
  static inline std::atomic<std::uint64_t> changes{0};  // of the writer
  static inline thread_local bool reads = false;

  // Until the writer has made a change for this try.
  static void at_point(int point) {
    if (point != NESTLINE_POINT_BEFORE_CHECK || !reads) return;
    const std::uint64_t wanted = ++tries;
    while (changes < wanted) std::this_thread::yield();
  }
};

TEST(LoneWriter, SharesWithAReaderThatKeepsFindingChanges) {
  for (const int bits : kHistoryWidths) {
    for (const bool counting : {false, true}) {
      Chase::tries = 0;
      Chase::changes = 0;
      // A filter of one block: each change is in the way.
      ConcurrentFilter filter({.capacity = 4, .bits = bits, .seed = 1});
      ASSERT_TRUE(filter.insert(1));
      std::atomic<bool> done{false};
      unsigned found = 0;
      test_hooks::at_point = Chase::at_point;
      std::thread reader([&] {
        Chase::reads = true;
        found = counting ? filter.count(1) : unsigned{filter.may_contain(1)};
        // An absent key: no match says yes at once.
        found += filter.may_contain(2) ? 100 : 0;
        done = true;
      });
      // This thread writes alone until the reader has asked it.
      for (bool stored = false; !done; stored = !stored) {
        if (Chase::changes < Chase::tries) {
          EXPECT_TRUE(stored ? filter.erase(3) : static_cast<bool>(filter.insert(3)));
          ++Chase::changes;
        } else {
          stored = !stored;
          std::this_thread::yield();
        }
      }
      reader.join();
      test_hooks::at_point = nullptr;
      EXPECT_EQ(found, 1u);
      EXPECT_GE(Chase::tries, BlockLocks::kReadTries);
      EXPECT_LE(Chase::tries, 4 * BlockLocks::kReadTries);
    }
  }
}

}  // namespace
}  // namespace nestline::test
