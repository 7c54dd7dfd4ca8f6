// parallel::build: exactly the given keys are stored, the blocks are those of a filter without
// locks, and the promises on capacity, growth and false positives hold as they do for keys inserted
// one after the other.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "lib/engine/place/layout.h"
#include "lib/engine/place/locking.h"
#include "nestline/parallel.h"
#include "tests/filters/file/io_fixture.h"
#include "tests/filters/parallel/parallel_fixture.h"
#include "tests/support/errors.h"
#include "tests/support/model.h"

namespace nestline::test { namespace {

constexpr std::size_t kChunk = 65536;  // a multiple of what bulk_build.cc sorts at a time
constexpr std::size_t kLengths[] = {
    0, 1, 63, 64, 65, kChunk - 1, kChunk, kChunk + 1, 3 * kChunk + 17};

// Checks everything that must hold for a filter built from distinct keys.
template <typename Key>
void expect_built(const Filter& filter, std::span<const Key> keys) {
  EXPECT_EQ(filter.size(), keys.size());
  std::vector<std::uint8_t> found(keys.size());
  EXPECT_EQ(filter.may_contain(keys, found), keys.size());
  const auto& state = FilterAccess::blocks(filter);
  for (std::uint64_t i = 0; i < state.view.geometry.blocks(); ++i) {
    ASSERT_EQ(state.view.blocks[i].header() & ~kHeaderOverflowMark, 0u) << "block " << i;
  }
  // The loader counts the fingerprints and checks that no mark, lock or version is impossible.
  const Filter loaded = Filter::load(to_bytes(filter));
  EXPECT_EQ(loaded.size(), keys.size());
}

template <typename Key>
class BuildTest : public testing::Test {};
TYPED_TEST_SUITE(BuildTest, KeyTypes);

TYPED_TEST(BuildTest, HoldsAllKeys) {
  const Keys<TypeParam> keys(3 * kChunk + 17);
  for (const int bits : kFilterWidths) {
    for (const std::size_t length : kLengths) {
      for (const int threads : kThreads) {
        SCOPED_TRACE(std::to_string(bits) + " bits, " + std::to_string(length) + " keys, " +
                     std::to_string(threads) + " threads");
        const Options options = {
            .capacity = std::max<std::size_t>(length, 1), .bits = bits, .seed = 3};
        with_threads(threads, [&] {
          const Filter filter = parallel::build(options, keys.first(length));
          expect_built(filter, keys.first(length));
          const Filter plain(options);
          EXPECT_EQ(filter.capacity(), plain.capacity());
          EXPECT_EQ(filter.memory_bytes(), plain.memory_bytes());
          EXPECT_EQ(filter.seed(), 3u);
          EXPECT_EQ(filter.bits(), bits);
        });
      }
    }
  }
}

// The bytes are those that Filter::build leaves, whatever the number of threads.
TEST(Build, LeavesTheSameBytesOnAnyNumberOfThreads) {
  const Keys<std::uint64_t> keys(2'000'000);
  for (const int bits : kFilterWidths) {
    for (const std::size_t count : {100u, 3000u, 200'000u, 2'000'000u}) {
      const Options options = {.capacity = count, .bits = bits};
      const auto expected = block_bytes(Filter::build(options, keys.first(count)));
      for (const int threads : kThreads) {
        with_threads(threads, [&] {
          EXPECT_EQ(block_bytes(parallel::build(options, keys.first(count))), expected)
              << bits << " bits, " << count << " keys, " << threads << " threads";
        });
      }
    }
  }
}

TEST(Build, FillsSmallFiltersToTheirCapacity) {
  for (const int bits : kFilterWidths) {
    for (std::uint64_t wanted = 1; wanted < 600; wanted += 13) {
      const std::uint64_t capacity = Filter({.capacity = wanted, .bits = bits}).capacity();
      const Keys<std::uint64_t> keys(capacity);
      with_threads(2, [&] {
        expect_built(parallel::build({.capacity = capacity, .bits = bits}, keys.all()), keys.all());
      });
    }
  }
}

// Up to three copies of each key, so that two keys that look the same still fit.
TEST(Build, CountsCopies) {
  std::vector<std::uint64_t> keys;
  for (std::uint64_t copy = 0; copy < 3; ++copy) {
    for (std::uint64_t key = 0; key < 60'000; ++key) {
      if (copy <= key % 3) keys.push_back(key);
    }
  }
  for (const int bits : kFilterWidths) {
    for (const int threads : kThreads) {
      with_threads(threads, [&] {
        const Filter filter = parallel::build({.capacity = 150'000, .bits = bits}, keys);
        EXPECT_EQ(filter.size(), keys.size());
        std::size_t more = 0;
        for (std::uint64_t key = 0; key < 60'000; ++key) {
          ASSERT_GE(filter.count(key), key % 3 + 1);
          more += filter.count(key) > key % 3 + 1;
        }
        // Those that look like another key.
        EXPECT_LT(more, bits <= 10 ? 1500u : 150u);
      });
    }
  }
}

template <typename Error>
std::string refusal(const Options& options, KeySpan keys) {
  return message_of<Error>([&] { (void)parallel::build(options, keys); });
}

TEST(Build, LeavesOutFurtherCopies) {
  constexpr std::uint64_t kKey = 1'000'000'007;
  std::vector<std::uint64_t> keys = sequence(0, 100'000);
  keys.insert(keys.end(), 12, kKey);
  for (const int threads : kThreads) {
    with_threads(threads, [&] {
      std::vector<Outcome> outcomes(keys.size());
      const Filter filter = parallel::build({.capacity = 200'000, .bits = 8}, keys, outcomes);
      EXPECT_EQ(filter.size(), keys.size() - 4);
      EXPECT_EQ(filter.count(kKey), 8u);
      for (std::size_t i = 0; i < keys.size(); ++i) {
        ASSERT_EQ(outcomes[i], i + 4 < keys.size() ? Outcome::stored : Outcome::too_many_copies)
            << i;
      }
    });
  }
}

TEST(Build, RefusesTooManyKeys) {
  const Keys<std::uint64_t> keys(300'000);
  for (const std::uint64_t capacity : {1u, 1000u, 100'000u, 270'000u}) {
    for (const int threads : {1, 3}) {
      with_threads(threads, [&] {
        const Options options = {.capacity = capacity, .bits = 8};
        const std::string message = refusal<std::length_error>(options, keys.all());
        const std::string promised = std::to_string(Filter(options).capacity());
        EXPECT_NE(message.find("300000"), std::string::npos) << message;
        EXPECT_NE(message.find(promised), std::string::npos) << message;
      });
    }
  }
  // A few beyond the promise do fit.
  const Options options = {.capacity = 297'000, .bits = 8};
  ASSERT_LT(Filter(options).capacity(), 300'000u);
  expect_built(parallel::build(options, keys.all()), keys.all());
}

TEST(Build, RefusesBadOptions) {
  const Keys<std::uint64_t> keys(3);
  EXPECT_FALSE(refusal<std::invalid_argument>({}, keys.all()).empty());
  EXPECT_FALSE(refusal<std::invalid_argument>({.capacity = 3, .bits = 11}, keys.all()).empty());
}

TEST(Build, GrowsForItsKeys) {
  const Keys<std::uint64_t> keys(200'000);
  for (const int bits : {12, 16}) {
    for (const std::size_t count : {900u, 3000u, 50'000u, 200'000u}) {
      const Options options = {.capacity = 1000, .bits = bits, .max_capacity = 250'000};
      Filter plain(options);
      ASSERT_EQ(plain.insert(keys.first(count)), count);
      with_threads(2, [&] {
        const Filter filter = parallel::build(options, keys.first(count));
        expect_built(filter, keys.first(count));
        EXPECT_EQ(filter.memory_bytes(), plain.memory_bytes());
        EXPECT_EQ(filter.capacity(), plain.capacity());
        // It grew before its first key was inserted, so its marks are lower if anything.
        EXPECT_LE(filter.expected_fpr(), 1.02 * plain.expected_fpr());
      });
    }
  }
  const Options small = {.capacity = 1000, .bits = 12, .max_capacity = 4000};
  EXPECT_FALSE(refusal<std::length_error>(small, keys.all()).empty());
}

// All keys have one home, so that the filter is full long before its capacity; but it may grow.
TEST(Build, GrowsWhenAKeyFindsNoRoom) {
  std::vector<Hash> keys;
  for (std::uint64_t i = 0; i < 20'000; ++i) keys.push_back({mix_integer(i, {7, 9}) >> 10});
  for (const int threads : {1, 3}) {
    with_threads(threads, [&] {
      EXPECT_FALSE(refusal<std::length_error>({.capacity = 20'000, .bits = 16}, keys).empty());
      const Options options = {.capacity = 20'000, .bits = 16, .max_capacity = 1'000'000};
      const Filter filter = parallel::build(options, keys);
      expect_built<Hash>(filter, keys);
      EXPECT_GE(filter.memory_bytes(), 2 * Filter(options).memory_bytes());
    });
  }
}

TEST(Build, ErrsAsOftenAsExpected) {
  constexpr std::size_t kKeys = 600'000;
  const Keys<std::uint64_t> keys(kKeys);
  const auto strangers = sequence(std::uint64_t{1} << 40, 3'000'000);
  std::vector<std::uint8_t> found(strangers.size());
  for (const int bits : {8, 12}) {
    for (const int threads : {1, 2}) {
      with_threads(threads, [&] {
        Filter plain({.capacity = kKeys, .bits = bits});
        ASSERT_EQ(plain.insert(keys.all()), kKeys);
        const Filter filter = parallel::build({.capacity = kKeys, .bits = bits}, keys.all());
        const auto hits = static_cast<double>(filter.may_contain(strangers, found));
        const double expected = filter.expected_fpr() * static_cast<double>(strangers.size());
        EXPECT_NEAR(hits, expected, 0.05 * expected + 4 * std::sqrt(expected));
        // The order of the keys matters little: marks are as low as after a batch.
        EXPECT_NEAR(filter.expected_fpr(), plain.expected_fpr(), 0.02 * plain.expected_fpr());
      });
    }
  }
}

// More keys than are sorted at a time.
TEST(Build, GoesOnFromSliceToSlice) {
  const auto keys = sequence(0, (std::size_t{1} << 24) + 100'000);
  const Filter filter = parallel::build({.capacity = keys.size(), .bits = 8}, keys);
  expect_built<std::uint64_t>(filter, keys);
}

}  // namespace
}  // namespace nestline::test
