// ExpiringFilter against an exact model, one thread.
#include "nestline/expiring_filter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/filters/expiring/expiring_model.h"
#include "tests/support/temp_folder.h"

namespace nestline::test { namespace {

// Keys and what a random history does.
struct Play {
  int bits;
  unsigned life;
  std::uint64_t capacity;
  std::uint64_t keys;  // different ones
};

class ExpiringModelTest : public testing::TestWithParam<Play> {
 protected:
  ExpiringModelTest()
      : filter_({.capacity = GetParam().capacity,
                 .bits = GetParam().bits,
                 .ttl_ticks = GetParam().life,
                 .seed = GetParam().keys}),
        model_(filter_) {}

  void check(std::uint64_t key, Outcome outcome, unsigned life) {
    if (outcome == Outcome::full) {
      ASSERT_EQ(model_.least(key), 0u) << "a key that lives needs no room";
      ++refused_;
      return;
    }
    if (model_.least(key) != 0) {
      ASSERT_EQ(outcome, Outcome::present);
    } else if (model_.most(key) == 0) {
      ASSERT_EQ(outcome, Outcome::stored);
    }
    model_.insert(key, life);
  }
  void check_answer(std::uint64_t key, bool found) {
    if (found) {
      ASSERT_GT(model_.most(key), 0u) << key << " was found, and nothing like it lives";
    } else {
      ASSERT_EQ(model_.least(key), 0u) << key << " was not found";
    }
  }
  void check_all() {
    ASSERT_EQ(filter_.now(), model_.now());
    std::vector<std::uint64_t> keys(GetParam().keys);
    std::iota(keys.begin(), keys.end(), std::uint64_t{0});
    std::vector<std::uint8_t> found(keys.size());
    const std::size_t total = filter_.may_contain(keys, found);
    EXPECT_EQ(total, static_cast<std::size_t>(std::count(found.begin(), found.end(), 1)));
    const ConcurrentReader reader = filter_.reader();
    for (const std::uint64_t key : keys) {
      check_answer(key, found[key] != 0);
      check_answer(key, filter_.may_contain(key));
      check_answer(key, reader.may_contain(key));
      check_answer(key, reader.may_contain(reader.prepare(key)));
      const unsigned left = filter_.remaining_ticks(key) + 1;
      ASSERT_GE(left, model_.least(key));
      ASSERT_LE(left, std::max(1u, model_.most(key)));
    }
    ASSERT_GE(filter_.size(), model_.alive());
  }
  void reload() {
    std::vector<std::byte> bytes;
    save(filter_, [&](std::span<const std::byte> part) {
      bytes.insert(bytes.end(), part.begin(), part.end());
    });
    const std::uint64_t size = filter_.size();
    filter_ = ExpiringFilter::load(bytes);
    ASSERT_EQ(filter_.size(), size);
  }

  ExpiringFilter filter_;
  ExpiringModel model_;
  std::uint64_t refused_ = 0;
};

TEST_P(ExpiringModelTest, RandomHistories) {
  std::mt19937_64 random(GetParam().keys * 31 + GetParam().life);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  const unsigned longest = GetParam().life;
  for (int step = 0; step < 1000 && !HasFatalFailure(); ++step) {
    const auto life = static_cast<unsigned>(1 + below(longest));
    switch (below(16)) {
      default:  // single inserts
        for (int i = 0; i < 8; ++i) {
          const std::uint64_t key = below(GetParam().keys);
          check(key, filter_.insert(key, life).outcome, life);
        }
        break;
      case 0:
      case 1: {  // a batch
        std::vector<std::uint64_t> keys(below(400));
        for (std::uint64_t& key : keys) key = below(GetParam().keys);
        std::vector<Outcome> outcomes(keys.size());
        const std::size_t stored = filter_.insert(keys, life, outcomes);
        for (std::size_t i = 0; i < keys.size(); ++i) {
          check(keys[i], outcomes[i], life);
        }
        EXPECT_EQ(stored, static_cast<std::size_t>(
                              std::count(outcomes.begin(), outcomes.end(), Outcome::stored)));
        break;
      }
      case 2:
        filter_.advance();
        model_.advance(1);
        check_all();
        break;
      case 3:
        filter_.sweep(below(100));
        check_all();
        break;
      case 4:
        if (below(8) == 0) {
          const std::uint64_t ticks = below(below(4) == 0 ? 1000 : 17);
          filter_.advance(ticks);
          model_.advance(ticks);
          check_all();
        }
        break;
      case 5:
        if (below(4) == 0) reload();
        break;
      case 6:
        if (below(64) == 0) {
          filter_.clear();
          model_.clear();
          check_all();
        }
        break;
    }
  }
  // Whatever lives dies, and its slots are emptied.
  for (unsigned tick = 0; tick <= longest; ++tick) {
    filter_.advance();
    model_.advance(1);
    check_all();
  }
  filter_.advance();
  EXPECT_EQ(filter_.size(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Plays, ExpiringModelTest,
                         testing::Values(Play{8, 14, 300, 900}, Play{8, 14, 300, 300},
                                         Play{8, 1, 2000, 5000}, Play{8, 2, 3000, 20000},
                                         Play{8, 7, 10000, 30000}, Play{12, 14, 300, 900},
                                         Play{12, 14, 240, 3000}, Play{12, 1, 2000, 5000},
                                         Play{12, 3, 3000, 20000}, Play{12, 9, 10000, 30000}));

// A filter that turns over at its capacity: no key is refused, lookups stay short, and the rates
// are those that it promises.
TEST(ExpiringFilterTest, TurnsOverForEver) {
  for (const int bits : {8, 12}) {
    SCOPED_TRACE(bits);
    ExpiringFilter filter({.capacity = 100'000, .bits = bits});
    const std::uint64_t each = filter.capacity() / (filter.ttl_ticks() + 1);
    std::uint64_t next = 0;
    std::uint64_t refused = 0;
    std::vector<std::uint64_t> keys(each);
    std::vector<Outcome> outcomes(each);
    constexpr std::uint64_t kTicks = 15 * 60;
    for (std::uint64_t tick = 0; tick < kTicks; ++tick) {
      std::iota(keys.begin(), keys.end(), next);
      next += each;
      (void)filter.insert(keys, outcomes);
      refused +=
          static_cast<std::uint64_t>(std::count(outcomes.begin(), outcomes.end(), Outcome::full));
      if (tick % 97 == 0 || tick + 1 == kTicks) {
        const std::uint64_t first =
            next - std::min<std::uint64_t>(next, each * (filter.ttl_ticks() + 1));
        std::vector<std::uint64_t> all(next - first);
        std::iota(all.begin(), all.end(), first);
        std::vector<std::uint8_t> found(all.size());
        ASSERT_EQ(filter.may_contain(all, found), all.size()) << tick;
      }
      if (tick + 1 < kTicks) filter.advance();
    }
    EXPECT_EQ(refused, 0u);
    const auto& table = ExpiringAccess::state(filter).table_of_writer();
    std::uint64_t found = 0;
    std::uint64_t away = 0;
    constexpr std::uint64_t kAbsent = 1'000'000;
    for (std::uint64_t key = 0; key < kAbsent; ++key) {
      const std::uint64_t absent = key + (std::uint64_t{1} << 60);
      found += filter.may_contain(absent);
      visit_expiring_layout(table.bits, [&](auto layout) {
        const Place home =
            home_of<decltype(layout)>(table.view.geometry, hasher_of(0)(absent).value);
        Place other;
        away += may_be_away(table.view.geometry, table.view.blocks[home.block].overflow_mark(),
                            home, other);
      });
    }
    const double rate = static_cast<double>(found) / kAbsent;
    std::printf("%d bits: load %.3f, false positives %.5f (expected %.5f), second probes %.3f\n",
                bits, filter.load_factor(), rate, filter.expected_fpr(),
                static_cast<double>(away) / kAbsent);
    EXPECT_NEAR(rate / filter.expected_fpr(), 1, 0.1);
    EXPECT_LT(static_cast<double>(away) / kAbsent, 0.2);
  }
}

TEST(ExpiringFilterTest, RefusesOptionsThatCannotBe) {
  const auto refused = [](const ExpiringOptions& options, const std::string& part) {
    try {
      const ExpiringFilter filter(options);
      ADD_FAILURE() << "not refused: " << part;
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  };
  refused({}, "capacity must be at least 1");
  refused({.capacity = 1, .bits = 16}, "bits must be 8 or 12");
  refused({.capacity = 1, .ttl_ticks = 0}, "ttl_ticks must be from 1 to 14");
  refused({.capacity = 1, .ttl_ticks = 15}, "ttl_ticks must be from 1 to 14");
  refused({.capacity = 1, .fpr = 1}, "fpr must be");
  refused({.capacity = 1, .fpr = 1e-5}, "lowest false-positive rate of 12-bit");
  refused({.capacity = 1, .fpr = 1e-3, .bits = 8}, "take more bits");
  refused({.capacity = 1, .load = 0.99}, "load must be");
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
TEST(ExpiringFilterTest, HasTheNamesOfVersion02) {
  ExpiringOptions options = {.capacity = 1000, .fpr = 0.001, .life = 5, .seed = 3};
  ExpiringFilter filter(options);
  EXPECT_EQ(filter.life(), 5u);
  EXPECT_EQ(filter.ttl_ticks(), 5u);
  EXPECT_TRUE(filter.insert(1, 3));
  EXPECT_EQ(filter.left(1), 3u);
  std::array<std::uint8_t, 2> ticks = {9, 9};
  filter.left(std::array<std::uint64_t, 2>{1, 2}, ticks);
  EXPECT_EQ(ticks, (std::array<std::uint8_t, 2>{3, 0}));
  const TempFolder folder;
  save(filter, folder / "filter");
  const auto mapped = MappedExpiringFilter::open(folder / "filter");
  EXPECT_EQ(mapped.left(1), 3u);
  EXPECT_EQ(mapped.life(), 5u);
  options.life = 0;
  EXPECT_THROW(ExpiringFilter{options}, std::invalid_argument);
  static_assert(ExpiringFilter::kMaxLife == ExpiringFilter::kMaxTtlTicks);
  static_assert(Outcome::copies == Outcome::too_many_copies);
}
#pragma GCC diagnostic pop

TEST(ExpiringFilterTest, ChoosesItsWidthByTheRate) {
  EXPECT_EQ(ExpiringFilter({.capacity = 1000}).bits(), 8);
  EXPECT_EQ(ExpiringFilter({.capacity = 1000, .fpr = 0.015}).bits(), 8);
  EXPECT_EQ(ExpiringFilter({.capacity = 1000, .fpr = 0.001}).bits(), 12);
}

TEST(ExpiringClockTest, KeysLiveTheirWindow) {
  using namespace std::chrono_literals;
  ExpiringFilter filter({.capacity = 1000});
  ExpiringClock clock(filter, 14s);
  EXPECT_EQ(clock.tick(), 1s);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(filter.insert("a"));
  clock.catch_up(begin - 5s);
  EXPECT_EQ(filter.now(), 0u);
  clock.catch_up(begin + 14s);
  EXPECT_TRUE(filter.may_contain("a"));
  clock.catch_up(begin + 13s);  // time does not go back
  clock.catch_up(begin + 16s);
  EXPECT_FALSE(filter.may_contain("a"));
  clock.catch_up(begin + 24h);
  EXPECT_EQ(filter.now(), 24u * 3600);
  filter.advance(~filter.now() - 1);
  ExpiringClock past_the_last(filter, 14s);
  past_the_last.catch_up(std::chrono::steady_clock::now() + 4s);
  EXPECT_EQ(filter.now(), 2u);
  past_the_last.catch_up(begin + 3s);
  EXPECT_EQ(filter.now(), 2u);
  EXPECT_THROW(ExpiringClock(filter, 13ns), std::invalid_argument);
  EXPECT_EQ(ExpiringClock(filter, 14ns).tick(), 1ns);
  EXPECT_EQ(ExpiringClock(filter, 27ns).tick(), 2ns);  // so 14 of them are not less than a window
}

}  // namespace
}  // namespace nestline::test
