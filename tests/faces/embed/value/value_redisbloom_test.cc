// Values that begin with RedisBloom's tables: their answers stay, new items go beside them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/faces/embed/redisbloom/redisbloom_tables.h"
#include "lib/faces/embed/value/value.h"
#include "tests/faces/embed/redisbloom/redisbloom_model.h"
#include "tests/faces/embed/value/items.h"

namespace nestline::redis { namespace {

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

TEST(RedisBloomValue, TakesNewItemsBesideTheTables) {
  RedisBloomModel model(1024, 2, 20, 1);
  for (std::uint64_t i = 0; i < 3000; ++i) model.add(name(i));
  const auto value = CuckooValue::from_tables(model.loaded(), 7);
  // RedisBloom's own deletes lose other items: the test deletes there what no sub_filter shows.
  for (std::uint64_t i = 3000; i < 20'000; ++i) ASSERT_EQ(value->insert(name(i)), Outcome::stored);
  EXPECT_FALSE(value->is_redisbloom());
  EXPECT_EQ(value->items(), 20'000U);
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    ASSERT_TRUE(value->exists(name(i))) << i;
    ASSERT_GE(value->count(name(i)), 1U);
  }
  // Items of sub_filters are erased without harm to each other or to the tables.
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
  EXPECT_EQ(value->insert("new"), Outcome::stored);
  EXPECT_TRUE(copy->exists(name(1)));
}

TEST(RedisBloomValue, StaysWithinItsCapacityWithoutExpansion) {
  RedisBloomModel model(4, 2, 20, 0);
  model.add("1");
  model.add("2");
  const auto value = CuckooValue::from_tables(model.loaded(), 7);
  EXPECT_EQ(value->insert("3"), Outcome::stored);
  EXPECT_EQ(value->insert("4"), Outcome::stored);
  EXPECT_EQ(value->insert("5"), Outcome::full);
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
  for (int i = 0; i < 10; ++i) EXPECT_EQ(value->insert("copy"), Outcome::stored);
  EXPECT_EQ(value->count("copy"), 10U);
  EXPECT_FALSE(value->exists("other"));
  EXPECT_LT(value->info().expected_fpr, 0.001);
}

// Its MurmurHash64A is 0, like that of the empty item.
const std::string kHashZero("\xe8\xcd\xd8\x2c\x3f\x75\xd0\xfb", 8);

TEST(RedisBloomValue, KnowsItemsWhoseHashIsZero) {
  for (const std::string& item : {std::string(), kHashZero}) {
    ASSERT_EQ(murmur_hash64a(item, 0), 0U);
    RedisBloomModel model(64, 2, 20, 1);
    for (std::uint64_t i = 0; i < 20; ++i) model.add(name(i));
    const auto without = CuckooValue::from_tables(model.loaded(), 0);
    EXPECT_FALSE(without->exists(item));
    EXPECT_FALSE(without->erase(item));
    model.add(item);
    const auto value = CuckooValue::from_tables(model.loaded(), 0);
    const auto ask = [&](const CuckooValue& asked) {
      std::uint8_t found = 2;
      const std::string_view one = item;
      asked.exists({&one, 1}, {&found, 1});
      EXPECT_EQ(found != 0, asked.exists(one));
      return found != 0;
    };
    EXPECT_TRUE(ask(*value));
    EXPECT_EQ(value->count(item), 1U);
    EXPECT_EQ(value->insert(item, {}, Unless::present), Outcome::present);
    EXPECT_EQ(value->insert("beside"), Outcome::stored);
    EXPECT_TRUE(ask(*value));
    // One copy in each: which of them was erased stays open, also in an image.
    EXPECT_EQ(value->insert(item), Outcome::stored);
    EXPECT_EQ(value->count(item), 2U);
    EXPECT_TRUE(value->erase(item));
    EXPECT_EQ(value->info().ledger_entries, 1U);
    EXPECT_EQ(value->count(item), 1U);
    EXPECT_TRUE(ask(*value));
    const auto again = value->copy();
    EXPECT_TRUE(again->erase(item));
    EXPECT_FALSE(ask(*again));
    EXPECT_FALSE(again->erase(item));
    EXPECT_EQ(again->items(), 21U);
    EXPECT_EQ(again->info().ledger_entries, 0U);
    const auto loaded = reloaded(*value);
    loaded->compact();
    EXPECT_EQ(loaded->info().ledger_entries, 1U);
    EXPECT_TRUE(loaded->erase(item));
    EXPECT_FALSE(ask(*loaded));
    EXPECT_EQ(loaded->items(), 21U);
  }
}

// In the tables of a default filter o37 and o598 look the same.
TEST(RedisBloomValue, LeavesNoRemainsOfItemsThatLookAlike) {
  const std::vector<std::string> alike = {"o37", "o598"};
  for (const bool is_alone : {true, false}) {
    for (int order = 0; order < 6; ++order) {
      RedisBloomModel model(1024, 2, 20, 1);
      for (const std::string& item : alike) model.add(item);
      if (!is_alone) model.add("other");
      const auto value = CuckooValue::from_tables(model.loaded(), 0);
      for (const std::string& item : alike) ASSERT_EQ(value->insert(item), Outcome::stored);
      EXPECT_EQ(value->count("o37"), 3U);
      std::vector<std::string> erased = {"o37", "o37", "o598", "o598"};
      for (int i = 0; i < order; ++i) std::next_permutation(erased.begin(), erased.end());
      for (const std::string& item : erased) ASSERT_TRUE(value->erase(item)) << order;
      EXPECT_EQ(value->items(), is_alone ? 0U : 1U);
      EXPECT_EQ(value->exists("other"), !is_alone);
      value->compact();
      for (const std::string& item : alike) EXPECT_FALSE(value->exists(item)) << order;
      const Info info = value->info();
      EXPECT_EQ(info.ledger_entries, 0U);
      EXPECT_EQ(info.items, is_alone ? 0U : 1U);
      for (const SubFilter& each : value->list()) EXPECT_EQ(each.size(), 0U);
      EXPECT_EQ(value->tables().empty(), is_alone);
      EXPECT_EQ(value->tables().taken(), is_alone ? 0U : 1U);
    }
  }
}

// Tables so small that many items look the same in them, and ours beside them, against a multiset.
TEST(RedisBloomValue, KeepsEveryCopyOfMixedValues) {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto pick = [&](std::uint32_t below) {
      return static_cast<std::uint32_t>(random()) % below;
    };
    const auto size = static_cast<std::uint16_t>(1 + pick(4));
    RedisBloomModel model(2 * size + pick(300), size, static_cast<std::uint16_t>(1 + pick(30)),
                          static_cast<std::uint16_t>(seed % 5 == 0 ? 0 : 1U << pick(3)));
    const std::uint32_t range = 60 + pick(400);  // many copies of one item double tables for ever
    Multiset truth;
    const auto pick_name = [&] { return name(pick(range)); };
    for (std::uint32_t i = pick(400); i != 0; --i) {
      const std::string item = pick_name();
      if (model.add(item)) ++truth[item];
    }
    auto value = CuckooValue::from_tables(model.loaded(), 0);
    const auto erase = [&](const std::string& item) {
      ASSERT_TRUE(value->erase(item)) << item;
      --truth[item];
    };
    const std::uint32_t adds_in_ten = 3 + pick(4);
    for (int step = 0; step < 600; ++step) {
      const std::string item = pick_name();
      if (pick(10) < adds_in_ten) {
        const Outcome added = value->insert(item);
        ASSERT_TRUE(added == Outcome::stored || seed % 5 == 0);
        truth[item] += added == Outcome::stored;
      } else if (truth[item] != 0) {
        erase(item);
      }
      if (step % 150 == 149) value->compact();
      if (step % 100 == 99 && !value->is_redisbloom()) {
        value = reloaded(*value);
      }
      if (step % 8 == 0) expect_all(*value, truth);
      if (testing::Test::HasFatalFailure()) return;
    }
    // All of it goes; nothing stays.
    std::vector<std::string> left;
    for (const auto& [item, copies] : truth) left.insert(left.end(), copies, item);
    std::shuffle(left.begin(), left.end(), random);
    for (std::size_t i = 0; i < left.size(); ++i) {
      erase(left[i]);
      if (i % 16 == 0) expect_all(*value, truth);
      if (testing::Test::HasFatalFailure()) return;
    }
    EXPECT_EQ(value->items(), 0U);
    if (value->is_redisbloom()) continue;
    value->compact();
    const Info info = value->info();
    EXPECT_EQ(info.ledger_entries, 0U);
    EXPECT_TRUE(value->tables().empty());
    for (std::uint32_t i = 0; i < range; ++i) ASSERT_FALSE(value->exists(name(i)));
  }
}

// Generations are united amid changes, beside tables that show the same; its image's value follows.
TEST(RedisBloomValue, UnitesGenerationsBesideTheTables) {
  std::uint64_t united = 0;
  for (std::uint32_t seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    RedisBloomModel model(2000, 2, 20, 1);
    Multiset truth;
    std::vector<std::string> copies;  // one for each copy
    const std::uint32_t range = seed % 2 == 0 ? 3000 : 60'000;
    const auto pick_name = [&] { return name(static_cast<std::uint32_t>(random()) % range); };
    const auto note = [&](const std::string& item) {
      ++truth[item];
      copies.push_back(item);
    };
    for (int i = 0; i < 1500; ++i) {
      const std::string item = pick_name();
      if (model.add(item)) note(item);
    }
    auto value = CuckooValue::from_tables(model.loaded(), seed);
    ASSERT_EQ(value->insert("first"), Outcome::stored);
    note("first");
    auto follower = reloaded(*value);
    const auto erase_any = [&] {
      const std::size_t at = random() % copies.size();
      ASSERT_TRUE(value->erase(copies[at])) << copies[at];
      ASSERT_TRUE(follower->erase(copies[at]));
      --truth[copies[at]];
      copies[at] = copies.back();
      copies.pop_back();
    };
    for (const unsigned adds_in_ten : {9U, 3U, 8U, 2U, 9U, 4U}) {
      for (int step = 0; step < 5000; ++step) {
        if (copies.empty() || random() % 10 < adds_in_ten) {
          const std::string item = pick_name();
          ASSERT_EQ(value->insert(item), Outcome::stored);
          ASSERT_EQ(follower->insert(item), Outcome::stored);
          note(item);
        } else {
          erase_any();
        }
        if (step % 1000 == 999) {
          const std::uint64_t before = value->sub_filters();
          value->compact();
          follower->compact();
          united += value->sub_filters() < before;
          ASSERT_EQ(value->digest(), follower->digest());
          expect_all(*value, truth);
        }
        if (HasFatalFailure()) return;
      }
      follower = reloaded(*value);
    }
    while (!copies.empty() && !HasFatalFailure()) erase_any();
    value->compact();
    EXPECT_EQ(value->items(), 0U);
    EXPECT_EQ(value->info().ledger_entries, 0U);
    EXPECT_TRUE(value->tables().empty());
  }
  EXPECT_GE(united, 10U);
}

// What waits to be taken out there was never in these tables.
TEST(RedisBloomValue, TakesTheCorrectionsOfAMergedValue) {
  RedisBloomModel model(1024, 2, 20, 1);
  model.add(std::string());
  const auto value = CuckooValue::from_tables(model.loaded(), 3);
  const auto other = CuckooValue::create({30, 0.02, 2, 20, 1, 3});
  for (std::uint64_t i = 0; i < 30'000; ++i) ASSERT_EQ(other->insert(name(i)), Outcome::stored);
  for (std::uint64_t i = 0; i < 15'000; ++i) ASSERT_TRUE(other->erase(name(i)));
  ASSERT_NE(other->info().ledger_entries, 0U);
  value->merge(*other);
  EXPECT_EQ(value->items(), 15'001U);
  value->compact();
  for (std::uint64_t i = 15'000; i < 30'000; ++i) ASSERT_TRUE(value->erase(name(i)));
  value->compact();
  EXPECT_EQ(value->items(), 1U);
  EXPECT_TRUE(value->exists(""));
  EXPECT_EQ(value->tables().taken(), 1U);
}

// A header that counts too few items must not lose any.
TEST(RedisBloomValue, KeepsWhatTheHeaderDoesNotCount) {
  RedisBloomModel model(64, 2, 20, 1);
  for (std::uint64_t i = 0; i < 50; ++i) model.add(name(i));
  RedisBloomHeader header = model.header();
  header.items = 0;
  RedisBloomTables tables(header);
  tables.load_table(0, 0, std::as_bytes(std::span(model.tables()[0])));
  const auto value = CuckooValue::from_tables(std::move(tables), 0);
  ASSERT_EQ(value->insert(name(0)), Outcome::stored);
  ASSERT_TRUE(value->erase(name(0)));
  EXPECT_EQ(value->items(), 0U);
  value->compact();
  for (std::uint64_t i = 1; i < 50; ++i) ASSERT_TRUE(value->exists(name(i))) << i;
}

// Commands that a RedisBloom server has carried out.

TEST(RedisBloomValue, FollowsRedisBloomByteForByte) {
  for (const std::uint16_t expansion : {std::uint16_t{0}, std::uint16_t{1}, std::uint16_t{2}}) {
    for (const std::uint64_t capacity : {4U, 100U, 1100U}) {
      const auto value = CuckooValue::create_as_redisbloom({capacity, 0, 2, 20, expansion, 0});
      RedisBloomModel model(capacity, 2, 20, expansion);
      std::mt19937 random(expansion);
      for (int step = 0; step < 4000; ++step) {
        const std::string item = name(random() % 2000);
        const bool is_in = model.count(item) != 0;
        switch (random() % 4) {
          case 0:
            ASSERT_EQ(value->erase(item), model.erase(item));
            break;
          case 1:
            if (is_in) {
              ASSERT_EQ(value->insert_as_redisbloom(item, Unless::present), Outcome::present);
              break;
            }
            [[fallthrough]];
          default:
            if (!model.add(item)) break;  // RedisBloom refuses it, and does not replicate that
            ASSERT_EQ(value->insert_as_redisbloom(item, Unless::never), Outcome::stored);
        }
        if (step % 1000 == 999) {
          value->compact();
          model.compact(true);
        }
        ASSERT_TRUE(value->is_redisbloom());
        ASSERT_EQ(value->items(), model.header().items);
        ASSERT_EQ(value->deletes(), model.header().deletes);
      }
      ASSERT_EQ(value->digest(), CuckooValue::from_tables(model.loaded(), 0)->digest());
    }
  }
}

TEST(RedisBloomValue, KeepsItemsThatItsTablesHaveNoPlaceFor) {
  const auto value = CuckooValue::create_as_redisbloom({64, 0, 2, 20, 0, 0});
  for (std::uint64_t i = 0; i < 200; ++i) {
    ASSERT_EQ(value->insert_as_redisbloom(name(i), Unless::never), Outcome::stored);
  }
  EXPECT_FALSE(value->is_redisbloom());
  EXPECT_TRUE(value->follows_redisbloom());
  EXPECT_EQ(value->items(), 200U);
  for (std::uint64_t i = 0; i < 200; ++i) ASSERT_TRUE(value->exists(name(i))) << i;
  const auto loaded = reloaded(*value);
  for (std::uint64_t i = 0; i < 200; ++i) ASSERT_TRUE(loaded->erase(name(i))) << i;
  EXPECT_EQ(loaded->items(), 0U);
  EXPECT_TRUE(loaded->is_redisbloom());
}

// As a replica of a replica gets it: as tables, where it consists of these alone.
std::unique_ptr<CuckooValue> received(const CuckooValue& value) {
  if (!value.is_redisbloom()) return reloaded(value);
  return CuckooValue::from_tables(value.tables().copy(), value.settings().seed);
}

TEST(RedisBloomValue, GoesOnAlikeWhereverItIsReceived) {
  std::uint64_t received_as_tables = 0;
  for (std::uint32_t seed = 0; seed < 12; ++seed) {
    const auto expansion = static_cast<std::uint16_t>(seed % 3);
    const auto value = CuckooValue::create_as_redisbloom({40, 0, 2, 20, expansion, 0});
    std::mt19937 random(seed);
    std::unique_ptr<CuckooValue> other;
    for (int step = 0; step < 6000; ++step) {
      if (random() % 40 == 0) {
        received_as_tables += value->is_redisbloom() && expansion == 0 && step > 1000;
        other = received(*value);
      }
      const std::string item = name(random() % 50);
      const bool is_add = step % 1000 < 300 && random() % 10 < 7;
      for (CuckooValue* const each : {value.get(), other.get()}) {
        if (each == nullptr) continue;
        if (!is_add) {
          (void)each->erase(item);
        } else if (step < 4000) {
          ASSERT_EQ(each->insert_as_redisbloom(item, Unless::never), Outcome::stored);
        } else {
          ASSERT_EQ(each->insert(item, kUnlimited), Outcome::stored);
        }
      }
      if (other == nullptr) continue;
      ASSERT_EQ(other->info(false).ledger_entries, value->info(false).ledger_entries)
          << seed << ' ' << step;
      ASSERT_EQ(other->deletes(), value->deletes()) << seed << ' ' << step;
      if (step % 16 != 0) continue;
      ASSERT_EQ(other->digest(), value->digest()) << seed << ' ' << step;
    }
  }
  EXPECT_GT(received_as_tables, 0U);
}

TEST(RedisBloomValue, OpensBesideTablesAsAnAddDoes) {
  RedisBloomModel model(100, 2, 20, 1);
  for (std::uint64_t i = 0; i < 90; ++i) model.add(name(i));
  const auto value = CuckooValue::from_tables(model.loaded(), 0);
  const auto copy = value->copy();
  ASSERT_EQ(copy->insert("new"), Outcome::stored);
  value->open_generation();
  EXPECT_FALSE(value->follows_redisbloom());
  ASSERT_EQ(value->insert("new", kUnlimited), Outcome::stored);
  EXPECT_EQ(value->digest(), copy->digest());
  EXPECT_THROW(CuckooValue::from_tables({}, 7), std::invalid_argument);
}

}  // namespace
}  // namespace nestline::redis
