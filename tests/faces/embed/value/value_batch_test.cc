// Batches of items and of hashes give the answers and the bytes of the same items one by one.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <iterator>
#include <map>
#include <memory>
#include <new>
#include <numeric>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nestline/keys.h"
#include "tests/faces/embed/redisbloom/redisbloom_model.h"
#include "tests/faces/embed/value/items.h"
#include "tests/support/errors.h"

namespace {

bool refuses_memory = false;

}  // namespace

// This program's memory, so that a test can refuse it. Inlined, they look mismatched to g++.
[[gnu::noinline]] void* operator new(std::size_t size) {
  void* const memory = refuses_memory ? nullptr : std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto unit = static_cast<std::size_t>(alignment);
  void* const memory =
      refuses_memory ? nullptr : std::aligned_alloc(unit, (size + unit - 1) / unit * unit);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace nestline::redis { namespace {

std::vector<std::uint64_t> hashes_of(const CuckooValue& value,
                                     const std::vector<std::string>& names) {
  std::vector<std::uint64_t> hashes;
  for (const std::string& name : names) {
    hashes.push_back(hash_key(name, value.settings().seed).value);
  }
  return hashes;
}

// What a run has met.
struct Met {
  std::map<Outcome, std::uint64_t> outcomes;
  std::uint64_t erased = 0;
  std::uint64_t saturated = 0;
  std::uint64_t corrected = 0;  // batches that began with entries in the ledger
  std::uint64_t most_generations = 0;
};

enum class By : bool { items, hashes };

// Two equal values: one gets batches, one single items; some that were erased last come again.
class Twins {
 public:
  Twins(std::unique_ptr<CuckooValue> value, By by, std::uint64_t seed, std::uint64_t range)
      : batches_(std::move(value)),
        singles_(batches_->copy()),
        by_(by),
        random_(seed),
        range_(range) {}

  void run(int steps, Met& met) {
    for (int step = 0; step < steps; ++step) {
      SCOPED_TRACE(step);
      met.corrected += batches_->info().ledger_entries != 0;
      add(met);
      if (step % 3 == 2) erase(met);
      compare(met);
      if (testing::Test::HasFatalFailure()) return;
    }
  }

 private:
  using Names = std::vector<std::string>;

  void add(Met& met) {
    const Names names = draw();
    const Unless unless = random_() % 2 == 0 ? Unless::never : Unless::present;
    const Limits limits = random_() % 4 == 0 ? kUnlimited : Limits(1 + random_() % 8);
    std::vector<Outcome> outcomes(names.size(), kMissing);
    if (by_ == By::hashes) {
      batches_->insert(hashes_of(*batches_, names), unless, limits, outcomes);
    } else {
      batches_->insert(std::vector<std::string_view>(names.begin(), names.end()), unless, limits,
                       outcomes);
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
      const Outcome one = singles_->insert(names[i], limits, unless);
      ASSERT_EQ(outcomes[i], one) << "item " << i << " of " << names.size();
      ++met.outcomes[one];
      if (one == Outcome::stored) present_.push_back(names[i]);
    }
    met.most_generations = std::max(met.most_generations, batches_->sub_filters());
  }

  void erase(Met& met) {
    std::shuffle(present_.begin(), present_.end(), random_);
    erased_.clear();
    for (std::size_t left = random_() % (present_.size() + 1) / 2; left != 0; --left) {
      erased_.push_back(std::move(present_.back()));
      present_.pop_back();
    }
    std::vector<std::uint8_t> erased(erased_.size(), 7);
    if (by_ == By::hashes) {
      batches_->erase(hashes_of(*batches_, erased_), erased);
    } else {
      const std::vector<std::string_view> items(erased_.begin(), erased_.end());
      batches_->in_turn(items, [&](std::size_t i) { erased[i] = batches_->erase(items[i]); });
    }
    for (std::size_t i = 0; i < erased_.size(); ++i) {
      ASSERT_TRUE(singles_->erase(erased_[i])) << erased_[i];
      ASSERT_EQ(erased[i], 1) << erased_[i];
    }
    met.erased += erased_.size();
  }

  void compare(Met& met) {
    ASSERT_EQ(batches_->digest(), singles_->digest());
    ASSERT_EQ(batches_->items(), singles_->items());
    if (by_ == By::items) return;
    const Names names = draw();
    const auto hashes = hashes_of(*batches_, names);
    std::vector<std::uint8_t> answers(names.size(), 7), counts(names.size(), 7);
    batches_->exists(hashes, answers);
    batches_->count(hashes, counts);
    for (std::size_t i = 0; i < names.size(); ++i) {
      ASSERT_EQ(answers[i], singles_->exists(names[i])) << names[i];
      const std::uint64_t count = singles_->count(names[i]);
      ASSERT_EQ(counts[i], std::min(kMaxCounted, count)) << names[i];
      met.saturated += count > kMaxCounted;
    }
  }

  Names draw() {
    Names names(random_() % (random_() % 4 == 0 ? 1300 : 40));
    for (std::string& each : names) {
      const bool again = !erased_.empty() && random_() % 2 == 0;
      each = again ? erased_[random_() % erased_.size()] : name(random_() % range_);
    }
    return names;
  }

  std::unique_ptr<CuckooValue> batches_, singles_;
  By by_;
  std::mt19937_64 random_;
  std::uint64_t range_;
  Names present_;  // an item for each copy
  Names erased_;   // in the step before
};

TEST(CuckooValueBatch, DoesAsOneByOne) {
  for (const By by : {By::items, By::hashes}) {
    Met met;
    for (std::uint64_t seed = 0; seed < 24; ++seed) {
      SCOPED_TRACE(seed);
      std::mt19937_64 random(seed);
      // Few items give many copies: in slots, and beyond them in the ledger.
      const std::uint64_t range = seed % 4 == 0 ? 3 : seed % 4 == 1 ? 3000 : 1'000'000;
      Twins twins(CuckooValue::create({20 + random() % 300, seed % 5 == 0 ? 0.001 : 0.0, 2, 20,
                                       static_cast<std::uint16_t>(seed % 3), seed}),
                  by, seed, range);
      twins.run(60, met);
      if (HasFatalFailure()) return;
    }
    EXPECT_GT(met.outcomes[Outcome::stored], 10'000U);
    EXPECT_GT(met.outcomes[Outcome::present], 1000U);
    EXPECT_GT(met.outcomes[Outcome::full], 1000U);
    EXPECT_GT(met.outcomes[kTooMany], 3U);
    EXPECT_GT(met.erased, 10'000U);
    EXPECT_GT(met.corrected, 100U);
    EXPECT_GT(met.most_generations, 2U);
    EXPECT_EQ(met.saturated > 100, by == By::hashes);
  }
}

TEST(CuckooValueBatch, DoesBesideTablesAsOneByOne) {
  Met met;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    SCOPED_TRACE(seed);
    RedisBloomModel model(200, 2, 20, static_cast<std::uint16_t>(seed % 3));
    for (std::uint64_t i = 0; i < 300; ++i) model.add(name(i));
    Twins(CuckooValue::from_tables(model.loaded(), seed), By::items, seed, 2000).run(60, met);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(met.outcomes[Outcome::stored], 1000U);
  EXPECT_GT(met.outcomes[Outcome::present], 1000U);
}

double processor_seconds() {
  return static_cast<double>(std::clock()) / static_cast<double>(CLOCKS_PER_SEC);
}

// Copies must not cost a search each, in turn or in a row: 2 to 13 times other items, not 80.
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
      value->insert(hashes, Unless::never, {}, outcomes);
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
  // Others may have slowed down the one time and not the other, but not each time.
  const auto soon = [&](std::uint64_t items, Order order) {
    for (int tries = 0; tries < 8; ++tries) {
      const double once = seconds(96'000, 1, Order::in_turn);
      if (seconds(items, 12, order) < 20 * once) return true;
    }
    return false;
  };
  for (const std::uint64_t items : {8000u, 20'000u}) {
    SCOPED_TRACE(items);
    EXPECT_TRUE(soon(items, Order::in_turn));
    EXPECT_TRUE(soon(items, Order::in_a_row));
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
    value->insert(copies, Unless::never, {}, outcomes);
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

// Erasing an item that two families show needs memory for the ledger.
TEST(CuckooValueBatch, EraseSaysWhatIsOutWhenMemoryIsRefused) {
  const auto value = CuckooValue::create({64, 0.05, 2, 20, 1, 42});
  std::vector<std::string> names;
  for (std::uint64_t i = 0; i < 6000; ++i) names.push_back(name(i));
  for (const std::string& name : names) ASSERT_EQ(value->insert(name, kUnlimited), Outcome::stored);
  const auto hashes = hashes_of(*value, names);
  const auto all = std::span<const std::uint64_t>(hashes).first(5000);
  std::vector<std::uint8_t> erased(all.size(), 7);
  refuses_memory = true;
  try {
    value->erase(all, erased);
    refuses_memory = false;
    FAIL() << "no erase needed memory";
  } catch (const std::bad_alloc&) {
    refuses_memory = false;
  }
  const auto out = std::accumulate(erased.begin(), erased.end(), std::uint64_t{0});
  EXPECT_GT(out, 0U);
  EXPECT_LT(out, all.size());
  EXPECT_TRUE(std::is_sorted(erased.rbegin(), erased.rend()));
  EXPECT_EQ(value->items(), names.size() - out);
  // The rest is as if the call had ended there.
  std::vector<std::uint8_t> rest(all.size() - out);
  value->erase(all.subspan(out), rest);
  EXPECT_EQ(std::count(rest.begin(), rest.end(), 1), std::ssize(rest));
  EXPECT_EQ(value->items(), 1000U);
  std::vector<std::uint8_t> found(hashes.size());
  value->exists(std::span<const std::uint64_t>(hashes), found);
  EXPECT_EQ(std::count(found.begin() + 5000, found.end(), 1), 1000);
}

// Calls all that take batches with so many items and results; each must throw.
void expect_refused(CuckooValue& value, std::size_t count, std::size_t results,
                    const std::string& reason, By by = By::hashes) {
  const std::uint64_t digest = value.digest();
  const std::vector<std::uint64_t> hashes(count);
  const std::vector<std::string_view> items(count);
  std::vector<std::uint8_t> bytes(results);
  std::vector<Outcome> outcomes(results);
  const auto expect_reason = [&](auto&& call) {
    test::expect_error<std::invalid_argument>(call, reason);
  };
  if (by == By::items) {
    expect_reason([&] { value.insert(items, Unless::never, {}, outcomes); });
    expect_reason([&] { value.exists(items, bytes); });
  } else {
    expect_reason([&] { value.insert(hashes, Unless::never, {}, outcomes); });
    expect_reason([&] { value.erase(hashes, bytes); });
    expect_reason([&] { value.exists(hashes, bytes); });
    expect_reason([&] { value.count(hashes, bytes); });
  }
  EXPECT_EQ(value.digest(), digest);
}

TEST(CuckooValueBatch, IsRefusedWithOtherLengthsAndBesideTables) {
  const auto value = CuckooValue::create({1000, 0, 2, 20, 1, 42});
  for (const By by : {By::items, By::hashes}) expect_refused(*value, 2, 1, "differ in length", by);
  const std::uint64_t digest = value->digest();
  value->insert(std::vector<std::string_view>{}, Unless::never, {}, {});
  EXPECT_EQ(value->digest(), digest);
  RedisBloomModel model(200, 2, 20, 1);
  model.add("item");
  const auto tables = CuckooValue::from_tables(model.loaded(), 42);
  expect_refused(*tables, 1, 1, "tables of RedisBloom");
  tables->open_generation();
  expect_refused(*tables, 1, 1, "tables of RedisBloom");
}

}  // namespace
}  // namespace nestline::redis
