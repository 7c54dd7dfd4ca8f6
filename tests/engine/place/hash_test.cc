// Pins hash version 2 with vectors, and measures how well the integer mixer mixes.
#include "lib/engine/place/hash.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <string_view>

namespace nestline::test { namespace {

struct IntegerVector {
  std::uint64_t key;
  std::uint64_t seed;
  std::uint64_t hash;
};

// Files depend on these: a change needs a new kHashVersion.
constexpr IntegerVector kIntegerVectors[] = {
    {0x0u, 0x0u, 0xe5d627c71939e519u},
    {0x1u, 0x0u, 0xe799628ce55d1b91u},
    {0x2u, 0x0u, 0x9256b1cfe9af3936u},
    {0x2au, 0x0u, 0xcdfeed8e778c0d74u},
    {0x123456789abcdefu, 0x0u, 0xc56878ad8e9ae56eu},
    {0xffffffffffffffffu, 0x0u, 0xda815bf5ac179741u},
    {0x0u, 0x1u, 0xcfe2e8d0c4efff89u},
    {0x1u, 0x1u, 0x2d4ea3bea37174c0u},
    {0x2u, 0x1u, 0xd60ffe660aea6a08u},
    {0x2au, 0x1u, 0x3bf832a3cdfb5a43u},
    {0x123456789abcdefu, 0x1u, 0x6df3a2e4c4ae71deu},
    {0xffffffffffffffffu, 0x1u, 0xded2d2925e705cf1u},
    {0x0u, 0xdeadbeefu, 0x4e198e4076714f03u},
    {0x1u, 0xdeadbeefu, 0x3ccf3533adab6f1eu},
    {0x2u, 0xdeadbeefu, 0x9ec9a5e9a1bd850au},
    {0x2au, 0xdeadbeefu, 0x24055b33410a2710u},
    {0x123456789abcdefu, 0xdeadbeefu, 0x0f8e7f231d7e1a94u},
    {0xffffffffffffffffu, 0xdeadbeefu, 0x30c127905fecc38bu},
};

// Longer than the 240 bytes up to which XXH3 has paths of their own.
constexpr std::string_view kLongKey =
    "012345678901234567890123456789012345678901234567890123456789"
    "012345678901234567890123456789012345678901234567890123456789"
    "012345678901234567890123456789012345678901234567890123456789"
    "012345678901234567890123456789012345678901234567890123456789"
    "012345678901234567890123456789";

struct StringVector {
  std::string_view key;
  std::uint64_t seed;
  std::uint64_t hash;
};

constexpr StringVector kStringVectors[] = {
    {"", 0x0u, 0x2d06800538d394c2u},
    {"a", 0x0u, 0xe6c632b61e964e1fu},
    {"nest", 0x0u, 0xdfa44f08ae9ab692u},
    {"cuckoo filter", 0x0u, 0x7a8a795ccdc5c36eu},
    {"a string that is longer than the sixteen bytes of the short path", 0x0u, 0xe105479a19d1ba1fu},
    {kLongKey, 0x0u, 0xfd48b2d093ddfe8bu},
    {"", 0xdeadbeefu, 0x6676ee0cdb2228c2u},
    {"a", 0xdeadbeefu, 0x66ef85b72eb5691bu},
    {"nest", 0xdeadbeefu, 0x1b8d0ca6dd993a89u},
    {"cuckoo filter", 0xdeadbeefu, 0xe9a7c088db706afbu},
    {"a string that is longer than the sixteen bytes of the short path", 0xdeadbeefu,
     0x67aa6701099f16efu},
    {kLongKey, 0xdeadbeefu, 0x57fb486d9da9abe1u},
};

TEST(Hash, IntegerVectors) {
  ASSERT_EQ(kHashVersion, 2u);
  for (const IntegerVector& v : kIntegerVectors) {
    EXPECT_EQ(hash_key(v.key, v.seed).value, v.hash) << v.key << " under seed " << v.seed;
    EXPECT_EQ(mix_integer(v.key, derive_secrets(v.seed)), v.hash);
  }
}

TEST(Hash, StringVectors) {
  for (const StringVector& v : kStringVectors) {
    EXPECT_EQ(hash_key(v.key, v.seed).value, v.hash) << v.key << " under seed " << v.seed;
  }
}

TEST(Hash, StringsOfAnyLengthDiffer) {
  const std::string bytes(2000, '\0');
  std::set<std::uint64_t> hashes;
  for (std::size_t length = 0; length <= bytes.size(); ++length) {
    hashes.insert(hash_bytes(std::string_view(bytes).substr(0, length), 1));
  }
  EXPECT_EQ(hashes.size(), bytes.size() + 1);
}

// Each output bit that a place depends on flips for half of the keys when one input bit is flipped:
// within six standard deviations for each pair, and within noise on average. Keys are counters and
// random. The lowest bits, which only the bucket offset of filters above 2^14 blocks reads, are
// mixed less.
TEST(Hash, MixerAvalanches) {
  constexpr int kKeys = 20000;
  constexpr std::size_t kLowest = 18;
  std::mt19937_64 random(11);
  const MixSecrets secrets = derive_secrets(0);
  std::array<std::array<int, 64>, 64> flips{};
  for (int i = 0; i < kKeys; ++i) {
    const std::uint64_t key = i % 2 == 0 ? static_cast<std::uint64_t>(i) : random();
    const std::uint64_t hash = mix_integer(key, secrets);
    for (std::size_t in = 0; in < 64; ++in) {
      const std::uint64_t changed = hash ^ mix_integer(key ^ std::uint64_t{1} << in, secrets);
      for (std::size_t out = kLowest; out < 64; ++out) flips[in][out] += (changed >> out & 1) != 0;
    }
  }
  const double deviation = std::sqrt(kKeys) / 2;
  double square_sum = 0;
  for (const auto& row : flips) {
    for (std::size_t out = kLowest; out < 64; ++out) {
      const double z = (row[out] - kKeys / 2.0) / deviation;
      EXPECT_LT(std::abs(z), 6);
      square_sum += z * z;
    }
  }
  EXPECT_NEAR(square_sum / (64 * (64 - kLowest)), 1, 0.15);
}

// Keys that users really pass: counters, strides, pointers, high bits only. The parts that make up
// a place must be even: chi-squared over 256 values, within six deviations.
TEST(Hash, RegularKeysSpreadEvenly) {
  const MixSecrets secrets = derive_secrets(3);
  for (const std::uint64_t stride :
       {std::uint64_t{1}, std::uint64_t{8}, std::uint64_t{64}, std::uint64_t{4096},
        std::uint64_t{1} << 32, std::uint64_t{1} << 44, std::uint64_t{1000003}}) {
    for (const int shift : {18, 24, 32, 40, 48, 56}) {
      constexpr int kKeys = 1 << 16;
      std::array<int, 256> seen{};
      for (std::uint64_t i = 0; i < kKeys; ++i) {
        ++seen[mix_integer(i * stride, secrets) >> shift & 255];
      }
      double chi_squared = 0;
      for (const int count : seen) {
        const double off = count - kKeys / 256.0;
        chi_squared += off * off / (kKeys / 256.0);
      }
      EXPECT_LT(chi_squared, 255 + 6 * std::sqrt(2 * 255)) << stride << " bits from " << shift;
    }
  }
}

TEST(Hash, SeedsGiveUnrelatedHashes) {
  for (std::uint64_t seed = 0; seed < 64; ++seed) {
    int differing = 0;
    for (std::uint64_t key = 0; key < 64; ++key) {
      differing += std::popcount(hash_key(key, seed).value ^ hash_key(key, seed + 1).value);
    }
    EXPECT_NEAR(differing / 64.0, 32, 4);
  }
}

}  // namespace
}  // namespace nestline::test
