// insert, erase, replace and find are linearizable: short histories of a few threads on four keys
// of a crowded maplet, checked against an exact model by the search of
// tests/support/order_search.h. Threads are made to wait where
// lib/engine/place/test_hooks.h says that it matters. Two of the keys look the same and have each
// other's homes as alternates; the other two share these blocks. All bytes of a value are equal and
// tell whose it is, so that a value put together from two is noticed.
//
// Two faults of the protocol are planted, and must be found: readers that do not compare headers,
// and writers that give changed blocks their old headers back.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "lib/engine/place/geometry.h"
#include "nestline/maplet.h"
#include "tests/support/histories.h"
#include "tests/support/hooks.h"

namespace nestline::test { namespace {

constexpr std::size_t kKeys = 4;
constexpr std::size_t kPartners = 2;  // the first keys
constexpr std::size_t kValues = 3;    // of each key
constexpr std::size_t kSteps = 6;     // of a thread

// How many pairs of each key and value there are.
using Counts = std::array<std::uint8_t, 16>;
struct CountsHash {
  std::uint64_t operator()(const Counts& counts) const {
    std::uint64_t hash = 0;
    for (const std::uint8_t count : counts) hash = mix(hash * 31 + count);
    return hash;
  }
};
constexpr std::size_t pair_of(std::size_t key, std::size_t value) { return key * kValues + value; }
constexpr std::uint64_t number_of(std::size_t pair) { return (pair + 1) * 0x0101010101u; }

enum class Call : std::uint8_t { insert, erase, replace, find, find_batch };
constexpr std::array kNames = {"insert", "erase", "replace", "find", "find_batch"};

struct PairOperation {
  Call call = Call::find;
  std::uint8_t thread = 0;
  std::uint8_t key = 0;
  std::uint8_t value = 0;
  std::uint8_t new_value = 0;
  bool done = false;     // what a change answers
  bool strange = false;  // whether a question gave a value that nobody stored
  Counts found{};        // what it gave
  std::uint64_t start = 0;
  std::uint64_t end = 0;
};

std::optional<Counts> after(const PairOperation& operation, Counts counts) {
  std::uint8_t& count = counts[pair_of(operation.key, operation.value)];
  switch (operation.call) {
    case Call::insert:  // may be refused
      count = static_cast<std::uint8_t>(count + operation.done);
      return counts;
    case Call::erase:
    case Call::replace:
      if (operation.done != (count != 0)) return std::nullopt;
      if (!operation.done) return counts;
      --count;
      if (operation.call == Call::replace) {
        ++counts[pair_of(operation.key, operation.new_value)];
      }
      return counts;
    case Call::find:
    case Call::find_batch:
      break;
  }
  if (operation.strange) return std::nullopt;
  for (std::size_t pair = 0; pair < kKeys * kValues; ++pair) {
    const std::size_t key = pair / kValues;
    const bool own = key == operation.key;
    const bool partner = key < kPartners && operation.key < kPartners;
    const bool right = own       ? operation.found[pair] == counts[pair]
                       : partner ? operation.found[pair] <= counts[pair]
                                 : operation.found[pair] == 0;
    if (!right) return std::nullopt;
  }
  return counts;
}

std::string to_string(const PairOperation& one) {
  std::ostringstream out;
  out << kNames[static_cast<std::size_t>(one.call)] << "(k" << unsigned{one.key} << ", "
      << unsigned{one.value} << " -> " << unsigned{one.new_value} << ") done " << one.done
      << " strange " << one.strange << " found";
  for (const std::uint8_t count : one.found) out << ' ' << unsigned{count};
  return out.str();
}

// A hash with this base and these 32 bits below it, for `bases` base blocks.
Hash hash_at(std::uint64_t bases, std::uint64_t base, std::uint32_t rest) {
  __extension__ using Wide = unsigned __int128;
  const Wide wanted = (Wide{base} << 64) + (Wide{rest} << 32);
  return {static_cast<std::uint64_t>((wanted + bases - 1) / bases)};
}

// Who may change the maplet: every thread, or one.
enum class WhoWrites : std::uint8_t { all, first };

class MapletStage {
 public:
  MapletStage(std::uint64_t seed, WhoWrites writers)
      : seed_(seed), writers_(writers), random_(seed), maplet_({.capacity = 400}) {
    const std::uint64_t bases = maplet_.slots() / 8;
    const Geometry geometry{bases, 0};
    std::uint32_t rest = 0;
    std::uint64_t home = 0;
    std::uint64_t away = 0;
    do {
      rest = static_cast<std::uint32_t>(random_());
      home = random_() % bases;
      away =
          moved(geometry, home_of<MapletLayout>(geometry, hash_at(bases, home, rest).value)).block;
    } while (away == home);
    keys_ = {hash_at(bases, home, rest), hash_at(bases, away, rest),
             hash_at(bases, home, static_cast<std::uint32_t>(random_())),
             hash_at(bases, away, static_cast<std::uint32_t>(random_()))};
    for (const std::uint64_t base : {home, away}) {
      for (int i = 0; i < 20; ++i) {
        crowd_.push_back(hash_at(bases, base, static_cast<std::uint32_t>(random_())));
      }
    }
    while (maplet_.load_factor() < 0.9) (void)maplet_.insert(Hash{random_()}, 0);
    for (std::uint64_t& seed_of_thread : seeds_) seed_of_thread = random_();
  }

  void play(std::size_t thread) {
    std::mt19937_64 random(seeds_[thread]);
    const bool writes = writers_ == WhoWrites::all || thread == 0;
    std::vector<Hash> own;  // of the crowd
    for (std::size_t i = 0; i < kSteps; ++i) {
      perturb(-1);
      if (writes) jostle(random, own);
      recorder_.record(thread, any_operation(random, writes),
                       [&](PairOperation& one) { call(one); });
    }
  }

  bool is_right(std::string* reason) const {
    return recorder_.is_linearizable<CountsHash>(after, Counts{}, "seed " + std::to_string(seed_),
                                                 reason);
  }

 private:
  // Other pairs come and go in the same blocks, so that pairs move.
  void jostle(std::mt19937_64& random, std::vector<Hash>& own) {
    const Hash one = crowd_[random() % crowd_.size()];
    if (random() % 3 == 0 && !own.empty()) {
      EXPECT_TRUE(maplet_.erase(own.back(), 0));
      own.pop_back();
    } else if (maplet_.insert(one, 0)) {
      own.push_back(one);
    }
    if (random() % 64 == 0) (void)maplet_.grow();
  }

  static PairOperation any_operation(std::mt19937_64& random, bool writes) {
    PairOperation one;
    one.call = static_cast<Call>(writes ? random() % kNames.size() : 3 + random() % 2);
    one.key = static_cast<std::uint8_t>(random() % kKeys);
    one.value = static_cast<std::uint8_t>(random() % kValues);
    one.new_value = static_cast<std::uint8_t>(random() % kValues);
    return one;
  }

  void call(PairOperation& one) {
    const Hash key = keys_[one.key];
    const auto number = [&](std::size_t value) { return number_of(pair_of(one.key, value)); };
    std::array<std::uint64_t, Maplet::kMaxCandidates> values;
    std::vector<std::uint32_t> first;
    std::vector<std::uint64_t> all;
    switch (one.call) {
      case Call::insert:
        one.done = bool{maplet_.insert(key, number(one.value))};
        break;
      case Call::erase:
        one.done = maplet_.erase(key, number(one.value));
        break;
      case Call::replace:
        one.done = maplet_.replace(key, number(one.value), number(one.new_value));
        break;
      case Call::find:
        take(one, std::span(values).first(maplet_.find(key, values)));
        break;
      case Call::find_batch:
        (void)maplet_.find(std::span(&key, 1), first, all);
        take(one, all);
        break;
    }
  }

  static void take(PairOperation& one, std::span<const std::uint64_t> values) {
    for (const std::uint64_t value : values) {
      const std::uint64_t pair = value / 0x0101010101u - 1;
      if (value == 0) continue;  // of a filler that looks the same
      if (pair >= kKeys * kValues || value != number_of(pair)) {
        one.strange = true;
      } else {
        ++one.found[pair];
      }
    }
  }

  std::uint64_t seed_;
  WhoWrites writers_;
  std::mt19937_64 random_;
  Maplet maplet_;
  std::array<Hash, kKeys> keys_{};
  std::vector<Hash> crowd_;
  std::array<std::uint64_t, kMaxThreads> seeds_{};
  Recorder<PairOperation> recorder_;
};

// The first history that is not linearizable, of at most so many; empty if all are.
std::string first_wrong(std::uint64_t histories, WhoWrites writers) {
  Crew crew;
  return play_stages(
             crew, histories, true,
             [&](std::uint64_t seed, int) { return std::make_unique<MapletStage>(seed, writers); })
      .first_failure;
}

TEST(MapletHistoryTest, OfManyWriters) {
  const Hooks hooks(perturb);
  EXPECT_EQ(first_wrong(of_histories(600), WhoWrites::all), "");
}

TEST(MapletHistoryTest, OfOneWriter) {
  const Hooks hooks(perturb);
  EXPECT_EQ(first_wrong(of_histories(600), WhoWrites::first), "");
}

TEST(MapletHistoryTest, OfReadersThatLock) {
  const Hooks hooks(perturb);
  test_hooks::lock_at_once = true;
  EXPECT_EQ(first_wrong(of_histories(300), WhoWrites::all), "");
}

class BrokenMaplet : public testing::TestWithParam<std::atomic<bool>*> {};

// Readers without validation, writers that forget changes.
TEST_P(BrokenMaplet, FaultsAreCaught) {
  const Hooks hooks(perturb);
  *GetParam() = true;
  EXPECT_NE(first_wrong(200'000, WhoWrites::all), "");
}

INSTANTIATE_TEST_SUITE_P(All, BrokenMaplet,
                         testing::Values(&test_hooks::skip_validation,
                                         &test_hooks::forget_changes));

}  // namespace
}  // namespace nestline::test
