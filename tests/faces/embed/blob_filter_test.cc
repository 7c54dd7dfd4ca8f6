// Filters that answer from bytes where they lie; and filters that are poured into one as a database
// unites them.
#include "lib/faces/embed/blob_filter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lib/engine/place/layout.h"
#include "lib/faces/embed/lineage.h"
#include "nestline/io.h"

namespace nestline { namespace {

class BlobFilters : public ::testing::TestWithParam<int> {
 protected:
  // Full enough that keys are away from home; grown once.
  static Filter sample(std::uint64_t first = 0) {
    constexpr std::uint64_t kKeys = 1500;
    Filter filter({.capacity = 1000, .bits = GetParam(), .seed = 5});
    EXPECT_TRUE(filter.grow());
    for (std::uint64_t key = first; key < first + kKeys; ++key) {
      EXPECT_TRUE(filter.insert(key));
      if (key % 7 == 0) {
        EXPECT_TRUE(filter.insert(key));
      }
    }
    return filter;
  }
};

TEST_P(BlobFilters, AnswerAsTheFilterAtEveryAlignment) {
  const Filter filter = sample();
  EXPECT_TRUE(filter.size() > 1700);
  const std::vector<std::byte> bytes = to_bytes(filter);
  std::vector<std::byte> room(bytes.size() + 64);
  for (std::size_t shift = 0; shift < 64; ++shift) {
    const std::span place(room.data() + shift, bytes.size());
    std::copy(bytes.begin(), bytes.end(), place.begin());
    const BlobFilter blob(place);
    for (std::uint64_t key = 0; key < 5000; key += 1 + shift % 3) {
      ASSERT_EQ(blob.may_contain(key), filter.may_contain(key)) << key;
      ASSERT_EQ(blob.count(key), filter.count(key)) << key;
    }
    ASSERT_EQ(blob.may_contain("7"), filter.may_contain("7"));
    ASSERT_EQ(blob.may_contain(Hash{77}), filter.may_contain(Hash{77}));
  }
}

TEST_P(BlobFilters, DamageIsAnError) {
  std::vector<std::byte> bytes = to_bytes(sample());
  for (std::size_t length = 0; length < bytes.size(); length += 41) {
    EXPECT_THROW(BlobFilter(std::span(bytes).first(length)), FormatError) << length;
  }
  for (std::size_t i = 0; i < bytes.size(); i += i < 4100 ? 1 : 13) {
    bytes[i] ^= std::byte{0x10};
    EXPECT_THROW(BlobFilter{bytes}, FormatError) << i;
    bytes[i] ^= std::byte{0x10};
  }
  EXPECT_NO_THROW(BlobFilter{bytes});
}

// What a database does: another filter at the same place, of the same length, keys and shape.
TEST_P(BlobFilters, OthersAtTheSamePlaceAreAnsweredAsTheyAre) {
  const Filter one = sample();
  const Filter other = sample(70000);
  std::vector<std::byte> bytes = to_bytes(one);
  const std::vector<std::byte> others = to_bytes(other);
  ASSERT_EQ(bytes.size(), others.size());
  ASSERT_TRUE(std::equal(bytes.begin(), bytes.begin() + 4096, others.begin()));
  const BlobFilter blob(bytes);
  EXPECT_TRUE(blob.is_same(bytes));
  std::copy(others.begin(), others.end(), bytes.begin());
  EXPECT_FALSE(blob.is_same(bytes)) << "their checksums differ";
  EXPECT_FALSE(blob.is_same(std::span(bytes).first(bytes.size() - 1)));
  EXPECT_FALSE(blob.is_same(others));
  for (std::uint64_t key = 69000; key < 72000; ++key) {
    ASSERT_EQ(blob.count(key), other.count(key)) << key;
  }
}

// Blocks that no filter has: some answer, and no byte outside is read (sanitizers see that).
TEST_P(BlobFilters, AnyBlocksUnderACheckedHeaderAreSafe) {
  std::vector<std::byte> bytes = to_bytes(sample());
  const BlobFilter blob(bytes);
  for (const int fill : {0x00, 0x5a, 0xff}) {
    std::fill(bytes.begin() + 4096, bytes.end(), static_cast<std::byte>(fill));
    unsigned copies = 0;
    for (std::uint64_t key = 0; key < 3000; ++key) copies = std::max(copies, blob.count(key));
    EXPECT_LE(copies, most_copies(GetParam()));
  }
}

TEST_P(BlobFilters, PouredSurplusIsDroppedAndStillFound) {
  const Shape shape{GetParam(), {40, 0}, 0, 300};
  Filter all = make_empty(shape, nullptr);
  // As many filters with the same few keys as leave more copies than fit.
  for (int i = 0; i < 15; ++i) {
    Filter next = make_empty(shape, nullptr);
    for (std::uint64_t key = 0; key < 20; ++key) ASSERT_TRUE(next.insert(key));
    Quota share(1, 1);
    migrate(next, all, share, IfFull::goes);
    ASSERT_EQ(next.size(), 0u);
  }
  EXPECT_LE(all.size(), 20 * most_copies(GetParam()));
  EXPECT_EQ(Filter::load(to_bytes(all)).size(), all.size()) << "the number of keys is kept";
  for (std::uint64_t key = 0; key < 20; ++key)
    EXPECT_GE(all.count(key), most_copies(GetParam()) / 2);

  // Without that they stay.
  Filter next = make_empty(shape, nullptr);
  ASSERT_TRUE(next.insert(std::uint64_t{3}));
  Quota share(1, 1);
  migrate(next, all, share);
  EXPECT_EQ(next.size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Widths, BlobFilters, ::testing::ValuesIn(kFilterWidths),
                         [](const auto& param) { return std::to_string(param.param) + "bits"; });

}  // namespace
}  // namespace nestline
