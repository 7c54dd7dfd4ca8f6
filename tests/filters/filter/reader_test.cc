// Reader and prepare give the answers of may_contain.
#include "nestline/reader.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "lib/engine/place/layout.h"
#include "nestline/concurrent_filter.h"
#include "tests/support/keys_of_kinds.h"

namespace nestline::test { namespace {

constexpr std::size_t kStored = 30'000;
constexpr std::size_t kStrangers = 60'000;

template <typename Key>
class ReaderTest : public testing::Test {};
using Kinds = testing::Types<std::uint64_t, std::string_view, Hash>;
TYPED_TEST_SUITE(ReaderTest, Kinds);

TYPED_TEST(ReaderTest, AnswersAsTheFilterDoes) {
  const Keys<TypeParam> stored(kStored);
  const Keys<TypeParam> strangers(kStrangers, 1'000'000);
  for (const int bits : kFilterWidths) {
    for (const unsigned growth : {0u, 1u, 3u}) {
      Filter filter({.capacity = kStored >> growth, .bits = bits, .seed = 5});
      while (filter.growth() < growth) ASSERT_TRUE(filter.grow());
      ASSERT_EQ(filter.insert(stored.all()), kStored);
      const Reader reader = filter.reader();
      for (const TypeParam& key : stored.all()) {
        ASSERT_TRUE(reader.may_contain(key));
        ASSERT_TRUE(reader.may_contain(reader.prepare(key)));
        ASSERT_TRUE(filter.may_contain(filter.prepare(key)));
      }
      std::size_t found = 0;
      for (const TypeParam& key : strangers.all()) {
        const bool expected = filter.may_contain(key);
        found += expected;
        ASSERT_EQ(reader.may_contain(key), expected);
        ASSERT_EQ(reader.may_contain(reader.prepare(key)), expected);
        ASSERT_EQ(filter.may_contain(filter.prepare(key)), expected);
      }
      EXPECT_LT(found, kStrangers);
    }
  }
}

TYPED_TEST(ReaderTest, PreparedKeysCanBeInsertedAndErased) {
  const Keys<TypeParam> keys(1000);
  Filter filter({.capacity = 1000, .bits = 16});
  ConcurrentFilter shared({.capacity = 1000, .bits = 16});
  for (const TypeParam& key : keys.all()) {
    ASSERT_TRUE(filter.insert(filter.prepare(key)));
    ASSERT_TRUE(filter.may_contain(key));
    ASSERT_TRUE(shared.insert(shared.prepare(key)));
    ASSERT_TRUE(shared.may_contain(key));
  }
  for (const TypeParam& key : keys.all()) {
    ASSERT_TRUE(filter.erase(filter.prepare(key)));
    ASSERT_TRUE(shared.erase(shared.prepare(key)));
  }
  EXPECT_EQ(filter.size(), 0u);
  EXPECT_EQ(shared.size(), 0u);
}

// Shorter and signed integers are the keys that Filter takes them for.
TEST(Reader, IntegersOfEveryWidth) {
  Filter filter({.capacity = 1000, .bits = 16});
  ASSERT_TRUE(filter.insert(-1));
  ASSERT_TRUE(filter.insert(std::uint8_t{200}));
  const Reader reader = filter.reader();
  EXPECT_TRUE(reader.may_contain(std::int64_t{-1}));
  EXPECT_TRUE(reader.may_contain(std::int16_t{-1}));
  EXPECT_TRUE(reader.may_contain(~std::uint64_t{0}));
  EXPECT_FALSE(reader.may_contain(~std::uint32_t{0}));
  EXPECT_TRUE(reader.may_contain(200));
}

// Byte strings are those that Filter takes, whatever holds them.
TEST(Reader, ByteStringsOfEveryKind) {
  Filter filter({.capacity = 1000, .bits = 16});
  const std::array<std::byte, 2> bytes = {std::byte{'a'}, std::byte{'b'}};
  ASSERT_TRUE(filter.insert(bytes));
  const Reader reader = filter.reader();
  EXPECT_TRUE(reader.may_contain(std::span<const std::byte>(bytes)));
  EXPECT_TRUE(reader.may_contain(reader.prepare(bytes)));
  EXPECT_TRUE(reader.may_contain("ab"));
  EXPECT_TRUE(reader.may_contain(std::string("ab")));
  EXPECT_FALSE(reader.may_contain("ba"));
}

TEST(Reader, SeesKeysThatAreInsertedLater) {
  Filter filter({.capacity = 1000, .bits = 16});
  const Reader reader = filter.reader();
  EXPECT_FALSE(reader.may_contain(7));
  ASSERT_TRUE(filter.insert(7));
  EXPECT_TRUE(reader.may_contain(7));
  ASSERT_TRUE(filter.erase(7));
  EXPECT_FALSE(reader.may_contain(7));
}

}  // namespace
}  // namespace nestline::test
