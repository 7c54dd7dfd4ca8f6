// insert, may_contain, left, advance and now of ExpiringFilter are linearizable, and sweep changes
// nothing: short histories of two to four threads on a few keys of a small, crowded filter, checked
// against an exact model by the search of tests/filters/concurrent/order_search.h. Threads are made
// to wait where lib/engine/place/test_hooks.h names a reason.
//
// Two of the keys look the same and have each other's homes as alternates; two others share these
// homes. Other keys come, die and push them about. Time begins anywhere in the 16 ticks between two
// exchanges of marks. Faults of the protocol (lib/engine/place/aging.h) are planted, and must be
// found; those that take longer to show are in expiring_faults_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "lib/engine/place/layout.h"
#include "nestline/expiring_filter.h"
#include "tests/filters/concurrent/history_player.h"
#include "tests/filters/concurrent/history_runner.h"
#include "tests/filters/concurrent/history_scene.h"
#include "tests/filters/concurrent/order_search.h"
#include "tests/filters/expiring/small_filter.h"
#include "tests/support/hooks.h"

namespace nestline::test { namespace {

constexpr std::size_t kTracked = 6;   // keys
constexpr std::size_t kPartners = 2;  // the first ones

// The tick, and the tick at which each key dies; 0: it was never stored.
struct Deaths {
  std::uint64_t now = 0;
  std::array<std::uint64_t, kTracked> at{};
  bool operator==(const Deaths&) const = default;

  // Ticks until the key's death at least, this one included, and those of all that look like it.
  [[nodiscard]] unsigned least(std::size_t key) const {
    return at[key] > now ? static_cast<unsigned>(at[key] - now) : 0;
  }
  [[nodiscard]] unsigned most(std::size_t key) const {
    return key < kPartners ? std::max(least(0), least(1)) : least(key);
  }
};
struct DeathsHash {
  std::uint64_t operator()(const Deaths& deaths) const {
    std::uint64_t hash = deaths.now;
    for (const std::uint64_t death : deaths.at) hash = mix(hash * 31 + death);
    return hash;
  }
};

enum class Act : std::uint8_t { may_contain, left, now, insert, advance, sweep };
constexpr std::array kActs = {"may_contain", "left", "now", "insert", "advance", "sweep"};

struct TimedOperation {
  Act act = Act::now;
  std::uint8_t thread = 0;
  std::uint8_t key = 0;
  unsigned life = 0;
  Outcome outcome = Outcome::stored;
  std::uint64_t answer = 0;
  std::uint64_t start = 0;
  std::uint64_t end = 0;
};

std::optional<Deaths> after(const TimedOperation& operation, Deaths deaths) {
  const unsigned least = deaths.least(operation.key);
  const unsigned most = deaths.most(operation.key);
  bool possible = true;
  switch (operation.act) {
    case Act::may_contain:
      possible = operation.answer != 0 ? most != 0 : least == 0;
      break;
    case Act::left:
      possible = operation.answer + 1 >= least && operation.answer <= (most == 0 ? 0u : most - 1);
      break;
    case Act::now:
      possible = operation.answer == deaths.now;
      break;
    case Act::insert: {
      possible = operation.outcome == Outcome::present ? most != 0 : least == 0;
      std::uint64_t& death = deaths.at[operation.key];
      if (operation.outcome == Outcome::full) break;
      death = std::max(death, deaths.now + operation.life + 1);
      break;
    }
    case Act::advance:
      ++deaths.now;
      break;
    case Act::sweep:
      break;
  }
  return possible ? std::optional(deaths) : std::nullopt;
}

std::string to_string(const TimedOperation& one) {
  std::ostringstream out;
  out << "thread " << unsigned{one.thread} << " [" << one.start << ", " << one.end << "] "
      << kActs[static_cast<std::size_t>(one.act)] << "(k" << unsigned{one.key};
  if (one.act == Act::insert) out << ", life " << one.life;
  out << ") = " << one.answer;
  if (one.act == Act::insert) out << ", outcome " << static_cast<unsigned>(one.outcome);
  return out.str();
}

// Who writes: every thread, or one, which then needs no exchanges.
enum class WhoWrites : std::uint8_t { all, first };

enum class Fault : std::uint8_t {
  none,
  skip_validation,
  forget_changes,
  tick_does_not_wait,
  early_tick,
};

class ExpiringStage {
 public:
  ExpiringStage(int bits, WhoWrites writers, Fault fault, std::uint64_t seed, int threads)
      : bits_(bits),
        writers_(writers),
        fault_(fault),
        seed_(seed),
        random_(seed * 2 + static_cast<std::uint64_t>(bits)),
        parts_(static_cast<std::size_t>(threads)) {
    const std::uint64_t blocks = 2 + random_() % 3;
    const std::uint64_t tick = random_() % 40;
    filter_.emplace(small_expiring_filter(
        bits, blocks,
        {.tick = tick, .exchanged = tick - random_() % std::min<std::uint64_t>(tick + 1, 16)}));
    beginning_.now = tick;
    draw_keys(blocks);
    grow_old();
    // Nobody has written to the filter that is played on.
    filter_.emplace(ExpiringFilter::load(bytes_of(*filter_)));
    for (std::uint64_t& seed_of_thread : seeds_) seed_of_thread = random_();
  }

  void play(std::size_t thread) {
    Random random(seeds_[thread]);
    const bool writes = writers_ == WhoWrites::all || thread == 0;
    for (std::uint64_t steps = 3 + random() % 4; steps > 0; --steps) {
      perturb(-1);
      if (writes && random() % 2 == 0) jostle(random);
      step(random, thread, writes);
    }
  }

  bool is_right(std::string* reason) {
    std::vector<TimedOperation> all;
    for (const auto& part : parts_) all.insert(all.end(), part.begin(), part.end());
    for (std::size_t key = 0; key < kTracked; ++key) {  // a last look
      all.push_back(
          {.act = Act::left, .thread = kMaxThreads, .key = static_cast<std::uint8_t>(key)});
      run(all.back());
      all.push_back(
          {.act = Act::may_contain, .thread = kMaxThreads, .key = static_cast<std::uint8_t>(key)});
      run(all.back());
    }
    OrderSearch<TimedOperation, Deaths, DeathsHash> search(all);
    if (search.run(after, beginning_)) return true;
    std::ostringstream out;
    out << bits_ << " bits, seed " << seed_ << ", at the beginning tick " << beginning_.now
        << ", deaths";
    for (const std::uint64_t death : beginning_.at) out << ' ' << death;
    out << '\n';
    std::sort(all.begin(), all.end(),
              [](const auto& a, const auto& b) { return a.start < b.start; });
    for (const TimedOperation& one : all) out << to_string(one) << '\n';
    *reason = out.str();
    return false;
  }

 private:
  void draw_keys(std::uint64_t blocks) {
    HashSmith smith(expiring_layout(bits_), blocks, random_);
    std::uint64_t home = 0;
    std::uint64_t away = 0;
    std::uint32_t rest = 0;
    do {
      rest = smith.draw_rest(random_() % 4 != 0);
      home = smith.any_block();
      away = smith.alternate(smith.hash(home, rest));
    } while (home == away);
    keys_ = {Hash{smith.hash(home, rest)}, Hash{smith.hash(away, rest)}};
    for (const std::uint64_t block : {home, away, home, smith.any_block()}) {
      keys_.push_back(Hash{smith.hash(block, smith.draw_rest(block == home))});
    }
    for (int i = 0; i < 200; ++i) {
      crowd_.push_back(
          Hash{smith.hash(random_() % 3 == 0 ? home : smith.any_block(), smith.draw_rest())});
    }
  }

  static unsigned any_life(Random& random) {
    return static_cast<unsigned>(random() % 2 == 0 ? 1 + random() % 3 : 1 + random() % 14);
  }

  // Some ticks of one thread, so that there are keys of all ages, marks and next marks.
  void grow_old() {
    const std::uint64_t ticks = random_() % 18;
    const std::uint64_t each = 5 + random_() % 30;
    for (std::uint64_t tick = 0; tick <= ticks; ++tick) {
      for (std::uint64_t i = 0; i < each; ++i) {
        (void)filter_->insert(crowd_[random_() % crowd_.size()], any_life(random_));
        if (random_() % 4 != 0) continue;
        TimedOperation one{.act = Act::insert,
                           .key = static_cast<std::uint8_t>(random_() % kTracked),
                           .life = any_life(random_)};
        run(one);
        const auto next = after(one, beginning_);
        EXPECT_TRUE(next) << to_string(one);
        beginning_ = next.value_or(beginning_);
      }
      if (random_() % 2 == 0) filter_->sweep(random_() % 8);
      if (tick == ticks) break;
      filter_->advance();
      ++beginning_.now;
    }
  }

  void jostle(Random& random) {
    for (std::uint64_t i = random() % 4; i > 0; --i) {
      (void)filter_->insert(crowd_[random() % crowd_.size()], any_life(random));
    }
  }

  void step(Random& random, std::size_t thread, bool writes) {
    TimedOperation one;
    one.thread = static_cast<std::uint8_t>(thread);
    one.key =
        static_cast<std::uint8_t>(random() % 3 == 0 ? random() % kTracked : random() % kPartners);
    one.life = any_life(random);
    const std::uint64_t what = random() % 16;
    if (writes && what < 7) {
      one.act = Act::insert;
    } else if (writes && what < 10) {
      one.act = Act::advance;
    } else if (writes && what < 11) {
      one.act = Act::sweep;
    } else {
      one.act = what == 15 ? Act::now : what >= 13 ? Act::left : Act::may_contain;
    }
    const bool in_batch =
        random() % 4 == 0 && (one.act == Act::insert || one.act == Act::may_contain);
    if (in_batch) {
      run_batch(random, one);
    } else {
      run(one);
      parts_[thread].push_back(one);
    }
  }

  void run(TimedOperation& one) {
    const Hash key = keys_[one.key];
    if (fault_ == Fault::early_tick && one.act == Act::insert) {
      test_hooks::early_tick = filter_->now() + 1;
      linger();
    }
    one.start = tickets_.draw();
    switch (one.act) {
      case Act::may_contain:
        one.answer =
            one.key % 2 == 0 ? filter_->may_contain(key) : filter_->reader().may_contain(key);
        break;
      case Act::left:
        one.answer = filter_->remaining_ticks(key);
        break;
      case Act::now:
        one.answer = filter_->now();
        break;
      case Act::insert:
        one.outcome = filter_->insert(key, one.life).outcome;
        break;
      case Act::advance:
        filter_->advance();
        break;
      case Act::sweep:
        filter_->sweep(1);
        break;
    }
    one.end = tickets_.draw();
    if (fault_ == Fault::early_tick) test_hooks::early_tick = 0;
  }

  // A batch is its keys one by one, each at some instant of the call.
  void run_batch(Random& random, TimedOperation one) {
    const std::size_t count = 2 + random() % 2;
    std::vector<Hash> keys;
    for (std::size_t i = 0; i < count; ++i) keys.push_back(keys_[(one.key + i) % kTracked]);
    std::vector<std::uint8_t> answers(count);
    std::vector<Outcome> outcomes(count);
    one.start = tickets_.draw();
    if (one.act == Act::insert) {
      (void)filter_->insert(keys, one.life, outcomes);
    } else {
      (void)filter_->may_contain(keys, answers);
    }
    one.end = tickets_.draw();
    for (std::size_t i = 0; i < count; ++i) {
      TimedOperation part = one;
      part.key = static_cast<std::uint8_t>((one.key + i) % kTracked);
      part.answer = answers[i];
      if (one.act == Act::insert) part.outcome = outcomes[i];
      parts_[one.thread].push_back(part);
    }
  }

  int bits_;
  WhoWrites writers_;
  Fault fault_;
  std::uint64_t seed_;
  Random random_;
  std::optional<ExpiringFilter> filter_;
  std::vector<Hash> keys_;
  std::vector<Hash> crowd_;
  Deaths beginning_;
  Tickets tickets_;
  std::array<std::uint64_t, kMaxThreads> seeds_{};
  std::vector<std::vector<TimedOperation>> parts_;
};

Verdict play_on(int bits, WhoWrites writers, Fault fault, std::uint64_t first_seed,
                std::uint64_t count, bool until_failure) {
  Crew crew;
  return play_stages(crew, count, until_failure, [&](std::uint64_t i, int threads) {
    return std::make_unique<ExpiringStage>(bits, writers, fault, first_seed + i, threads);
  });
}

class ExpiringHistoryTest : public testing::TestWithParam<std::tuple<int, WhoWrites>> {
 protected:
  static void play(std::uint64_t first_seed) {
    const auto [bits, writers] = GetParam();
    const char* const times = std::getenv("NESTLINE_HISTORY_TIMES");
    const std::uint64_t count =
        of_histories(1024) * (times == nullptr ? 1 : std::strtoull(times, nullptr, 10));
    const Verdict verdict = play_on(bits, writers, Fault::none, first_seed, count, false);
    EXPECT_EQ(verdict.failed, 0u) << verdict.first_failure;
    EXPECT_EQ(verdict.played, count);
  }
};

TEST_P(ExpiringHistoryTest, LinearizableAtFullSpeed) { play(1); }

TEST_P(ExpiringHistoryTest, LinearizableWithWaitsInside) {
  const Hooks hooks(perturb);
  play(1'000'001);
}

TEST_P(ExpiringHistoryTest, LinearizableWithReadersThatLock) {
  const Hooks hooks(perturb);
  test_hooks::lock_at_once = true;
  play(2'000'001);
}

class BrokenExpiring : public testing::TestWithParam<std::tuple<int, Fault>> {};

TEST_P(BrokenExpiring, IsCaught) {
  const auto [bits, fault] = GetParam();
  const Hooks hooks([](int point) {
    const bool at_length = point == NESTLINE_POINT_HOME_READ || point == NESTLINE_POINT_SLICE ||
                           point == NESTLINE_POINT_BEFORE_CHECK;
    at_length ? linger() : perturb(point);
  });
  test_hooks::skip_validation = fault == Fault::skip_validation;
  test_hooks::forget_changes = fault == Fault::forget_changes;
  test_hooks::tick_does_not_wait = fault == Fault::tick_does_not_wait;
  const Verdict verdict = play_on(bits, WhoWrites::all, fault, 1, 200'000, true);
  EXPECT_GT(verdict.failed, 0u) << "not caught in " << verdict.played << " histories";
  RecordProperty("histories", static_cast<int>(verdict.played));
}

constexpr std::array kFaultNames = {"None", "SkipValidation", "ForgetChanges", "TickDoesNotWait",
                                    "EarlyTick"};

INSTANTIATE_TEST_SUITE_P(
    All, ExpiringHistoryTest,
    testing::Combine(testing::Values(8, 12), testing::Values(WhoWrites::all, WhoWrites::first)),
    [](const auto& instance) {
      return std::string(std::get<1>(instance.param) == WhoWrites::all ? "Many" : "One") +
             std::to_string(std::get<0>(instance.param));
    });
INSTANTIATE_TEST_SUITE_P(
    All, BrokenExpiring,
    testing::Combine(testing::Values(8, 12),
                     testing::Values(Fault::skip_validation, Fault::forget_changes,
                                     Fault::tick_does_not_wait, Fault::early_tick)),
    [](const auto& instance) {
      return std::string(kFaultNames[static_cast<std::size_t>(std::get<1>(instance.param))]) +
             std::to_string(std::get<0>(instance.param));
    });

}  // namespace
}  // namespace nestline::test
