// The part of a key says nothing about its place in the part: parts err and fill as filters do that
// have as many keys by chance. And how batches are split.
#include "lib/engine/place/parts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/engine/place/hash.h"
#include "lib/engine/place/layout.h"
#include "lib/faces/cluster/key_split.h"
#include "nestline/filter.h"

namespace nestline::cluster { namespace {

// The hash decides the server that has a key: another value here splits every logical filter.
TEST(Parts, AreFrozen) {
  EXPECT_EQ(part_of(0, 16384), 0U);
  EXPECT_EQ(part_of(1, 16384), 5538U);
  EXPECT_EQ(part_of(0x0123456789abcdef, 16384), 4876U);
  EXPECT_EQ(part_of(~std::uint64_t{0}, 64), 51U);
  EXPECT_EQ(part_of(~std::uint64_t{0}, 1), 0U);
}

// Hashes of integers in progression, as keys often are, and of strings.
std::vector<std::uint64_t> hashes_of_integers(std::uint64_t first, std::uint64_t count,
                                              std::uint64_t step) {
  std::vector<std::uint64_t> hashes;
  const KeyHasher hash_of = hasher_of(17);
  for (std::uint64_t i = 0; i < count; ++i) hashes.push_back(hash_of(first + i * step).value);
  return hashes;
}

// Chi-squared of the sizes of parts: its mean is parts - 1, its deviation sqrt(2 * parts).
TEST(Parts, HaveEvenShares) {
  for (const std::uint64_t step : {std::uint64_t{1}, std::uint64_t{4096}, std::uint64_t{1} << 40}) {
    for (const std::uint32_t parts : {3U, 64U, 1000U, 16384U}) {
      std::vector<double> sizes(parts);
      const auto hashes = hashes_of_integers(0, 2'000'000, step);
      for (const std::uint64_t hash : hashes) {
        const std::uint32_t part = part_of(hash, parts);
        ASSERT_LT(part, parts);
        ++sizes[part];
      }
      const double share = static_cast<double>(hashes.size()) / parts;
      double sum = 0;
      for (const double size : sizes) sum += (size - share) * (size - share) / share;
      EXPECT_NEAR(sum, parts - 1, 6 * std::sqrt(2.0 * parts)) << parts << " " << step;
    }
  }
}

// The high bits of the hash choose the home block, those below them the fingerprint. Given a part,
// all of them are as without.
TEST(Parts, LeaveEveryBitOfTheHashAsItWas) {
  constexpr std::uint32_t kParts = 64;
  std::array<std::array<double, 64>, kParts> ones{};
  std::array<double, kParts> sizes{};
  std::uint64_t state = 1;
  for (int i = 0; i < 2'000'000; ++i) {
    state = mix_integer(state + 0x9e3779b97f4a7c15u, {kMixMultiplier2, kMixMultiplier1});
    const std::uint64_t hash = state ^ state >> 31;
    const std::uint32_t part = part_of(hash, kParts);
    ++sizes[part];
    for (unsigned bit = 0; bit < 64; ++bit) ones[part][bit] += static_cast<double>(hash >> bit & 1);
  }
  for (std::uint32_t part = 0; part < kParts; ++part) {
    for (unsigned bit = 0; bit < 64; ++bit) {
      EXPECT_NEAR(ones[part][bit], sizes[part] / 2, 6 * std::sqrt(sizes[part]) / 2)
          << part << " " << bit;
    }
  }
}

// What one filter of `count` hashes does: strangers that it finds, and how many hashes fit.
struct Behaviour {
  double strangers_found = 0;
  double strangers = 0;
  std::uint64_t fill = 0;
};

Behaviour behaviour(const std::vector<std::uint64_t>& own, const std::vector<std::uint64_t>& more,
                    const std::vector<std::uint64_t>& strangers, int bits) {
  Filter filter({.capacity = own.size(), .bits = bits});
  for (const std::uint64_t hash : own) EXPECT_TRUE(filter.insert(Hash{hash}));
  Behaviour seen;
  seen.strangers = static_cast<double>(strangers.size());
  for (const std::uint64_t hash : strangers) seen.strangers_found += filter.may_contain(Hash{hash});
  seen.fill = own.size();
  for (const std::uint64_t hash : more) {
    if (!filter.insert(Hash{hash})) break;
    ++seen.fill;
  }
  return seen;
}

class PartsOfWidth : public testing::TestWithParam<int> {};

// All parts together against as many filters whose hashes were not chosen by a part.
TEST_P(PartsOfWidth, ErrAndFillAsFiltersDo) {
  constexpr std::uint32_t kParts = 16;
  constexpr std::uint64_t kOwn = 20'000, kMore = 4'000, kStrangers = 200'000;
  std::array<std::vector<std::uint64_t>, kParts> own, more, strangers;
  const auto deal = [](auto& to, std::uint64_t first, std::uint64_t count) {
    for (const std::uint64_t hash : hashes_of_integers(first, 2 * kParts * count, 1)) {
      auto& part = to[part_of(hash, kParts)];
      if (part.size() < count) part.push_back(hash);
    }
  };
  deal(own, 0, kOwn);
  deal(more, std::uint64_t{1} << 40, kMore);
  deal(strangers, std::uint64_t{1} << 50, kStrangers);
  Behaviour parts, filters;
  std::uint64_t least_part = ~std::uint64_t{0}, least_filter = ~std::uint64_t{0};
  for (std::uint64_t i = 0; i < kParts; ++i) {
    const Behaviour part = behaviour(own[i], more[i], strangers[i], GetParam());
    const Behaviour filter = behaviour(
        hashes_of_integers(i << 32, kOwn, 1), hashes_of_integers((i << 32) + (1U << 30), kMore, 1),
        hashes_of_integers((i << 32) + (1U << 31), kStrangers, 1), GetParam());
    parts.strangers_found += part.strangers_found;
    filters.strangers_found += filter.strangers_found;
    parts.strangers += part.strangers;
    least_part = std::min(least_part, part.fill);
    least_filter = std::min(least_filter, filter.fill);
    parts.fill += part.fill;
    filters.fill += filter.fill;
  }
  const double deviation = std::sqrt(parts.strangers_found + filters.strangers_found);
  EXPECT_NEAR(parts.strangers_found, filters.strangers_found, 6 * deviation + 6);
  // How many keys fit before the first finds no room differs by less than one percent from filter
  // to filter of this size; the mean of 16, and the first of 16 to be full, by less than that.
  EXPECT_NEAR(static_cast<double>(parts.fill), static_cast<double>(filters.fill),
              0.005 * static_cast<double>(filters.fill));
  EXPECT_NEAR(static_cast<double>(least_part), static_cast<double>(least_filter),
              0.015 * static_cast<double>(least_filter));
}

INSTANTIATE_TEST_SUITE_P(Widths, PartsOfWidth, testing::ValuesIn(kFilterWidths));

// Every kind of key against single hashes.
template <typename OneKey>
void expect_split(const std::vector<OneKey>& keys, std::uint32_t parts) {
  constexpr std::uint64_t kSeed = 99;
  KeySplit split;
  split.assign(keys, kSeed, parts);
  HashesByPart uploaded(kSeed, parts);
  const std::size_t some = keys.size() / 3;
  uploaded.append(KeySpan(keys).subspan(0, some));
  uploaded.append(KeySpan(keys).subspan(some, keys.size() - some));
  EXPECT_EQ(uploaded.size(), keys.size());
  std::vector<bool> seen(keys.size());
  for (std::uint32_t part = 0; part < parts; ++part) {
    const auto hashes = split.hashes_of(part);
    const auto positions = split.positions_of(part);
    ASSERT_EQ(hashes.size(), positions.size());
    EXPECT_TRUE(std::ranges::equal(uploaded.of(part), hashes));
    EXPECT_TRUE(std::is_sorted(positions.begin(), positions.end()));
    for (std::size_t i = 0; i < hashes.size(); ++i) {
      EXPECT_EQ(hashes[i], nestline::hash_key(keys[positions[i]], kSeed).value);
      EXPECT_EQ(part_of(hashes[i], parts), part);
      seen[positions[i]] = true;
    }
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), static_cast<std::ptrdiff_t>(keys.size()));
}

TEST(KeySplit, KeepsKeysOfEveryKindInOrder) {
  std::vector<std::uint64_t> integers;
  std::vector<std::int32_t> negative;
  std::vector<std::string> strings;
  std::vector<Hash> hashes;
  for (int i = 0; i < 10'000; ++i) {
    integers.push_back(static_cast<std::uint64_t>(i % 3000));
    negative.push_back(-i);
    strings.push_back(std::to_string(i));
    hashes.push_back({static_cast<std::uint64_t>(i) << 32});
  }
  for (const std::uint32_t parts : {1U, 7U, 64U, 16384U}) {
    expect_split(integers, parts);
    expect_split(negative, parts);
    expect_split(strings, parts);
    expect_split(std::vector<std::string_view>(strings.begin(), strings.end()), parts);
    expect_split(hashes, parts);
    expect_split(std::vector<std::uint64_t>{}, parts);
  }
}

}  // namespace
}  // namespace nestline::cluster
