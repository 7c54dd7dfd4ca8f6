// The rate of false positives of keys that users really pass, or that are hard to mix. Stored and
// asked keys are of one family, so that a weakness of the mixer shows as a rate above or below that
// of random keys.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "nestline/filter.h"

namespace nestline::test { namespace {

struct Family {
  const char* name;
  std::uint64_t (*key)(std::uint64_t number);
};

std::uint64_t digits(std::uint64_t number) {
  std::uint64_t text = 0;
  for (int i = 0; i < 8; ++i, number /= 10) text |= ('0' + number % 10) << 8 * i;
  return text;
}

std::uint64_t reversed_bits(std::uint64_t number) {
  std::uint64_t reversed = 0;
  for (int i = 0; i < 64; ++i, number >>= 1) reversed = reversed << 1 | (number & 1);
  return reversed;
}

constexpr Family kFamilies[] = {
    {"counter", [](std::uint64_t n) { return n; }},
    {"even", [](std::uint64_t n) { return n << 1; }},
    {"aligned pointers", [](std::uint64_t n) { return 0x7f0000000000u + (n << 4); }},
    {"pages", [](std::uint64_t n) { return n << 12; }},
    {"high half", [](std::uint64_t n) { return n << 32; }},
    {"highest bits", [](std::uint64_t n) { return n << 43; }},
    {"bits reversed", reversed_bits},
    {"times 1000", [](std::uint64_t n) { return n * 1000; }},
    {"days in milliseconds", [](std::uint64_t n) { return n * 86'400'000; }},
    {"equal halves", [](std::uint64_t n) { return n << 32 | n; }},
    {"pairs of numbers", [](std::uint64_t n) { return n >> 10 << 32 | (n & 1023); }},
    {"pairs, small first", [](std::uint64_t n) { return (n & 63) << 32 | n >> 6; }},
    {"time and sequence", [](std::uint64_t n) { return n >> 3 << 22 | (n & 7); }},
    {"both signs", [](std::uint64_t n) { return n % 2 == 0 ? n : ~n; }},
    {"whole doubles", [](std::uint64_t n) { return std::bit_cast<std::uint64_t>(double(n)); }},
    {"doubles of thousandths",
     [](std::uint64_t n) { return std::bit_cast<std::uint64_t>(double(n) / 1000); }},
    {"decimal digits", digits},
};

class KeyFamilies : public testing::TestWithParam<Family> {};

TEST_P(KeyFamilies, AreAsGoodAsRandomKeys) {
  constexpr std::uint64_t kStored = 200'000;
  constexpr std::uint64_t kAsked = 400'000;
  for (const std::uint64_t seed : {0u, 1u, 12345u}) {
    Filter filter({.capacity = kStored, .bits = 8, .seed = seed});
    std::vector<std::uint64_t> keys(kStored);
    for (std::uint64_t n = 0; n < kStored; ++n) keys[n] = GetParam().key(n);
    ASSERT_EQ(filter.insert(keys), kStored);
    keys.resize(kAsked);
    for (std::uint64_t n = 0; n < kAsked; ++n) keys[n] = GetParam().key(kStored + n);
    std::vector<std::uint8_t> found(kAsked);
    const auto rate = static_cast<double>(filter.may_contain(keys, found)) / kAsked;
    // About 6500 are expected; 8 % are more than six deviations.
    EXPECT_NEAR(rate, filter.expected_fpr(), 0.08 * filter.expected_fpr()) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(All, KeyFamilies, testing::ValuesIn(kFamilies),
                         [](const auto& family) { return "No" + std::to_string(family.index); });

// The rate of a small filter of 8 bits, in units of the expected one.
template <typename Key>
double relative_rate(std::uint64_t seed, std::uint64_t stored, Key&& key) {
  Filter filter({.capacity = stored, .bits = 8, .seed = seed});
  for (std::uint64_t n = 0; n < stored; ++n) EXPECT_TRUE(filter.insert(key(n)));
  const std::uint64_t asked = 4 * stored;
  double found = 0;
  for (std::uint64_t n = 0; n < asked; ++n) found += filter.may_contain(key(stored + n)) ? 1 : 0;
  return found / static_cast<double>(asked) / filter.expected_fpr();
}

// What docs/SIZING.md, "Strangers' keys", says of integers that are chosen to meet, by undoing the
// first fold of the mixer, and of the same keys as strings.
TEST(CraftedKeys, CrowdAsIntegersUnderSomeSeedsAndAsStringsUnderNone) {
  constexpr std::uint64_t kSeeds = 300;
  const auto crafted = [](std::uint64_t number) {
    const std::uint64_t folded = number << 48;
    return folded ^ folded >> 29 ^ folded >> 58;
  };
  for (const std::uint64_t stored : {512u, 8192u}) {
    std::uint64_t integers = 0;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const double rate = relative_rate(seed, stored, crafted);
      EXPECT_LT(rate, 25) << seed;
      integers += rate > 2 ? 1 : 0;
      const auto as_string = [&](std::uint64_t number) {
        const auto bytes = std::bit_cast<std::array<char, 8>>(crafted(number));
        return std::string(bytes.data(), bytes.size());
      };
      if (seed % 3 == 0) {
        EXPECT_LT(relative_rate(seed, stored, as_string), 2) << seed;
      }
    }
    EXPECT_GE(integers, kSeeds * 3 / 100) << stored;
    EXPECT_LE(integers, kSeeds * 22 / 100) << stored;
  }
}

// How GoogleTest shows it.
void PrintTo(const Family& family, std::ostream* out) { *out << family.name; }

}  // namespace
}  // namespace nestline::test
