// Values that begin with RedisBloom's tables: their answers stay, new items go beside them.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "lib/redis/redisbloom/murmur_hash64a.h"
#include "lib/redis/value/value.h"
#include "tests/redis/redisbloom/redisbloom_model.h"

namespace nestline::redis {
namespace {

std::string name(std::uint64_t i) { return "item:" + std::to_string(i); }

TEST(RedisBloomValue, AnswersAsTheTablesDo) {
  RedisBloomModel model(200, 2, 20, 2);
  for (std::uint64_t i = 0; i < 3000; ++i) model.add(name(i % 2500));
  const auto value = CuckooValue::from_tables(model.loaded(), 7);
  EXPECT_TRUE(value->is_redisbloom());
  EXPECT_EQ(value->items(), 3000U);
  std::vector<std::string> names;
  for (std::uint64_t i = 0; i < 10'000; ++i) names.push_back(name(i));
  const std::vector<std::string_view> asked(names.begin(), names.end());
  std::vector<std::uint8_t> found(asked.size());
  value->exists(asked, found);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    ASSERT_EQ(value->count(asked[i]), model.count(asked[i]));
    ASSERT_EQ(value->exists(asked[i]), model.count(asked[i]) != 0);
    ASSERT_EQ(found[i] != 0, model.count(asked[i]) != 0);
  }
  const Info info = value->info();
  EXPECT_EQ(info.filters, model.tables().size());
  EXPECT_EQ(info.buckets, 128U);
  EXPECT_EQ(info.settings.bucket_size, 2);
  EXPECT_EQ(info.settings.expansion, 2);
  EXPECT_EQ(info.redisbloom_items, 3000U);
  EXPECT_GT(info.expected_fpr, 0.01);
}

TEST(RedisBloomValue, ErasesAndCompactsAsTheTablesDo) {
  RedisBloomModel model(100, 2, 20, 1);
  for (std::uint64_t i = 0; i < 1500; ++i) model.add(name(i));
  const auto value = CuckooValue::from_tables(model.loaded(), 7);
  std::mt19937 random(3);
  for (int i = 0; i < 1200; ++i) {
    const std::string item = name(random() % 1600);
    ASSERT_EQ(value->erase(item), model.erase(item));
    ASSERT_EQ(value->deletes(), model.header().deletes);
    ASSERT_EQ(value->items(), model.header().items);
  }
  value->compact();
  model.compact(true);
  EXPECT_EQ(value->deletes(), 0U);
  EXPECT_TRUE(value->is_redisbloom());
  for (std::size_t i = 0; i < model.tables().size(); ++i) {
    const auto slots = value->tables().table(i);
    const auto expected = std::as_bytes(std::span(model.tables()[i]));
    ASSERT_TRUE(std::equal(slots.begin(), slots.end(), expected.begin(), expected.end()));
  }
}

TEST(RedisBloomValue, TakesNewItemsBesideTheTables) {
  RedisBloomModel model(1024, 2, 20, 1);
  for (std::uint64_t i = 0; i < 3000; ++i) model.add(name(i));
  const auto value = CuckooValue::from_tables(model.loaded(), 7);
  // Within the tables RedisBloom's own deletes lose items of others, so here none is deleted there
  // but those that only the tables show.
  for (std::uint64_t i = 3000; i < 20'000; ++i) ASSERT_EQ(value->add(name(i)), Added::added);
  EXPECT_FALSE(value->is_redisbloom());
  EXPECT_EQ(value->items(), 20'000U);
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    ASSERT_TRUE(value->exists(name(i))) << i;
    ASSERT_GE(value->count(name(i)), 1U);
  }
  // Items of generations are erased without harm to each other or to the tables.
  for (std::uint64_t i = 3000; i < 20'000; i += 2) {
    ASSERT_TRUE(value->erase(name(i))) << i;
    if (i % 64 == 0) {
      for (std::uint64_t j = 3001; j < 20'000; j += 2) ASSERT_TRUE(value->exists(name(j))) << j;
    }
  }
  EXPECT_EQ(value->items(), 20'000U - 8500U);
  for (std::uint64_t i = 0; i < 3000; ++i) ASSERT_TRUE(value->exists(name(i))) << i;
  value->compact();
  for (std::uint64_t i = 0; i < 3000; ++i) ASSERT_TRUE(value->exists(name(i))) << i;
  for (std::uint64_t i = 3001; i < 20'000; i += 2) ASSERT_TRUE(value->exists(name(i))) << i;

  const auto copy = value->copy();
  EXPECT_EQ(copy->digest(), value->digest());
  value->clear();
  EXPECT_EQ(value->items(), 0U);
  EXPECT_TRUE(value->tables().empty());
  EXPECT_EQ(value->add("new"), Added::added);
  EXPECT_TRUE(copy->exists(name(1)));
}

TEST(RedisBloomValue, DropsTablesThatAreEmptied) {
  RedisBloomModel model(100, 2, 20, 1);
  for (std::uint64_t i = 0; i < 50; ++i) model.add(name(i));
  const auto value = CuckooValue::from_tables(model.loaded(), 7);
  value->add("new");
  std::uint64_t erased = 0;
  for (std::uint64_t i = 0; i < 50; ++i) erased += value->erase(name(i));
  EXPECT_EQ(erased, 50U);
  value->compact();
  EXPECT_TRUE(value->tables().empty());
  EXPECT_EQ(value->items(), 1U);
  EXPECT_TRUE(value->exists("new"));
}

TEST(RedisBloomValue, StaysWithinItsCapacityWithoutExpansion) {
  RedisBloomModel model(4, 2, 20, 0);
  model.add("1");
  model.add("2");
  const auto value = CuckooValue::from_tables(model.loaded(), 7);
  EXPECT_EQ(value->add("3"), Added::added);
  EXPECT_EQ(value->add("4"), Added::added);
  EXPECT_EQ(value->add("5"), Added::full);
  EXPECT_EQ(value->items(), 4U);
}

// As RedisBloom's own test does: a header of 2^32 buckets, then copies of one item.
TEST(RedisBloomValue, WorksBesideHugeEmptyTables) {
  const RedisBloomHeader header{0, std::uint64_t{1} << 32, 0, 1, 1, 20, 1};
  std::unique_ptr<CuckooValue> value;
  try {
    value = CuckooValue::from_tables(RedisBloomTables(header), 7);
  } catch (const std::bad_alloc&) {
    GTEST_SKIP() << "this machine does not give 4 GiB of untouched memory";
  }
  for (int i = 0; i < 10; ++i) EXPECT_EQ(value->add("copy"), Added::added);
  EXPECT_EQ(value->count("copy"), 10U);
  EXPECT_FALSE(value->exists("other"));
  EXPECT_LT(value->info().expected_fpr, 0.001);
}

TEST(RedisBloomValue, NeedsTables) {
  EXPECT_THROW(CuckooValue::from_tables({}, 7), std::invalid_argument);
}

}  // namespace
}  // namespace nestline::redis
