// A value that changes while others look. Label threads. NESTLINE_VIEW_SECONDS: how long (3).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <mutex>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "lib/faces/embed/value/sub_filter_plan.h"
#include "lib/faces/embed/value/value.h"
#include "lib/faces/embed/value/view.h"
#include "tests/faces/embed/value/hashes.h"

namespace nestline::redis { namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPatience = std::chrono::minutes(5);  // against a test that never ends

std::chrono::seconds duration() {
  const char* const seconds = std::getenv("NESTLINE_VIEW_SECONDS");
  return std::chrono::seconds(seconds == nullptr ? 3 : std::stoi(seconds));
}

// Two related sub_filters by hand, and items that go from one to the other as items do whose names
// are exchanged: first they are in both, then no longer where they were.
class Movers {
 public:
  // `tells`: whether the views are told, as a value tells them.
  explicit Movers(bool tells) : tells_(tells), notices_(std::make_shared<Notices>()) {
    const GenerationShape shape{12, 0, 4, 64, capacity_of(12, 64, 0), 0};
    for (int i = 0; i < 2; ++i) sub_filters_.emplace_back(shape, 1, nullptr);
    std::mt19937_64 random(1);
    for (std::uint64_t& item : items_) {
      item = random();
      EXPECT_EQ(sub_filters_[0].insert(item), Outcome::stored);
    }
    view_ = std::make_unique<View>(sub_filters_, Ledger(), notices_);
  }

  void move() {
    SubFilter& from = sub_filters_[at_];
    SubFilter& to = sub_filters_[1 - at_];
    for (const std::uint64_t item : items_) {
      ASSERT_EQ(to.insert(item), Outcome::stored);
      if (tells_) Notices::advance(notices_->erases);
      ASSERT_TRUE(from.erase(item));
      if (tells_) Notices::advance(notices_->erases);
      // On one processor readers run only now: amid a move, after odd and even numbers of moves.
      if (++steps_ % 997 == 0) std::this_thread::yield();
    }
    at_ = 1 - at_;
  }

  [[nodiscard]] const View& view() const { return *view_; }
  [[nodiscard]] const Hashes& items() const { return items_; }

 private:
  const bool tells_;
  std::shared_ptr<Notices> notices_;
  std::vector<SubFilter> sub_filters_;
  Hashes items_ = Hashes(300);
  std::unique_ptr<View> view_;
  std::size_t at_ = 0;
  std::uint64_t steps_ = 0;
};

struct Seen {
  std::atomic<std::uint64_t> missed{0};
  std::atomic<std::uint64_t> open{0};
  std::atomic<std::uint64_t> wrong_counts{0};
  std::atomic<std::uint64_t> counted{0};
};

// Moves items and asks for them until `enough(seen)`.
template <typename Enough>
void move_and_ask(bool tells, Seen& seen, Enough&& enough) {
  Movers movers(tells);
  std::atomic<bool> ends{false};
  std::vector<std::jthread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      std::array<std::uint8_t, View::kMaxBatch> out, open;
      const auto items = std::span(movers.items());
      const auto outs = std::span(out).first(items.size());
      const auto opens = std::span(open).first(items.size());
      while (!ends) {
        movers.view().exists(items, outs, opens);
        for (std::size_t k = 0; k < items.size(); ++k) {
          seen.missed += outs[k] == 0 && opens[k] == 0;
          seen.open += opens[k];
        }
        movers.view().count(items, outs, opens);
        for (std::size_t k = 0; k < items.size(); ++k) {
          seen.counted += opens[k] == 0;
          seen.wrong_counts += opens[k] == 0 && outs[k] == 0;
        }
      }
    });
  }
  const auto limit = Clock::now() + kPatience;
  for (int moves = 0; !enough(seen, moves) && Clock::now() < limit; ++moves) {
    movers.move();
    if (::testing::Test::HasFailure()) break;
  }
  ends = true;
}

TEST(ViewThreads, AnItemThatMovesIsNeverMissed) {
  Seen seen;
  move_and_ask(true, seen, [](const Seen& now, int moves) {
    return moves >= 2000 && now.open >= 1000 && now.counted >= 1000;
  });
  EXPECT_EQ(seen.missed, 0u);
  EXPECT_EQ(seen.wrong_counts, 0u);
  EXPECT_GE(seen.open, 1000u);
  EXPECT_GE(seen.counted, 1000u);
}

// Shows that the test above would notice.
TEST(ViewThreads, AnItemThatMovesIsMissedWhereTheViewIsNotTold) {
  Seen seen;
  move_and_ask(false, seen, [](const Seen& now, int) { return now.missed > 0; });
  EXPECT_GT(seen.missed, 0u);
}

// A value under random changes, whose readers know items that stay, and take new views. One that
// turns over has so many items that its blocks have guests, which come home while others read.
class Field {
 public:
  Field(std::uint64_t seed, bool turns_over)
      : random_(seed),
        value_(CuckooValue::create({.capacity = turns_over ? 3500U : 300U,
                                    .error = seed % 2 == 0 ? 0 : 0.08,
                                    .expansion = static_cast<std::uint16_t>(1 + seed % 2),
                                    .seed = seed,
                                    .turns_over = turns_over})),
        least_(turns_over ? 3000 : 0) {
    stay_ = random_hashes(random_, 400);
    add(*value_, stay_);
    show();
  }

  void run(Clock::time_point end) {
    std::vector<std::jthread> readers;
    for (int i = 0; i < 2; ++i) readers.emplace_back([this] { read(); });
    while (Clock::now() < end || asked_ < 20'000) {
      change();
      if (::testing::Test::HasFailure()) break;
    }
    ends_ = true;
  }

  [[nodiscard]] std::uint64_t asked() const { return asked_; }
  [[nodiscard]] std::uint64_t missed() const { return missed_; }
  [[nodiscard]] std::uint64_t open() const { return open_; }
  [[nodiscard]] std::uint64_t compactions() const { return compactions_; }
  [[nodiscard]] std::uint64_t most_generations() const { return most_generations_; }
  [[nodiscard]] bool has_all() const {
    std::vector<std::uint8_t> out(stay_.size());
    value_->exists(stay_, out);
    return std::count(out.begin(), out.end(), 1) == std::ssize(stay_);
  }

 private:
  void read() {
    std::shared_ptr<const View> view;
    std::array<std::uint8_t, View::kMaxBatch> out, open;
    const auto items = std::span(stay_);
    const auto outs = std::span(out).first(items.size());
    const auto opens = std::span(open).first(items.size());
    for (std::uint64_t turn = 0; !ends_; ++turn) {
      if (turn % 8 == 0) {
        const std::scoped_lock lock(showing_);
        view = shown_;
      }
      if (view == nullptr) continue;
      if (turn % 4 == 0) {
        view->count(items, outs, opens);
      } else {
        view->exists(items, outs, opens);
      }
      std::uint64_t missed = 0, left = 0;
      for (std::size_t i = 0; i < items.size(); ++i) {
        missed += outs[i] == 0 && opens[i] == 0;
        left += opens[i];
      }
      missed_ += missed;
      open_ += left;
      asked_ += items.size();
    }
  }

  void show() {
    std::shared_ptr<const View> view = value_->view();
    const std::scoped_lock lock(showing_);
    shown_.swap(view);
  }

  void change() {
    const std::uint64_t what = random_() % 1000;
    if (what < 480) {
      Hashes hashes(random_() % (come_.size() < least_ ? 300 : 60));
      for (std::uint64_t& hash : hashes) {
        hash = random_() % 4 == 0 && !come_.empty() ? come_[random_() % come_.size()] : random_();
      }
      add(*value_, hashes);
      come_.insert(come_.end(), hashes.begin(), hashes.end());
    } else if (what < 960) {
      std::shuffle(come_.begin(), come_.end(), random_);
      const std::size_t some = std::min<std::size_t>(come_.size(), random_() % 61);
      const Hashes hashes(come_.end() - static_cast<std::ptrdiff_t>(some), come_.end());
      come_.resize(come_.size() - some);
      erase(*value_, hashes);
    } else if (what < 965) {
      value_->compact();
      ++compactions_;
    } else if (what < 970) {
      const auto other = CuckooValue::create(value_->settings());
      const Hashes hashes = random_hashes(random_, random_() % 300);
      add(*other, hashes);
      value_->merge(*other);
      come_.insert(come_.end(), hashes.begin(), hashes.end());
    } else if (what < 971) {
      value_ = value_->copy();
    } else if (what < 972) {
      erase(*value_, come_);
      come_.clear();
    } else {
      show();
    }
    most_generations_ = std::max(most_generations_, value_->sub_filters());
  }

  std::mt19937_64 random_;
  std::unique_ptr<CuckooValue> value_;
  Hashes stay_;
  Hashes come_;        // and go
  std::size_t least_;  // of those, soon
  std::mutex showing_;
  std::shared_ptr<const View> shown_;
  std::atomic<bool> ends_{false};
  std::atomic<std::uint64_t> asked_{0}, missed_{0}, open_{0};
  std::uint64_t compactions_ = 0, most_generations_ = 0;
};

TEST(ViewThreads, WhatStaysIsNeverMissed) {
  constexpr std::uint64_t kSeeds = 6;
  std::uint64_t compactions = 0, most_generations = 0, asked = 0, open = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    Field field(seed, seed > kSeeds / 2);
    field.run(Clock::now() + std::chrono::milliseconds(duration()) / kSeeds);
    EXPECT_EQ(field.missed(), 0u);
    EXPECT_TRUE(field.has_all());
    asked += field.asked();
    open += field.open();
    compactions += field.compactions();
    most_generations = std::max(most_generations, field.most_generations());
  }
  EXPECT_GT(compactions, 0u);
  EXPECT_GT(most_generations, 2u);
  EXPECT_GT(open, 0u);
  EXPECT_LT(open, asked);
}

}  // namespace
}  // namespace nestline::redis
