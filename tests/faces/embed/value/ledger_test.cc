// The ledger by itself: sums, turns, prepared entries, and random changes against a map.
#include "lib/faces/embed/value/ledger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace nestline::redis { namespace {

TEST(Ledger, SumsAndForgetsWhatIsZero) {
  Ledger ledger;
  EXPECT_TRUE(ledger.empty());
  EXPECT_EQ(ledger.copies(5), 0);
  ledger.add(5, 1, 0);
  ledger.add(5, 1, 77);
  ledger.add(9, -3, 0);
  EXPECT_EQ(ledger.copies(5), 2);
  EXPECT_EQ(ledger.copies(9), -3);
  EXPECT_EQ(ledger.total(), -1);
  EXPECT_EQ(ledger.entries().at(5).redisbloom_hash(), 77U);
  ledger.add(5, -2, 0);
  EXPECT_EQ(ledger.size(), 1U);
  ledger.set(9, {4, 0});
  EXPECT_EQ(ledger.total(), 4);
  ledger.add(9, -4);
  EXPECT_TRUE(ledger.empty());
  EXPECT_EQ(ledger.total(), 0);
}

TEST(Ledger, TakesTurns) {
  Ledger ledger;
  EXPECT_EQ(ledger.next(), ledger.entries().end());
  const std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
  for (const std::uint64_t hash : {std::uint64_t{0}, std::uint64_t{7}, last})
    ledger.add(hash, 1, 0);
  std::vector<std::uint64_t> turns;
  for (int i = 0; i < 7; ++i) turns.push_back(ledger.next()->first);
  EXPECT_EQ(turns, (std::vector<std::uint64_t>{0, 7, last, 0, 7, last, 0}));
  ledger.add(3, 1, 0);
  EXPECT_EQ(ledger.next()->first, 3U);
  ledger.add(7, -1, 0);
  EXPECT_EQ(ledger.next()->first, last);
}

TEST(Ledger, PreparedEntriesGoUnlessUsed) {
  Ledger ledger;
  ledger.prepare(1);
  ledger.prepare(2);
  ledger.add(1, -1, 0);
  ledger.drop_prepared(1);
  ledger.drop_prepared(2);
  ledger.drop_prepared(3);
  EXPECT_EQ(ledger.size(), 1U);
  EXPECT_EQ(ledger.copies(1), -1);
}

// Few hashes with the same low bits, so that tallies are shared and fill up.
TEST(Ledger, IsAMapWithACursor) {
  std::mt19937_64 random(3);
  Ledger ledger;
  std::map<std::uint64_t, std::int64_t> model;
  std::uint64_t cursor = 0;
  std::size_t most = 0;
  for (int step = 0; step < 200'000; ++step) {
    const std::uint64_t low = random() % 3 == 0 ? random() % 2 : random() % 4096;
    const std::uint64_t hash = random() % 64 == 0 ? ~std::uint64_t{0} : (random() % 16 << 60) + low;
    switch (random() % 16) {
      case 0:
        ledger.prepare(hash);
        ledger.drop_prepared(hash);
        break;
      case 1:
        ledger.set(hash, {3});
        model[hash] = 3;
        break;
      case 2:
        if (Ledger copy; random() % 2 == 0) ledger = std::move(copy = ledger);
        break;
      case 3:
        if (random() % 4096 != 0) break;
        ledger.clear();
        model.clear();
        cursor = 0;
        break;
      case 4:
      case 5:
      case 6:
      case 7: {
        const auto entry = ledger.next();
        ASSERT_EQ(entry == ledger.entries().end(), model.empty());
        if (model.empty()) break;
        auto wanted = model.lower_bound(cursor);
        if (wanted == model.end()) wanted = model.begin();
        cursor = wanted->first + 1;
        ASSERT_EQ(entry->first, wanted->first);
        ASSERT_EQ(entry->second.copies, wanted->second);
        break;
      }
      default: {
        const auto place = model.lower_bound(hash);
        const bool takes = random() % 2 == 0 && place != model.end();
        const std::uint64_t changed = takes ? place->first : hash;
        const std::int64_t change = takes ? -place->second : random() % 2 == 0 ? 1 : -1;
        ledger.add(changed, change);
        if ((model[changed] += change) == 0) model.erase(changed);
      }
    }
    most = std::max(most, model.size());
    ASSERT_EQ(ledger.size(), model.size());
    ASSERT_EQ(ledger.cursor(), cursor);
    const auto entry = model.find(hash);
    ASSERT_EQ(ledger.copies(hash), entry == model.end() ? 0 : entry->second);
  }
  EXPECT_GT(most, 500U);
}

}  // namespace
}  // namespace nestline::redis
