// From a hash to its place: pinned vectors, even homes, and the alternate as its own inverse for
// any number of blocks.
#include "lib/place/geometry.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "lib/place/layout.h"

namespace nestline::test {
namespace {

struct PlaceVector {
  int bits;
  std::uint64_t hash;
  std::uint64_t base_blocks;
  std::uint32_t growth;
  std::uint64_t block;
  std::uint32_t fingerprint;
  std::uint32_t phase;
  std::uint64_t bucket;
  std::uint32_t spill_class;
  std::uint64_t alternate;
};

// Files depend on these: a change needs a new kHashVersion.
constexpr PlaceVector kVectors[] = {
    {8, 0x0000000000000000u, 1, 0, 0, 1, 0, 0x0010000808000001u, 180, 0},
    {8, 0x0000000000000000u, 1000003, 0, 0, 1, 0, 0x0010000808000001u, 180, 997159},
    {8, 0x0000000000000000u, 7, 3, 0, 1, 0, 0x0010000808000001u, 180, 48},
    {8, 0x0123456789abcdefu, 1, 0, 0, 206, 10, 0x0020000200020400u, 18, 0},
    {8, 0x0123456789abcdefu, 1000003, 0, 4444, 206, 10, 0x0020000200020400u, 18, 783585},
    {8, 0x0123456789abcdefu, 7, 3, 6, 206, 10, 0x0020000200020400u, 18, 46},
    {8, 0xfedcba9876543210u, 1, 0, 0, 50, 4, 0x0080000080800010u, 225, 0},
    {8, 0xfedcba9876543210u, 1000003, 0, 995558, 50, 4, 0x0080000080800010u, 225, 988486},
    {8, 0xfedcba9876543210u, 7, 3, 49, 50, 4, 0x0080000080800010u, 225, 1},
    {8, 0x5555555555555555u, 1, 0, 0, 85, 4, 0x0000800410000010u, 170, 0},
    {8, 0x5555555555555555u, 1000003, 0, 333334, 85, 4, 0x0000800410000010u, 170, 513164},
    {8, 0x5555555555555555u, 7, 3, 18, 85, 4, 0x0000800410000010u, 170, 26},
    {8, 0xffffffffffffffffu, 1, 0, 0, 255, 14, 0x0080100008004000u, 62, 0},
    {8, 0xffffffffffffffffu, 1000003, 0, 1000002, 255, 14, 0x0080100008004000u, 62, 373573},
    {8, 0xffffffffffffffffu, 7, 3, 55, 255, 14, 0x0080100008004000u, 62, 31},
    {12, 0x0000000000000000u, 1, 0, 0, 1, 0, 0x0000000800840001u, 180, 0},
    {12, 0x0000000000000000u, 1000003, 0, 0, 1, 0, 0x0000000800840001u, 180, 997159},
    {12, 0x0000000000000000u, 7, 3, 0, 1, 0, 0x0000000800840001u, 180, 48},
    {12, 0x0123456789abcdefu, 1, 0, 0, 4046, 6, 0x0000004020040040u, 28, 0},
    {12, 0x0123456789abcdefu, 1000003, 0, 4444, 4046, 6, 0x0000004020040040u, 28, 127202},
    {12, 0x0123456789abcdefu, 7, 3, 7, 4046, 6, 0x0000004020040040u, 28, 7},
    {12, 0xfedcba9876543210u, 1, 0, 0, 50, 3, 0x0000002000210008u, 67, 0},
    {12, 0xfedcba9876543210u, 1000003, 0, 995558, 50, 3, 0x0000002000210008u, 67, 675843},
    {12, 0xfedcba9876543210u, 7, 3, 48, 50, 3, 0x0000002000210008u, 67, 40},
    {12, 0x5555555555555555u, 1, 0, 0, 1365, 3, 0x0000001000440008u, 141, 0},
    {12, 0x5555555555555555u, 1000003, 0, 333334, 1365, 3, 0x0000001000440008u, 141, 911124},
    {12, 0x5555555555555555u, 7, 3, 18, 1365, 3, 0x0000001000440008u, 141, 50},
    {12, 0xffffffffffffffffu, 1, 0, 0, 4095, 9, 0x0000000048008200u, 169, 0},
    {12, 0xffffffffffffffffu, 1000003, 0, 1000002, 4095, 9, 0x0000000048008200u, 169, 168047},
    {12, 0xffffffffffffffffu, 7, 3, 55, 4095, 9, 0x0000000048008200u, 169, 23},
    {16, 0x0000000000000000u, 1, 0, 0, 1, 0, 0x0000000008204801u, 180, 0},
    {16, 0x0000000000000000u, 1000003, 0, 0, 1, 0, 0x0000000008204801u, 180, 997159},
    {16, 0x0000000000000000u, 7, 3, 0, 1, 0, 0x0000000008204801u, 180, 48},
    {16, 0x0123456789abcdefu, 1, 0, 0, 52719, 4, 0x0000000002060410u, 100, 0},
    {16, 0x0123456789abcdefu, 1000003, 0, 4444, 52719, 4, 0x0000000002060410u, 100, 405786},
    {16, 0x0123456789abcdefu, 7, 3, 6, 52719, 4, 0x0000000002060410u, 100, 22},
    {16, 0xfedcba9876543210u, 1, 0, 0, 12816, 1, 0x0000000020088082u, 252, 0},
    {16, 0xfedcba9876543210u, 1000003, 0, 995558, 12816, 1, 0x0000000020088082u, 252, 721000},
    {16, 0xfedcba9876543210u, 7, 3, 49, 12816, 1, 0x0000000020088082u, 252, 49},
    {16, 0x5555555555555555u, 1, 0, 0, 21845, 1, 0x0000000008801202u, 97, 0},
    {16, 0x5555555555555555u, 1000003, 0, 333334, 21845, 1, 0x0000000008801202u, 97, 178294},
    {16, 0x5555555555555555u, 7, 3, 18, 21845, 1, 0x0000000008801202u, 97, 10},
    {16, 0xffffffffffffffffu, 1, 0, 0, 65535, 5, 0x0000000002084820u, 97, 0},
    {16, 0xffffffffffffffffu, 1000003, 0, 1000002, 65535, 5, 0x0000000002084820u, 97, 565128},
    {16, 0xffffffffffffffffu, 7, 3, 55, 65535, 5, 0x0000000002084820u, 97, 39},
};

TEST(Geometry, Vectors) {
  for (const PlaceVector& v : kVectors) {
    visit_layout(v.bits, [&](auto layout) {
      const Geometry geometry{v.base_blocks, v.growth};
      const Place place = home_of<decltype(layout)>(geometry, v.hash);
      EXPECT_EQ(place.block, v.block);
      EXPECT_EQ(place.fingerprint, v.fingerprint);
      EXPECT_EQ(place.phase, v.phase);
      EXPECT_EQ(place.bucket, v.bucket);
      EXPECT_EQ(spill_class(place.fingerprint), v.spill_class);
      EXPECT_EQ(alternate_of(geometry, place), v.alternate);
    });
  }
}

template <class Layout>
class GeometryTest : public testing::Test {};
using Layouts = testing::Types<Layout<8>, Layout<12>, Layout<16>>;
TYPED_TEST_SUITE(GeometryTest, Layouts);

TYPED_TEST(GeometryTest, AlternateIsItsOwnInverse) {
  using L = TypeParam;
  std::mt19937_64 random(1);
  for (const std::uint64_t bases :
       {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3}, std::uint64_t{64},
        std::uint64_t{1000003}, (std::uint64_t{1} << 32) + 1, kMaxBlocks}) {
    for (const std::uint32_t growth : {0u, 1u, 6u}) {
      const Geometry geometry{bases, growth};
      for (int i = 0; i < 3000; ++i) {
        const Place home = home_of<L>(geometry, random());
        const Place away = moved(geometry, home);
        ASSERT_LT(home.block, geometry.blocks());
        ASSERT_LT(away.block, geometry.blocks());
        ASSERT_EQ(moved(geometry, away).block, home.block);
        // The child number is the fingerprint's in both.
        const std::uint64_t children = (std::uint64_t{1} << growth) - 1;
        ASSERT_EQ(home.block & children, away.block & children);
      }
    }
  }
}

TYPED_TEST(GeometryTest, DoublingSplitsEveryBlockInTwo) {
  using L = TypeParam;
  std::mt19937_64 random(2);
  for (int i = 0; i < 10000; ++i) {
    const std::uint64_t hash = random();
    for (std::uint32_t growth = 0; growth < 6; ++growth) {
      const Place before = home_of<L>({61, growth}, hash);
      const Place after = home_of<L>({61, growth + 1}, hash);
      ASSERT_EQ(after.block / 2, before.block);
      ASSERT_EQ(after.bucket, before.bucket);
      ASSERT_EQ(moved({61, growth + 1}, after).block / 2, moved({61, growth}, before).block);
    }
  }
}

// Homes and alternates fall on all blocks evenly: chi-squared within six deviations.
TYPED_TEST(GeometryTest, BlocksAreUsedEvenly) {
  using L = TypeParam;
  std::mt19937_64 random(3);
  for (const std::uint64_t bases : {7u, 60u, 1000u}) {
    const Geometry geometry{bases, 0};
    constexpr int kKeys = 1 << 20;
    std::vector<int> homes(bases);
    std::vector<int> aways(bases);
    for (int i = 0; i < kKeys; ++i) {
      const Place home = home_of<L>(geometry, random());
      ++homes[home.block];
      ++aways[moved(geometry, home).block];
    }
    const double even = kKeys / static_cast<double>(bases);
    const auto chi_squared = [&](const std::vector<int>& seen) {
      double sum = 0;
      for (const int count : seen) sum += (count - even) * (count - even) / even;
      return sum;
    };
    const double limit =
        static_cast<double>(bases) + 6 * std::sqrt(2.0 * static_cast<double>(bases));
    EXPECT_LT(chi_squared(homes), limit);
    EXPECT_LT(chi_squared(aways), limit);
  }
}

// Beyond 2^32 blocks the fingerprint, the phase and the block are still independent.
TYPED_TEST(GeometryTest, PhasesAreEvenInFiltersOfTheLargestSize) {
  using L = TypeParam;
  std::mt19937_64 random(4);
  const Geometry geometry{kMaxBlocks - 3, 0};
  std::vector<int> phases(2 * L::kSlotsPerLane);
  constexpr int kKeys = 1 << 18;
  for (int i = 0; i < kKeys; ++i) {
    const Place home = home_of<L>(geometry, random());
    ++phases[2 * home.phase + home.block % 2];
  }
  const double even = kKeys / static_cast<double>(phases.size());
  for (const int count : phases) EXPECT_NEAR(count, even, 6 * std::sqrt(even) + 0.01 * even);
}

}  // namespace
}  // namespace nestline::test
