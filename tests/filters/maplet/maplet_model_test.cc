// Maplets of every layout against an exact model, one thread: few blocks, keys that look the same,
// and loads up to full.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lib/engine/kernels/targets.h"
#include "lib/engine/place/geometry.h"
#include "lib/filters/filter/bulk_build.h"
#include "nestline/io.h"
#include "nestline/maplet.h"
#include "tests/engine/kernels/each_target.h"
#include "tests/filters/maplet/checked_maplet.h"
#include "tests/filters/maplet/small_maplet.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/lane_rules.h"
#include "tests/support/temp_folder.h"

namespace nestline::test { namespace {

class MapletModelTest : public testing::TestWithParam<int> {
 protected:
  [[nodiscard]] int layout() const { return GetParam(); }
  [[nodiscard]] std::uint64_t highest() const {
    return (std::uint64_t{1} << value_bits_of(layout())) - 1;
  }
  // Often one of few, seldom any, and the highest.
  std::uint64_t any_value() {
    switch (random_() % 8) {
      case 0:
        return random_() & highest();
      case 1:
        return highest();
      default:
        return random_() % std::min<std::uint64_t>(highest() + 1, 70);
    }
  }
  std::vector<std::uint32_t> any_rests(std::size_t count) {
    std::vector<std::uint32_t> rests(count);
    for (std::uint32_t& rest : rests) rest = static_cast<std::uint32_t>(random_());
    return rests;
  }
  // One of many; or of few, which look the same as each other or as those of another block.
  std::uint64_t any_hash(const Geometry& geometry) {
    if (random_() % 4 == 0) return random_();
    const bool is_favourite = random_() % 64 < favourite_;
    const std::uint64_t base = is_favourite ? 0 : random_() % geometry.base_blocks;
    const std::uint32_t rest = rests_[is_favourite ? 0 : random_() % rests_.size()];
    const std::uint64_t hash = hash_at(geometry.base_blocks, base, rest);
    return random_() % 2 == 0 ? hash : twin_of(layout(), geometry, hash);
  }
  std::vector<std::uint64_t> any_hashes(const Geometry& geometry, std::size_t count) {
    std::vector<std::uint64_t> hashes(count);
    for (std::uint64_t& hash : hashes) hash = any_hash(geometry);
    return hashes;
  }
  // What becomes of the values from 0 on: themselves, others, the same, nothing.
  std::vector<std::uint64_t> any_table() {
    std::vector<std::uint64_t> table(random_() % std::min<std::uint64_t>(highest() + 2, 90));
    for (std::uint64_t v = 0; v < table.size(); ++v) {
      const std::array choices = {v, v, v, any_value(), Maplet::kErased};
      table[v] = choices[random_() % choices.size()];
    }
    return table;
  }
  void any_change(CheckedMaplet& checked) {
    const std::size_t pairs = checked.pairs().size();
    switch (random_() % 16) {
      case 0:
      case 1:
        if (pairs != 0) checked.erase(random_() % pairs);
        break;
      case 2:
      case 3:
        if (pairs != 0) checked.replace(random_() % pairs, any_value());
        break;
      case 4:
        checked.miss(any_hash(checked.geometry()), any_value());
        break;
      default:
        insert_any(checked);
        break;
    }
  }
  void insert_any(CheckedMaplet& checked) {
    const Outcome outcome = checked.insert(any_hash(checked.geometry()), any_value());
    ++outcomes_[static_cast<std::size_t>(outcome)];
  }
  void fill(CheckedMaplet& checked, double load) {
    for (std::size_t tries = 0; checked.maplet().load_factor() < load; ++tries) {
      ASSERT_LT(tries, 20 * checked.maplet().slots());
      (void)checked.insert(any_hash(checked.geometry()), any_value());
    }
  }
  // A maplet with keys of both kinds that is full.
  CheckedMaplet full(std::uint64_t blocks, std::uint64_t max_capacity = 0) {
    CheckedMaplet checked(small_maplet(layout(), blocks, max_capacity));
    fill(checked, 0.9);
    return checked;
  }

  std::mt19937_64 random_{static_cast<std::uint64_t>(GetParam())};
  std::vector<std::uint32_t> rests_ = any_rests(20);
  std::uint64_t favourite_ = 0;            // of 64 keys, how many are the same or its twin
  std::array<std::size_t, 8> outcomes_{};  // by Outcome
};

INSTANTIATE_TEST_SUITE_P(Layouts, MapletModelTest, testing::ValuesIn(MapletLayouts::kNumbers),
                         [](const auto& instance) { return name_of_layout(instance.param); });

TEST_P(MapletModelTest, AnswersAsTheModelDoes) {
  std::size_t strange = 0;
  for (const std::uint64_t blocks : {1u, 2u, 3u, 17u, 40u}) {
    SCOPED_TRACE(blocks);
    CheckedMaplet checked(small_maplet(layout(), blocks));
    const std::uint64_t slots = checked.maplet().slots();
    for (std::uint64_t step = 0; step < 6 * slots + 300; ++step) {
      any_change(checked);
      if (step % (slots / 2 + 20) == 0) {
        checked.rename(any_table());
        strange += checked.check_all(any_hashes(checked.geometry(), 100));
      }
      if (step % (slots / 3 + 20) == 0) checked.erase_value(any_value());
      if (HasFailure()) return;
    }
    strange += checked.check_all(any_hashes(checked.geometry(), 100));
    // Full to the last slot that inserts find, then with more that look the same, and emptied
    // again.
    for (std::uint64_t step = 0; step < 4 * slots; ++step) {
      insert_any(checked);
      if (HasFailure()) return;
    }
    favourite_ = 48;
    for (std::uint64_t step = 0; step < 300; ++step) {
      if (step % 3 == 0) checked.erase(random_() % checked.pairs().size());
      insert_any(checked);
      if (HasFailure()) return;
    }
    favourite_ = 0;
    strange += checked.check_all(any_hashes(checked.geometry(), 100));
    while (!checked.pairs().empty()) {
      checked.erase(random_() % checked.pairs().size());
      if (HasFailure()) return;
    }
    EXPECT_EQ(checked.maplet().size(), 0u);
  }
  for (const Outcome outcome : {Outcome::stored, Outcome::full, Outcome::too_many_copies}) {
    // At 40 bits that takes both blocks, with all their slots: the case below fills them.
    if (outcome == Outcome::too_many_copies && layout() == kMapletBits) continue;
    EXPECT_GT(outcomes_[static_cast<std::size_t>(outcome)], 50u);
  }
  EXPECT_GT(strange, 50u);  // twins came up
}

TEST_P(MapletModelTest, AnswersAsTheModelDoesWhileItGrows) {
  // By itself, and when it is told to.
  for (const std::uint64_t times : {0u, 8u}) {
    CheckedMaplet checked(small_maplet(layout(), 3, times * 3 * slots_of(layout()) * 95 / 100));
    const std::uint64_t steps = 9 * 3 * slots_of(layout());
    for (std::uint64_t step = 0; step < steps; ++step) {
      any_change(checked);
      if (times == 0 && step % (steps / 6) == steps / 7) checked.grow();
      if (times == 0 && step % (steps / 2) == steps / 7 + 20) checked.shrink();
      if (step % 150 == 0) {
        checked.rename(any_table());
        checked.check_all(any_hashes(checked.geometry(), 50));
      }
      if (HasFailure()) return;
    }
    EXPECT_GT(checked.maplet().growth(), times == 0 ? 3u : 0u);
    while (checked.maplet().growth_left() > (layout() == kMapletBits ? 8 : 0)) checked.grow();
    checked.check_all(any_hashes(checked.geometry(), 100));
    // Pairs of keys that look the same may need all of it; fewer of them do not.
    while (checked.pairs().size() > 40) checked.erase(checked.pairs().size() / 2);
    unsigned shrunk = 0;
    for (; checked.shrink(); ++shrunk) checked.check_all(any_hashes(checked.geometry(), 100));
    EXPECT_GT(shrunk, 0u);
  }
}

// Batches are the single inserts in this order, with the same outcomes and bytes.
TEST_P(MapletModelTest, BatchesInsertAsSinglesDo) {
  for (const std::uint64_t max_capacity :
       {std::uint64_t{0}, 30 * std::uint64_t{slots_of(layout())}}) {
    CheckedMaplet singles(small_maplet(layout(), 5, max_capacity));
    Maplet batches = small_maplet(layout(), 5, max_capacity);
    for (int round = 0; round < 6; ++round) {
      std::vector<Hash> keys;
      std::vector<std::uint64_t> values;
      std::vector<Outcome> wanted;
      for (std::uint64_t i = 0; i < 2 * slots_of(layout()); ++i) {
        keys.push_back({any_hash(singles.geometry())});
        values.push_back(any_value());
        wanted.push_back(singles.insert(keys.back().value, values.back()));
      }
      std::vector<Outcome> outcomes(keys.size());
      EXPECT_EQ(batches.insert(keys, values, outcomes),
                std::count(wanted.begin(), wanted.end(), Outcome::stored));
      EXPECT_EQ(outcomes, wanted);
      ASSERT_EQ(block_bytes(batches), block_bytes(singles.maplet()));
    }
    EXPECT_EQ(batches.growth() > 0, max_capacity > 0);
    singles.check_all({});
  }
}

// A copy, a saved one, a mapped one and one that is made ready all have the same pairs.
TEST_P(MapletModelTest, CopiesHaveTheSamePairs) {
  const TempFolder folder;
  for (const std::uint64_t max_capacity : {std::uint64_t{0}, std::uint64_t{900}}) {
    CheckedMaplet checked = full(max_capacity == 0 ? 30 : 4, max_capacity);
    checked.rename(any_table());
    const auto others = any_hashes(checked.geometry(), 300);
    const PairsOfKinds pairs = checked.kinds();
    const auto expect_copy = [&](const Maplet& copy) {
      expect_pairs(copy, pairs, others);
      EXPECT_EQ(copy.value_bits(), checked.maplet().value_bits());
      EXPECT_EQ(copy.bits(), checked.maplet().bits());
      EXPECT_EQ(copy.growth(), checked.maplet().growth());
      EXPECT_EQ(copy.capacity(), checked.maplet().capacity());
      EXPECT_EQ(copy.max_capacity(), checked.maplet().max_capacity());
      EXPECT_EQ(copy.max_copies(), checked.maplet().max_copies());
    };
    const Maplet snapshot = checked.maplet().snapshot();
    Maplet ready = checked.maplet().ready_for_snapshot();
    ASSERT_TRUE(checked.maplet().snapshot_into(ready));
    save(checked.maplet(), folder / "maplet");
    const Bytes bytes = saved_bytes(checked.maplet());
    checked.erase_value(checked.pairs()[0].second);  // not in the copies
    expect_copy(snapshot);
    expect_copy(ready);
    const Maplet loaded = Maplet::load(folder / "maplet");
    expect_copy(loaded);
    EXPECT_EQ(saved_bytes(loaded), bytes);
    const auto mapped = MappedMaplet::open(folder / "maplet");
    EXPECT_EQ(mapped.value_bits(), checked.maplet().value_bits());
    EXPECT_EQ(mapped.bits(), checked.maplet().bits());
    expect_pairs(mapped, pairs, others);
    std::vector<std::uint64_t> visited;
    snapshot.for_each([&](std::uint64_t value) { visited.push_back(value); });
    std::vector<std::uint64_t> wanted;
    for (const auto& pair : pairs.pairs()) wanted.push_back(pair.second);
    std::sort(visited.begin(), visited.end());
    std::sort(wanted.begin(), wanted.end());
    EXPECT_EQ(visited, wanted);
  }
}

TEST_P(MapletModelTest, IsBuiltOfItsPairs) {
  for (const std::uint64_t max_capacity : {std::uint64_t{0}, std::uint64_t{9000}}) {
    const MapletOptions options = options_of(layout(), 1500, max_capacity, 5);
    std::vector<std::uint64_t> keys;
    std::vector<std::uint64_t> values;
    for (std::uint64_t i = 0; i < std::max<std::uint64_t>(1500, max_capacity / 2); ++i) {
      keys.push_back(i % 9 == 0 && i != 0 ? keys.back() : random_());  // some several times
      values.push_back(any_value());
    }
    const Maplet built = Maplet::build(options, keys, values);
    const Blocks& table = MapletAccess::state(built).table_of_writer();
    EXPECT_EQ(table.bits, layout());
    EXPECT_EQ(built.growth() > 0, max_capacity > 0);
    EXPECT_EQ(built.max_capacity(), max_capacity);
    PairsOfKinds pairs(layout(), table.view.geometry);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      pairs.insert(hash_key(keys[i], options.seed).value, values[i]);
    }
    std::vector<std::uint64_t> others(2000);
    for (std::uint64_t& other : others) other = random_();
    expect_pairs(built, pairs, others);

    EXPECT_THROW((void)Maplet::build(options, keys, std::span(values).first(3)),
                 std::invalid_argument);
    values.back() = highest() + 1;
    EXPECT_THROW((void)Maplet::build(options, keys, values), std::invalid_argument);
    values.back() = 1;
    keys.resize(3 * built.slots(), 1);
    for (std::uint64_t& key : keys) key = random_();
    values.assign(keys.size(), 1);
    expect_error<std::length_error>(
        [&] { (void)Maplet::build(options_of(layout(), 1500), keys, values); },
        "a pair finds no room");
    // With outcomes the others are kept.
    std::vector<Outcome> outcomes(keys.size());
    const Maplet crowded = Maplet::build(options_of(layout(), 1500), keys, values, outcomes);
    EXPECT_EQ(crowded.size(), static_cast<std::uint64_t>(
                                  std::count(outcomes.begin(), outcomes.end(), Outcome::stored)));
    EXPECT_LT(crowded.size(), keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (outcomes[i] != Outcome::stored) continue;
      ASSERT_NE(crowded.find_set(keys[i]) >> 1 & 1, 0u);
    }
  }
}

// Each pair gets its value, also where many look the same from either block, on every target; and
// in a maplet that is filled range by range.
TEST_P(MapletModelTest, FillsInBulk) {
  if (layout() == kMapletBits) return;  // is built pair by pair
  const auto fill = [&](std::uint64_t blocks, double load) {
    OwnedBlocks table = MapletAccess::release(small_maplet(layout(), blocks));
    const Geometry geometry = table->view.geometry;
    const auto count =
        static_cast<std::size_t>(load * static_cast<double>(blocks * slots_of(layout())));
    const std::vector<std::uint64_t> hashes = any_hashes(geometry, count);
    std::vector<Hash> keys;
    for (const std::uint64_t hash : hashes) keys.push_back({hash});
    std::vector<std::uint64_t> values(count);
    for (std::uint64_t& value : values) value = any_value();
    if (!fill_maplet_in_bulk(table, keys, values)) return false;
    PairsOfKinds pairs(layout(), geometry);
    for (std::size_t i = 0; i < count; ++i) pairs.insert(hashes[i], values[i]);
    expect_pairs(MapletAccess::make(std::move(table)), pairs, any_hashes(geometry, 300));
    return true;
  };
  std::size_t filled = 0;
  for_each_target([&](std::int64_t) {
    for (const std::uint64_t blocks : {1u, 2u, 3u, 17u, 40u, 90u}) {
      SCOPED_TRACE(blocks);
      rests_ = any_rests(400);  // so that not too many look the same
      for (int round = 0; round < 10; ++round) filled += fill(blocks, 0.5 + 0.04 * round);
    }
  });
  EXPECT_GT(filled, 20u);
  rests_ = any_rests(1'000'000);
  if (layout() == Maplet16And16::kNumber) {
    EXPECT_TRUE(fill(blocks_in_near_cache() + 999, 0.9));
  }
}

// With pairs of both in the same blocks; and with itself.
TEST_P(MapletModelTest, MergesAddAllPairs) {
  rests_ = any_rests(400);  // so that not too many look the same
  for (const std::uint32_t growth : {0u, 2u}) {
    CheckedMaplet one(small_maplet(layout(), 40));
    CheckedMaplet other(small_maplet(layout(), 40));
    fill(one, 0.5);
    fill(other, 0.4);
    for (std::uint32_t g = 0; g < growth; ++g) {
      one.grow();
      other.grow();
    }
    EXPECT_TRUE(one.maplet().can_merge(other.maplet()));
    const auto before = block_bytes(other.maplet());
    const auto others = any_hashes(one.geometry(), 300);
    one.merge(other);
    one.check_all(others);
    EXPECT_EQ(block_bytes(other.maplet()), before);
  }
  CheckedMaplet itself(small_maplet(layout(), 40));
  for (int i = 0; i < 100; ++i) itself.insert(random_(), any_value());
  itself.merge(itself);
  itself.check_all(any_hashes(itself.geometry(), 300));
}

// Values that two maplets number differently: renamed in one, they are united.
TEST_P(MapletModelTest, RenamedMapletsAreMerged) {
  rests_ = any_rests(400);
  CheckedMaplet one(small_maplet(layout(), 40));
  CheckedMaplet other(small_maplet(layout(), 40));
  fill(one, 0.5);
  fill(other, 0.4);
  const std::vector<std::uint64_t> table = {7, 7, Maplet::kErased, 3, 8, 0};
  other.rename(table);
  one.merge(other);
  one.rename(std::vector<std::uint64_t>(9, 4));
  one.check_all(any_hashes(one.geometry(), 300));
}

// Keys that look the same, as many as find room and one more.
TEST_P(MapletModelTest, TooManyPairsBecomeAnywhere) {
  CheckedMaplet checked(small_maplet(layout(), 20));
  std::size_t with_alternate = 0;
  for (int round = 0; round < 30; ++round) {
    const std::uint64_t hash = random_();
    const std::size_t room = checked.kinds().room(hash);
    with_alternate += room == checked.maplet().max_copies();
    for (std::uint64_t value = 0; value < room; ++value) {
      // Values that are not the highest.
      ASSERT_EQ(checked.insert(hash, value % highest()), Outcome::stored);
    }
    ASSERT_EQ(checked.insert(hash, 3), Outcome::too_many_copies);
    const std::uint64_t anywhere = checked.maplet().anywhere();
    ASSERT_EQ(anywhere, highest());
    const Outcome outcome = checked.insert(hash, anywhere);
    if (layout() == kMapletBits) {
      ASSERT_EQ(outcome, Outcome::too_many_copies);
    } else {
      ASSERT_EQ(outcome, Outcome::stored);
      const auto before = block_bytes(checked.maplet());
      ASSERT_EQ(checked.insert(hash, anywhere), Outcome::stored);  // it is there already
      ASSERT_EQ(block_bytes(checked.maplet()), before);
      ASSERT_EQ(checked.maplet().find_set(Hash{hash}), ~std::uint64_t{0});
      EXPECT_NE(checked.maplet().find_set(Hash{hash}, 0), 0u);
    }
    while (!checked.pairs().empty()) checked.erase(checked.pairs().size() - 1);
  }
  EXPECT_GT(with_alternate, 15u);
}

// A pair that is part of `anywhere` may be erased and replaced like any other, and is not there.
// Then the pair of a key that looks the same may go in its place: that key finds `anywhere`.
TEST_P(MapletModelTest, WhatIsAnywhereIsMissedByNoOtherKey) {
  if (layout() == kMapletBits) return;
  for (const bool erases : {true, false}) {
    std::size_t gone = 0;
    for (int round = 0; round < 100; ++round) {
      Maplet maplet = small_maplet(layout(), 20);
      const Geometry& geometry = MapletAccess::state(maplet).table_of_writer().view.geometry;
      const Hash key{random_()};
      const Hash twin{twin_of(layout(), geometry, key.value)};
      ASSERT_TRUE(maplet.insert(twin, 1));
      std::size_t stored = 0;
      while (maplet.insert(key, 2 + stored % 5)) ++stored;
      ASSERT_EQ(maplet.insert(key, maplet.anywhere()).outcome, Outcome::stored);
      // The caller does not know which of them was refused.
      for (std::uint64_t value = 1; value < 7; ++value) {
        while (erases ? maplet.erase(key, value) : maplet.replace(key, value, 7)) ++gone;
        ASSERT_NE(maplet.find_set(twin) & 2, 0u) << round << ": " << value;
        ASSERT_NE(maplet.find_set(key) & std::uint64_t{1} << value, 0u);
      }
    }
    EXPECT_GT(gone, 100u * (erases ? 3 : 4));
  }
}

// What is refused changes no byte.

TEST_P(MapletModelTest, RefusesValuesAboveTheHighest) {
  CheckedMaplet checked(small_maplet(layout(), 10));
  fill(checked, 0.6);
  Maplet maplet = checked.maplet().snapshot();
  const auto before = block_bytes(maplet);
  const auto [hash, value] = checked.pairs()[3];
  const Hash key{hash};
  ASSERT_EQ(maplet.max_value(), highest());
  for (const std::uint64_t above : {highest() + 1, ~std::uint64_t{0}}) {
    expect_error<std::invalid_argument>([&] { (void)maplet.insert(key, above); },
                                        "is above " + std::to_string(highest()));
    EXPECT_THROW((void)maplet.replace(key, value, above), std::invalid_argument);
    EXPECT_FALSE(maplet.erase(key, above));
    EXPECT_FALSE(maplet.replace(key, above, 1));
    EXPECT_EQ(maplet.erase_value(above), 0u);
    const std::vector<Hash> keys = {Hash{1}, Hash{2}, Hash{3}};
    const std::vector<std::uint64_t> values = {1, 2, above};
    std::vector<Outcome> outcomes(3);
    EXPECT_THROW((void)maplet.insert(keys, values, outcomes), std::invalid_argument);
    EXPECT_EQ(outcomes, std::vector<Outcome>(3));
  }
  EXPECT_EQ(block_bytes(maplet), before);
  EXPECT_EQ(maplet.size(), checked.maplet().size());
}

TEST_P(MapletModelTest, RefusesTablesThatCannotBe) {
  CheckedMaplet checked(small_maplet(layout(), 10));
  fill(checked, 0.6);
  Maplet maplet = checked.maplet().snapshot();
  const auto before = block_bytes(maplet);
  std::vector<std::uint64_t> table = {5, 4, Maplet::kErased, 0, highest() + 1};
  expect_error<std::invalid_argument>([&] { (void)maplet.rename(table); },
                                      "is above " + std::to_string(highest()));
  table[4] = Maplet::kErased - 1;
  EXPECT_THROW((void)maplet.rename(table), std::invalid_argument);
  if (value_bits_of(layout()) <= 16) {
    const std::vector<std::uint64_t> longer(highest() + 2, 0);
    expect_error<std::invalid_argument>([&] { (void)maplet.rename(longer); },
                                        "the table has " + std::to_string(highest() + 2));
    EXPECT_EQ(block_bytes(maplet), before);
    // The longest that there can be.
    EXPECT_EQ(maplet.rename(std::span(longer).first(highest() + 1)),
              static_cast<std::uint64_t>(
                  std::count_if(checked.pairs().begin(), checked.pairs().end(),
                                [](const auto& pair) { return pair.second != 0; })));
  } else {
    EXPECT_EQ(block_bytes(maplet), before);
  }
  EXPECT_EQ(maplet.size(), checked.maplet().size());
}

TEST_P(MapletModelTest, RefusesUnlikeMergesWithASentence) {
  const auto expect_refused = [&](const Maplet& other, const std::string& part) {
    Maplet maplet = small_maplet(layout(), 20);
    ASSERT_TRUE(maplet.insert("key", 1));
    const auto before = block_bytes(maplet);
    std::string why;
    EXPECT_FALSE(maplet.can_merge(other, &why));
    EXPECT_NE(why.find(part), std::string::npos) << why;
    EXPECT_FALSE(maplet.can_merge(other));
    EXPECT_EQ(message_of<std::invalid_argument>([&] { maplet.merge(other); }), why);
    EXPECT_EQ(block_bytes(maplet), before);
    EXPECT_EQ(maplet.size(), 1u);
  };
  for (const int other : MapletLayouts::kNumbers) {
    if (other == layout()) continue;
    const bool same_width = fingerprint_bits(other) == fingerprint_bits(layout());
    expect_refused(small_maplet(other, 20),
                   same_width ? "values of the same width" : "fingerprints of the same width");
  }
  expect_refused(small_maplet(layout(), 21), "20 and 21");
  expect_refused(small_maplet(layout(), 20, 0, 8), "the same seed");
  Maplet grown = small_maplet(layout(), 20);
  ASSERT_TRUE(grown.grow());
  for (std::uint64_t key = 0; grown.can_shrink(); ++key) ASSERT_TRUE(grown.insert(key, 1));
  expect_refused(grown, "doubled equally often");  // it is too full to be folded first
}

TEST_P(MapletModelTest, AMergeThatDoesNotFitChangesNothing) {
  CheckedMaplet one(small_maplet(layout(), 20));
  CheckedMaplet other(small_maplet(layout(), 20));
  fill(one, 0.7);
  fill(other, 0.7);
  Maplet maplet = one.maplet().snapshot();
  const auto before = block_bytes(maplet);
  expect_error<std::length_error>([&] { maplet.merge(other.maplet()); }, "cannot be merged");
  EXPECT_EQ(block_bytes(maplet), before);
  EXPECT_EQ(maplet.size(), one.maplet().size());
  expect_pairs(maplet, one.kinds(), any_hashes(one.geometry(), 100));

  // Too many that look the same.
  Maplet copies = small_maplet(layout(), 20);
  while (copies.insert("key", 1)) continue;
  const auto full_of_copies = block_bytes(copies);
  const std::uint64_t size = copies.size();
  Maplet single = small_maplet(layout(), 20);
  ASSERT_TRUE(single.insert("key", 2));
  expect_error<std::length_error>([&] { copies.merge(single); }, "more copies of one key");
  EXPECT_EQ(block_bytes(copies), full_of_copies);
  EXPECT_EQ(copies.size(), size);
}

}  // namespace
}  // namespace nestline::test
