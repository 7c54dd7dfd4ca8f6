// The rate of false positives of keys that users really pass, or that are hard to mix. Stored and
// asked keys are of one family, so that a weakness of the mixer shows as a rate above or below that
// of random keys.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "nestline/filter.h"

namespace nestline::test {
namespace {

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

// How GoogleTest shows it.
void PrintTo(const Family& family, std::ostream* out) { *out << family.name; }

}  // namespace
}  // namespace nestline::test
