// Maplets of every layout with many threads: each has keys of its own, so it knows what every
// answer must contain while the others move its pairs, rename all values, or merge. For the thread
// sanitizer too.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include "nestline/maplet.h"
#include "tests/filters/maplet/pairs.h"
#include "tests/filters/maplet/small_maplet.h"
#include "tests/support/keys_of_kinds.h"

namespace nestline::test { namespace {

constexpr std::size_t kThreads = 4;

class MapletThreadsTest : public testing::TestWithParam<int> {
 protected:
  [[nodiscard]] int layout() const { return GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(Layouts, MapletThreadsTest, testing::ValuesIn(MapletLayouts::kNumbers),
                         [](const auto& instance) { return name_of_layout(instance.param); });

// Calls work(thread) in so many threads.
template <typename Work>
void run_threads(std::size_t count, const Work& work) {
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < count; ++t) threads.emplace_back([&work, t] { work(t); });
  for (std::thread& thread : threads) thread.join();
}

// What one thread does to its keys. No value is the highest, which others' pairs could become.
void own(Maplet& maplet, std::uint64_t thread, std::size_t steps, std::uint64_t most) {
  Pairs pairs;
  std::mt19937_64 random(thread);
  std::array<std::uint64_t, Maplet::kMaxCandidates> values;
  for (std::size_t i = 0; i < steps; ++i) {
    const std::uint64_t key = random() % most * kThreads + thread;
    const std::uint64_t value = random() % maplet.max_value();
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

TEST_P(MapletThreadsTest, EveryThreadFindsItsOwnPairs) {
  Maplet maplet(options_of(layout(), 1000));
  const std::uint64_t most = maplet.capacity() / kThreads;
  run_threads(kThreads, [&](std::uint64_t t) { own(maplet, t, 10'000, most); });
}

TEST_P(MapletThreadsTest, WhileTheMapletGrows) {
  constexpr std::uint64_t kBlocks = 16;
  const std::uint64_t most = 12 * kBlocks * slots_of(layout());
  Maplet maplet = small_maplet(layout(), kBlocks, most);
  run_threads(kThreads, [&](std::uint64_t t) { own(maplet, t, 10'000, most / kThreads); });
  EXPECT_GT(maplet.growth(), 2u);
}

// Asks for the first `count` keys in batches and one by one until `done`, and counts them. Each has
// always one of the values whose bits own(key) gives.
template <typename Own>
void ask_all(const Maplet& maplet, std::uint64_t count, const std::atomic<bool>& done,
             std::atomic<std::uint64_t>& questions, const Own& own) {
  const auto keys = sequence(0, count);
  std::vector<std::uint32_t> first;
  std::vector<std::uint64_t> values;
  std::vector<std::uint64_t> sets(count);
  while (!done) {
    maplet.find(keys, first, values);
    maplet.find_sets(keys, sets);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto found = std::span(values).subspan(first[i], first[i + 1] - first[i]);
      EXPECT_TRUE(std::any_of(found.begin(), found.end(), [&](std::uint64_t value) {
        return value < 64 && (own(i) >> value & 1) != 0;
      }));
      EXPECT_NE(sets[i] & own(i), 0u);
      EXPECT_NE(maplet.find_set(keys[i]) & own(i), 0u);
    }
    questions += keys.size();
  }
}

// One thread writes, so it takes its locks by plain stores; the others read its pairs.
TEST_P(MapletThreadsTest, ReadersBesideALoneWriter) {
  Maplet maplet(options_of(layout(), 2000));
  constexpr std::uint64_t kStanding = 1000;
  const auto low = [](std::uint64_t key) { return key % 5; };
  const auto high = [](std::uint64_t key) { return key % 5 + 5; };
  for (std::uint64_t key = 0; key < kStanding; ++key) ASSERT_TRUE(maplet.insert(key, low(key)));
  std::atomic<bool> done = false;
  std::vector<std::thread> readers;
  std::atomic<std::uint64_t> questions = 0;
  for (std::size_t t = 0; t < kThreads - 1; ++t) {
    // The value moves between two, one of which is always there.
    readers.emplace_back([&] {
      ask_all(maplet, kStanding, done, questions, [&](std::uint64_t key) {
        return std::uint64_t{1} << low(key) | std::uint64_t{1} << high(key);
      });
    });
  }
  std::mt19937_64 random(1);
  std::vector<bool> is_high(kStanding);
  std::vector<std::uint64_t> others;
  while (questions < 100 * kStanding) {
    const std::uint64_t key = random() % kStanding;
    EXPECT_TRUE(maplet.replace(key, is_high[key] ? high(key) : low(key),
                               is_high[key] ? low(key) : high(key)));
    is_high[key] = !is_high[key];
    // Fill and empty the rest, so that pairs move.
    if (others.size() < maplet.capacity() - kStanding) {
      others.push_back(random());
      if (!maplet.insert(others.back(), 11)) others.pop_back();
    } else {
      for (const std::uint64_t other : others) EXPECT_TRUE(maplet.erase(other, 11));
      others.clear();
    }
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
}

// Values of all pairs change beside readers: they see each pair with the old value or the new one.
TEST_P(MapletThreadsTest, RenamesBesideReaders) {
  Maplet maplet(options_of(layout(), 3000));
  constexpr std::uint64_t kStanding = 1500;
  for (std::uint64_t key = 0; key < kStanding; ++key) ASSERT_TRUE(maplet.insert(key, key % 4));
  std::atomic<bool> done = false;
  std::atomic<std::uint64_t> questions = 0;
  const auto read = [&] {
    ask_all(maplet, kStanding, done, questions,
            [](std::uint64_t key) { return std::uint64_t{3} << key % 4 / 2 * 2; });
  };
  std::thread changer([&] {
    const std::vector<std::uint64_t> swapped = {1, 0, 3, 2, 4, 7, Maplet::kErased};
    std::mt19937_64 random(1);
    for (std::uint64_t round = 0; questions < 60 * kStanding; ++round) {
      EXPECT_GE(maplet.rename(swapped), kStanding);
      std::uint64_t stored = 0;
      for (int i = 0; i < 50; ++i) stored += bool{maplet.insert(random(), 5 + round % 2)};
      // 5 has become 7, and 6 is gone.
      EXPECT_EQ(maplet.rename(swapped), kStanding + stored);
      EXPECT_EQ(maplet.erase_value(7), round % 2 == 0 ? stored : 0);
      EXPECT_EQ(maplet.size(), kStanding);
    }
    done = true;
  });
  run_threads(kThreads - 2, [&](std::uint64_t) { read(); });
  changer.join();
}

// Keys of which no two look alike.
std::vector<Hash> unlike_keys(const Maplet& maplet, int layout, std::size_t count) {
  const Geometry geometry = MapletAccess::state(maplet).shape().geometry;
  std::set<std::array<std::uint64_t, 3>> looks;  // these also say which the other block is
  std::vector<Hash> keys;
  for (std::mt19937_64 random(1); keys.size() < count;) {
    const Hash key{random()};
    const Place place = home_of(layout, geometry, key.value);
    const std::uint64_t low = std::min(place.block, alternate_of(geometry, place));
    if (looks.insert({low, place.fingerprint, place.bucket_offset}).second) keys.push_back(key);
  }
  return keys;
}

// Beside writers, which wait: their pairs have one of two values, and none is lost. A writer does
// not know which, and the wrong one may be that of a key that looks the same: so there are none.
TEST_P(MapletThreadsTest, RenamesBesideWriters) {
  Maplet maplet(options_of(layout(), 1500));
  constexpr std::uint64_t kPairs = 300;  // of a thread
  const std::vector<Hash> keys = unlike_keys(maplet, layout(), kPairs * (kThreads - 1));
  std::atomic<std::size_t> at_work = kThreads - 1;
  std::atomic<std::uint64_t> passing = 0;  // pairs with the value 6 that were stored
  const auto write = [&](std::uint64_t thread) {
    std::mt19937_64 random(thread);
    std::vector<bool> present(kPairs);
    const auto key_of = [&](std::uint64_t i) { return keys[i * (kThreads - 1) + thread]; };
    for (int step = 0; step < 6000; ++step) {
      const std::uint64_t i = random() % kPairs;
      const Hash key = key_of(i);
      if (!present[i]) {
        present[i] = bool{maplet.insert(key, random() % 2)};
      } else if (random() % 2 == 0) {
        // Renamed in between, or not: one of two is there.
        while (!maplet.erase(key, 0) && !maplet.erase(key, 1)) {
          ASSERT_NE(maplet.find_set(key) & 3, 0u);
        }
        present[i] = false;
      } else {
        while (!maplet.replace(key, 0, 1) && !maplet.replace(key, 1, 0)) {
          ASSERT_NE(maplet.find_set(key) & 3, 0u);
        }
      }
      if (step % 8 == 0) passing += bool{maplet.insert(random(), 6)};
      const std::uint64_t asked = random() % kPairs;
      if (present[asked]) {
        EXPECT_NE(maplet.find_set(key_of(asked)) & 3, 0u);
      }
    }
    std::uint64_t left = 0;
    for (std::uint64_t i = 0; i < kPairs; ++i) {
      if (!present[i]) continue;
      ++left;
      EXPECT_NE(maplet.find_set(key_of(i)) & 3, 0u);
    }
    --at_work;
    // Erased pairs are gone, and no other: what is left is what the last one finds.
    for (std::uint64_t i = 0; i < kPairs; ++i) {
      if (!present[i]) continue;
      while (!maplet.erase(key_of(i), 0) && !maplet.erase(key_of(i), 1)) {
        ASSERT_NE(maplet.find_set(key_of(i)) & 3, 0u);
      }
      --left;
    }
    EXPECT_EQ(left, 0u);
  };
  std::uint64_t erased = 0;
  std::thread changer([&] {
    const std::vector<std::uint64_t> swapped = {1, 0};
    while (at_work != 0 && !HasFailure()) {
      maplet.rename(swapped);
      erased += maplet.erase_value(6);
    }
  });
  run_threads(kThreads - 1, write);
  changer.join();
  erased += maplet.erase_value(6);
  EXPECT_EQ(erased, passing);
  EXPECT_EQ(maplet.size(), 0u);
}

// Merges beside changes of both maplets.
TEST_P(MapletThreadsTest, MergesBesideChangesOfBoth) {
  const std::uint64_t blocks = 90;
  const std::uint64_t slots = blocks * slots_of(layout());
  Maplet into = small_maplet(layout(), blocks);
  Maplet other = small_maplet(layout(), blocks);
  // The pairs of `other` have the value 7, and a quarter of its slots stays.
  const std::uint64_t standing = slots / 4;
  constexpr std::uint64_t kFirst = std::uint64_t{1} << 40;
  for (std::uint64_t i = 0; i < standing; ++i) ASSERT_TRUE(other.insert(kFirst + i, 7));
  std::atomic<bool> done = false;
  std::uint64_t merges = 0;
  std::thread merger([&] {
    std::array<std::uint64_t, Maplet::kMaxCandidates> values;
    while (!done || merges == 0) {
      try {
        into.merge(other);
      } catch (const std::length_error&) {
        continue;  // so many look the same just now
      }
      ++merges;
      for (std::uint64_t i = 0; i < standing; ++i) {
        const auto found = std::span(values).first(into.find(kFirst + i, values));
        EXPECT_NE(std::find(found.begin(), found.end(), 7u), found.end());
      }
      const std::uint64_t erased = into.erase_value(7);
      EXPECT_GE(erased, standing);
      EXPECT_LE(erased, standing + slots / 8 + 1);
    }
  });
  const std::uint64_t most = slots / 8;
  std::atomic<std::size_t> at_work = 2;
  run_threads(3, [&](std::uint64_t thread) {
    if (thread == 2) {  // of `other`: pairs that come and go
      std::mt19937_64 random(9);
      std::vector<std::uint64_t> keys;
      while (at_work != 0) {
        if (keys.size() < most && random() % 2 == 0) {
          keys.push_back(random());
          if (!other.insert(keys.back(), 7)) keys.pop_back();
        } else if (!keys.empty()) {
          EXPECT_TRUE(other.erase(keys.back(), 7));
          keys.pop_back();
        }
      }
      EXPECT_EQ(other.size(), standing + keys.size());
      return;
    }
    // Of `into`: values below 7.
    std::mt19937_64 random(thread);
    Pairs pairs;
    for (int step = 0; step < 4000; ++step) {
      const std::uint64_t key = random() % most * kThreads + thread;
      if (pairs.size() < most && random() % 2 == 0) {
        const std::uint64_t value = random() % 7;
        if (into.insert(key, value)) pairs.insert(key, value);
      } else if (pairs.size() != 0) {
        const auto [present, value] = pairs.any(random);
        EXPECT_TRUE(into.erase(present, value));
        EXPECT_TRUE(pairs.erase(present, value));
      }
      if (step % 512 == 0) pairs.expect_in(into, Pairs::Threads::several);
    }
    pairs.expect_in(into, Pairs::Threads::several);
    for (const auto& [key, value] : pairs) EXPECT_TRUE(into.erase(key, value));
    if (--at_work == 0) done = true;
  });
  merger.join();
  EXPECT_GT(merges, 0u);
  EXPECT_EQ(into.size(), 0u);
}

}  // namespace
}  // namespace nestline::test
