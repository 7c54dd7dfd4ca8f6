// Maplet with many threads: each has keys of its own, so it knows what every answer must contain
// while the others move its pairs. For the thread sanitizer too.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "nestline/maplet.h"
#include "tests/filters/maplet/pairs.h"
#include "tests/support/keys_of_kinds.h"

namespace nestline::test { namespace {

constexpr std::size_t kThreads = 4;

// What one thread does to its keys.
void own(Maplet& maplet, std::uint64_t thread, std::size_t steps, std::uint64_t most) {
  Pairs pairs;
  std::mt19937_64 random(thread);
  std::array<std::uint64_t, Maplet::kMaxCandidates> values;
  for (std::size_t i = 0; i < steps; ++i) {
    const std::uint64_t key = random() % most * kThreads + thread;
    const std::uint64_t value = random() & Maplet::kMaxValue;
    switch (pairs.size() == 0 ? 0 : random() % 6) {
      case 0:
      case 1:
        if (pairs.size() >= most) break;
        if (maplet.insert(key, value)) pairs.insert(key, value);
        break;
      case 2: {
        const auto [present, old_value] = pairs.any(random);
        EXPECT_TRUE(maplet.replace(present, old_value, value));
        EXPECT_TRUE(pairs.erase(present, old_value));
        pairs.insert(present, value);
        break;
      }
      case 3: {
        const auto [present, old_value] = pairs.any(random);
        EXPECT_TRUE(maplet.erase(present, old_value));
        EXPECT_TRUE(pairs.erase(present, old_value));
        break;
      }
      default:
        Pairs::expect_among(pairs.values(key), std::span(values).first(maplet.find(key, values)));
        break;
    }
    if (i % 4096 == 0) pairs.expect_in(maplet, Pairs::Threads::several);
  }
  pairs.expect_in(maplet, Pairs::Threads::several);
}

void run(Maplet& maplet, std::size_t steps, std::uint64_t most) {
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] { own(maplet, t, steps, most); });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(MapletThreadsTest, EveryThreadFindsItsOwnPairs) {
  Maplet maplet({.capacity = 1000});
  run(maplet, 20'000, maplet.capacity() / kThreads);
}

TEST(MapletThreadsTest, WhileTheMapletGrows) {
  Maplet maplet({.capacity = 100, .max_capacity = 20'000});
  run(maplet, 20'000, 4000);
  EXPECT_GT(maplet.growth(), 2u);
}

// One thread writes, so it takes its locks by plain stores; the others read its pairs.
TEST(MapletThreadsTest, ReadersBesideALoneWriter) {
  Maplet maplet({.capacity = 2000});
  constexpr std::uint64_t kStanding = 1000;
  for (std::uint64_t key = 0; key < kStanding; ++key) ASSERT_TRUE(maplet.insert(key, key));
  std::atomic<bool> done = false;
  std::vector<std::thread> readers;
  std::atomic<std::uint64_t> questions = 0;
  for (std::size_t t = 0; t < kThreads - 1; ++t) {
    readers.emplace_back([&] {
      const auto keys = sequence(0, kStanding);
      std::vector<std::uint32_t> first;
      std::vector<std::uint64_t> values;
      while (!done) {
        maplet.find(keys, first, values);
        for (std::size_t i = 0; i < keys.size(); ++i) {
          const auto found = std::span(values).subspan(first[i], first[i + 1] - first[i]);
          // The value moves between two, one of which is always there.
          EXPECT_TRUE(std::any_of(found.begin(), found.end(), [&](std::uint64_t value) {
            return value == i || value == i + kStanding;
          }));
        }
        questions += keys.size();
      }
    });
  }
  std::mt19937_64 random(1);
  std::vector<bool> high(kStanding);
  std::vector<std::uint64_t> others;
  while (questions < 200 * kStanding) {
    const std::uint64_t key = random() % kStanding;
    EXPECT_TRUE(
        maplet.replace(key, high[key] ? key + kStanding : key, high[key] ? key : key + kStanding));
    high[key] = !high[key];
    // Fill and empty the rest, so that pairs move.
    if (others.size() < maplet.capacity() - kStanding) {
      others.push_back(random());
      if (!maplet.insert(others.back(), 1)) others.pop_back();
    } else {
      for (const std::uint64_t other : others) EXPECT_TRUE(maplet.erase(other, 1));
      others.clear();
    }
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
}

}  // namespace
}  // namespace nestline::test
