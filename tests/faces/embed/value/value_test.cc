// CuckooValue against an exact multiset of items, over growth, deletes, copies and other people's
// tables: never a false negative, never a count below the truth, rates as promised.
#include "lib/faces/embed/value/value.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/faces/embed/value/view.h"
#include "tests/faces/embed/redisbloom/redisbloom_model.h"
#include "tests/faces/embed/value/items.h"

namespace nestline::redis { namespace {

std::unique_ptr<CuckooValue> make(std::uint64_t capacity, double error = 0,
                                  std::uint16_t expansion = 1, std::uint16_t bucket_size = 2,
                                  bool turns_over = false) {
  return CuckooValue::create({capacity, error, bucket_size, 20, expansion, 42, false, turns_over});
}

// Random adds and erases of items that are in it; `range` small gives many copies.
void change(CuckooValue& value, Multiset& model, std::mt19937_64& random, std::uint64_t range,
            int steps, unsigned adds_in_ten) {
  for (int step = 0; step < steps; ++step) {
    const std::string item = name(random() % range);
    std::uint64_t& copies = model[item];
    if (random() % 10 < adds_in_ten) {
      ASSERT_EQ(value.insert(item), Outcome::stored);
      ++copies;
    } else if (copies != 0) {
      ASSERT_TRUE(value.erase(item)) << item;
      --copies;
    }
    ASSERT_EQ(value.exists(item), value.count(item) != 0);
  }
}

// The last seeds turn over, from as few items on as guest lanes need.
TEST(CuckooValue, KeepsEveryItemThroughGrowthDeletesAndCompaction) {
  for (std::uint64_t seed = 0; seed < 18; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const bool turns_over = seed >= 12;
    auto value = make((turns_over ? 3000 : 1) + random() % 100, seed % 3 == 2 ? 0.001 : 0.0,
                      static_cast<std::uint16_t>(1U << random() % 3), 2, turns_over);
    Multiset model;
    const std::uint64_t range = seed % 2 == 0 ? 300 : 100'000;
    for (const unsigned adds : {9U, 5U, 2U, 8U}) {
      change(*value, model, random, range, turns_over ? 20'000 : 8000, adds);
      expect_all(*value, model);
      if (HasFatalFailure()) return;
      if (seed % 4 == 3) {
        value->compact();
        expect_all(*value, model);
        EXPECT_EQ(value->deletes(), 0U);
      }
    }
    // Everything out: nothing is left behind.
    for (const auto& [item, count] : model) {
      for (std::uint64_t i = 0; i < count; ++i) ASSERT_TRUE(value->erase(item)) << item;
    }
    EXPECT_EQ(value->items(), 0U);
    EXPECT_EQ(value->sub_filters(), 1U);
    value->compact();
    EXPECT_EQ(value->info().ledger_entries, 0U);
    EXPECT_FALSE(value->erase(name(1)));
  }
}

// Replacing items again and again must not leave more and more behind.
TEST(CuckooValue, StaysSmallWhileItsContentIsReplaced) {
  auto value = make(100, 0.02);
  std::uint64_t oldest = 0;
  std::uint64_t newest = 0;
  while (newest < 20'000) value->insert(name(newest++));
  ASSERT_GE(value->sub_filters(), 3U);
  std::uint64_t most_entries = 0;
  std::uint64_t most_memory = 0;
  for (int turn = 0; turn < 10; ++turn) {
    for (int i = 0; i < 20'000; ++i) {
      ASSERT_TRUE(value->erase(name(oldest++)));
      ASSERT_EQ(value->insert(name(newest++)), Outcome::stored);
    }
    for (std::uint64_t i = oldest; i < newest; ++i) ASSERT_TRUE(value->exists(name(i))) << i;
    const Info info = value->info();
    most_entries = std::max(most_entries, info.ledger_entries);
    most_memory = std::max(most_memory, info.memory_bytes);
    EXPECT_EQ(info.items, 20'000U);
  }
  EXPECT_LT(most_entries, 600U);  // 3 %
  EXPECT_LT(most_memory, 200'000U);
}

// A share of marks, so of absent items that read a second block.
double second_probes(const SubFilter& sub_filter) {
  std::vector<std::byte> copy;
  const auto bytes = sub_filter.bytes(0, sub_filter.block_bytes(), copy);
  double marks = 0;
  for (std::size_t at = kOverflowMarkByte; at < bytes.size(); at += kBlockBytes) {
    marks += std::to_integer<int>(bytes[at]);
  }
  return marks / 255 / static_cast<double>(bytes.size() / kBlockBytes);
}

// Every item is replaced 16 times at a load of 0.9, half of the time beside threads that look up.
TEST(CuckooValue, StaysAsFastWhereItTurnsOver) {
  constexpr std::uint64_t kCapacity = 50'000;
  constexpr std::uint64_t kItems = kCapacity * 90 / 95;
  double shares[2];
  for (const bool turns_over : {false, true}) {
    const auto value = make(kCapacity, 0.05, 0, 2, turns_over);
    ASSERT_EQ(value->list()[0].bits(), 8);
    std::uint64_t newest = 0;
    while (newest < kItems) ASSERT_EQ(value->insert(name(newest++)), Outcome::stored);
    std::unique_ptr<View> view;
    for (int turn = 0; turn < 16; ++turn) {
      if (turn == 8) view = value->view();
      for (std::uint64_t i = 0; i < kItems; ++i, ++newest) {
        ASSERT_TRUE(value->erase(name(newest - kItems)));
        ASSERT_EQ(value->insert(name(newest)), Outcome::stored);
      }
    }
    ASSERT_EQ(value->items(), kItems);
    for (std::uint64_t i = newest - kItems; i < newest; ++i) ASSERT_TRUE(value->exists(name(i)));
    const Info info = value->info();
    EXPECT_LE(info.expected_fpr, info.promised_fpr);
    shares[turns_over] = second_probes(value->list()[0]);
  }
  EXPECT_GT(shares[false], 0.2);
  EXPECT_LT(shares[true], 0.05);
}

// From a capacity of 64, as far as fingerprints of 16 bits allow.
TEST(CuckooValue, KeepsThePromisedRate) {
  for (const auto& [error, most] : {std::pair<double, std::uint64_t>{0, 300'000},
                                    {0.05, 300'000},
                                    {0.01, 300'000},
                                    {0.001, 5000},
                                    {0.0005, 1000}}) {
    SCOPED_TRACE(error);
    auto value = make(64, error);
    constexpr int kAsked = 200'000;
    std::vector<std::string> strangers;
    for (int i = 0; i < kAsked; ++i) strangers.push_back("stranger:" + std::to_string(i));
    const std::vector<std::string_view> asked(strangers.begin(), strangers.end());
    std::vector<std::uint8_t> found(asked.size());
    std::uint64_t items = 0;
    for (std::uint64_t until = 64; until <= most; until = until * 5 / 2) {
      while (items < until) value->insert(name(items++));
      value->exists(asked, found);
      const double rate = static_cast<double>(std::count(found.begin(), found.end(), 1)) / kAsked;
      const Info info = value->info();
      // Four standard deviations for this many lookups.
      const double noise = 4 * std::sqrt(info.promised_fpr / kAsked);
      EXPECT_LE(rate, info.promised_fpr + noise) << until;
      EXPECT_LE(info.expected_fpr, info.promised_fpr) << until;
      EXPECT_NEAR(rate, info.expected_fpr, 0.15 * info.expected_fpr + noise) << until;
    }
    EXPECT_GE(value->sub_filters(), 2U);
    EXPECT_LE(value->sub_filters(), 16U);
  }
}

TEST(CuckooValue, CountsAnyNumberOfCopies) {
  auto value = make(2, 0, 1, 1);
  const std::size_t before = value->memory_bytes();
  for (int i = 0; i < 140'000; ++i) ASSERT_EQ(value->insert("same"), Outcome::stored);
  EXPECT_EQ(value->count("same"), 140'000U);
  EXPECT_EQ(value->sub_filters(), 1U);
  EXPECT_LT(value->memory_bytes(), before + 200);
  EXPECT_EQ(value->insert("same", {}, Unless::present), Outcome::present);
  for (int i = 0; i < 140'000; ++i) ASSERT_TRUE(value->erase("same"));
  EXPECT_FALSE(value->exists("same"));
  EXPECT_FALSE(value->erase("same"));
  EXPECT_EQ(value->items(), 0U);
  EXPECT_EQ(value->deletes(), 140'000U);
}

TEST(CuckooValue, IsFullAtItsCapacityWithoutExpansion) {
  auto value = make(4, 0, 0);
  for (std::uint64_t i = 1; i <= 4; ++i) EXPECT_EQ(value->insert(name(i)), Outcome::stored);
  EXPECT_EQ(value->insert(name(5)), Outcome::full);
  EXPECT_EQ(value->insert(name(1)), Outcome::full);
  EXPECT_EQ(value->update(name(1), name(6)), Outcome::stored);
  EXPECT_EQ(value->items(), 4U);
  EXPECT_EQ(value->update(name(6), name(1)), Outcome::stored);
  EXPECT_EQ(value->update(name(1), name(1)), Outcome::stored);
  EXPECT_TRUE(value->exists(name(1)));
  EXPECT_TRUE(value->erase(name(1)));
  EXPECT_EQ(value->insert(name(5)), Outcome::stored);
  EXPECT_EQ(value->insert(name(6)), Outcome::full);
  auto larger = make(10'000, 0, 0);
  for (std::uint64_t i = 0; i < 10'000; ++i) ASSERT_EQ(larger->insert(name(i)), Outcome::stored);
  EXPECT_EQ(larger->insert(name(10'000)), Outcome::full);
  EXPECT_EQ(larger->sub_filters(), 1U);
}

TEST(CuckooValue, StopsAtTheMostGenerations) {
  auto value = make(4);
  std::uint64_t items = 0;
  Outcome added = Outcome::stored;
  while (items < 1'000'000 && (added = value->insert(name(items), 2)) == Outcome::stored) ++items;
  EXPECT_EQ(added, kTooMany);
  EXPECT_EQ(value->sub_filters(), 2U);
  EXPECT_GE(items, 300U);
  const std::uint64_t digest = value->digest();
  EXPECT_EQ(value->insert("more", 2), kTooMany);
  EXPECT_EQ(value->digest(), digest);
  EXPECT_EQ(value->insert("more", 3), Outcome::stored);
  EXPECT_EQ(value->sub_filters(), 3U);
  EXPECT_EQ(value->insert("and more", 2), Outcome::stored);  // needs none
}

TEST(CuckooValue, UpdatesAllOrNothing) {
  auto value = make(100);
  value->insert("old");
  EXPECT_EQ(value->update("absent", "new"), kMissing);
  EXPECT_EQ(value->update("old", "new"), Outcome::stored);
  EXPECT_FALSE(value->exists("old"));
  EXPECT_TRUE(value->exists("new"));
  EXPECT_EQ(value->update("new", "new"), Outcome::stored);
  EXPECT_EQ(value->count("new"), 1U);
  for (int i = 0; i < 30; ++i) value->insert("new");
  for (int i = 0; i < 31; ++i) ASSERT_EQ(value->update("new", "newer"), Outcome::stored);
  EXPECT_EQ(value->count("new"), 0U);
  EXPECT_EQ(value->count("newer"), 31U);
  EXPECT_EQ(value->items(), 31U);
}

// For commands that were acknowledged elsewhere.
TEST(CuckooValue, GoesBeyondItsCapacityWithoutLimits) {
  auto value = make(100, 0, 0);
  for (std::uint64_t i = 0; i < 100; ++i) ASSERT_EQ(value->insert(name(i)), Outcome::stored);
  const std::uint64_t digest = value->digest();
  EXPECT_EQ(value->insert("more"), Outcome::full);
  EXPECT_EQ(value->digest(), digest);
  for (std::uint64_t i = 100; i < 5000; ++i) {
    ASSERT_EQ(value->insert(name(i), kUnlimited), Outcome::stored);
  }
  EXPECT_EQ(value->insert("more"), Outcome::full);
  EXPECT_EQ(value->items(), 5000U);
  for (std::uint64_t i = 0; i < 5000; ++i) ASSERT_TRUE(value->exists(name(i))) << i;
}

TEST(CuckooValue, GivesTheSameBytesForTheSameOperations) {
  const auto run = [](std::uint64_t compact_at) {
    auto value = make(50, 0.005, 2);
    Multiset model;
    std::mt19937_64 random(5);
    for (std::uint64_t round = 0; round < 6; ++round) {
      change(*value, model, random, 3000, 5000, 6);
      if (round == compact_at) value->compact();
    }
    return value;
  };
  const auto one = run(3);
  const auto two = run(3);
  EXPECT_EQ(one->digest(), two->digest());
  EXPECT_EQ(one->copy()->digest(), one->digest());
  EXPECT_NE(run(4)->digest(), one->digest());
  two->insert("more");
  EXPECT_NE(one->digest(), two->digest());
  // Pinned, so that another machine, compiler or version has to agree.
  EXPECT_EQ(one->digest(), 13313297956842670336U);
}

TEST(CuckooValue, CopiesAreIndependent) {
  auto value = make(10);
  for (std::uint64_t i = 0; i < 5000; ++i) value->insert(name(i % 700));
  const auto copy = value->copy();
  const std::uint64_t digest = value->digest();
  for (std::uint64_t i = 0; i < 5000; ++i) copy->insert(name(i));
  copy->erase(name(3));
  EXPECT_EQ(value->digest(), digest);
  value->clear();
  EXPECT_EQ(value->items(), 0U);
  EXPECT_EQ(value->deletes(), 0U);
  EXPECT_FALSE(value->exists(name(1)));
  EXPECT_TRUE(copy->exists(name(1)));
  EXPECT_EQ(value->digest(), make(10)->digest());
}

TEST(CuckooValue, Merges) {
  auto value = make(100);
  auto other = make(100);
  Multiset model;
  std::mt19937_64 random(9);
  Multiset second;
  change(*value, model, random, 2000, 9000, 7);
  change(*other, second, random, 2000, 9000, 7);
  value->merge(*other);
  for (const auto& [item, count] : second) model[item] += count;
  expect_all(*value, model);
  const std::uint64_t sub_filters = value->sub_filters();
  value->compact();
  expect_all(*value, model);
  EXPECT_LE(value->sub_filters(), sub_filters);
  value->merge(*value);
  for (auto& [item, count] : model) count *= 2;
  expect_all(*value, model);
  change(*value, model, random, 2000, 9000, 2);
  expect_all(*value, model);
  const auto stranger = CuckooValue::create({100, 0, 2, 20, 1, 43});
  EXPECT_THROW(value->merge(*stranger), std::invalid_argument);
  auto fixed = make(4, 0, 0);
  EXPECT_THROW(fixed->merge(*value), std::invalid_argument);
  RedisBloomModel tables(100, 2, 20, 1);
  EXPECT_THROW(value->merge(*CuckooValue::from_tables(tables.loaded(), 42)), std::invalid_argument);
}

// Eight slots can hold seven copies and another item that has nowhere else to go; then the filter
// is full for this item alone, and neither growth nor a refusal would be right.
TEST(CuckooValue, CopiesNeverOpenAGeneration) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 4000; ++round) {
    const std::uint64_t capacity = 60 + random() % 200;
    auto value = CuckooValue::create({capacity, 0.001, 2, 20, 0, random()});
    for (std::uint64_t i = random() % (capacity - 20); i > 0; --i) value->insert(name(random()));
    const std::string copied = name(random());
    for (int i = 0; i < 12; ++i) ASSERT_EQ(value->insert(copied, 1), Outcome::stored) << round;
    ASSERT_GE(value->count(copied), 12U);
    for (int i = 0; i < 12; ++i) ASSERT_TRUE(value->erase(copied));
  }
}

TEST(CuckooValue, MergesEqualGenerationsIntoOne) {
  auto value = make(10'000, 0.01);
  auto other = make(10'000, 0.01);
  for (std::uint64_t i = 0; i < 4000; ++i) {
    value->insert(name(i));
    other->insert(name(i + 4000));
  }
  value->merge(*other);
  EXPECT_EQ(value->sub_filters(), 1U);
  EXPECT_EQ(value->items(), 8000U);
  for (std::uint64_t i = 0; i < 8000; ++i) ASSERT_TRUE(value->exists(name(i)));
  const std::uint64_t before = value->digest();
  EXPECT_THROW(value->merge(*other, 1), std::invalid_argument);
  EXPECT_EQ(value->digest(), before);
  value->merge(*other);
  EXPECT_EQ(value->sub_filters(), 2U);
  for (std::uint64_t i = 4000; i < 8000; ++i) ASSERT_GE(value->count(name(i)), 2U);
}

TEST(CuckooValue, CompactionUnitesGenerations) {
  auto value = make(64);
  Multiset model;
  for (std::uint64_t i = 0; i < 60'000; ++i) {
    ASSERT_EQ(value->insert(name(i)), Outcome::stored);
    model[name(i)] = 1;
  }
  // Compacted families are of several members, to which items and erases go.
  std::mt19937_64 random(4);
  for (int round = 0; round < 4; ++round) {
    const Info before = value->info();
    auto copy = value->copy();
    value->compact();
    copy->compact();
    EXPECT_EQ(copy->digest(), value->digest());
    const Info after = value->info();
    EXPECT_LE(after.memory_bytes, before.memory_bytes + 1000);
    EXPECT_LE(after.expected_fpr, after.promised_fpr);
    expect_all(*value, model);
    change(*value, model, random, 120'000, 40'000, round % 2 == 0 ? 2 : 7);
    expect_all(*value, model);
    if (HasFatalFailure()) return;
  }
  for (const auto& [item, count] : model) {
    for (std::uint64_t i = 0; i < count; ++i) ASSERT_TRUE(value->erase(item)) << item;
  }
  EXPECT_EQ(value->items(), 0U);
  value->compact();
  EXPECT_EQ(value->info().ledger_entries, 0U);
}

TEST(CuckooValue, ReportsItsFigures) {
  const auto value = make(10'000, 0, 3);
  value->insert("item");
  Info info = value->info();
  EXPECT_EQ(info.settings.expansion, 4);
  EXPECT_EQ(info.settings.capacity, 10'000U);
  EXPECT_EQ(info.buckets, 8192U);
  EXPECT_EQ(info.filters, 1U);
  EXPECT_EQ(info.items, 1U);
  EXPECT_GE(info.memory_bytes, 10'000U * 12 / 8);
  EXPECT_LE(info.memory_bytes, 20'000U);
  EXPECT_EQ(value->list()[0].bits(), 12);
  EXPECT_GE(value->list()[0].capacity(), 10'000U);
  EXPECT_EQ(make(10)->info().buckets, 8U);
  EXPECT_EQ(make(1)->info().buckets, 1U);
  EXPECT_GT(make(1U << 24)->free_effort(), 20U);
  EXPECT_LT(make(1000)->free_effort(), 5U);
  EXPECT_THROW(make(0), std::invalid_argument);
}

}  // namespace
}  // namespace nestline::redis
