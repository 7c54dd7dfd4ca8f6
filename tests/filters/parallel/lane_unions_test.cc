// Filters with guest lanes that are built in bulk, merged or doubled: every key is found, each
// block keeps the rules of lanes, and keys can be erased and inserted afterwards.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lib/engine/kernels/build_kernels.h"
#include "lib/filters/filter/sizing.h"
#include "nestline/parallel.h"
#include "tests/filters/parallel/parallel_fixture.h"
#include "tests/support/lane_rules.h"
#include "tests/support/model.h"

namespace nestline::test { namespace {

class LaneUnions : public testing::TestWithParam<int> {
 protected:
  std::mt19937_64 random_{static_cast<std::uint64_t>(GetParam())};

  std::vector<std::uint64_t> draw(std::size_t count) {
    std::vector<std::uint64_t> hashes(count);
    for (std::uint64_t& hash : hashes) hash = random_();
    return hashes;
  }
  // Some of them again, as copies and as twins.
  void repeat(const Geometry& geometry, std::vector<std::uint64_t>& hashes, std::size_t count,
              std::uint32_t most) {
    const std::size_t from = hashes.size() / 2;
    while (count > 0) {
      const std::uint64_t one = hashes[from + random_() % from];
      for (std::uint64_t i = 1 + random_() % most; i > 0 && count > 0; --i, --count) {
        hashes.push_back(random_() % 3 == 0 ? twin_of(GetParam(), geometry, one) : one);
      }
    }
    std::shuffle(hashes.begin(), hashes.end(), random_);
  }
  // The keys that were stored, by their outcomes.
  static std::vector<std::uint64_t> stored_of(const std::vector<std::uint64_t>& hashes,
                                              const std::vector<Outcome>& outcomes) {
    std::vector<std::uint64_t> stored;
    for (std::size_t i = 0; i < hashes.size(); ++i) {
      if (outcomes[i] == Outcome::stored) stored.push_back(hashes[i]);
    }
    return stored;
  }
  static std::vector<Hash> keys_of(const std::vector<std::uint64_t>& hashes) {
    std::vector<Hash> keys;
    keys.reserve(hashes.size());
    for (const std::uint64_t hash : hashes) keys.push_back({hash});
    return keys;
  }
  void turn_over(Filter& filter, std::vector<std::uint64_t>& stored, std::size_t times) {
    for (std::size_t i = 0; i < times; ++i) {
      std::swap(stored[random_() % stored.size()], stored.back());
      ASSERT_TRUE(filter.erase(Hash{stored.back()}));
      stored.pop_back();
      const std::uint64_t hash = random_();
      if (filter.insert(Hash{hash})) stored.push_back(hash);
    }
    expect_lane_rules(filter, stored);
  }
  void erase_all(Filter& filter, std::vector<std::uint64_t>& stored) {
    for (const std::uint64_t hash : stored) ASSERT_TRUE(filter.erase(Hash{hash}));
    ASSERT_EQ(filter.size(), 0u);
    stored.clear();
    ASSERT_EQ(broken_lane_rule(filter, stored), "");
  }
  Options options(std::uint64_t blocks) const {
    return {.capacity = safe_keys(GetParam(), {blocks, 0}) - 1,
            .bits = GetParam(),
            .seed = 5,
            .turns_over = true};
  }
};

TEST_P(LaneUnions, BuiltInBulk) {
  for (const std::uint64_t blocks : {64u, 150u, 1000u, 5000u}) {
    for (const double load : {0.5, 0.9, 0.95, 0.98}) {
      for (const std::uint32_t most : {0u, 2u, 20u}) {
        SCOPED_TRACE(std::to_string(blocks) + " blocks, load " + std::to_string(load) +
                     ", copies up to " + std::to_string(most));
        const Filter empty(options(blocks));
        const Geometry& geometry = FilterAccess::blocks(empty).view.geometry;
        ASSERT_EQ(geometry.placement, Placement::guest_lanes);
        auto keys = static_cast<std::size_t>(load * static_cast<double>(empty.slots()));
        std::vector<std::uint64_t> hashes = draw(most == 0 ? keys : keys * 9 / 10);
        if (most != 0) repeat(geometry, hashes, keys - hashes.size(), most);
        const std::vector<Hash> all = keys_of(hashes);
        std::vector<Outcome> outcomes(all.size());
        Filter filter = Filter::build(options(blocks), all, outcomes);
        std::vector<std::uint64_t> stored = stored_of(hashes, outcomes);
        if (most == 0 && load <= 0.9) {
          EXPECT_EQ(stored.size(), all.size());
        }
        EXPECT_GT(stored.size(), all.size() * 93 / 100);
        expect_lane_rules(filter, stored);
        std::vector<Outcome> others(all.size());
        for (const int threads : {1, 3}) {
          with_threads(threads, [&] {
            const Filter built = parallel::build(options(blocks), all, others);
            EXPECT_EQ(block_bytes(built), block_bytes(filter)) << threads << " threads";
            EXPECT_EQ(others, outcomes);
          });
        }
        if (HasFailure()) return;
        turn_over(filter, stored, std::min<std::size_t>(stored.size(), 20'000));
        erase_all(filter, stored);
        if (HasFailure()) return;
      }
    }
  }
}

// Keys of one or two blocks and few classes, built in bulk.
TEST_P(LaneUnions, BuiltFromCrowds) {
  for (int round = 0; round < 120 && !HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const Filter empty(options(64));
    const Geometry& geometry = FilterAccess::blocks(empty).view.geometry;
    const auto classes = 1 + static_cast<std::uint32_t>(random_() % (round % 4 == 0 ? 3 : 120));
    const std::uint64_t homes = 1 + random_() % 5;
    std::vector<std::uint64_t> hashes = draw(random_() % 2000);
    for (std::uint64_t i = 40 + random_() % 100; i > 0; --i) {
      // In some rounds also the highest ones, whose leaving mixes a block.
      auto of = 1 + static_cast<std::uint32_t>(random_() % classes);
      if (round % 3 == 0 && random_() % 3 != 0) of = 255 - of % 8;
      hashes.push_back(hash_of_class(GetParam(), geometry, random_() % homes, of, random_));
      if (random_() % 4 == 0) hashes.push_back(twin_of(GetParam(), geometry, hashes.back()));
      if (random_() % 4 == 0) hashes.push_back(hashes.back());
    }
    std::shuffle(hashes.begin(), hashes.end(), random_);
    const std::vector<Hash> all = keys_of(hashes);
    std::vector<Outcome> outcomes(all.size());
    Filter filter = Filter::build(options(64), all, outcomes);
    std::vector<std::uint64_t> stored = stored_of(hashes, outcomes);
    expect_lane_rules(filter, stored);
    turn_over(filter, stored, 500);
    erase_all(filter, stored);
  }
}

TEST_P(LaneUnions, Merged) {
  for (const double share : {0.0, 0.3, 0.5, 0.9}) {
    for (const double load : {0.6, 0.9, 0.95}) {
      for (const std::uint32_t most : {0u, 6u}) {
        SCOPED_TRACE("share " + std::to_string(share) + ", load " + std::to_string(load) +
                     ", copies up to " + std::to_string(most));
        constexpr std::uint64_t kBases = 300;
        Filter one = lanes_filter(GetParam(), kBases);
        Filter other = lanes_filter(GetParam(), kBases);
        const Geometry geometry = FilterAccess::blocks(one).view.geometry;
        const double slots = static_cast<double>(one.slots());
        std::vector<std::uint64_t> of_one;
        std::vector<std::uint64_t> of_other;
        const auto fill = [&](Filter& filter, std::vector<std::uint64_t>& stored, double to) {
          auto hashes = draw(static_cast<std::size_t>(to * slots));
          if (hashes.size() > 10 && most != 0) {
            const std::size_t copies = hashes.size() / 10;
            hashes.resize(hashes.size() - copies);
            repeat(geometry, hashes, copies, most);
          }
          for (const std::uint64_t hash : hashes) {
            if (filter.insert(Hash{hash})) stored.push_back(hash);
          }
          if (!stored.empty()) turn_over(filter, stored, stored.size());
        };
        fill(one, of_one, load * share);
        fill(other, of_other, load * (1 - share));
        // Some blocks of both are open.
        const auto open = [&](Filter& filter, std::vector<std::uint64_t>& stored) {
          if (most == 0) return;
          for (int i = 0; i < 4; ++i) {
            const std::uint64_t hash = random_();
            const Blocks& state = FilterAccess::blocks(filter);
            const Place home = home_of(GetParam(), geometry, hash);
            state.engine->build->open(state.blocks()[home.block],
                                      block_classes(GetParam(), geometry, home.block),
                                      home.fingerprint);
            for (std::uint32_t n = 0; n < 3; ++n) {
              if (filter.insert(Hash{hash})) stored.push_back(hash);
            }
          }
        };
        open(one, of_one);
        open(other, of_other);
        if (HasFailure()) return;
        const auto before = block_bytes(one);
        std::vector<std::uint64_t> both = of_one;
        both.insert(both.end(), of_other.begin(), of_other.end());
        try {
          one.merge(other);
        } catch (const std::length_error& error) {
          EXPECT_TRUE(load > 0.9 || most != 0) << error.what();
          EXPECT_EQ(block_bytes(one), before);
          continue;
        }
        expect_lane_rules(one, both);
        expect_lane_rules(other, of_other);
        if (HasFailure()) return;
        turn_over(one, both, both.size());
        erase_all(one, both);
        if (HasFailure()) return;
      }
    }
  }
}

// A filter with itself: every key is there twice.
TEST_P(LaneUnions, MergedWithItself) {
  Filter filter = lanes_filter(GetParam(), 128);
  std::vector<std::uint64_t> stored = draw(filter.slots() * 4 / 10);
  for (const std::uint64_t hash : stored) ASSERT_TRUE(filter.insert(Hash{hash}));
  filter.merge(filter);
  const std::vector<std::uint64_t> again = stored;
  stored.insert(stored.end(), again.begin(), again.end());
  expect_lane_rules(filter, stored);
  turn_over(filter, stored, 2 * stored.size());
  erase_all(filter, stored);
}

// Merges that are tried at all loads and may leave copies out: what is left out is not known, so
// only look-ups and sizes are checked.
TEST_P(LaneUnions, MergedWithCopiesLeftOut) {
  for (int round = 0; round < 30 && !HasFailure(); ++round) {
    Filter one = lanes_filter(GetParam(), 64);
    Filter other = lanes_filter(GetParam(), 64);
    std::vector<std::uint64_t> keys = draw(one.slots() * (random_() % 9) / 20);
    const std::vector<std::uint64_t> copied = draw(6);
    for (Filter* filter : {&one, &other}) {
      for (const std::uint64_t hash : keys) (void)filter->insert(Hash{hash});
      for (const std::uint64_t hash : copied) {
        for (std::uint64_t n = random_() % 9; n > 0; --n) (void)filter->insert(Hash{hash});
      }
    }
    std::vector<std::uint64_t> all = keys;
    all.insert(all.end(), copied.begin(), copied.end());
    std::vector<bool> had;
    for (const std::uint64_t hash : all) {
      had.push_back(one.may_contain(Hash{hash}) || other.may_contain(Hash{hash}));
    }
    try {
      one.merge(other, round % 2 == 0 ? Copies::most : Copies::that_fit);
    } catch (const std::length_error&) {
      continue;
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_TRUE(!had[i] || one.may_contain(Hash{all[i]}));
    }
  }
}

TEST_P(LaneUnions, NotMergedWithAPlainFilter) {
  Filter lanes = lanes_filter(GetParam(), 64);
  Filter plain = FilterAccess::make(make_blocks({GetParam(), Geometry{64, 0}, 5, 64}, nullptr));
  ASSERT_TRUE(lanes.insert(Hash{1}));
  ASSERT_TRUE(plain.insert(Hash{2}));
  for (auto [into, other] : {std::pair(&lanes, &plain), std::pair(&plain, &lanes)}) {
    const auto before = block_bytes(*into);
    std::string why;
    EXPECT_FALSE(into->can_merge(*other, &why));
    EXPECT_NE(why.find("hash version"), std::string::npos) << why;
    EXPECT_THROW(into->merge(*other), std::invalid_argument);
    EXPECT_EQ(block_bytes(*into), before);
  }
}

TEST_P(LaneUnions, Doubled) {
  Filter filter = lanes_filter(GetParam(), 64);
  std::vector<std::uint64_t> stored;
  const auto fill = [&](double load, unsigned meeting) {
    const Geometry geometry = FilterAccess::blocks(filter).view.geometry;
    const auto keys = static_cast<std::size_t>(load * static_cast<double>(filter.slots()));
    for (int refused = 0; stored.size() < keys && refused < 50;) {
      std::uint64_t hash = random_();
      if (!stored.empty() && random_() % 100 < meeting) {
        hash = stored[random_() % stored.size()];
        if (random_() % 2 == 0) hash = twin_of(GetParam(), geometry, hash);
      }
      if (filter.insert(Hash{hash})) {
        stored.push_back(hash);
      } else {
        ++refused;
      }
    }
  };
  for (unsigned growth = 0;; ++growth) {
    SCOPED_TRACE("growth " + std::to_string(growth));
    fill(0.85, 4);
    expect_lane_rules(filter, stored);
    if (HasFailure()) return;
    turn_over(filter, stored, std::min<std::size_t>(stored.size(), 6000));
    if (HasFailure() || growth == 5 || !filter.grow()) break;
    expect_lane_rules(filter, stored);
  }
  erase_all(filter, stored);
}

INSTANTIATE_TEST_SUITE_P(Widths, LaneUnions, testing::ValuesIn(kFilterWidths));

}}  // namespace nestline::test
