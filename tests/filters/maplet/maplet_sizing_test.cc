// Maplets of every layout do what MapletOptions ask for: the layout, the capacity, and how often
// lookups err.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <memory_resource>
#include <random>
#include <string>
#include <vector>

#include "lib/engine/engine.h"
#include "lib/engine/place/geometry.h"
#include "lib/filters/filter/sizing.h"
#include "lib/filters/maplet/maplet_state.h"
#include "nestline/maplet.h"
#include "tests/filters/maplet/small_maplet.h"

namespace nestline::test { namespace {

TEST(MapletSizing, OptionsChooseTheLayout) {
  struct Chosen {
    int value_bits;
    double fpr;
    std::uint64_t growth;  // max_capacity / capacity
    int bits;
    std::size_t copies;
  };
  for (const Chosen& one : std::initializer_list<Chosen>{{4, 0, 1, 8, 8},
                                                         {4, 0.02, 1, 8, 8},
                                                         {4, 0.015, 1, 8, 8},  // at a lower load
                                                         {4, 0.01, 1, 12, 10},
                                                         {4, 0.002, 1, 12, 10},
                                                         {4, 0.02, 8, 12, 10},
                                                         {8, 0, 1, 8, 10},
                                                         {8, 0.03, 1, 8, 10},
                                                         {8, 0.002, 1, 12, 8},
                                                         {16, 0, 1, 16, 10},
                                                         {16, 0.001, 1, 16, 10},
                                                         {40, 0, 1, 20, 16},
                                                         {40, 0.5, 1, 20, 16}}) {
    SCOPED_TRACE(std::to_string(one.value_bits) + " bits, fpr " + std::to_string(one.fpr));
    const Maplet maplet({.capacity = 100'000,
                         .max_capacity = 100'000 * one.growth,
                         .value_bits = one.value_bits,
                         .fpr = one.fpr});
    EXPECT_EQ(maplet.value_bits(), one.value_bits);
    EXPECT_EQ(maplet.bits(), one.bits);
    EXPECT_EQ(maplet.max_value(), (std::uint64_t{1} << one.value_bits) - 1);
    EXPECT_EQ(maplet.anywhere(), maplet.max_value());
    EXPECT_EQ(maplet.max_copies(), one.copies);
    EXPECT_GE(maplet.capacity(), 100'000u);
  }
}

class MapletSizingTest : public testing::TestWithParam<int> {
 protected:
  [[nodiscard]] int layout() const { return GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(Layouts, MapletSizingTest, testing::ValuesIn(MapletLayouts::kNumbers),
                         [](const auto& instance) { return name_of_layout(instance.param); });

// Small maplets, again and again: filled to the capacity, and while pairs are replaced there.
// NESTLINE_CAPACITY_KEYS: so many pairs in all.
TEST_P(MapletSizingTest, NoKeyIsRefusedBelowTheCapacity) {
  const char* const asked = std::getenv("NESTLINE_CAPACITY_KEYS");
  const std::uint64_t all = asked != nullptr ? std::stoull(asked) : 3'000'000;
  const std::uint64_t least = Maplet(options_of(layout(), 1)).slots() / slots_of(layout());
  std::mt19937_64 random(static_cast<std::uint64_t>(layout()));
  for (const std::uint64_t blocks : {least, least + 1, least * 2, least * 4, least * 8}) {
    SCOPED_TRACE(std::to_string(blocks) + " blocks");
    std::vector<std::uint64_t> keys;
    std::uint64_t done = 0;
    for (std::uint64_t seed = 0; done < all / 30; ++seed) {
      MapletOptions options = options_of(layout(), blocks * slots_of(layout()) / 2, 0, seed);
      // The largest capacity of so many blocks.
      options.capacity = safe_keys(layout(), {blocks, 0});
      options.memory = std::pmr::new_delete_resource();
      Maplet maplet(options);
      ASSERT_EQ(maplet.slots(), blocks * slots_of(layout()));
      keys.clear();
      while (keys.size() < maplet.capacity()) {
        keys.push_back(random());
        ASSERT_TRUE(maplet.insert(Hash{keys.back()}, seed & maplet.max_value())) << "seed " << seed;
      }
      done += keys.size();
      for (std::size_t i = 0; seed % 8 == 0 && i < 10 * keys.size(); ++i) {
        std::uint64_t& key = keys[random() % keys.size()];
        ASSERT_TRUE(maplet.erase(Hash{key}, seed & maplet.max_value()));
        key = random();
        ASSERT_TRUE(maplet.insert(Hash{key}, seed & maplet.max_value())) << "seed " << seed;
      }
    }
  }
}

// The capacity of any options.
TEST_P(MapletSizingTest, HoldsWhatItPromises) {
  for (const std::uint64_t capacity : {1u, 2u, 10u, 500u, 1000u, 2000u, 30000u}) {
    SCOPED_TRACE(capacity);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      Maplet maplet(options_of(layout(), capacity, 0, seed));
      EXPECT_GE(maplet.capacity(), capacity);
      EXPECT_LE(maplet.capacity(), maplet.slots());
      for (std::uint64_t i = 0; i < maplet.capacity(); ++i) {
        ASSERT_TRUE(maplet.insert(i, i & maplet.max_value()));
      }
    }
  }
}

// How many candidates an absent key has on average over all hashes: each resident is seen by those
// whose home is its block, and, if their home's mark covers it, whose alternate is.
double false_candidates(const Maplet& maplet) {
  const Blocks& table = MapletAccess::state(maplet).table_of_writer();
  const BlocksView& view = table.view;
  return visit_maplet_layout(table.bits, [&](auto layout) {
    using L = decltype(layout);
    std::uint64_t seen = 0;
    for (std::uint64_t b = 0; b < view.geometry.blocks(); ++b) {
      for (std::uint32_t s = 0; s < L::kSlots; ++s) {
        const std::uint32_t f = L::get(view.blocks[b], s);
        if (f == 0) continue;
        const Place other = moved(view.geometry, {b, 0, f, L::bucket_offset_at(f, s)});
        const bool reads_two =
            other.block != b && eviction_rank(f) < view.blocks[other.block].overflow_mark();
        // A low byte of 0 has become 1.
        seen += ((f & 0xff) == 1 ? 2u : 1u) * (reads_two ? 2u : 1u);
      }
    }
    const double kinds = static_cast<double>(view.geometry.base_blocks) * L::kSlotsPerSegment *
                         static_cast<double>(1u << L::kBits);
    return static_cast<double>(seen) / kinds;
  });
}

TEST_P(MapletSizingTest, ErrsAsOftenAsItSays) {
  for (const double load : {0.5, 0.8, 0.95}) {
    SCOPED_TRACE(load);
    std::mt19937_64 random(static_cast<std::uint64_t>(layout()));
    Maplet maplet = small_maplet(layout(), 2000);
    for (unsigned growth = 0; growth <= std::min(4u, maplet.growth() + maplet.growth_left());
         ++growth) {
      if (growth != 0) {
        ASSERT_TRUE(maplet.grow());
      }
      while (maplet.load_factor() < load) (void)maplet.insert(Hash{random()}, 1);
      const double measured = false_candidates(maplet);
      EXPECT_NEAR(maplet.expected_false_candidates(), measured, 0.05 * measured)
          << "growth " << growth;
    }
  }
}

// That count is what lookups return.
TEST(MapletSizing, CandidatesAreCountedAsLookupsFindThem) {
  Maplet maplet = small_maplet(Maplet8And8::kNumber, 300);
  std::mt19937_64 random(1);
  while (maplet.load_factor() < 0.95) (void)maplet.insert(Hash{random()}, random() % 256);
  std::vector<Hash> keys(1'000'000);
  for (Hash& key : keys) key.value = random();
  std::vector<std::uint32_t> first;
  std::vector<std::uint64_t> values;
  const auto found = static_cast<double>(maplet.find(keys, first, values));
  const double expected = false_candidates(maplet) * static_cast<double>(keys.size());
  EXPECT_NEAR(found, expected, 1000);  // about 21,600; seven standard deviations
}

}  // namespace
}  // namespace nestline::test
