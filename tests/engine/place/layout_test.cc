// The block layouts: where bits are, and that a slot gives back what a key put into it.
#include "lib/engine/place/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace nestline::test { namespace {

template <class Layout>
class LayoutTest : public testing::Test {};
using Layouts = testing::Types<FilterLayout<8>, FilterLayout<9>, FilterLayout<10>, FilterLayout<12>,
                               FilterLayout<16>>;
TYPED_TEST_SUITE(LayoutTest, Layouts);

TYPED_TEST(LayoutTest, SlotsKeepWhatIsStored) {
  using L = TypeParam;
  std::mt19937_64 random(1);
  Block block{};
  std::uint32_t expected[64] = {};
  for (int i = 0; i < 20000; ++i) {
    const auto slot = static_cast<std::uint32_t>(random() % L::kSlots);
    const std::uint32_t fingerprint =
        random() % 4 == 0 ? 0 : L::fingerprint_of(static_cast<std::uint32_t>(random()));
    L::set(block, slot, fingerprint);
    expected[slot] = fingerprint;
    for (std::uint32_t s = 0; s < L::kSlots; ++s) ASSERT_EQ(L::get(block, s), expected[s]);
    for (std::size_t b = kOverflowMarkByte; b < kBlockBytes; ++b) ASSERT_EQ(block.bytes[b], 0);
  }
}

TYPED_TEST(LayoutTest, FillsTheLowestOfFreeSlots) {
  using L = TypeParam;
  std::mt19937_64 random(3);
  for (int i = 0; i < 2000; ++i) {
    Block block{};
    block.raise_overflow_mark(static_cast<std::uint32_t>(random() % kEvictionRanks));
    Block expected = block;
    for (std::uint64_t free = L::kAllSlots; free != 0;) {
      const std::uint64_t choice = random() & random() & free;  // none at times
      const std::uint32_t f = L::fingerprint_of(static_cast<std::uint32_t>(random()));
      if (choice != 0) L::set(expected, first_slot(choice), f);
      L::fill(block, choice, f);
      free &= ~(choice & (~choice + 1));
      // Not the lock and the version after the mark, which may change where there is no slot.
      ASSERT_TRUE(std::equal(block.bytes.begin(), block.bytes.begin() + kOverflowMarkByte + 1,
                             expected.bytes.begin()));
    }
  }
}

TYPED_TEST(LayoutTest, PhaseFollowsFromEverySlot) {
  using L = TypeParam;
  std::mt19937_64 random(2);
  for (int i = 0; i < 20000; ++i) {
    const std::uint32_t f = L::fingerprint_of(static_cast<std::uint32_t>(random()));
    const auto p = static_cast<std::uint32_t>(random() % L::kSlotsPerSegment);
    std::uint64_t bucket = 0;
    for (std::uint32_t segment = 0; segment < L::kChoices; ++segment) {
      const std::uint32_t s = L::slot(f, p, segment);
      ASSERT_EQ(s / L::kSlotsPerSegment, segment);
      ASSERT_EQ(L::bucket_offset_at(f, s), p);
      bucket |= std::uint64_t{1} << s;
    }
    ASSERT_EQ(L::bucket(f, p), bucket);
    for (std::uint32_t segment = 0; segment < L::kChoices; ++segment) {
      const std::uint32_t index = L::slot(f, p, segment) - segment * L::kSlotsPerSegment;
      ASSERT_EQ(L::bucket_with(f, segment, index), bucket);
    }
    ASSERT_EQ(std::popcount(bucket), static_cast<int>(L::kChoices));
  }
}

TYPED_TEST(LayoutTest, FingerprintsAndPhasesCoverTheirRangesEvenly) {
  using L = TypeParam;
  std::vector<int> fingerprints(1u << L::kBits);
  std::vector<int> bucket_offsets(L::kSlotsPerSegment);
  for (std::uint32_t high = 0; high < 1u << 24; ++high) {
    const std::uint32_t f = L::fingerprint_of(high << 8);
    ASSERT_NE(f & 0xff, 0u);
    ++fingerprints[f];
    ++bucket_offsets[L::bucket_offset_of(high << 8)];
  }
  const int even_f = (1 << 24) >> L::kBits;
  std::uint32_t used = 0;
  for (std::size_t f = 0; f < fingerprints.size(); ++f) {
    if (fingerprints[f] == 0) continue;
    ++used;
    EXPECT_EQ(fingerprints[f], (f & 0xff) == 1 ? 2 * even_f : even_f);
  }
  EXPECT_EQ(used, L::kFingerprints);
  const double even_p = static_cast<double>(1u << 24) / L::kSlotsPerSegment;
  for (const int count : bucket_offsets) EXPECT_NEAR(count, even_p, even_p * 0.03);
}

TYPED_TEST(LayoutTest, MarkRisesAndNeverFalls) {
  Block block{};
  EXPECT_EQ(block.overflow_mark(), 0u);
  block.raise_overflow_mark(7);
  EXPECT_EQ(block.overflow_mark(), 8u);
  block.raise_overflow_mark(3);
  EXPECT_EQ(block.overflow_mark(), 8u);
  block.raise_overflow_mark(kEvictionRanks - 1);
  EXPECT_EQ(block.overflow_mark(), 255u);
  EXPECT_EQ(block.bytes[60], 255);
}

// The bytes, as docs/FORMAT.md gives them.
TEST(LayoutBytes, Width8) {
  Block block{};
  for (std::uint32_t s = 0; s < 60; ++s) FilterLayout<8>::set(block, s, s + 1);
  for (std::uint32_t s = 0; s < 60; ++s) EXPECT_EQ(block.bytes[s], s + 1);
}

TEST(LayoutBytes, Width9) {
  Block block{};
  FilterLayout<9>::set(block, 0, 0x1bc);
  FilterLayout<9>::set(block, 1, 0x0ff);
  FilterLayout<9>::set(block, 51, 0x101);
  EXPECT_EQ(block.bytes[0], 0xbc);
  EXPECT_EQ(block.bytes[1], 0xff);
  EXPECT_EQ(block.bytes[51], 0x01);
  EXPECT_EQ(block.bytes[52], 0x01);  // bit 0: slot 0
  EXPECT_EQ(block.bytes[58], 0x08);  // bit 3: slot 51
  EXPECT_EQ(block.bytes[59], 0);
}

TEST(LayoutBytes, Width10) {
  Block block{};
  FilterLayout<10>::set(block, 0, 0x1bc);
  FilterLayout<10>::set(block, 9, 0x2ff);
  FilterLayout<10>::set(block, 47, 0x301);
  EXPECT_EQ(block.bytes[0], 0xbc);
  EXPECT_EQ(block.bytes[9], 0xff);
  EXPECT_EQ(block.bytes[47], 0x01);
  EXPECT_EQ(block.bytes[48], 0x01);  // bit 8 of slot 0
  EXPECT_EQ(block.bytes[53], 0x80);  // of slot 47
  EXPECT_EQ(block.bytes[54], 0);     // bit 9 of slots 0 to 7
  EXPECT_EQ(block.bytes[55], 0x02);  // of slot 9
  EXPECT_EQ(block.bytes[59], 0x80);  // of slot 47
}

TEST(LayoutBytes, Width12) {
  Block block{};
  FilterLayout<12>::set(block, 0, 0xabc);
  FilterLayout<12>::set(block, 20, 0x123);
  FilterLayout<12>::set(block, 39, 0xf01);
  EXPECT_EQ(block.bytes[0], 0xbc);
  EXPECT_EQ(block.bytes[20], 0x23);
  EXPECT_EQ(block.bytes[39], 0x01);
  EXPECT_EQ(block.bytes[40], 0x1a);  // low half: slot 0, high half: slot 20
  EXPECT_EQ(block.bytes[59], 0xf0);  // high half: slot 39
}

TEST(LayoutBytes, Width16) {
  Block block{};
  FilterLayout<16>::set(block, 0, 0x1234);
  FilterLayout<16>::set(block, 29, 0xabcd);
  EXPECT_EQ(block.bytes[0], 0x34);
  EXPECT_EQ(block.bytes[1], 0x12);
  EXPECT_EQ(block.bytes[58], 0xcd);
  EXPECT_EQ(block.bytes[59], 0xab);
}

}  // namespace
}  // namespace nestline::test
