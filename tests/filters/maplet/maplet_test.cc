// Maplet against an exact model, one thread.
#include "nestline/maplet.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lib/engine/place/geometry.h"
#include "tests/filters/maplet/pairs.h"
#include "tests/support/errors.h"

#ifdef __linux__
#include <sys/resource.h>
#endif

namespace nestline::test { namespace {

using Candidates = std::array<std::uint64_t, Maplet::kMaxCandidates>;

std::vector<std::uint64_t> found(const Maplet& maplet, Key key) {
  Candidates values;
  const std::size_t count = maplet.find(key, values);
  return {values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count)};
}

TEST(MapletTest, GivesTheValueOfEachKindOfKey) {
  Maplet maplet({.capacity = 100});
  EXPECT_TRUE(maplet.insert(7, 1));
  EXPECT_TRUE(maplet.insert("7", 2));
  EXPECT_TRUE(maplet.insert(Hash{0x123456789abcdef0}, Maplet::kMaxValue));
  EXPECT_EQ(found(maplet, 7), std::vector<std::uint64_t>{1});
  EXPECT_EQ(found(maplet, "7"), std::vector<std::uint64_t>{2});
  EXPECT_EQ(found(maplet, Hash{0x123456789abcdef0}), std::vector<std::uint64_t>{Maplet::kMaxValue});
  EXPECT_TRUE(found(maplet, 8).empty());
  EXPECT_EQ(maplet.size(), 3u);
}

TEST(MapletTest, RefusesOptionsThatCannotBe) {
  EXPECT_THROW(Maplet({.capacity = 0}), std::invalid_argument);
  EXPECT_THROW(Maplet({.capacity = std::uint64_t{1} << 54}), std::invalid_argument);
  EXPECT_THROW(Maplet({.capacity = 1, .max_capacity = std::uint64_t{1} << 50}),
               std::invalid_argument);
  EXPECT_THROW(Maplet({.capacity = 100, .max_capacity = std::uint64_t{1} << 54}),
               std::invalid_argument);
  for (const int value_bits : {-4, 0, 1, 5, 12, 20, 32, 41, 64}) {
    expect_error<std::invalid_argument>([&] { Maplet({.capacity = 1, .value_bits = value_bits}); },
                                        std::to_string(value_bits));
  }
  for (const double fpr : {-0.1, 1.0, 2.0}) {
    EXPECT_THROW(Maplet({.capacity = 1, .value_bits = 4, .fpr = fpr}), std::invalid_argument);
  }
  // Less than any fingerprint beside such values has.
  expect_error<std::invalid_argument>(
      [] { Maplet({.capacity = 1000, .value_bits = 4, .fpr = 1e-5}); }, "fpr 1e-05 is below");
}

// Random operations, keys few enough to have several values, and full enough that pairs spill.
void compare_with_model(const MapletOptions& options, std::uint64_t keys, std::size_t steps) {
  Maplet maplet(options);
  Pairs pairs;
  std::mt19937_64 random(options.capacity + keys);
  const auto any_key = [&] { return random() % keys * 0x9e3779b97f4a7c15u; };
  for (std::size_t i = 0; i < steps; ++i) {
    const std::uint64_t key = any_key();
    const std::uint64_t value = random() % 4 == 0 ? random() & Maplet::kMaxValue : random() % 8;
    switch (pairs.size() == 0 ? 0 : random() % 8) {
      case 0:
      case 1:
      case 2:
      case 3:
        if (pairs.size() < maplet.capacity() || maplet.capacity() < maplet.max_capacity()) {
          if (maplet.insert(key, value)) {
            pairs.insert(key, value);
          } else {
            ASSERT_GE(pairs.values(key).size() + 8, Maplet::kMaxCandidates / 2);
          }
        }
        break;
      case 4: {
        const auto [present, old_value] = pairs.any(random);
        ASSERT_TRUE(maplet.replace(present, old_value, value));
        ASSERT_TRUE(pairs.erase(present, old_value));
        pairs.insert(present, value);
        break;
      }
      case 5: {
        const auto [present, old_value] = pairs.any(random);
        ASSERT_TRUE(maplet.erase(present, old_value));
        ASSERT_TRUE(pairs.erase(present, old_value));
        break;
      }
      default:
        Pairs::expect_among(pairs.values(key), found(maplet, key));
        break;
    }
    ASSERT_EQ(maplet.size(), pairs.size());
  }
  pairs.expect_in(maplet);
}

TEST(MapletTest, AnswersAsTheModelDoes) {
  compare_with_model({.capacity = 3000}, 100'000, 60'000);
  compare_with_model({.capacity = 3000}, 1'000, 40'000);
  compare_with_model({.capacity = 500}, 600, 40'000);
}

TEST(MapletTest, AnswersAsTheModelDoesWhileItGrows) {
  compare_with_model({.capacity = 400, .max_capacity = 30'000}, 1'000'000, 60'000);
  compare_with_model({.capacity = 1, .max_capacity = 3'000}, 5'000, 20'000);
}

TEST(MapletTest, ReplacesAndErasesOnlyThePairThatIsThere) {
  Maplet maplet({.capacity = 100});
  ASSERT_TRUE(maplet.insert("a", 1));
  ASSERT_TRUE(maplet.insert("a", 2));
  EXPECT_FALSE(maplet.replace("a", 3, 4));
  EXPECT_FALSE(maplet.erase("a", 3));
  EXPECT_FALSE(maplet.erase("b", 1));
  EXPECT_TRUE(maplet.replace("a", 1, 3));
  EXPECT_TRUE(maplet.erase("a", 2));
  EXPECT_EQ(found(maplet, "a"), std::vector<std::uint64_t>{3});
  EXPECT_EQ(maplet.size(), 1u);
}

TEST(MapletTest, HoldsSixteenPairsThatLookTheSame) {
  Maplet maplet({.capacity = 10'000});
  // A key whose alternate is another block.
  for (std::uint64_t key = 0; key < 20; ++key) {
    Inserted inserted;
    std::uint64_t count = 0;
    for (; (inserted = maplet.insert(key, count)); ++count) {
    }
    EXPECT_EQ(count, Maplet::kMaxCandidates) << key;
    EXPECT_EQ(inserted.outcome, Outcome::too_many_copies);
    EXPECT_EQ(found(maplet, key).size(), Maplet::kMaxCandidates);
    for (std::uint64_t value = 0; value < count; ++value) EXPECT_TRUE(maplet.erase(key, value));
  }
  EXPECT_EQ(maplet.size(), 0u);
}

TEST(MapletTest, SaysFullAndChangesNothing) {
  Maplet maplet({.capacity = 1000});
  Pairs pairs;
  std::uint64_t refused = 0;
  for (std::uint64_t i = 0; i < 2 * maplet.slots(); ++i) {
    const Inserted inserted = maplet.insert(i, i);
    if (inserted) {
      pairs.insert(i, i);
    } else {
      EXPECT_EQ(inserted.outcome, Outcome::full);
      ++refused;
    }
  }
  EXPECT_GT(refused, maplet.slots() / 2);
  EXPECT_EQ(maplet.size(), pairs.size());
  EXPECT_GT(maplet.load_factor(), 0.97);
  pairs.expect_in(maplet);
}

// A key that has a pair can be anywhere, however full its blocks are; one without cannot.
TEST(MapletTest, APairOfAFullMapletBecomesAnywhere) {
  Maplet maplet({.capacity = 1000, .value_bits = 4, .fpr = 0.005});
  std::vector<std::uint64_t> refused;
  for (std::uint64_t i = 0; i < 2 * maplet.slots(); ++i) {
    if (!maplet.insert(i, i % 8)) refused.push_back(i);
  }
  const std::uint64_t size = maplet.size();
  std::size_t turned = 0;
  for (std::uint64_t key = 0; key < 500; ++key) {
    const Outcome outcome = maplet.insert(key, 9).outcome;
    if (outcome == Outcome::stored) {
      EXPECT_TRUE(maplet.erase(key, 9));
      continue;
    }
    ASSERT_EQ(outcome, Outcome::full);
    const bool has_pair = maplet.find_set(key) != 0;
    ASSERT_EQ(maplet.insert(key, maplet.anywhere()).outcome,
              has_pair ? Outcome::stored : Outcome::full);
    ASSERT_EQ(maplet.find_set(key), has_pair ? ~std::uint64_t{0} : 0);
    turned += has_pair;
  }
  EXPECT_GT(turned, 100u);
  EXPECT_EQ(maplet.size(), size);
  const auto without = std::ranges::find_if(refused, [&](std::uint64_t key) {
    return maplet.find_set(key) == 0 && maplet.insert(key, 9).outcome == Outcome::full;
  });
  ASSERT_NE(without, refused.end());
  EXPECT_EQ(maplet.insert(*without, maplet.anywhere()).outcome, Outcome::full);
}

TEST(MapletTest, GrowsWithoutKeys) {
  Maplet maplet({.capacity = 400});
  Pairs pairs;
  std::mt19937_64 random(1);
  for (unsigned growth = 0; growth < 16; ++growth) {
    ASSERT_EQ(maplet.growth(), growth);
    ASSERT_EQ(maplet.growth_left(), 16 - growth);
    while (pairs.size() < std::min<std::uint64_t>(maplet.capacity(), 4000)) {
      const std::uint64_t key = random();
      const std::uint64_t value = random() & Maplet::kMaxValue;
      if (maplet.insert(key, value)) pairs.insert(key, value);
    }
    pairs.expect_in(maplet);
    ASSERT_TRUE(maplet.grow());
  }
  pairs.expect_in(maplet);
  EXPECT_FALSE(maplet.grow());
}

TEST(MapletTest, BatchesDoWhatSinglesDo) {
  Maplet singles({.capacity = 5000});
  Maplet batches({.capacity = 5000});
  std::vector<std::string> keys;
  std::vector<std::uint64_t> values;
  for (std::uint64_t i = 0; i < 7000; ++i) {
    keys.push_back("key " + std::to_string(i % 6500));
    values.push_back(i);
  }
  std::vector<Outcome> outcomes(keys.size());
  std::vector<Outcome> alone;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    alone.push_back(singles.insert(keys[i], values[i]).outcome);
  }
  EXPECT_EQ(batches.insert(keys, values, outcomes), singles.size());
  EXPECT_LT(singles.size(), keys.size());
  EXPECT_EQ(outcomes, alone);
  std::vector<std::uint32_t> first;
  std::vector<std::uint64_t> all;
  const std::size_t count = batches.find(keys, first, all);
  EXPECT_EQ(count, all.size());
  ASSERT_EQ(first.size(), keys.size() + 1);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::vector<std::uint64_t> wanted = found(singles, keys[i]);
    const auto got = std::span(all).subspan(first[i], first[i + 1] - first[i]);
    ASSERT_TRUE(std::equal(got.begin(), got.end(), wanted.begin(), wanted.end()));
  }
}

TEST(MapletTest, BatchesOfNothingAndOfWrongLengths) {
  Maplet maplet({.capacity = 100});
  std::vector<std::uint32_t> first = {1, 2, 3};
  std::vector<std::uint64_t> values = {4};
  EXPECT_EQ(maplet.find(std::vector<std::uint64_t>{}, first, values), 0u);
  EXPECT_EQ(first, std::vector<std::uint32_t>{0});
  EXPECT_TRUE(values.empty());
  const std::vector<std::uint64_t> keys = {1, 2, 3};
  const std::vector<std::uint64_t> two = {1, 2};
  EXPECT_THROW((void)maplet.insert(keys, two), std::invalid_argument);
  std::vector<Outcome> outcomes(2);
  EXPECT_THROW((void)maplet.insert(keys, keys, outcomes), std::invalid_argument);
  EXPECT_EQ(maplet.size(), 0u);
}

TEST(MapletTest, VisitsEveryValueAndCopiesItself) {
  Maplet maplet({.capacity = 1000});
  std::multiset<std::uint64_t> wanted;
  for (std::uint64_t i = 0; i < 900; ++i) {
    ASSERT_TRUE(maplet.insert(i, i / 2));
    wanted.insert(i / 2);
  }
  std::multiset<std::uint64_t> visited;
  maplet.for_each([&](std::uint64_t value) { visited.insert(value); });
  EXPECT_EQ(visited, wanted);

  const Maplet copy = maplet.snapshot();
  ASSERT_TRUE(maplet.erase(5, 2));
  EXPECT_TRUE(found(maplet, 5).empty());
  EXPECT_EQ(found(copy, 5), std::vector<std::uint64_t>{2});
  EXPECT_EQ(copy.size(), 900u);

  Maplet moved = std::move(maplet);
  EXPECT_EQ(moved.size(), 899u);
}

TEST(MapletTest, PreparedKeysAreKeys) {
  Maplet maplet({.capacity = 100, .seed = 3});
  const Hash hash = maplet.prepare("key");
  ASSERT_TRUE(maplet.insert(hash, 9));
  EXPECT_EQ(found(maplet, "key"), std::vector<std::uint64_t>{9});
  EXPECT_EQ(hash.value, hash_key("key", 3).value);
}

// Page faults of this thread so far that needed no disk.
long faults() {
#ifdef __linux__
  rusage usage{};
  EXPECT_EQ(getrusage(RUSAGE_THREAD, &usage), 0);
  return usage.ru_minflt;
#else
  return 0;  // the system does not tell
#endif
}

// Of 1.5 MiB in small pages.
TEST(MapletTest, IsCopiedIntoMemoryThatIsReady) {
  Maplet maplet({.capacity = 180'000, .max_capacity = 400'000});
  for (std::uint64_t key = 0; key < 180'000; ++key) ASSERT_TRUE(maplet.insert(key, key));
  Maplet ready = maplet.ready_for_snapshot();
  EXPECT_EQ(ready.size(), 0u);
  const long before = faults();
  ASSERT_TRUE(maplet.snapshot_into(ready));
  EXPECT_LT(faults() - before, 50);
  EXPECT_EQ(ready.size(), 180'000u);
  EXPECT_EQ(ready.capacity(), maplet.capacity());
  EXPECT_EQ(ready.max_capacity(), maplet.max_capacity());
  for (std::uint64_t key = 0; key < 180'000; ++key) {
    ASSERT_EQ(found(ready, key), found(maplet, key));
  }
  EXPECT_TRUE(maplet.erase(7, 7));
  ASSERT_TRUE(maplet.snapshot_into(ready));  // once more
  EXPECT_EQ(ready.size(), 179'999u);
  ASSERT_TRUE(maplet.grow());
  EXPECT_FALSE(maplet.snapshot_into(ready));
  EXPECT_EQ(ready.size(), 179'999u);
  EXPECT_EQ(found(ready, 8), std::vector<std::uint64_t>{8});
  EXPECT_EQ(maplet.snapshot().size(), 179'999u);
}

}  // namespace
}  // namespace nestline::test
