// An exact model of a maplet up to keys that look the same, and a wrapper that holds both and
// compares after every call.
//
// Pairs are of one kind if their keys have equal homes, fingerprints and bucket offsets. A lookup
// returns all values of the key's kind, and of the kind whose home is this key's alternate those
// that are where it looks. Nothing else.
#ifndef NESTLINE_TESTS_FILTERS_MAPLET_CHECKED_MAPLET_H_
#define NESTLINE_TESTS_FILTERS_MAPLET_CHECKED_MAPLET_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "lib/engine/place/geometry.h"
#include "lib/filters/maplet/maplet_state.h"
#include "nestline/maplet.h"
#include "tests/filters/maplet/small_maplet.h"

namespace nestline::test {

using Values = std::vector<std::uint64_t>;  // sorted

// The multiset of pairs, by hash.
class PairsOfKinds {
 public:
  PairsOfKinds(int layout, const Geometry& geometry) : layout_(layout), geometry_(geometry) {}

  void insert(std::uint64_t hash, std::uint64_t value) {
    add(values_[kind_of(place(hash))], value);
    pairs_.emplace_back(hash, value);
  }
  // The pair with this number.
  void erase(std::size_t at) {
    const auto [hash, value] = pairs_[at];
    pairs_[at] = pairs_.back();
    pairs_.pop_back();
    remove(values_[kind_of(place(hash))], value);
  }
  void replace(std::size_t at, std::uint64_t value) {
    const std::uint64_t hash = pairs_[at].first;
    erase(at);
    insert(hash, value);
  }
  // All pairs, changed or left out: to(pair) returns whether the pair stays, and may change it.
  template <typename To>
  void change(const Geometry& geometry, To&& to) {
    std::vector<Pair> before;
    before.swap(pairs_);
    values_.clear();
    geometry_ = geometry;
    for (Pair& pair : before) {
      if (to(pair)) insert(pair.first, pair.second);
    }
  }

  using Pair = std::pair<std::uint64_t, std::uint64_t>;
  [[nodiscard]] const std::vector<Pair>& pairs() const { return pairs_; }
  // Of the key's kind; of the kind that looks the same from the other block.
  [[nodiscard]] Values own(std::uint64_t hash) const { return of(place(hash)); }
  [[nodiscard]] Values others(std::uint64_t hash) const {
    const Place home = place(hash);
    const Place away = moved(geometry_, home);
    return away.block == home.block ? Values() : of(away);
  }
  // Whether a lookup of this key may return these.
  [[nodiscard]] bool may_be(std::uint64_t hash, Values found) const {
    std::sort(found.begin(), found.end());
    const Values wanted = own(hash);
    const Values more = others(hash);
    Values most;
    std::merge(wanted.begin(), wanted.end(), more.begin(), more.end(), std::back_inserter(most));
    return std::includes(found.begin(), found.end(), wanted.begin(), wanted.end()) &&
           std::includes(most.begin(), most.end(), found.begin(), found.end());
  }
  // The number of a pair with this value that a lookup of the key may return, of its own kind if
  // there is one; as many as there are pairs if there is none.
  [[nodiscard]] std::size_t number_of(std::uint64_t hash, std::uint64_t value) const {
    const Place home = place(hash);
    for (const Kind& kind : {kind_of(home), kind_of(moved(geometry_, home))}) {
      for (std::size_t at = 0; at < pairs_.size(); ++at) {
        if (pairs_[at].second == value && kind_of(place(pairs_[at].first)) == kind) return at;
      }
    }
    return pairs_.size();
  }
  // The most pairs that can look as this key's: where it has no alternate, half as many.
  [[nodiscard]] std::size_t room(std::uint64_t hash) const {
    const Place home = place(hash);
    return most_copies(layout_) / (moved(geometry_, home).block == home.block ? 2 : 1);
  }

 private:
  using Kind = std::tuple<std::uint64_t, std::uint32_t, std::uint32_t>;
  static Kind kind_of(const Place& place) {
    return {place.block, place.fingerprint, place.bucket_offset};
  }
  [[nodiscard]] Place place(std::uint64_t hash) const { return home_of(layout_, geometry_, hash); }
  [[nodiscard]] Values of(const Place& place) const {
    const auto found = values_.find(kind_of(place));
    return found == values_.end() ? Values() : found->second;
  }
  static void add(Values& values, std::uint64_t value) {
    values.insert(std::upper_bound(values.begin(), values.end(), value), value);
  }
  static void remove(Values& values, std::uint64_t value) {
    const auto found = std::lower_bound(values.begin(), values.end(), value);
    ASSERT_TRUE(found != values.end() && *found == value);
    values.erase(found);
  }

  int layout_;
  Geometry geometry_;
  std::map<Kind, Values> values_;
  std::vector<Pair> pairs_;
};

inline Values found_in(const auto& maplet, std::uint64_t hash) {
  std::array<std::uint64_t, Maplet::kMaxCandidates> values;
  const std::size_t count = maplet.find(Hash{hash}, values);
  return {values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count)};
}

// What find_set returns for these candidates, by the words of the header.
inline std::uint64_t set_of(const Values& values, std::uint64_t highest, std::uint64_t anywhere) {
  std::uint64_t set = 0;
  for (const std::uint64_t value : values) {
    set |= value >= 64 || value == highest ? anywhere : std::uint64_t{1} << value;
  }
  return set;
}

// That a maplet or a mapped one has exactly these pairs, by every lookup that there is, for the
// keys of its pairs and for others. Returns how many of all were found that look like others'
// pairs.
inline std::size_t expect_pairs(const auto& maplet, const PairsOfKinds& pairs,
                                std::span<const std::uint64_t> others) {
  EXPECT_EQ(maplet.size(), pairs.pairs().size());
  std::vector<Hash> keys;
  for (const auto& pair : pairs.pairs()) keys.push_back({pair.first});
  for (const std::uint64_t hash : others) keys.push_back({hash});
  constexpr std::uint64_t kAnywhere = 0xc000'0000'0000'0003;
  const std::uint64_t highest = (std::uint64_t{1} << maplet.value_bits()) - 1;
  std::vector<std::uint32_t> first;
  Values values;
  std::vector<std::uint64_t> sets(keys.size());
  std::vector<std::uint64_t> all_sets(keys.size());
  const std::size_t all = maplet.find(keys, first, values);
  EXPECT_EQ(all, values.size());
  EXPECT_EQ(first.size(), keys.size() + 1);
  maplet.find_sets(keys, sets, kAnywhere);
  maplet.find_sets(keys, all_sets);
  std::size_t strange = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const Values found = found_in(maplet, keys[i].value);
    EXPECT_TRUE(pairs.may_be(keys[i].value, found));
    const auto in_batch = std::span(values).subspan(first[i], first[i + 1] - first[i]);
    EXPECT_TRUE(std::equal(found.begin(), found.end(), in_batch.begin(), in_batch.end()));
    const std::uint64_t set = set_of(found, highest, kAnywhere);
    EXPECT_EQ(maplet.find_set(keys[i], kAnywhere), set);
    EXPECT_EQ(sets[i], set);
    const std::uint64_t whole = set_of(found, highest, ~std::uint64_t{0});
    EXPECT_EQ(maplet.find_set(keys[i]), whole);
    EXPECT_EQ(all_sets[i], whole);
    strange += found.size() != pairs.own(keys[i].value).size();
    if (testing::Test::HasFailure()) break;
  }
  return strange;
}

// Every operation of Maplet on hashes, checked: its answer, the size, what the key has then, and
// every byte where nothing may have changed.
class CheckedMaplet {
 public:
  explicit CheckedMaplet(Maplet maplet)
      : maplet_(std::move(maplet)), growth_(geometry().growth), pairs_(layout(), geometry()) {}

  Outcome insert(std::uint64_t hash, std::uint64_t value) {
    const auto before = block_bytes(maplet_);
    const Values found = found_in(maplet_, hash);
    const Outcome outcome = maplet_.insert(Hash{hash}, value).outcome;
    const bool grew = follow_growth();  // before it was stored or refused
    if (outcome != Outcome::stored) {
      if (!grew) {
        EXPECT_EQ(block_bytes(maplet_), before);
      }
      if (outcome == Outcome::too_many_copies) {
        EXPECT_GE(pairs_.own(hash).size() + pairs_.others(hash).size(), pairs_.room(hash));
        EXPECT_FALSE(value == maplet_.anywhere() && layout() != kMapletBits);
      }
    } else if (maplet_.size() == pairs_.pairs().size()) {
      turned(hash, value, found);
    } else {
      pairs_.insert(hash, value);
    }
    check(hash);
    return outcome;
  }

  // The pair with this number in pairs().
  void erase(std::size_t at) {
    const auto [hash, value] = pairs_.pairs()[at];
    EXPECT_TRUE(maplet_.erase(Hash{hash}, value));
    pairs_.erase(at);
    check(hash);
  }
  void replace(std::size_t at, std::uint64_t value) {
    const auto [hash, old_value] = pairs_.pairs()[at];
    EXPECT_TRUE(maplet_.replace(Hash{hash}, old_value, value));
    pairs_.replace(at, value);
    check(hash);
  }
  // Of a pair that no lookup of this key shows: nothing happens.
  void miss(std::uint64_t hash, std::uint64_t value) {
    const Values found = found_in(maplet_, hash);
    if (std::find(found.begin(), found.end(), value) != found.end()) return;
    const auto before = block_bytes(maplet_);
    EXPECT_FALSE(maplet_.erase(Hash{hash}, value));
    EXPECT_FALSE(maplet_.replace(Hash{hash}, value, 1));
    EXPECT_EQ(block_bytes(maplet_), before);
    check(hash);
  }
  void erase_value(std::uint64_t value) {
    std::uint64_t wanted = 0;
    pairs_.change(geometry(), [&](auto& pair) {
      wanted += pair.second == value;
      return pair.second != value;
    });
    EXPECT_EQ(maplet_.erase_value(value), wanted);
  }
  void rename(std::span<const std::uint64_t> table) {
    std::uint64_t wanted = 0;
    pairs_.change(geometry(), [&](auto& pair) {
      if (pair.second >= table.size()) return true;
      const std::uint64_t to = table[pair.second];
      wanted += to != pair.second;
      pair.second = to;
      return to != Maplet::kErased;
    });
    EXPECT_EQ(maplet_.rename(table), wanted);
  }
  void grow() {
    const unsigned left = maplet_.growth_left();
    EXPECT_EQ(maplet_.grow(), left != 0);
    follow_growth();
  }
  // Whether it did.
  bool shrink() {
    const auto before = block_bytes(maplet_);
    const bool could = maplet_.can_shrink();
    const bool done = maplet_.shrink();
    EXPECT_TRUE(could || !done);
    if (!done) {
      EXPECT_EQ(block_bytes(maplet_), before);
    }
    follow_growth();
    return done;
  }
  void merge(const CheckedMaplet& other) {
    const std::vector<PairsOfKinds::Pair> theirs = other.pairs();
    maplet_.merge(other.maplet_);
    for (const auto& [hash, value] : theirs) pairs_.insert(hash, value);
  }

  std::size_t check_all(std::span<const std::uint64_t> others) {
    return expect_pairs(maplet_, pairs_, others);
  }
  [[nodiscard]] const Maplet& maplet() const { return maplet_; }
  [[nodiscard]] const std::vector<PairsOfKinds::Pair>& pairs() const { return pairs_.pairs(); }
  [[nodiscard]] const PairsOfKinds& kinds() const { return pairs_; }
  [[nodiscard]] const Geometry& geometry() const {
    return MapletAccess::state(maplet_).table_of_writer().view.geometry;
  }
  [[nodiscard]] int layout() const { return MapletAccess::state(maplet_).bits; }

 private:
  void check(std::uint64_t hash) {
    EXPECT_EQ(maplet_.size(), pairs_.pairs().size());
    EXPECT_TRUE(pairs_.may_be(hash, found_in(maplet_, hash)));
  }
  // Whether it has grown.
  bool follow_growth() {
    if (geometry().growth == growth_) return false;
    growth_ = geometry().growth;
    pairs_.change(geometry(), [](auto&) { return true; });
    return true;
  }
  // One of the pairs that look like this key's has become `anywhere`, unless one was it already.
  void turned(std::uint64_t hash, std::uint64_t value, Values before) {
    EXPECT_EQ(value, maplet_.anywhere());
    EXPECT_NE(layout(), kMapletBits);
    EXPECT_FALSE(before.empty());
    Values after = found_in(maplet_, hash);
    std::sort(before.begin(), before.end());
    std::sort(after.begin(), after.end());
    EXPECT_EQ(after.back(), value);
    if (before == after) return;
    Values gone;
    std::set_difference(before.begin(), before.end(), after.begin(), after.end(),
                        std::back_inserter(gone));
    ASSERT_EQ(gone.size(), 1u);
    // Slots do not tell whose pair it was.
    const std::size_t at = pairs_.number_of(hash, gone[0]);
    ASSERT_LT(at, pairs().size());
    pairs_.replace(at, value);
  }

  Maplet maplet_;
  std::uint32_t growth_;
  PairsOfKinds pairs_;
};

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_FILTERS_MAPLET_CHECKED_MAPLET_H_
