// What Options ask for is what filters hold: capacities are reached, rates are met, bad options are
// refused with a sentence that names them.
#include "sizing.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "nestline/filter.h"

namespace nestline::test {
namespace {

constexpr std::uint64_t kCapacities[] = {1, 2, 7, 59, 60, 61, 1000, 1000000};

TEST(Sizing, CapacityIsReachedAtEveryWidth) {
  for (const std::uint64_t capacity : kCapacities) {
    for (const int bits : {8, 12, 16}) {
      // Many small filters, one large: the promise is one failure in a million fillings.
      const int fillings = capacity < 100 ? 2000 : capacity <= 1000 ? 200 : 1;
      for (int i = 0; i < fillings; ++i) {
        const auto seed = static_cast<std::uint64_t>(i);
        Filter filter({.capacity = capacity, .bits = bits, .seed = seed});
        ASSERT_EQ(filter.bits(), bits);
        ASSERT_GE(filter.capacity(), capacity);
        std::vector<std::uint64_t> keys(filter.capacity());
        std::iota(keys.begin(), keys.end(), seed << 32);
        ASSERT_EQ(filter.insert(keys), keys.size())
            << "capacity " << capacity << ", " << bits << " bits, seed " << seed;
        ASSERT_EQ(filter.size(), keys.size());
      }
    }
  }
}

TEST(Sizing, CapacityIsNotWasted) {
  for (const int bits : {8, 12, 16}) {
    const double bits_a_slot = bits == 8 ? 512.0 / 60 : bits == 12 ? 512.0 / 40 : 512.0 / 30;
    for (const std::uint64_t capacity : {std::uint64_t{1000}, std::uint64_t{1000000}}) {
      const Filter filter({.capacity = capacity, .bits = bits});
      const double bits_a_key =
          static_cast<double>(filter.memory_bytes()) * 8 / static_cast<double>(capacity);
      // One block more than exact, at most.
      EXPECT_LE(bits_a_key, bits_a_slot / 0.95 + 512.0 / static_cast<double>(capacity));
    }
  }
}

TEST(Sizing, WidthFollowsFromTheRate) {
  const auto bits = [](double fpr) { return Filter({.capacity = 1000, .fpr = fpr}).bits(); };
  EXPECT_EQ(bits(0.5), 8);
  EXPECT_EQ(bits(0.02), 8);
  EXPECT_EQ(bits(0.0105), 8);
  EXPECT_EQ(bits(0), 12) << "the default is 0.01";
  EXPECT_EQ(bits(0.01), 12);
  EXPECT_EQ(bits(0.001), 12);
  EXPECT_EQ(bits(0.0005), 16);
  EXPECT_EQ(bits(0.0001), 16);
  EXPECT_EQ(bits(0.00005), 16);
}

TEST(Sizing, LowerRatesOfOneWidthTakeMoreBlocks) {
  std::size_t last = 0;
  for (const double fpr : {0.016, 0.014, 0.012, 0.01, 0.009, 0.0085}) {
    const Filter filter({.capacity = 100000, .fpr = fpr, .bits = 8});
    EXPECT_EQ(filter.bits(), 8);
    EXPECT_GT(filter.memory_bytes(), last);
    last = filter.memory_bytes();
  }
}

void expect_refused(const Options& options, const std::string& part) {
  try {
    const Filter filter(options);
    ADD_FAILURE() << "not refused, expected: " << part;
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(Sizing, BadOptionsAreRefused) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  expect_refused({}, "capacity must be at least 1");
  expect_refused({.capacity = std::numeric_limits<std::uint64_t>::max()}, "capacity");
  expect_refused({.capacity = std::uint64_t{1} << 52}, "2^40 blocks");
  for (const double fpr : {-0.1, 1.0, 2.0, nan, infinity, -infinity}) {
    expect_refused({.capacity = 1, .fpr = fpr}, "fpr must be above 0 and below 1");
  }
  for (const int bits : {-8, 1, 7, 9, 11, 13, 32}) {
    expect_refused({.capacity = 1, .bits = bits}, "bits must be 8, 12 or 16");
  }
  expect_refused({.capacity = 1, .fpr = 0.001, .bits = 8}, "lowest false-positive rate of 8-bit");
  expect_refused({.capacity = 1, .fpr = 0.0001, .bits = 12}, "take more bits");
  expect_refused({.capacity = 1, .fpr = 1e-9}, "lowest false-positive rate of 16-bit");
  expect_refused({.capacity = 1, .max_capacity = 2}, "max_capacity");
}

TEST(Sizing, MemoryThatCannotBeHadIsBadAlloc) {
  EXPECT_THROW(Filter({.capacity = std::uint64_t{1} << 44}), std::bad_alloc);
}

TEST(Sizing, FilterTellsOfItself) {
  Filter filter({.capacity = 1000, .fpr = 0.02, .seed = 99});
  EXPECT_EQ(filter.seed(), 99u);
  EXPECT_EQ(filter.size(), 0u);
  EXPECT_EQ(filter.load_factor(), 0);
  EXPECT_EQ(filter.expected_fpr(), 0);
  EXPECT_EQ(filter.memory_bytes() % 64, 0u);
  filter.insert(std::uint64_t{1});
  EXPECT_EQ(filter.size(), 1u);
  EXPECT_DOUBLE_EQ(filter.load_factor(),
                   1 / (static_cast<double>(filter.memory_bytes()) / 64 * 60));
  EXPECT_GT(filter.expected_fpr(), 0);
}

}  // namespace
}  // namespace nestline::test
