// insert, erase, replace and find are linearizable in maplets of every layout: short histories of a
// few threads on four keys of a crowded maplet, checked against an exact model by the search of
// tests/support/order_search.h. erase_value and rename change each pair at some instant while they
// run, and leave none out. Threads are made to wait where lib/engine/place/test_hooks.h says that
// it matters. Two of the keys look the same and have each other's homes as alternates; the other
// two share these blocks. All nibbles of a value are equal and tell whose it is, so that a value
// put together from two is noticed.
//
// Faults of the protocol are planted, and must be found: readers that do not compare headers,
// writers that give changed blocks their old headers back, and changes of all values that do not
// make the other writers wait.
#include <gtest/gtest.h>

#include <algorithm>
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
#include <tuple>
#include <vector>

#include "lib/engine/place/geometry.h"
#include "nestline/maplet.h"
#include "tests/filters/maplet/small_maplet.h"
#include "tests/support/histories.h"
#include "tests/support/hooks.h"
#include "tests/support/keys_of_kinds.h"
#include "tests/support/lane_rules.h"

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

enum class Call : std::uint8_t {
  insert,
  erase,
  replace,
  erase_value,
  rename,
  find,
  find_batch,
  find_set,
  find_sets
};
constexpr std::array kNames = {"insert", "erase",      "replace",  "erase_value", "rename",
                               "find",   "find_batch", "find_set", "find_sets"};
constexpr std::size_t kFirstQuestion = 5;  // of these
constexpr bool asks_for_a_set(Call call) {
  return call == Call::find_set || call == Call::find_sets;
}

struct PairOperation {
  Call call = Call::find;
  std::uint8_t thread = 0;
  std::uint8_t key = 0;
  std::uint8_t value = 0;
  std::uint8_t new_value = 0;
  bool done = false;        // what a change answers
  std::uint64_t moved = 0;  // how many pairs erase_value or rename has changed
  bool is_last = false;     // of the pairs that one call has changed
  bool strange = false;     // whether a question gave a value that nobody stored
  Counts found{};           // what it gave
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
    case Call::erase_value:  // of one pair, unless there was none
    case Call::rename:
      if (operation.moved != 0) {
        if (count == 0) return std::nullopt;
        --count;
        if (operation.call == Call::rename) ++counts[pair_of(operation.key, operation.new_value)];
      }
      if (operation.is_last && count != 0) return std::nullopt;
      return counts;
    default:
      break;
  }
  if (operation.strange) return std::nullopt;
  for (std::size_t pair = 0; pair < kKeys * kValues; ++pair) {
    const std::size_t key = pair / kValues;
    const bool own = key == operation.key;
    const bool partner = key < kPartners && operation.key < kPartners;
    const std::uint8_t most = asks_for_a_set(operation.call) ? 1 : 255;
    const std::uint8_t there = std::min(counts[pair], most);
    const bool right = own       ? operation.found[pair] == there
                       : partner ? operation.found[pair] <= there
                                 : operation.found[pair] == 0;
    if (!right) return std::nullopt;
  }
  return counts;
}

// A change of all pairs with a value: of each at some instant. Then there is none any more.
std::vector<PairOperation> parts_of(PairOperation one) {
  std::vector<PairOperation> parts(std::max<std::uint64_t>(one.moved, 1), one);
  parts.back().is_last = true;
  return parts;
}

std::string to_string(const PairOperation& one) {
  std::ostringstream out;
  out << kNames[static_cast<std::size_t>(one.call)] << "(k" << unsigned{one.key} << ", "
      << unsigned{one.value} << " -> " << unsigned{one.new_value} << ") done " << one.done
      << " strange " << one.strange << " found";
  for (const std::uint8_t count : one.found) out << ' ' << unsigned{count};
  return out.str();
}

// Who may change the maplet: every thread, or one.
enum class WhoWrites : std::uint8_t { all, first };

class MapletStage {
 public:
  MapletStage(std::uint64_t seed, WhoWrites writers, int layout)
      : seed_(seed),
        writers_(writers),
        layout_(layout),
        random_(seed),
        maplet_(small_maplet(layout, kBases)) {
    const auto any_in = [&](std::uint64_t base) {
      return Hash{hash_at(kBases, base, static_cast<std::uint32_t>(random_()))};
    };
    std::uint64_t home = 0;
    std::uint64_t away = 0;
    do {
      home = random_() % kBases;
      keys_[0] = any_in(home);
      keys_[1] = {twin_of(layout, kGeometry, keys_[0].value)};
      away = place(keys_[1]).block;
    } while (away == home);
    // The others look like none.
    do {
      keys_[2] = any_in(home);
      keys_[3] = any_in(away);
    } while (look_alike(keys_[2], keys_[0]) || look_alike(keys_[3], keys_[0]) ||
             look_alike(keys_[2], keys_[3]));
    for (const std::uint64_t base : {home, away}) {
      for (std::uint32_t i = 0; i < 5 * slots_of(layout) / 2; ++i) crowd_.push_back(any_in(base));
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
      const PairOperation one = any_operation(random, writes);
      const auto make = [&](PairOperation& operation) { call(operation); };
      if (one.call == Call::erase_value || one.call == Call::rename) {
        recorder_.record(thread, one, make, parts_of);
      } else {
        recorder_.record(thread, one, make);
      }
    }
  }

  bool is_right(std::string* reason) const {
    if (is_lost_) {
      *reason = "seed " + std::to_string(seed_) + ": a pair of the crowd is lost";
      return false;
    }
    return recorder_.is_linearizable<CountsHash>(after, Counts{}, "seed " + std::to_string(seed_),
                                                 reason);
  }

 private:
  static constexpr std::uint64_t kBases = 50;
  static constexpr Geometry kGeometry{kBases, 0};

  [[nodiscard]] Place place(Hash key) const { return home_of(layout_, kGeometry, key.value); }
  [[nodiscard]] bool look_alike(Hash one, Hash other) const {
    const Place a = place(one);
    const Place b = place(other);
    return a.fingerprint == b.fingerprint && a.bucket_offset == b.bucket_offset;
  }
  // The value that stands for a pair: a nibble, repeated.
  [[nodiscard]] std::uint64_t number_of(std::size_t pair) const {
    return (pair + 1) * 0x1111111111u & maplet_.max_value();
  }

  // Other pairs come and go in the same blocks, so that pairs move.
  void jostle(std::mt19937_64& random, std::vector<Hash>& own) {
    const Hash one = crowd_[random() % crowd_.size()];
    if (random() % 3 == 0 && !own.empty()) {
      if (!maplet_.erase(own.back(), 0)) is_lost_ = true;
      own.pop_back();
    } else if (maplet_.insert(one, 0)) {
      own.push_back(one);
    }
    if (random() % 64 == 0) (void)maplet_.grow();
  }

  [[nodiscard]] PairOperation any_operation(std::mt19937_64& random, bool writes) const {
    PairOperation one;
    // Only values of 4 bits are all bits of sets.
    const std::size_t calls = kNames.size() - (value_bits_of(layout_) == 4 ? 0 : 2);
    const std::size_t from = writes ? 0 : kFirstQuestion;
    one.call = static_cast<Call>(from + random() % (calls - from));
    // Tables have an entry for each value up to the one that changes.
    if (one.call == Call::rename && layout_ == kMapletBits) one.call = Call::erase_value;
    one.key = static_cast<std::uint8_t>(random() % kKeys);
    one.value = static_cast<std::uint8_t>(random() % kValues);
    one.new_value = static_cast<std::uint8_t>(random() % kValues);
    if (one.call == Call::rename && one.new_value == one.value)
      one.new_value = static_cast<std::uint8_t>((one.value + 1) % kValues);
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
      case Call::erase_value:
        one.moved = maplet_.erase_value(number(one.value));
        break;
      case Call::rename: {
        std::vector<std::uint64_t> table = sequence(0, number(one.value) + 1);
        table.back() = number(one.new_value);
        one.moved = maplet_.rename(table);
        break;
      }
      case Call::find:
        take(one, std::span(values).first(maplet_.find(key, values)));
        break;
      case Call::find_batch:
        (void)maplet_.find(std::span(&key, 1), first, all);
        take(one, all);
        break;
      case Call::find_set:
        take_set(one, maplet_.find_set(key));
        break;
      case Call::find_sets: {
        std::uint64_t set = 0;
        maplet_.find_sets(std::span(&key, 1), std::span(&set, 1));
        take_set(one, set);
        break;
      }
    }
  }

  void take_set(PairOperation& one, std::uint64_t set) const {
    std::vector<std::uint64_t> values;
    for (; set != 0; set &= set - 1) values.push_back(first_slot(set));
    take(one, values);
  }
  void take(PairOperation& one, std::span<const std::uint64_t> values) const {
    for (const std::uint64_t value : values) {
      const std::uint64_t pair = value % 16 - 1;
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
  int layout_;
  std::mt19937_64 random_;
  Maplet maplet_;
  std::array<Hash, kKeys> keys_{};
  std::vector<Hash> crowd_;
  std::array<std::uint64_t, kMaxThreads> seeds_{};
  std::atomic<bool> is_lost_ = false;
  Recorder<PairOperation> recorder_;
};

// The first history that is not linearizable, of at most so many; empty if all are.
std::string first_wrong(std::uint64_t histories, WhoWrites writers, int layout) {
  Crew crew;
  return play_stages(crew, histories, true,
                     [&](std::uint64_t seed, int) {
                       return std::make_unique<MapletStage>(seed, writers, layout);
                     })
      .first_failure;
}

class MapletHistoryTest : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Layouts, MapletHistoryTest, testing::ValuesIn(MapletLayouts::kNumbers),
                         [](const auto& instance) { return name_of_layout(instance.param); });

// The layouts share the code whose histories these are, so each has a part of them.
TEST_P(MapletHistoryTest, OfManyWriters) {
  const Hooks hooks(perturb);
  EXPECT_EQ(first_wrong(of_histories(200), WhoWrites::all, GetParam()), "");
}

TEST_P(MapletHistoryTest, OfOneWriter) {
  const Hooks hooks(perturb);
  EXPECT_EQ(first_wrong(of_histories(200), WhoWrites::first, GetParam()), "");
}

TEST_P(MapletHistoryTest, OfReadersThatLock) {
  const Hooks hooks(perturb);
  test_hooks::lock_at_once = true;
  EXPECT_EQ(first_wrong(of_histories(100), WhoWrites::all, GetParam()), "");
}

// A fault, and the layout that it is planted in.
class BrokenMaplet : public testing::TestWithParam<std::tuple<std::atomic<bool>*, int>> {};

TEST_P(BrokenMaplet, FaultsAreCaught) {
  // Readers wait longest where a writer can come between their two blocks.
  const Hooks hooks(
      [](int point) { point == NESTLINE_POINT_HOME_READ ? linger() : perturb(point); });
  const auto [fault, layout] = GetParam();
  *fault = true;
  EXPECT_NE(first_wrong(1'000'000, WhoWrites::all, layout), "");
}

// In layouts of small values the others take thousands of histories more.
INSTANTIATE_TEST_SUITE_P(
    All, BrokenMaplet,
    testing::Values(std::tuple(&test_hooks::skip_validation, Maplet12And8::kNumber),
                    std::tuple(&test_hooks::skip_validation, Maplet16And16::kNumber),
                    std::tuple(&test_hooks::skip_validation, kMapletBits),
                    std::tuple(&test_hooks::forget_changes, kMapletBits),
                    std::tuple(&test_hooks::change_beside_writers, kMapletBits)));

}  // namespace
}  // namespace nestline::test
