// Batches of hashes give the answers and the bytes that the items give one by one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <numeric>
#include <random>
#include <utility>

#include "lib/redis/value/value.h"
#include "nestline/keys.h"
#include "tests/redis/redisbloom/redisbloom_model.h"
#include "tests/redis/value/items.h"
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

namespace nestline::redis {
namespace {

std::vector<std::uint64_t> hashes_of(const CuckooValue& value,
                                     const std::vector<std::string>& names) {
  std::vector<std::uint64_t> hashes;
  for (const std::string& name : names) {
    hashes.push_back(hash_key(name, value.settings().seed).value);
  }
  return hashes;
}

// What a run has met.
struct Counts {
  std::uint64_t added = 0;
  std::uint64_t present = 0;
  std::uint64_t refused = 0;
  std::uint64_t erased = 0;
  std::uint64_t saturated = 0;
  std::uint64_t corrected = 0;  // batches of questions to a value with entries in the ledger
  std::uint64_t most_generations = 0;
};

// Two values, one of which gets hashes in batches, the other the items one by one.
class Twins {
 public:
  Twins(const Settings& settings, std::uint64_t seed, std::uint64_t range)
      : batches_(CuckooValue::create(settings)),
        singles_(CuckooValue::create(settings)),
        random_(seed),
        range_(range) {}

  void add(Counts& met) {
    const auto names = draw();
    const Unless unless = random_() % 2 == 0 ? Unless::never : Unless::present;
    const Limits limits = random_() % 4 == 0 ? kUnlimited : Limits(1 + random_() % 8);
    std::vector<Outcome> outcomes(names.size(), kMissing);
    batches_->add(hashes_of(*batches_, names), unless, limits, outcomes);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const Outcome one = singles_->add(names[i], limits, unless);
      ASSERT_EQ(outcomes[i], one) << names[i];
      met.added += one == Outcome::stored;
      met.present += one == Outcome::present;
      met.refused += one == Outcome::full || one == kTooMany;
      if (one == Outcome::stored) present_.push_back(names[i]);
    }
    met.most_generations = std::max(met.most_generations, batches_->generations());
  }

  void erase(Counts& met) {
    std::shuffle(present_.begin(), present_.end(), random_);
    std::vector<std::string> names;
    for (std::size_t left = random_() % (present_.size() + 1) / 2; left != 0; --left) {
      names.push_back(std::move(present_.back()));
      present_.pop_back();
    }
    std::vector<std::uint8_t> erased(names.size(), 7);
    batches_->erase(hashes_of(*batches_, names), erased);
    for (std::size_t i = 0; i < names.size(); ++i) {
      ASSERT_EQ(erased[i], singles_->erase(names[i])) << names[i];
      met.erased += erased[i];
    }
  }

  void compare(Counts& met) {
    ASSERT_EQ(batches_->digest(), singles_->digest());
    const auto names = draw();
    const auto hashes = hashes_of(*batches_, names);
    met.corrected += batches_->info().ledger_entries != 0;
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

 private:
  std::vector<std::string> draw() {
    std::vector<std::string> names(random_() % (random_() % 4 == 0 ? 1300 : 40));
    for (std::string& each : names) each = name(random_() % range_);
    return names;
  }

  std::unique_ptr<CuckooValue> batches_;
  std::unique_ptr<CuckooValue> singles_;
  std::mt19937_64 random_;
  std::uint64_t range_;
  std::vector<std::string> present_;  // an item for each copy
};

TEST(CuckooValueHashes, DoWhatItemsDoOneByOne) {
  Counts met;
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    // Few items give many copies: in slots, and beyond them in the ledger.
    const std::uint64_t range = seed % 4 == 0 ? 3 : seed % 4 == 1 ? 3000 : 1'000'000;
    Twins twins({20 + random() % 300, seed % 5 == 0 ? 0.001 : 0.0, 2, 20,
                 static_cast<std::uint16_t>(seed % 3), seed},
                seed, range);
    for (int step = 0; step < 60; ++step) {
      SCOPED_TRACE(step);
      twins.add(met);
      if (step % 3 == 2) twins.erase(met);
      twins.compare(met);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(met.added, 10'000U);
  EXPECT_GT(met.present, 1000U);
  EXPECT_GT(met.refused, 1000U);
  EXPECT_GT(met.erased, 10'000U);
  EXPECT_GT(met.saturated, 100U);
  EXPECT_GT(met.corrected, 100U);
  EXPECT_GT(met.most_generations, 2U);
}

// Erased by hash, which a stranger's is not.
TEST(CuckooValueHashes, EraseSaysWhatWasThere) {
  const auto value = CuckooValue::create({1000, 0, 2, 20, 1, 42});
  value->add("a");
  value->add("b");
  std::vector<std::uint8_t> erased(4);
  value->erase(hashes_of(*value, {"a", "stranger", "b", "a"}), erased);
  EXPECT_EQ(erased, (std::vector<std::uint8_t>{1, 0, 1, 0}));
  EXPECT_EQ(value->items(), 0U);
  EXPECT_EQ(value->deletes(), 2U);
}

// Erasing an item that two families show needs memory for the ledger.
TEST(CuckooValueHashes, EraseSaysWhatIsOutWhenMemoryIsRefused) {
  const auto value = CuckooValue::create({64, 0.05, 2, 20, 1, 42});
  std::vector<std::string> names;
  for (std::uint64_t i = 0; i < 6000; ++i) names.push_back(name(i));
  for (const std::string& name : names) ASSERT_EQ(value->add(name, kUnlimited), Outcome::stored);
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

// Calls all four with so many hashes and results; each must throw.
void expect_refused(CuckooValue& value, std::size_t count, std::size_t results,
                    const std::string& reason) {
  const std::uint64_t digest = value.digest();
  const std::vector<std::uint64_t> hashes(count);
  std::vector<std::uint8_t> bytes(results);
  std::vector<Outcome> outcomes(results);
  const auto expect_reason = [&](auto&& call) {
    test::expect_error<std::invalid_argument>(call, reason);
  };
  expect_reason([&] { value.add(hashes, Unless::never, {}, outcomes); });
  expect_reason([&] { value.erase(hashes, bytes); });
  expect_reason([&] { value.exists(hashes, bytes); });
  expect_reason([&] { value.count(hashes, bytes); });
  EXPECT_EQ(value.digest(), digest);
}

TEST(CuckooValueHashes, AreRefusedWithOtherLengths) {
  const auto value = CuckooValue::create({1000, 0, 2, 20, 1, 42});
  expect_refused(*value, 2, 1, "differ in length");
}

TEST(CuckooValueHashes, AreRefusedBesideTables) {
  RedisBloomModel model(200, 2, 20, 1);
  model.add("item");
  const auto value = CuckooValue::from_tables(model.loaded(), 42);
  expect_refused(*value, 1, 1, "tables of RedisBloom");
  value->open_generation();
  expect_refused(*value, 1, 1, "tables of RedisBloom");
}

}  // namespace
}  // namespace nestline::redis
