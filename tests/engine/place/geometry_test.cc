// From a hash to its place: pinned vectors, even homes, and the alternate as its own inverse for
// any number of blocks.
#include "lib/engine/place/geometry.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace nestline::test { namespace {

struct PlaceVector {
  int bits;
  std::uint64_t hash;
  std::uint64_t base_blocks;
  std::uint32_t growth;
  std::uint64_t block;
  std::uint32_t fingerprint;
  std::uint32_t bucket_offset;
  std::uint64_t bucket;
  std::uint32_t eviction_rank;
  std::uint64_t alternate;
};

// Files depend on these: a change needs a new kHashVersion.
constexpr PlaceVector kVectors[] = {
    {8, 0x0000000000000000u, 1, 0, 0, 1, 0, 0x0010000808000001u, 0, 0},
    {8, 0x0000000000000000u, 1000003, 0, 0, 1, 0, 0x0010000808000001u, 0, 997159},
    {8, 0x0000000000000000u, 7, 3, 0, 1, 0, 0x0010000808000001u, 0, 48},
    {8, 0x0123456789abcdefu, 1, 0, 0, 1, 2, 0x0040002020000004u, 0, 0},
    {8, 0x0123456789abcdefu, 1000003, 0, 4444, 117, 2, 0x0800000100400004u, 116, 452692},
    {8, 0x0123456789abcdefu, 7, 3, 0, 7, 14, 0x0040004020004000u, 6, 32},
    {8, 0xfedcba9876543210u, 1, 0, 0, 254, 12, 0x0000201008001000u, 253, 0},
    {8, 0xfedcba9876543210u, 1000003, 0, 995558, 138, 12, 0x0080020000101000u, 137, 668028},
    {8, 0xfedcba9876543210u, 7, 3, 55, 248, 0, 0x0000200808000001u, 247, 23},
    {8, 0x5555555555555555u, 1, 0, 0, 85, 4, 0x0000800410000010u, 84, 0},
    {8, 0x5555555555555555u, 1000003, 0, 333334, 85, 4, 0x0000800410000010u, 84, 513164},
    {8, 0x5555555555555555u, 7, 3, 18, 85, 4, 0x0000800410000010u, 84, 26},
    {8, 0xffffffffffffffffu, 1, 0, 0, 255, 14, 0x0080100008004000u, 254, 0},
    {8, 0xffffffffffffffffu, 1000003, 0, 1000002, 255, 14, 0x0080100008004000u, 254, 373573},
    {8, 0xffffffffffffffffu, 7, 3, 55, 255, 14, 0x0080100008004000u, 254, 31},
    {12, 0x0000000000000000u, 1, 0, 0, 1, 0, 0x0000000800840001u, 0, 0},
    {12, 0x0000000000000000u, 1000003, 0, 0, 1, 0, 0x0000000800840001u, 0, 997159},
    {12, 0x0000000000000000u, 7, 3, 0, 1, 0, 0x0000000800840001u, 0, 48},
    {12, 0x0123456789abcdefu, 1, 0, 0, 18, 2, 0x0000002020020004u, 17, 0},
    {12, 0x0123456789abcdefu, 1000003, 0, 4444, 1875, 0, 0x0000008020004001u, 82, 704174},
    {12, 0x0123456789abcdefu, 7, 3, 0, 127, 4, 0x0000000800404010u, 126, 40},
    {12, 0xfedcba9876543210u, 1, 0, 0, 4077, 7, 0x0000000208040080u, 236, 0},
    {12, 0xfedcba9876543210u, 1000003, 0, 995558, 2220, 9, 0x0000000088000a00u, 171, 883249},
    {12, 0xfedcba9876543210u, 7, 3, 55, 3968, 5, 0x0000000801000820u, 127, 55},
    {12, 0x5555555555555555u, 1, 0, 0, 1365, 3, 0x0000001000440008u, 84, 0},
    {12, 0x5555555555555555u, 1000003, 0, 333334, 1365, 3, 0x0000001000440008u, 84, 911124},
    {12, 0x5555555555555555u, 7, 3, 18, 1365, 3, 0x0000001000440008u, 84, 50},
    {12, 0xffffffffffffffffu, 1, 0, 0, 4095, 9, 0x0000000048008200u, 254, 0},
    {12, 0xffffffffffffffffu, 1000003, 0, 1000002, 4095, 9, 0x0000000048008200u, 254, 168047},
    {12, 0xffffffffffffffffu, 7, 3, 55, 4095, 9, 0x0000000048008200u, 254, 23},
    {16, 0x0000000000000000u, 1, 0, 0, 1, 0, 0x0000000008204801u, 0, 0},
    {16, 0x0000000000000000u, 1000003, 0, 0, 1, 0, 0x0000000008204801u, 0, 997159},
    {16, 0x0000000000000000u, 7, 3, 0, 1, 0, 0x0000000008204801u, 0, 48},
    {16, 0x0123456789abcdefu, 1, 0, 0, 291, 1, 0x0000000004810082u, 34, 0},
    {16, 0x0123456789abcdefu, 1000003, 0, 4444, 30000, 5, 0x00000000041010a0u, 47, 654332},
    {16, 0x0123456789abcdefu, 7, 3, 0, 2038, 5, 0x0000000004801120u, 245, 8},
    {16, 0xfedcba9876543210u, 1, 0, 0, 65244, 4, 0x0000000010110410u, 219, 0},
    {16, 0xfedcba9876543210u, 1000003, 0, 995558, 35535, 0, 0x0000000010402401u, 206, 705070},
    {16, 0xfedcba9876543210u, 7, 3, 55, 63497, 0, 0x0000000010102201u, 8, 23},
    {16, 0x5555555555555555u, 1, 0, 0, 21845, 1, 0x0000000008801202u, 84, 0},
    {16, 0x5555555555555555u, 1000003, 0, 333334, 21845, 1, 0x0000000008801202u, 84, 178294},
    {16, 0x5555555555555555u, 7, 3, 18, 21845, 1, 0x0000000008801202u, 84, 10},
    {16, 0xffffffffffffffffu, 1, 0, 0, 65535, 5, 0x0000000002084820u, 254, 0},
    {16, 0xffffffffffffffffu, 1000003, 0, 1000002, 65535, 5, 0x0000000002084820u, 254, 565128},
    {16, 0xffffffffffffffffu, 7, 3, 55, 65535, 5, 0x0000000002084820u, 254, 39},
};

TEST(Geometry, Vectors) {
  for (const PlaceVector& v : kVectors) {
    visit_layout(v.bits, [&](auto layout) {
      const Geometry geometry{v.base_blocks, v.growth};
      const Place place = home_of<decltype(layout)>(geometry, v.hash);
      EXPECT_EQ(place.block, v.block);
      EXPECT_EQ(place.fingerprint, v.fingerprint);
      EXPECT_EQ(place.bucket_offset, v.bucket_offset);
      EXPECT_EQ(place.bucket, v.bucket);
      EXPECT_EQ(eviction_rank(place.fingerprint), v.eviction_rank);
      EXPECT_EQ(alternate_of(geometry, place), v.alternate);
    });
  }
}

template <class Layout>
class GeometryTest : public testing::Test {};
using Layouts = testing::Types<FilterLayout<8>, FilterLayout<9>, FilterLayout<10>, FilterLayout<12>,
                               FilterLayout<16>>;
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

// Beyond 2^32 blocks the fingerprint, the bucket offset and the block are still independent.
TYPED_TEST(GeometryTest, PhasesAreEvenInFiltersOfTheLargestSize) {
  using L = TypeParam;
  std::mt19937_64 random(4);
  const Geometry geometry{kMaxBlocks - 3, 0};
  std::vector<int> bucket_offsets(2 * L::kSlotsPerSegment);
  constexpr int kKeys = 1 << 18;
  for (int i = 0; i < kKeys; ++i) {
    const Place home = home_of<L>(geometry, random());
    ++bucket_offsets[2 * home.bucket_offset + home.block % 2];
  }
  const double even = kKeys / static_cast<double>(bucket_offsets.size());
  for (const int count : bucket_offsets)
    EXPECT_NEAR(count, even, 6 * std::sqrt(even) + 0.01 * even);
}

}  // namespace
}  // namespace nestline::test
