// What other threads are told of a value that goes on changing, and what it is like meanwhile.
#include "lib/faces/embed/value/view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "lib/faces/embed/value/sub_filter_plan.h"
#include "lib/faces/embed/value/value.h"
#include "nestline/keys.h"
#include "tests/faces/embed/value/hashes.h"

namespace nestline::redis { namespace {

struct Answers {
  std::vector<std::uint8_t> out;
  std::vector<std::uint8_t> open;
};

template <typename Ask>
Answers ask(const Hashes& hashes, Ask&& question) {
  Answers answers{std::vector<std::uint8_t>(hashes.size(), 7),
                  std::vector<std::uint8_t>(hashes.size(), 7)};
  for (std::size_t at = 0; at < hashes.size(); at += View::kMaxBatch) {
    const std::size_t some = std::min(View::kMaxBatch, hashes.size() - at);
    question(std::span(hashes).subspan(at, some), std::span(answers.out).subspan(at, some),
             std::span(answers.open).subspan(at, some));
  }
  return answers;
}
Answers exists(const View& view, const Hashes& hashes) {
  return ask(hashes, [&](auto... spans) { view.exists(spans...); });
}
Answers count(const View& view, const Hashes& hashes) {
  return ask(hashes, [&](auto... spans) { view.count(spans...); });
}

bool contains(const CuckooValue& value, std::uint64_t hash) {
  std::uint8_t out = 0;
  value.exists(std::span<const std::uint64_t>(&hash, 1), std::span(&out, 1));
  return out != 0;
}

TEST(View, TellsWhatTheValueTells) {
  std::mt19937_64 random(1);
  for (const std::size_t items : {0u, 10u, 3000u, 60000u}) {
    const auto value = CuckooValue::create({.capacity = 500, .seed = 3});
    Hashes in = random_hashes(random, items);
    for (std::size_t i = 0; i < items / 50; ++i) in[i * 2 + 1] = in[i * 2];
    add(*value, in);
    Hashes asked = random_hashes(random, 2000);
    asked.insert(asked.end(), in.begin(), in.end());
    Answers expected{std::vector<std::uint8_t>(asked.size()), {}};
    value->exists(asked, expected.out);
    const auto view = value->view();
    ASSERT_NE(view, nullptr);
    const Answers found = exists(*view, asked);
    EXPECT_EQ(found.out, expected.out);
    EXPECT_EQ(std::count(found.open.begin(), found.open.end(), 0), std::ssize(asked));
    value->count(asked, expected.out);
    const Answers counted = count(*view, asked);
    EXPECT_EQ(counted.out, expected.out);
    EXPECT_EQ(std::count(counted.open.begin(), counted.open.end(), 0), std::ssize(asked));
  }
}

TEST(View, LeavesWhatTheLedgerNamesOpen) {
  const auto value = CuckooValue::create({.capacity = 500, .seed = 3});
  Hashes many(30, 17);  // more copies than slots
  add(*value, many);
  add(*value, {18});
  const auto view = value->view();
  ASSERT_NE(view, nullptr);
  const Hashes asked = {17, 18, 19};
  EXPECT_EQ(exists(*view, asked).open, (std::vector<std::uint8_t>{1, 0, 0}));
  EXPECT_EQ(exists(*view, asked).out, (std::vector<std::uint8_t>{0, 1, 0}));
  EXPECT_EQ(count(*view, asked).open, (std::vector<std::uint8_t>{1, 0, 0}));
}

TEST(View, IsNotMadeOfWhatItCannotAnswerFor) {
  const auto tables = CuckooValue::create_as_redisbloom({.capacity = 500});
  EXPECT_EQ(tables->view(), nullptr);
  const auto full = CuckooValue::create({.capacity = 500});
  add(*full, {1, 2, 3});
  const auto unfinished = CuckooValue::from_head(full->dump_chunk(0).bytes, 0);
  EXPECT_EQ(unfinished->view(), nullptr);
  for (std::uint64_t item = 0; item <= View::kMaxNamed; ++item) add(*full, Hashes(30, item));
  EXPECT_EQ(full->view(), nullptr);
}

TEST(View, OutlivesTheValue) {
  std::mt19937_64 random(2);
  const Hashes in = random_hashes(random, 5000);
  auto value = CuckooValue::create({.capacity = 500, .seed = 9});
  add(*value, in);
  const auto view = value->view();
  const auto later = value->view();
  value->clear();
  EXPECT_EQ(value->items(), 0u);
  EXPECT_EQ(exists(*view, in).out, std::vector<std::uint8_t>(in.size(), 1));
  value.reset();
  EXPECT_EQ(exists(*later, in).out, std::vector<std::uint8_t>(in.size(), 1));
}

// A value of two related sub_filters, and items x of the older one with other items y that look
// the same in both, and of which the newer one shows neither.
struct Exchange {
  std::unique_ptr<CuckooValue> value;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> pairs;
};

Exchange exchange(std::mt19937_64& random) {
  const Settings settings{.capacity = 2000, .seed = 5};
  const auto older = CuckooValue::create(settings);
  Exchange made{CuckooValue::create(settings), {}};
  const Hashes in_older = random_hashes(random, 1500);
  add(*older, in_older);
  add(*made.value, random_hashes(random, 1500));
  std::vector<std::unique_ptr<CuckooValue>> alone;
  for (std::size_t i = 0; i < 100; ++i) {
    alone.push_back(CuckooValue::create(settings));
    add(*alone.back(), {in_older[i]});
  }
  while (made.pairs.size() < 20) {
    const std::uint64_t y = random();
    if (!contains(*older, y) || contains(*made.value, y)) continue;
    for (std::size_t i = 0; i < alone.size(); ++i) {
      if (contains(*alone[i], y) && !contains(*made.value, in_older[i])) {
        made.pairs.emplace_back(in_older[i], y);
      }
    }
  }
  made.value->merge(*older);
  EXPECT_EQ(made.value->sub_filters(), 2u);
  return made;
}

// The newer sub_filter gets another filter. Then x and y change names: y is added to the new filter
// and erased from the old one. So x is in the new filter, which the View does not have.
TEST(View, LeavesOpenWhereAnItemMayHaveMoved) {
  std::mt19937_64 random(3);
  Exchange made = exchange(random);
  CuckooValue& value = *made.value;
  const auto view = value.view();
  ASSERT_NE(view, nullptr);
  while (value.list().back().growth() == 0) add(value, random_hashes(random, 50));
  ASSERT_EQ(value.sub_filters(), 2u);
  std::uint64_t moved = 0;
  for (const auto& [x, y] : made.pairs) {
    add(value, {y});
    erase(value, {y});
    ASSERT_TRUE(contains(value, x));
    const Answers answers = exists(*view, {x});
    moved += answers.out[0] == 0;
    EXPECT_TRUE(answers.out[0] == 1 || answers.open[0] == 1);
  }
  EXPECT_GT(moved, 0u) << "no item has moved: this test shows nothing";
  // A view of the present sub_filters has them.
  const auto present = value.view();
  for (const auto& [x, y] : made.pairs) EXPECT_EQ(exists(*present, {x}).out[0], 1);
}

// Two values with the same history; others look at one of them.
class TwinRun {
 public:
  explicit TwinRun(std::uint64_t seed, const Settings& settings)
      : plain_(CuckooValue::create(settings)),
        viewed_(CuckooValue::create(settings)),
        random_(seed) {}

  void run(int steps) {
    for (int step = 0; step < steps; ++step) {
      change();
      if (random_() % 3 == 0) look();
      if (random_() % 16 == 0) {
        ASSERT_EQ(viewed_->digest(), plain_->digest());
        ASSERT_EQ(viewed_->copy()->digest(), plain_->digest());
      }
      if (::testing::Test::HasFailure()) return;
    }
    ASSERT_EQ(viewed_->digest(), plain_->digest());
  }
  [[nodiscard]] std::uint64_t looked() const { return looked_; }
  [[nodiscard]] std::uint64_t open() const { return open_; }
  [[nodiscard]] std::size_t most_generations() const { return most_generations_; }

 private:
  struct Held {
    std::unique_ptr<View> view;
    std::map<std::uint64_t, std::uint64_t> there;  // items since, with the fewest copies since
  };

  void change() {
    const std::uint64_t what = random_() % 100;
    if (what < 45) {
      Hashes hashes = random_hashes(random_, random_() % 400);
      if (!items_.empty()) {
        for (std::uint64_t& hash : hashes) {
          if (random_() % 8 == 0) hash = any();
        }
      }
      add(*plain_, hashes);
      add(*viewed_, hashes);
      for (const std::uint64_t hash : hashes) ++items_[hash];
    } else if (what < 90) {
      Hashes hashes;
      for (std::uint64_t i = random_() % 300; i != 0 && !items_.empty(); --i) {
        hashes.push_back(any());
        take(hashes.back());
      }
      erase(*plain_, hashes);
      erase(*viewed_, hashes);
    } else if (what < 93) {
      plain_->compact();
      viewed_->compact();
    } else if (what < 96) {
      const auto other = CuckooValue::create(plain_->settings());
      const Hashes hashes = random_hashes(random_, random_() % 1000);
      add(*other, hashes);
      const auto view = random_() % 2 == 0 ? other->view() : nullptr;
      plain_->merge(*other);
      viewed_->merge(*other);
      for (const std::uint64_t hash : hashes) ++items_[hash];
    } else if (what < 97) {
      plain_->clear();
      viewed_->clear();
      items_.clear();
      for (Held& held : held_) held.there.clear();
    } else if (what < 98) {
      const auto head = viewed_->dump_chunk(0);
      const auto piece = viewed_->dump_chunk(head.next);
      EXPECT_EQ(plain_->load_chunk(piece.next, piece.bytes),
                viewed_->load_chunk(piece.next, piece.bytes));
    } else {  // all out, one by one
      Hashes hashes;
      while (!items_.empty()) {
        hashes.push_back(items_.begin()->first);
        take(hashes.back());
      }
      erase(*plain_, hashes);
      erase(*viewed_, hashes);
    }
    most_generations_ = std::max<std::size_t>(most_generations_, viewed_->sub_filters());
  }

  void look() {
    if (held_.size() < 4) {
      if (auto view = viewed_->view()) held_.push_back({std::move(view), items_});
    } else {
      held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(random_() % held_.size()));
    }
    for (const Held& held : held_) {
      Hashes hashes;
      for (const auto& [hash, copies] : held.there) hashes.push_back(hash);
      const Answers found = exists(*held.view, hashes);
      const Answers counted = count(*held.view, hashes);
      for (std::size_t i = 0; i < hashes.size(); ++i) {
        ASSERT_TRUE(found.out[i] == 1 || found.open[i] == 1);
        ASSERT_TRUE(counted.out[i] >= std::min<std::uint64_t>(255, held.there.at(hashes[i])) ||
                    counted.open[i] == 1);
        ++looked_;
        open_ += found.open[i];
      }
    }
  }

  std::uint64_t any() {
    const auto at = items_.lower_bound(random_());
    return at == items_.end() ? items_.begin()->first : at->first;
  }
  void take(std::uint64_t hash) {
    const auto item = items_.find(hash);
    if (--item->second == 0) items_.erase(item);
    const auto now = items_.find(hash);
    for (Held& held : held_) {
      const auto there = held.there.find(hash);
      if (there == held.there.end()) continue;
      if (now == items_.end()) {
        held.there.erase(there);
      } else {
        there->second = std::min(there->second, now->second);
      }
    }
  }

  std::unique_ptr<CuckooValue> plain_;
  std::unique_ptr<CuckooValue> viewed_;
  std::mt19937_64 random_;
  std::map<std::uint64_t, std::uint64_t> items_;  // and their copies
  std::vector<Held> held_;
  std::uint64_t looked_ = 0;
  std::uint64_t open_ = 0;
  std::size_t most_generations_ = 0;
};

TEST(View, DoesNotDisturbItsValue) {
  std::uint64_t looked = 0, open = 0;
  std::size_t most_generations = 0;
  for (std::uint64_t seed = 1; seed <= 12 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Settings settings{.capacity = std::uint64_t{100} << seed % 4,
                            .error = seed % 2 == 0 ? 0 : 0.06,
                            .expansion = static_cast<std::uint16_t>(1 + seed % 3),
                            .seed = seed};
    TwinRun run(seed, settings);
    run.run(150);
    looked += run.looked();
    open += run.open();
    most_generations = std::max(most_generations, run.most_generations());
  }
  EXPECT_GT(looked, 100'000u);
  EXPECT_GT(open, 0u);
  EXPECT_LT(open, looked / 2);
  EXPECT_GT(most_generations, 3u);
}

}  // namespace
}  // namespace nestline::redis
