// What two filters have in common: every target against a model that knows all residents, at many
// loads, shares, growths and after turnovers; and what chance makes of it against many filters.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "lib/engine/engine.h"
#include "lib/engine/kernels/targets.h"
#include "lib/engine/place/layout.h"
#include "lib/filters/filter/sizing.h"
#include "tests/support/errors.h"
#include "tests/support/model.h"

namespace nestline::test { namespace {

Filter filter_of(int bits, const Geometry& geometry, const std::vector<std::uint64_t>& keys) {
  Filter filter = FilterAccess::make(make_blocks({bits, geometry, 5, geometry.blocks()}, nullptr));
  for (const std::uint64_t hash : keys) EXPECT_TRUE(filter.insert(Hash{hash}));
  return filter;
}

std::vector<std::uint64_t> keys_from(std::uint64_t from, std::uint64_t count) {
  const MixSecrets secrets = derive_secrets(17);
  std::vector<std::uint64_t> all(count);
  for (auto& hash : all) hash = mix_integer(from++, secrets);
  return all;
}

// The residents of both filters by kind: at the lower block of its pair and at the higher one.
std::uint64_t model_count(const Filter& one, const Filter& other) {
  using Kind = std::tuple<std::uint64_t, std::uint64_t, std::uint32_t, std::uint32_t>;
  using Counts = std::array<std::array<unsigned, 2>, 2>;  // by filter and block
  std::map<Kind, Counts> kinds;
  const auto view = [&](std::size_t which) -> const BlocksView& {
    return FilterAccess::blocks(which == 0 ? one : other).view;
  };
  visit_layout(one.bits(), [&](auto layout) {
    using L = decltype(layout);
    for (const std::size_t which : {0u, 1u}) {
      const Geometry& geometry = view(which).geometry;
      for (std::uint64_t block = 0; block < geometry.blocks(); ++block) {
        for (std::uint32_t slot = 0; slot < L::kSlots; ++slot) {
          const std::uint32_t fingerprint = L::get(view(which).blocks[block], slot);
          if (fingerprint == 0) continue;
          const std::uint32_t offset = L::bucket_offset_at(fingerprint, slot);
          const std::uint64_t away = alternate_of(geometry, {block, 0, fingerprint, offset});
          const auto [low, high] = std::minmax(block, away);
          ++kinds[{low, high, fingerprint, offset}].at(which).at(block == low ? 0 : 1);
        }
      }
    }
  });
  std::uint64_t all = 0;
  for (const auto& [kind, counts] : kinds) {
    const std::array<std::uint64_t, 2> blocks{std::get<0>(kind), std::get<1>(kind)};
    const std::uint32_t rank = eviction_rank(std::get<2>(kind));
    for (const std::size_t here : {0u, 1u}) {
      const std::size_t there = 1 - here;
      all += std::min(counts[0][here], counts[1][here]);
      const bool covered = rank < view(1).blocks[blocks[here]].overflow_mark() ||
                           rank < view(0).blocks[blocks[there]].overflow_mark();
      if (!covered || counts[0][here] <= counts[1][here] || counts[1][there] <= counts[0][there]) {
        continue;
      }
      all += std::min(counts[0][here] - counts[1][here], counts[1][there] - counts[0][there]);
    }
  }
  return all;
}

// Both ways round, on every target of this processor.
void expect_common(const Filter& one, const Filter& other, std::uint64_t at_least) {
  const std::uint64_t model = model_count(one, other);
  ASSERT_GE(model, at_least);
  ASSERT_EQ(one.count_common(other).matches, model);
  ASSERT_EQ(one.may_overlap(other), model != 0);
  ASSERT_EQ(other.may_overlap(one), model != 0);
  const auto& [a, b] = std::pair(FilterAccess::blocks(one).view, FilterAccess::blocks(other).view);
  for (const std::int64_t target : usable_targets()) {
    force_target(target);
    const FilterEngine& engine = filter_engine(one.bits(), a.geometry.placement).of_filters();
    EXPECT_EQ(engine.count_common(a, b, false), model) << "target " << target;
    EXPECT_EQ(engine.count_common(a, b, true) != 0, model != 0) << "target " << target;
    EXPECT_EQ(engine.count_common(b, a, false), model_count(other, one)) << "target " << target;
  }
  force_target(0);
}

class OverlapTest : public testing::TestWithParam<int> {};

TEST_P(OverlapTest, AsTheModelAtManyLoads) {
  const int bits = GetParam();
  for (const Geometry geometry :
       {Geometry{1, 0}, Geometry{2, 0}, Geometry{5, 0}, Geometry{70, 0}, Geometry{1, 3},
        Geometry{3, 2}, Geometry{30, 4}, Geometry{70, 0, Placement::guest_lanes},
        Geometry{64, 2, Placement::guest_lanes}}) {
    const double most = geometry.base_blocks < 8 ? 0.5 : geometry.growth != 0 ? 0.85 : 0.96;
    for (const double load : {0.0, 0.02, 0.5 * most, most}) {
      const auto slots = static_cast<double>(geometry.blocks() * slots_of(bits));
      const auto count = static_cast<std::uint64_t>(load * slots);
      for (const double share : {0.0, 0.02, 0.5, 1.0}) {
        SCOPED_TRACE(std::to_string(geometry.base_blocks) + " base blocks, growth " +
                     std::to_string(geometry.growth) + ", load " + std::to_string(load) +
                     ", share " + std::to_string(share));
        const auto common = static_cast<std::uint64_t>(share * static_cast<double>(count));
        const Filter one = filter_of(bits, geometry, keys_from(0, count));
        auto keys = keys_from(count - common, count);
        std::reverse(keys.begin(), keys.end());  // so that others are evicted
        expect_common(one, filter_of(bits, geometry, keys), common);
      }
    }
  }
}

// One key of both among as many as fit: it is away in one, in both, or in none.
TEST_P(OverlapTest, NoCommonKeyIsMissed) {
  const int bits = GetParam();
  for (const Placement placement : {Placement::anywhere, Placement::guest_lanes}) {
    const Geometry geometry{64, 0, placement};
    const std::uint64_t count = geometry.blocks() * slots_of(bits) * 95 / 100;
    Filter one = filter_of(bits, geometry, keys_from(0, count));
    unsigned away = 0;
    for (std::uint64_t i = 0; i < count; i += 3) {
      Filter other = filter_of(bits, geometry, {keys_from(i, 1)});
      ASSERT_TRUE(one.may_overlap(other));
      ASSERT_TRUE(other.may_overlap(one));
      ASSERT_GE(one.count_common(other).matches, 1u);
      const Place home = Model(one).place(keys_from(i, 1)[0]);
      const BlocksView& view = FilterAccess::blocks(one).view;
      away += FilterAccess::blocks(one).engine->block.copies(view.blocks[home.block], home) == 0;
    }
    EXPECT_GT(away, count / 300);  // else this shows little
  }
}

TEST_P(OverlapTest, CopiesCountAsOftenAsBothHaveThem) {
  const int bits = GetParam();
  const Geometry geometry{70, 0};
  const unsigned most = bits == 16 ? 10 : 8;
  for (unsigned n = 0; n <= most; ++n) {
    for (unsigned m = 0; m <= most; ++m) {
      auto keys = keys_from(0, 2000);
      auto others = keys_from(1'000'000, 2000);
      keys.insert(keys.begin() + 1000, n, keys_from(77'000'000, 1)[0]);
      others.insert(others.begin() + 1500, m, keys_from(77'000'000, 1)[0]);
      expect_common(filter_of(bits, {40 * std::uint64_t{64} / slots_of(bits) + 30, 0}, keys),
                    filter_of(bits, {40 * std::uint64_t{64} / slots_of(bits) + 30, 0}, others),
                    std::min(n, m));
    }
  }
  // Each key as often as it may be, in both.
  std::vector<std::uint64_t> crowd;
  for (const std::uint64_t key : keys_from(0, geometry.blocks() * slots_of(bits) / most / 2)) {
    crowd.insert(crowd.end(), most / 2, key);
  }
  const Filter full = filter_of(bits, geometry, crowd);
  expect_common(full, full, full.size());
}

TEST_P(OverlapTest, FiltersThatHaveLived) {
  const int bits = GetParam();
  for (const Placement placement : {Placement::anywhere, Placement::guest_lanes}) {
    const Geometry geometry{80, 0, placement};
    const std::uint64_t count = geometry.blocks() * slots_of(bits) * 90 / 100;
    std::array<Filter, 2> filters{filter_of(bits, geometry, keys_from(0, count)),
                                  filter_of(bits, geometry, keys_from(count / 2, count))};
    for (std::uint64_t round = 0; round < 3; ++round) {
      expect_common(filters[0], filters[1], count / 2);
      for (std::uint64_t i = 0; i < count; ++i) {
        for (const std::uint64_t begin : {std::uint64_t{0}, count / 2}) {
          Filter& filter = filters.at(begin == 0 ? 0 : 1);
          const std::uint64_t at = begin + round * count + i;
          ASSERT_TRUE(filter.erase(Hash{keys_from(at, 1)[0]}));
          ASSERT_TRUE(filter.insert(Hash{keys_from(at + count, 1)[0]}));
        }
      }
    }
  }
}

// So many filters that systematic deviations above 3 % show.
TEST_P(OverlapTest, ChanceIsAsExpected) {
  const int bits = GetParam();
  struct Case {
    Geometry geometry;
    double load;
  };
  for (const auto& [geometry, load] :
       {Case{{128, 0}, 0.5}, Case{{128, 0}, 0.95}, Case{{128, 0, Placement::guest_lanes}, 0.9},
        Case{{100, 4}, 0.5}}) {
    const auto slots = static_cast<double>(geometry.blocks() * slots_of(bits));
    const auto count = static_cast<std::uint64_t>(load * slots);
    double matches = 0, expected = 0, squares = 0;
    constexpr std::size_t kTimes = 30;
    std::vector<Filter> filters;
    for (std::uint64_t i = 0; i < kTimes; ++i) {
      filters.push_back(filter_of(bits, geometry, keys_from(1'000'000 * i, count)));
    }
    for (std::size_t i = 0; i < kTimes; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const Overlap overlap = filters[i].count_common(filters[j]);
        matches += static_cast<double>(overlap.matches);
        expected += overlap.by_chance;
      }
      // And with a third of the keys in common.
      const std::uint64_t common = count / 3;
      auto keys = keys_from(1'000'000 * i, common);
      const auto rest = keys_from(900'000'000 + 1'000'000 * i, count - common);
      keys.insert(keys.end(), rest.begin(), rest.end());
      const Overlap part = filters[i].count_common(filter_of(bits, geometry, keys));
      squares += std::pow((part.estimate - static_cast<double>(common)) / part.standard_error, 2);
    }
    SCOPED_TRACE(std::to_string(geometry.growth) + " doublings, load " + std::to_string(load) +
                 ": " + std::to_string(matches) + " of " + std::to_string(expected) +
                 " expected, deviations " + std::to_string(std::sqrt(squares / kTimes)));
    RecordProperty("matches", std::to_string(matches / expected));
    EXPECT_NEAR(matches, expected, 0.03 * expected + 4 * std::sqrt(expected));
    EXPECT_LT(std::sqrt(squares / kTimes), 2);
  }
}

INSTANTIATE_TEST_SUITE_P(Widths, OverlapTest, testing::ValuesIn(kFilterWidths));

// The figures of the header and of docs/SIZING.md.
TEST(Overlap, SaysNo) {
  const auto no_of_100 = [](std::uint64_t count) {
    int no = 0;
    for (std::uint64_t i = 0; i < 200; ++i) {
      std::array<Filter, 2> filters{Filter({.capacity = count, .bits = 16}),
                                    Filter({.capacity = count, .bits = 16})};
      for (const std::size_t which : {0u, 1u}) {
        for (const std::uint64_t key : keys_from((2 * i + which) << 32, count)) {
          EXPECT_TRUE(filters.at(which).insert(Hash{key}));
        }
      }
      no += filters[0].may_overlap(filters[1]) ? 0 : 1;
    }
    return no / 2.0;
  };
  const double of_1000 = no_of_100(1000);
  EXPECT_GT(of_1000, 90);
  const double of_8192 = no_of_100(8192);
  EXPECT_NEAR(of_8192, 53, 12);
}

TEST(Overlap, OneAgainstMany) {
  const Filter one = filter_of(16, {40, 0}, keys_from(0, 900));
  const Filter far = filter_of(16, {40, 0}, keys_from(5'000'000, 20));
  const Filter near = filter_of(16, {40, 0}, keys_from(899, 500));
  const std::array<const Filter*, 3> others{&far, &near, &one};
  ASSERT_FALSE(one.may_overlap(far));  // of these keys
  EXPECT_EQ(one.overlapping(others), (std::vector<std::size_t>{1, 2}));
  EXPECT_TRUE(one.overlapping({}).empty());
}

TEST(Overlap, TheOneThatHasDoubledMoreOftenIsFolded) {
  Filter one({.capacity = 1800, .bits = 12});
  Filter grown({.capacity = 1800, .bits = 12});
  ASSERT_TRUE(grown.grow() && grown.grow());
  for (const std::uint64_t hash : keys_from(0, 900)) ASSERT_TRUE(one.insert(Hash{hash}));
  for (const std::uint64_t hash : keys_from(700, 800)) ASSERT_TRUE(grown.insert(Hash{hash}));
  Filter folded = grown.snapshot();
  ASSERT_EQ(folded.fit(), 2U);
  EXPECT_EQ(grown.count_common(one).matches, folded.count_common(one).matches);
  EXPECT_EQ(one.count_common(grown).matches, one.count_common(folded).matches);
  EXPECT_GE(one.count_common(grown).matches, 200U);
  EXPECT_TRUE(one.may_overlap(grown));
}

// The larger one is too full to be folded.
TEST(Overlap, ACopyOfTheOneThatHasDoubledLessOftenDoubles) {
  for (const int bits : {8, 12}) {
    for (const Placement placement : {Placement::anywhere, Placement::guest_lanes}) {
      const Filter one = filter_of(bits, {64, 0, placement}, keys_from(0, 900));
      const Filter full = filter_of(bits, {64, 2, placement}, keys_from(700, 6000));
      Filter doubled = one.snapshot();
      ASSERT_TRUE(doubled.grow() && doubled.grow());
      const std::uint64_t matches = full.count_common(doubled).matches;
      EXPECT_GE(matches, 200U);
      EXPECT_EQ(full.count_common(one).matches, matches);
      EXPECT_EQ(one.count_common(full).matches, matches);
      EXPECT_TRUE(one.may_overlap(full) && full.may_overlap(one));
      EXPECT_EQ(one.growth(), 0U);
    }
  }
  // Copies leave no room to fold.
  Filter one({.capacity = 5000, .bits = 12}), copies({.capacity = 5000, .bits = 12});
  ASSERT_TRUE(one.insert(7U) && copies.grow());
  for (unsigned i = 0; copies.size() < 4000; ++i) (void)copies.insert(i / 8);
  EXPECT_TRUE(one.may_overlap(copies));
  EXPECT_EQ(copies.count_common(one).matches, 1U);
  expect_error<std::length_error>([&] { one.merge(copies); }, "cannot be folded");
}

TEST(Overlap, DifferentFiltersAreRefused) {
  const Filter one = filter_of(8, {9, 0}, {});
  const auto expect_refused = [&](const Filter& other, const char* part) {
    expect_error<std::invalid_argument>([&] { (void)one.may_overlap(other); }, part);
    expect_error<std::invalid_argument>([&] { (void)one.count_common(other); }, part);
  };
  expect_refused(filter_of(12, {9, 0}, {}), "bits 8 and 12");
  expect_refused(filter_of(8, {10, 0}, {}), "begun with 9 and 10");
  expect_refused(filter_of(8, {10, 2}, keys_from(0, 1500)), "begun with 9 and 10");
}

}  // namespace
}  // namespace nestline::test
