// insert, may_contain, left, advance and now of ExpiringFilter are linearizable, and sweep changes
// nothing: short histories of two to four threads on a few keys of a small, crowded filter, checked
// against an exact model by the search of tests/support/order_search.h. Threads are made
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
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "lib/engine/place/layout.h"
#include "nestline/expiring_filter.h"
#include "tests/filters/concurrent/history_scene.h"
#include "tests/filters/expiring/small_filter.h"
#include "tests/support/files.h"
#include "tests/support/histories.h"
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
  out << kActs[static_cast<std::size_t>(one.act)] << "(k" << unsigned{one.key};
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
  ExpiringStage(int bits, WhoWrites writers, Fault fault, std::uint64_t seed)
      : writers_(writers),
        fault_(fault),
        title_(std::to_string(bits) + " bits, seed " + std::to_string(seed)),
        random_(seed * 2 + static_cast<std::uint64_t>(bits)) {
    const std::uint64_t blocks = 2 + random_() % 3;
    const std::uint64_t tick = random_() % 40;
    filter_.emplace(small_expiring_filter(
        bits, blocks,
        {.tick = tick, .exchanged = tick - random_() % std::min<std::uint64_t>(tick + 1, 16)}));
    beginning_.now = tick;
    draw_keys(bits, blocks);
    grow_old();
    // Nobody has written to the filter that is played on.
    filter_.emplace(ExpiringFilter::load(saved_bytes(*filter_)));
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
    for (std::uint8_t key = 0; key < kTracked; ++key) {  // a last look
      for (const Act act : {Act::left, Act::may_contain}) {
        record(kMaxThreads, {.act = act, .key = key});
      }
    }
    title_ += ", at the beginning tick " + std::to_string(beginning_.now) + ", deaths";
    for (const std::uint64_t death : beginning_.at) title_ += " " + std::to_string(death);
    return recorder_.is_linearizable<DeathsHash>(after, beginning_, title_, reason);
  }

 private:
  void draw_keys(int bits, std::uint64_t blocks) {
    HashSmith smith(expiring_layout(bits), blocks, random_);
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
        call(one);
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
    in_batch ? record_batch(random, thread, one) : record(thread, one);
  }

  void record(std::size_t thread, const TimedOperation& operation) {
    const bool early = fault_ == Fault::early_tick && operation.act == Act::insert;
    if (early) {
      test_hooks::early_tick = filter_->now() + 1;
      linger();
    }
    recorder_.record(thread, operation, [&](TimedOperation& one) { call(one); });
    if (fault_ == Fault::early_tick) test_hooks::early_tick = 0;
  }

  void call(TimedOperation& one) {
    const Hash key = keys_[one.key];
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
  }

  // A batch is its keys one by one, each at some instant of the call.
  void record_batch(Random& random, std::size_t thread, const TimedOperation& whole) {
    const std::size_t count = 2 + random() % 2;
    std::vector<Hash> keys;
    for (std::size_t i = 0; i < count; ++i) keys.push_back(keys_[(whole.key + i) % kTracked]);
    std::vector<std::uint8_t> answers(count);
    std::vector<Outcome> outcomes(count);
    const auto call = [&](const TimedOperation& one) {
      if (one.act == Act::insert) {
        (void)filter_->insert(keys, one.life, outcomes);
      } else {
        (void)filter_->may_contain(keys, answers);
      }
    };
    recorder_.record(thread, whole, call, [&](const TimedOperation& done) {
      std::vector<TimedOperation> parts(count, done);
      for (std::size_t i = 0; i < count; ++i) {
        parts[i].key = static_cast<std::uint8_t>((done.key + i) % kTracked);
        parts[i].answer = answers[i];
        parts[i].outcome = outcomes[i];
      }
      return parts;
    });
  }

  WhoWrites writers_;
  Fault fault_;
  std::string title_;
  Random random_;
  std::optional<ExpiringFilter> filter_;
  std::vector<Hash> keys_;
  std::vector<Hash> crowd_;
  Deaths beginning_;
  Recorder<TimedOperation> recorder_;
  std::array<std::uint64_t, kMaxThreads> seeds_{};
};

Verdict play_on(int bits, WhoWrites writers, Fault fault, std::uint64_t first_seed,
                std::uint64_t count, bool until_failure) {
  Crew crew;
  return play_stages(crew, count, until_failure, [&](std::uint64_t i, int) {
    return std::make_unique<ExpiringStage>(bits, writers, fault, first_seed + i);
  });
}

class ExpiringHistoryTest : public testing::TestWithParam<std::tuple<int, WhoWrites>> {
 protected:
  static void play(std::uint64_t first_seed) {
    const auto [bits, writers] = GetParam();
    const std::uint64_t count = of_histories(1024);
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
