// The ledger by itself: sums, turns and prepared entries.
#include "lib/redis/value/ledger.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace nestline::redis {
namespace {

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
  EXPECT_EQ(ledger.entries().at(5).redisbloom_hash, 77U);
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

}  // namespace
}  // namespace nestline::redis
