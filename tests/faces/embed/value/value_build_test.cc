// CuckooValue::build against a multiset: distinct items, copies, and more than the capacity.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "tests/faces/embed/value/hashes.h"
#include "tests/faces/embed/value/items.h"

namespace nestline::redis { namespace {

// `count` hashes; every `often`th one is a copy of one of the first `originals`.
Hashes with_copies(std::mt19937_64& random, std::size_t count, std::size_t often,
                   std::size_t originals) {
  Hashes hashes = random_hashes(random, count);
  for (std::size_t i = originals; i < count; i += often) hashes[i] = hashes[random() % originals];
  std::shuffle(hashes.begin(), hashes.end(), random);
  return hashes;
}

void expect_holds(const CuckooValue& value, const Hashes& hashes) {
  ASSERT_EQ(value.items(), hashes.size());
  std::map<std::uint64_t, std::uint64_t> copies;
  for (const std::uint64_t hash : hashes) ++copies[hash];
  std::vector<std::uint8_t> found(hashes.size()), counted(hashes.size());
  value.exists(hashes, found);
  value.count(hashes, counted);
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    ASSERT_TRUE(found[i]) << i;
    ASSERT_GE(counted[i], std::min(kMaxCounted, copies[hashes[i]])) << i;
  }
}

void expect_good(const Settings& settings, const Hashes& hashes) {
  SCOPED_TRACE(settings.capacity);
  const auto value = CuckooValue::build(settings, hashes);
  EXPECT_EQ(value->settings(), settings);
  expect_holds(*value, hashes);
  if (testing::Test::HasFatalFailure()) return;
  const auto loaded = reloaded(*value);
  // All can be taken out again, and others come in.
  const auto half = static_cast<std::ptrdiff_t>(hashes.size() / 2);
  erase(*loaded, Hashes(hashes.begin(), hashes.begin() + half));
  expect_holds(*loaded, Hashes(hashes.begin() + half, hashes.end()));
  add(*loaded, Hashes(hashes.begin(), hashes.begin() + half));
  expect_holds(*loaded, hashes);
  erase(*loaded, hashes);
  EXPECT_EQ(loaded->items(), 0U);
}

TEST(ValueBuild, HoldsEveryItemWithItsCopies) {
  std::mt19937_64 random(1);
  for (const double error : {0.0, 0.05, 0.01, 0.001}) {
    for (const auto expansion : {std::uint16_t{0}, std::uint16_t{1}}) {
      for (const std::size_t count : {0U, 1U, 50U, 3000U, 15'000U}) {
        SCOPED_TRACE(testing::Message() << error << ' ' << expansion << ' ' << count);
        for (const std::uint64_t capacity : {count + 1, count / 3 + 1, 3 * count + 5}) {
          const Settings settings{capacity, error, 2, 20, expansion, random()};
          expect_good(settings, random_hashes(random, count));
        }
      }
      const Settings settings{8000, error, 2, 20, expansion, random()};
      SCOPED_TRACE(testing::Message() << error << ' ' << expansion);
      expect_good(settings, Hashes(8000, random()));
      expect_good(settings, with_copies(random, 8000, 50, 3));
      expect_good(settings, with_copies(random, 8000, 10, 100));
      expect_good(settings, with_copies(random, 8000, 2, 2000));
      expect_good(settings, with_copies(random, 8000, 1, 500));
      expect_good(settings, with_copies(random, 5000, 10, 50));
    }
  }
}

TEST(ValueBuild, IsAsFullAndErrsAsAdding) {
  std::mt19937_64 random(2);
  const Hashes hashes = random_hashes(random, 50'000), strangers = random_hashes(random, 500'000);
  for (const double error : {0.05, 0.01, 0.001}) {
    const Settings settings{hashes.size(), error, 2, 20, 1, 42};
    const auto built = CuckooValue::build(settings, hashes);
    const auto added = CuckooValue::create(settings);
    add(*added, hashes);
    EXPECT_EQ(built->memory_bytes(), added->memory_bytes());
    EXPECT_EQ(built->info().ledger_entries, 0U);
    std::vector<std::uint8_t> found(strangers.size());
    built->exists(strangers, found);
    EXPECT_LT(std::count(found.begin(), found.end(), 1),
              error * static_cast<double>(strangers.size()));
  }
}

}  // namespace
}  // namespace nestline::redis
