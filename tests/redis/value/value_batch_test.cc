// A batch of adds gives the answers and the bytes of the same adds one by one.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <random>
#include <utility>

#include "lib/redis/value/value.h"
#include "nestline/keys.h"
#include "tests/redis/redisbloom/redisbloom_model.h"
#include "tests/redis/value/items.h"

namespace nestline::redis {
namespace {

// What a run has met.
struct Met {
  std::map<Outcome, std::uint64_t> outcomes;
  std::uint64_t corrected = 0;  // batches that began with entries in the ledger
  std::uint64_t most_generations = 0;
};

// Random batches into one value, the same items one by one into its copy. Compares answers and
// bytes after each batch. In between items are erased from both, and some of them come again.
void expect_same(std::unique_ptr<CuckooValue> batches, std::uint64_t seed, std::uint64_t range,
                 Met& met) {
  std::mt19937_64 random(seed);
  const auto singles = batches->copy();
  std::vector<std::string> present;  // an item for each copy
  std::vector<std::string> erased;   // in the step before
  for (int step = 0; step < 100; ++step) {
    SCOPED_TRACE(step);
    std::vector<std::string> names(random() % (step % 4 == 0 ? 700 : 40));
    for (std::string& each : names) {
      const bool again = !erased.empty() && random() % 2 == 0;
      each = again ? erased[random() % erased.size()] : name(random() % range);
    }
    const std::vector<std::string_view> items(names.begin(), names.end());
    const Unless unless = random() % 2 == 0 ? Unless::never : Unless::present;
    const Limits limits = random() % 4 == 0 ? kUnlimited : Limits(1 + random() % 8);
    met.corrected += batches->info().ledger_entries != 0;
    std::vector<Outcome> outcomes(items.size(), kMissing);
    batches->add(items, unless, limits, outcomes);
    for (std::size_t i = 0; i < items.size(); ++i) {
      const Outcome one = singles->add(items[i], limits, unless);
      ASSERT_EQ(outcomes[i], one) << "item " << i << " of " << items.size();
      ++met.outcomes[one];
    }
    ASSERT_EQ(batches->digest(), singles->digest());
    ASSERT_EQ(batches->items(), singles->items());
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (outcomes[i] == Outcome::stored) present.push_back(names[i]);
    }
    erased.clear();
    for (std::size_t left = present.size() / (step % 8 == 7 ? 2 : 8); left != 0; --left) {
      std::swap(present[random() % present.size()], present.back());
      erased.push_back(std::move(present.back()));
      present.pop_back();
      ASSERT_TRUE(batches->erase(erased.back()));
      ASSERT_TRUE(singles->erase(erased.back()));
    }
    met.most_generations = std::max(met.most_generations, batches->generations());
  }
}

TEST(CuckooValueBatch, AddsAsOneByOne) {
  Met met;
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    // Few items give many copies: in slots, and beyond them in the ledger.
    const std::uint64_t range = seed % 3 == 0 ? 50 : seed % 3 == 1 ? 3000 : 1'000'000;
    expect_same(CuckooValue::create({20 + random() % 300, seed % 5 == 0 ? 0.001 : 0.0, 2, 20,
                                     static_cast<std::uint16_t>(seed % 4), seed}),
                seed, range, met);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(met.outcomes[Outcome::stored], 10'000U);
  EXPECT_GT(met.outcomes[Outcome::present], 1000U);
  EXPECT_GT(met.outcomes[Outcome::full], 1000U);
  EXPECT_GT(met.outcomes[kTooMany], 3U);
  EXPECT_GT(met.corrected, 100U);
  EXPECT_GT(met.most_generations, 2U);
}

TEST(CuckooValueBatch, AddsBesideTablesAsOneByOne) {
  Met met;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    SCOPED_TRACE(seed);
    RedisBloomModel model(200, 2, 20, static_cast<std::uint16_t>(seed % 3));
    for (std::uint64_t i = 0; i < 300; ++i) model.add(name(i));
    expect_same(CuckooValue::from_tables(model.loaded(), seed), seed, 2000, met);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(met.outcomes[Outcome::stored], 1000U);
  EXPECT_GT(met.outcomes[Outcome::present], 1000U);
}

// The second copy meets the first one, which came in the same batch.
TEST(CuckooValueBatch, AddsAnItemOnceThatComesTwice) {
  const auto value = CuckooValue::create({1000, 0, 2, 20, 1, 42});
  std::vector<Outcome> outcomes(3);
  value->add(std::vector<std::string_view>{"a", "b", "a"}, Unless::present, {}, outcomes);
  EXPECT_EQ(outcomes, (std::vector{Outcome::stored, Outcome::stored, Outcome::present}));
  value->add(std::vector<std::string_view>{"a", "c", "a"}, Unless::never, {}, outcomes);
  EXPECT_EQ(outcomes, (std::vector{Outcome::stored, Outcome::stored, Outcome::stored}));
  EXPECT_EQ(value->count("a"), 3U);
  EXPECT_EQ(value->items(), 5U);
}

double processor_seconds() {
  return static_cast<double>(std::clock()) / static_cast<double>(CLOCKS_PER_SEC);
}

// Copies must not cost a search for room each, whether they come in turn or in a row: they did up
// to 80 times what other items cost; it is 2 to 13 times.
TEST(CuckooValueBatch, ManyCopiesOfManyItemsAreAddedInAMomentToo) {
  enum class Order : bool { in_turn, in_a_row };
  // For each item added.
  const auto seconds = [](std::uint64_t items, std::uint64_t copies, Order order) {
    const auto value = CuckooValue::create({100'000, 0, 2, 20, 1, 42});
    std::vector<std::uint64_t> hashes(500);
    std::vector<Outcome> outcomes(hashes.size());
    const double begin = processor_seconds();
    for (std::uint64_t i = 0; i < items * copies;) {
      for (std::uint64_t& hash : hashes) {
        hash = hash_key(order == Order::in_turn ? i % items : i / copies, 1).value;
        ++i;
      }
      value->add(hashes, Unless::never, {}, outcomes);
      EXPECT_EQ(std::count(outcomes.begin(), outcomes.end(), Outcome::stored), 500);
    }
    const double all = processor_seconds() - begin;
    std::vector<std::uint8_t> count(1);
    for (std::uint64_t i = 0; i < items; ++i) {
      value->count(std::vector{hash_key(i, 1).value}, count);
      EXPECT_GE(count[0], copies);
    }
    EXPECT_EQ(value->items(), items * copies);
    EXPECT_EQ(value->info().ledger_entries, copies > 1 ? items : 0);
    return all / static_cast<double>(items * copies);
  };
  const double once = seconds(96'000, 1, Order::in_turn);
  for (const std::uint64_t items : {8000u, 20'000u}) {
    SCOPED_TRACE(items);
    EXPECT_LT(seconds(items, 12, Order::in_turn), 20 * once);
    EXPECT_LT(seconds(items, 12, Order::in_a_row), 20 * once);
  }
}

// All copies of many items are erased in any order, and none that is left is missed meanwhile.
TEST(CuckooValueBatch, CopiesOfManyItemsAreFoundUntilTheyAreErased) {
  constexpr std::uint64_t kItems = 2000, kCopies = 12;
  for (const double error : {0.0, 0.05, 0.001}) {  // 12, 8 and 16 bits
    SCOPED_TRACE(error);
    const auto value = CuckooValue::create({25'000, error, 2, 20, 1, 42});
    std::vector<std::uint64_t> copies(kItems * kCopies);
    for (std::uint64_t i = 0; i < copies.size(); ++i) copies[i] = hash_key(i % kItems, 1).value;
    std::vector<Outcome> outcomes(copies.size());
    value->add(copies, Unless::never, {}, outcomes);
    EXPECT_GT(value->info().ledger_entries, kItems / 2);
    std::shuffle(copies.begin(), copies.end(), std::mt19937_64(7));
    std::vector<std::uint8_t> found(copies.size());
    for (std::size_t left = copies.size(); left != 0; left -= 100) {
      const std::span<const std::uint64_t> rest(copies.data(), left);
      value->exists(rest, std::span(found).first(left));
      ASSERT_EQ(std::count(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(left), 0), 0);
      std::array<std::uint8_t, 100> erased;
      value->erase(rest.last(100), erased);
      ASSERT_EQ(std::count(erased.begin(), erased.end(), 1), 100);
    }
    EXPECT_EQ(value->items(), 0U);
  }
}

TEST(CuckooValueBatch, RefusesOtherLengths) {
  const auto value = CuckooValue::create({1000, 0, 2, 20, 1, 42});
  const std::uint64_t digest = value->digest();
  std::vector<Outcome> outcomes(2);
  EXPECT_THROW(value->add(std::vector<std::string_view>{"a"}, Unless::never, {}, outcomes),
               std::invalid_argument);
  EXPECT_EQ(value->digest(), digest);
  value->add(std::vector<std::string_view>{}, Unless::never, {}, {});
  EXPECT_EQ(value->digest(), digest);
}

}  // namespace
}  // namespace nestline::redis
