// Many threads on one ExpiringFilter, each with keys of its own, while another one moves time on:
// no key is missed while it lives, none is found long after its death, and nothing is lost from the
// count. NESTLINE_STRESS_SECONDS (3) is how long all of it takes.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "nestline/expiring_filter.h"
#include "tests/filters/concurrent/stress_owner.h"

namespace nestline::test { namespace {

// Only its owner inserts a key, so the owner knows between which ticks it dies.
class ExpiringOwner {
 public:
  ExpiringOwner(ExpiringFilter& filter, std::uint64_t number, std::size_t keys)
      : filter_(filter), random_(number), keys_(keys), births_(keys) {
    for (std::size_t i = 0; i < keys; ++i) keys_[i] = number << 32 | i;
  }

  void step() {
    const std::size_t i = random_() % keys_.size();
    const std::uint64_t what = random_() % 16;
    if (what < 8) {
      insert(i, 1);
    } else if (what == 8) {
      insert(i, std::min<std::size_t>(37, keys_.size() - i));
    } else if (what < 14) {
      look_up(i);
    } else if (what == 14) {
      look_up_all();
    } else {
      filter_.sweep(random_() % 200);
    }
    ++steps_;
  }
  void look_up_all() {
    std::vector<std::uint8_t> found(keys_.size());
    const std::uint64_t before = filter_.now();
    const std::size_t total = filter_.may_contain(keys_, found);
    const std::uint64_t after = filter_.now();
    ASSERT_EQ(total, static_cast<std::size_t>(std::count(found.begin(), found.end(), 1)));
    for (std::size_t i = 0; i < keys_.size(); ++i) check(i, found[i] != 0, before, after);
  }

  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  [[nodiscard]] std::uint64_t refused() const { return refused_; }
  // Keys that must have been dead and were found: others may look like them.
  [[nodiscard]] std::uint64_t found_dead() const { return found_dead_; }
  [[nodiscard]] std::uint64_t looked_up_dead() const { return looked_up_dead_; }

 private:
  struct Birth {
    std::uint64_t least = 0;  // the key lives until this tick at least, and to the next one at most
    std::uint64_t most = 0;
  };

  void insert(std::size_t first, std::size_t count) {
    const auto life = static_cast<unsigned>(1 + random_() % filter_.ttl_ticks());
    const std::uint64_t before = filter_.now();
    std::vector<Outcome> outcomes(count);
    if (count == 1) {
      outcomes[0] = filter_.insert(keys_[first], life).outcome;
    } else {
      (void)filter_.insert(std::span(keys_).subspan(first, count), life, outcomes);
    }
    const std::uint64_t after = filter_.now();
    for (std::size_t i = 0; i < count; ++i) {
      Birth& birth = births_[first + i];
      const Outcome outcome = outcomes[i];
      const bool lived = birth.least > after;
      if (outcome == Outcome::full) {
        ASSERT_FALSE(lived);
        ++refused_;
        continue;
      }
      if (lived) {
        ASSERT_EQ(outcome, Outcome::present);
      }
      birth.least = std::max(birth.least, before + life + 1);
      birth.most = std::max(birth.most, after + life + 1);
    }
  }
  void look_up(std::size_t i) {
    const std::uint64_t before = filter_.now();
    const bool found = filter_.may_contain(keys_[i]);
    const unsigned left = filter_.remaining_ticks(keys_[i]);
    const std::uint64_t after = filter_.now();
    check(i, found, before, after);
    if (births_[i].least > after) {
      ASSERT_GE(left + 1, births_[i].least - after);
    }
  }
  void check(std::size_t i, bool found, std::uint64_t before, std::uint64_t after) {
    if (births_[i].least > after) {
      ASSERT_TRUE(found) << "key " << keys_[i] << " dies at " << births_[i].least << ", it is "
                         << after;
    }
    if (births_[i].most <= before) {
      ++looked_up_dead_;
      found_dead_ += found;
    }
  }

  ExpiringFilter& filter_;
  std::mt19937_64 random_;
  std::vector<std::uint64_t> keys_;
  std::vector<Birth> births_;
  std::uint64_t steps_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t found_dead_ = 0;
  std::uint64_t looked_up_dead_ = 0;
};

class ExpiringStressTest : public testing::TestWithParam<int> {
 protected:
  // So many threads with keys of their own, and one that advances after every few steps of them.
  void run(std::size_t threads, std::size_t keys) {
    ExpiringFilter filter({.capacity = 2000, .bits = GetParam()});
    std::vector<ExpiringOwner> owners;
    for (std::size_t i = 0; i < threads; ++i) owners.emplace_back(filter, i + 1, keys);
    std::atomic<bool> stopped{false};
    std::atomic<std::uint64_t> steps{0};
    std::thread timer([&] {
      std::uint64_t last = 0;
      while (!stopped) {
        const std::uint64_t now = steps;
        if (now - last < 300) {
          std::this_thread::yield();
          continue;
        }
        last = now;
        filter.advance();
      }
    });
    const auto end = Clock::now() + stress_time(1.0 / 4);
    run_threads(threads, [&](std::size_t i) {
      // Until keys have died, however seldom the timer gets to run.
      while ((Clock::now() < end || filter.now() < 3 * filter.ttl_ticks()) &&
             !testing::Test::HasFatalFailure()) {
        owners[i].step();
        ++steps;
      }
    });
    stopped = true;
    timer.join();
    std::uint64_t found = 0;
    std::uint64_t dead = 0;
    for (ExpiringOwner& owner : owners) {
      owner.look_up_all();
      found += owner.found_dead();
      dead += owner.looked_up_dead();
    }
    EXPECT_GT(dead, 0u);
    // Many times the rate of a filter that is full: zombies would be as many as the dead.
    EXPECT_LE(found, dead / 8 + 20) << dead;
    for (unsigned tick = 0; tick < ExpiringFilter::kMaxTtlTicks + 2; ++tick) filter.advance();
    EXPECT_EQ(filter.size(), 0u);
    std::uint64_t all = 0;
    for (const ExpiringOwner& owner : owners) all += owner.steps();
    std::printf("%llu steps, %llu ticks, %llu of %llu lookups of dead keys found them\n",
                static_cast<unsigned long long>(all), static_cast<unsigned long long>(filter.now()),
                static_cast<unsigned long long>(found), static_cast<unsigned long long>(dead));
  }
};

TEST_P(ExpiringStressTest, ManyWritersBelowCapacity) { run(4, 400); }

TEST_P(ExpiringStressTest, ManyWritersOfAFullFilter) { run(4, 1200); }

// One thread inserts and advances by itself; others look up, also what it must be finding.
TEST_P(ExpiringStressTest, OneWriterAndReaders) {
  ExpiringFilter filter({.capacity = 2000, .bits = GetParam()});
  constexpr std::uint64_t kRing = 256;  // the last keys that were inserted
  std::atomic<std::uint64_t> inserted{0};
  std::atomic<bool> stopped{false};
  std::thread writer([&] {
    const auto end = Clock::now() + stress_time(1.0 / 4);
    for (std::uint64_t key = 1; Clock::now() < end; ++key) {
      const Outcome outcome = filter.insert(key).outcome;
      if (outcome == Outcome::full) {
        ADD_FAILURE() << "full at " << key;
        break;
      }
      inserted.store(key);
      if (key % 128 == 0) filter.advance();  // so the last 14 * 128 keys live
    }
    stopped = true;
  });
  run_threads(3, [&](std::size_t thread) {
    std::mt19937_64 random(thread);
    std::vector<std::uint64_t> keys(100);
    std::vector<std::uint8_t> found(keys.size());
    while (!stopped && !testing::Test::HasFatalFailure()) {
      const std::uint64_t last = inserted.load();
      if (last < kRing + keys.size()) continue;
      const std::uint64_t key = last - random() % kRing;
      if (thread == 0) {
        for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = key - i;
        const std::size_t total = filter.may_contain(keys, found);
        if (inserted.load() - key < kRing) {
          ASSERT_EQ(total, keys.size()) << key;
        }
      } else if (thread == 1) {
        const bool there = filter.may_contain(key);
        if (inserted.load() - key < 2 * kRing) {
          ASSERT_TRUE(there) << key;
        }
      } else {
        const unsigned left = filter.remaining_ticks(key);
        if (inserted.load() - key < 2 * kRing) {
          ASSERT_GT(left, 7u) << key;
        }
      }
    }
  });
  writer.join();
  EXPECT_GT(inserted.load(), kRing);
}

INSTANTIATE_TEST_SUITE_P(Widths, ExpiringStressTest, testing::Values(8, 12));

}  // namespace
}  // namespace nestline::test
