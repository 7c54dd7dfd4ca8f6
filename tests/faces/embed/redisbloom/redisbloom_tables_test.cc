// RedisBloom's tables: all answers and bytes are the model's; and headers that must be refused.
#include "lib/faces/embed/redisbloom/redisbloom_tables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/faces/embed/redisbloom/redisbloom_model.h"

namespace nestline::redis { namespace {

std::vector<std::byte> bytes_of(const RedisBloomModel::Table& table) {
  const auto bytes = std::as_bytes(std::span(table));
  return {bytes.begin(), bytes.end()};
}

void expect_same(const RedisBloomTables& tables, const RedisBloomModel& model) {
  ASSERT_EQ(write_header(tables.header()), write_header(model.header()));
  for (std::size_t i = 0; i < model.tables().size(); ++i) {
    const auto slots = tables.table(i);
    ASSERT_EQ(std::vector(slots.begin(), slots.end()), bytes_of(model.tables()[i])) << i;
  }
}

TEST(MurmurHash64A, IsTheHashOfTheStandardLibrary) {
  std::string bytes;
  for (int length = 0; length < 200; ++length) {
    for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{0x123456789abcdef0}}) {
      EXPECT_EQ(murmur_hash64a(bytes, seed), standard_murmur_hash64a(bytes, seed));
    }
    bytes.push_back(static_cast<char>(length * 37 + 128));
  }
}

struct Reserve {
  std::uint64_t capacity;
  std::uint16_t bucket_size;
  std::uint16_t max_iterations;
  std::uint16_t expansion;
  std::size_t tables;  // after a thousand items, as RedisBloom's own tests expect
};

TEST(RedisBloomModel, GrowsAsRedisBloomDoes) {
  for (const Reserve& reserve :
       {Reserve{64, 1, 20, 1, 18}, Reserve{64, 2, 20, 1, 17}, Reserve{256, 4, 500, 1, 4},
        Reserve{64, 2, 20, 1, 17}, Reserve{64, 2, 20, 2, 5}, Reserve{64, 2, 500, 4, 3}}) {
    RedisBloomModel model(reserve.capacity, reserve.bucket_size, reserve.max_iterations,
                          reserve.expansion);
    for (int i = 0; i < 1000; ++i) ASSERT_TRUE(model.add(std::to_string(i)));
    EXPECT_EQ(model.tables().size(), reserve.tables) << reserve.capacity << reserve.bucket_size;
    const RedisBloomTables tables = model.loaded();
    for (int i = 0; i < 1000; ++i) {
      EXPECT_TRUE(tables.may_contain(murmur_hash64a(std::to_string(i), 0))) << i;
    }
  }
  EXPECT_EQ(RedisBloomModel(1000, 2, 20, 1).told_size(), 1080U);
  EXPECT_EQ(RedisBloomModel(9, 2, 20, 0).told_size(), 64U);
  EXPECT_EQ(RedisBloomModel(10000, 2, 20, 1).header().buckets, 8192U);
  RedisBloomModel four(4, 2, 20, 0);
  for (int i = 1; i <= 4; ++i) EXPECT_TRUE(four.add(std::to_string(i)));
  EXPECT_FALSE(four.add("5"));
  EXPECT_FALSE(four.add("6"));
  // One item in a filter of one bucket counts twice.
  RedisBloomModel one(2, 2, 20, 1);
  one.add("item");
  EXPECT_EQ(one.count("item"), 2U);
  EXPECT_EQ(one.loaded().count(murmur_hash64a("item", 0)), 2U);
}

// From tables that are empty, and from some that were loaded with many items.
TEST(RedisBloomTables, DoAsTheModelDoes) {
  for (std::uint32_t seed = 0; seed < 80; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto pick = [&](std::uint32_t below) {
      return static_cast<std::uint32_t>(random()) % below;
    };
    const auto size = static_cast<std::uint16_t>(1 + pick(4));
    RedisBloomModel model(2 * size + pick(100), size, static_cast<std::uint16_t>(1 + pick(30)),
                          static_cast<std::uint16_t>(seed % 4 == 0 ? 0 : 1U << pick(3)));
    const std::uint32_t range = 200 + pick(600);  // many copies of one item double tables for ever
    const std::uint32_t adds_in_four = seed % 2 == 0 ? 3 : 1;
    for (int i = seed % 2 == 0 ? 0 : 500; i > 0; --i) model.add(std::to_string(pick(range)));
    RedisBloomTables tables = model.loaded();
    int refused = 0;
    for (int step = 0; step < 800; ++step) {
      const std::string item = std::to_string(pick(range + 50));
      const std::uint64_t hash = murmur_hash64a(item, 0);
      ASSERT_EQ(tables.count(hash), model.count(item));
      ASSERT_EQ(tables.may_contain(hash), model.count(item) != 0);
      if (pick(4) < adds_in_four) {
        const bool added = model.add(item);
        ASSERT_EQ(tables.insert(hash), added);
        refused += !added;
      } else {
        ASSERT_EQ(tables.erase(hash), model.erase(item));
      }
      if (step % 200 == 199) {
        tables.compact(true);
        model.compact(true);
      }
      expect_same(tables, model);
      if (testing::Test::HasFatalFailure()) return;
    }
    EXPECT_TRUE(adds_in_four != 3 || (refused != 0) == (seed % 4 == 0));
    expect_same(tables.copy(), model);
    std::uint64_t taken = 0;
    for (const auto& table : model.tables()) {
      taken += table.size() - static_cast<std::size_t>(std::count(table.begin(), table.end(), 0));
    }
    EXPECT_EQ(tables.taken(), taken);
    EXPECT_EQ(tables.taken(), tables.header().items);
    // Can be erased as often as slots_of says, and no more.
    for (std::uint32_t i = 0; i < range + 50; ++i) {
      const std::uint64_t hash = murmur_hash64a(std::to_string(i), 0);
      while (tables.count(hash, true) != 0) ASSERT_TRUE(tables.erase(hash));
      ASSERT_FALSE(tables.erase(hash));
    }
    EXPECT_EQ(tables.taken(), 0U);
  }
}

TEST(RedisBloomTables, MatchEverywhereInOneSlotBuckets) {
  // The figures of RedisBloom's expected rate: 2 * bucket size * load / 255 a table, summed.
  RedisBloomModel model(1024, 2, 20, 1);
  for (int i = 0; i < 1024; ++i) model.add("in" + std::to_string(i));
  const RedisBloomTables tables = model.loaded();
  int found = 0;
  for (int i = 0; i < 100'000; ++i) {
    found += tables.may_contain(murmur_hash64a("out" + std::to_string(i), 0));
  }
  EXPECT_NEAR(found / 1e5, tables.expected_fpr(), 0.002);
}

TEST(RedisBloomHeader, RefusesWhatIsOutOfRange) {
  const RedisBloomHeader good{0, 512, 0, 3, 2, 20, 4};
  EXPECT_TRUE(is_valid(good));
  const auto refused = [&](const std::function<void(RedisBloomHeader&)>& spoil) {
    RedisBloomHeader header = good;
    spoil(header);
    EXPECT_FALSE(is_valid(header));
    EXPECT_FALSE(parse_header(write_header(header)));
    EXPECT_THROW(RedisBloomTables{header}, std::invalid_argument);
  };
  refused([](auto& h) { h.buckets = 0; });
  refused([](auto& h) { h.buckets = 513; });
  refused([](auto& h) { h.buckets = std::uint64_t{1} << 56; });
  refused([](auto& h) { h.buckets = std::uint64_t{1} << 52; });  // the last table is too large
  refused([](auto& h) { h.tables = 0; });
  refused([](auto& h) { h.tables = 65536; });
  refused([](auto& h) { h.tables = 40; });
  refused([](auto& h) { h.tables = ~std::uint64_t{0}; });
  refused([](auto& h) { h.bucket_size = 0; });
  refused([](auto& h) { h.bucket_size = 256; });
  refused([](auto& h) { h.max_iterations = 0; });
  refused([](auto& h) { h.expansion = 0; });
  refused([](auto& h) { h.expansion = 32769; });
  // More items than slots: 512 + 2048 + 8192 buckets of two.
  refused([](auto& h) { h.items = 2 * 10752 + 1; });
  refused([](auto& h) { h.items = std::uint64_t{1} << 30; });
  refused([](auto& h) { h.items = ~std::uint64_t{0}; });
  EXPECT_TRUE(is_valid({2 * 10752, 512, 0, 3, 2, 20, 4}));
  EXPECT_TRUE(is_valid({~std::uint64_t{0}, std::uint64_t{1} << 55, 0, 65535, 255, 1, 1}));
  RedisBloomHeader odd = good;
  odd.expansion = 3;
  EXPECT_EQ(parse_header(write_header(odd))->expansion, 4);
  EXPECT_EQ(write_header(*parse_header(write_header(good))), write_header(good));
  const auto bytes = write_header(good);
  EXPECT_FALSE(parse_header(std::span(bytes).first(37)));
  EXPECT_FALSE(parse_header({}));
  // Every table is as large as the first when expansion is 1, however many there are.
  EXPECT_TRUE(is_valid({0, std::uint64_t{1} << 55, 0, 65535, 1, 1, 1}));
}

TEST(RedisBloomHeader, AbsurdSizesTakeNoMemory) {
  const RedisBloomHeader header{0, std::uint64_t{1} << 55, 0, 1, 255, 20, 1};
  EXPECT_THROW(RedisBloomTables{header}, std::bad_alloc);
  RedisBloomTables tables = RedisBloomTables::begin(header);
  EXPECT_FALSE(tables.is_whole());
  EXPECT_THROW(tables.append_clear(), std::bad_alloc);
}

TEST(RedisBloomTables, LoadRefusesWhatLiesOutside) {
  RedisBloomTables tables({0, 4, 0, 2, 2, 20, 2});  // 8 and 16 slots
  const std::vector<std::byte> slots(17, std::byte{7});
  const auto some = [&](std::size_t count) { return std::span(slots).first(count); };
  EXPECT_EQ(tables.slots(), 24U);
  EXPECT_FALSE(tables.load(0, some(0)));
  EXPECT_FALSE(tables.load(0, some(9)));  // over the end of a table
  EXPECT_FALSE(tables.load(7, some(2)));
  EXPECT_FALSE(tables.load(24, some(1)));
  EXPECT_FALSE(tables.load(~std::uint64_t{0}, some(1)));
  EXPECT_FALSE(tables.load(8, some(17)));
  EXPECT_FALSE(tables.load_table(2, 0, some(1)));
  EXPECT_FALSE(tables.load_table(0, ~std::uint64_t{0}, some(2)));
  EXPECT_EQ(tables.taken(), 0U);
  EXPECT_TRUE(tables.load(7, some(1)));
  EXPECT_TRUE(tables.load(8, some(16)));
  EXPECT_NE(tables.taken(), 0U);
  EXPECT_EQ(tables.piece(7).size(), 1U);
  EXPECT_EQ(tables.piece(8).size(), 16U);
  EXPECT_TRUE(tables.piece(24).empty());
  EXPECT_TRUE(tables.piece(~std::uint64_t{0}).empty());
  EXPECT_FALSE(tables.append_clear());
}

// Otherwise what is saved could not be loaded again.
TEST(RedisBloomTables, NeverCountMoreItemsThanSlots) {
  RedisBloomTables tables({16, 4, 0, 2, 2, 20, 1});  // the slots have not come
  tables.compact(true);
  EXPECT_EQ(tables.header().tables, 1U);
  EXPECT_TRUE(is_valid(tables.header()));
}

TEST(RedisBloomTables, ErasesWhatTheHeaderDoesNotCount) {
  RedisBloomTables tables({0, 4, 0, 1, 2, 20, 1});
  const std::vector<std::byte> slots(8, std::byte{1});
  ASSERT_TRUE(tables.load(0, slots));
  // A hash of 0 has the fingerprint 1.
  EXPECT_TRUE(tables.erase(0));
  EXPECT_EQ(tables.header().items, 0U);
}

}  // namespace
}  // namespace nestline::redis
