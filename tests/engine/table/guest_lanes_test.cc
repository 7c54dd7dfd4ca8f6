// Filters with guest lanes against an exact model: after every few operations each slot of each
// block must be what lane_rules.h allows, and every key is found. Keys are made to meet: copies,
// and twins, which look the same from the other block.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "lib/engine/kernels/build_kernels.h"
#include "tests/support/lane_rules.h"
#include "tests/support/model.h"

namespace nestline::test { namespace {

// A filter and the hashes that are stored in it.
class LaneFilter {
 public:
  LaneFilter(int bits, std::uint64_t bases, std::uint64_t seed, std::uint32_t growth = 0)
      : filter_(lanes_filter(bits, bases, growth)), random_(seed) {}

  [[nodiscard]] Filter& filter() { return filter_; }
  [[nodiscard]] const std::vector<std::uint64_t>& stored() const { return stored_; }
  [[nodiscard]] std::vector<std::uint64_t>& stored() { return stored_; }
  [[nodiscard]] std::mt19937_64& random() { return random_; }
  [[nodiscard]] const Geometry& geometry() const {
    return FilterAccess::blocks(filter_).view.geometry;
  }

  // New, or a copy or a twin of one that is stored.
  std::uint64_t draw(unsigned meeting) {
    const std::uint64_t what = random_() % 100;
    if (stored_.empty() || what >= 2 * meeting) return random_();
    const std::uint64_t one = stored_[random_() % stored_.size()];
    return what < meeting ? one : twin_of(filter_.bits(), geometry(), one);
  }
  std::uint64_t take() {
    std::swap(stored_[random_() % stored_.size()], stored_.back());
    const std::uint64_t hash = stored_.back();
    stored_.pop_back();
    return hash;
  }

  // A refused insert leaves every byte as it was.
  Outcome insert(std::uint64_t hash, bool unique = false) {
    const auto before = block_bytes(filter_);
    const bool was_there = filter_.may_contain(Hash{hash});
    const Outcome outcome =
        (unique ? filter_.insert_unique(Hash{hash}) : filter_.insert(Hash{hash})).outcome;
    if (unique) {
      EXPECT_EQ(outcome == Outcome::present, was_there);
    }
    if (outcome == Outcome::stored) {
      stored_.push_back(hash);
    } else {
      EXPECT_EQ(block_bytes(filter_), before);
    }
    return outcome;
  }
  void erase() {
    const std::uint64_t hash = take();
    EXPECT_TRUE(filter_.erase(Hash{hash})) << hash;
  }
  bool update(std::uint64_t hash) {
    const auto before = block_bytes(filter_);
    const std::uint64_t old = take();
    const Outcome outcome = filter_.update(Hash{old}, Hash{hash}).outcome;
    const bool done = outcome == Outcome::stored;
    stored_.push_back(done ? hash : old);
    EXPECT_NE(outcome, Outcome::present);
    if (!done) {
      EXPECT_EQ(block_bytes(filter_), before);
    }
    return done;
  }
  void batch(unsigned meeting) {
    std::vector<Hash> keys(random_() % 150);
    if (random_() % 2 == 0) {
      for (Hash& key : keys) key = {draw(meeting)};
      std::vector<Outcome> outcomes(keys.size());
      (void)(random_() % 2 == 0 ? filter_.insert(keys, outcomes)
                                : filter_.insert_unique(keys, outcomes));
      for (std::size_t i = 0; i < keys.size(); ++i) {
        if (outcomes[i] == Outcome::stored) stored_.push_back(keys[i].value);
      }
    } else {
      keys.resize(std::min(keys.size(), stored_.size()));
      for (Hash& key : keys) key = {take()};
      std::vector<std::uint8_t> erased(keys.size());
      filter_.erase(keys, erased);
      EXPECT_EQ(std::count(erased.begin(), erased.end(), 1),
                static_cast<std::ptrdiff_t>(keys.size()));
    }
  }
  void one_operation(double load, unsigned meeting) {
    const bool full =
        static_cast<double>(stored_.size()) >= load * static_cast<double>(filter_.slots());
    const std::uint64_t what = random_() % 100;
    if (stored_.empty() || what < (full ? 30u : 60u)) {
      insert(draw(meeting), what % 4 == 0);
    } else if (what < 92) {
      erase();
    } else if (what < 98) {
      update(draw(meeting));
    } else {
      batch(meeting);
    }
  }
  void expect_right() const { expect_lane_rules(filter_, stored_); }
  void expect_empty() const {
    const auto& view = FilterAccess::blocks(filter_).view;
    for (std::uint64_t b = 0; b < view.geometry.blocks(); ++b) {
      const auto& bytes = view.blocks[b].bytes;
      ASSERT_TRUE(std::all_of(bytes.begin(), bytes.begin() + kOverflowMarkByte,
                              [](std::uint8_t byte) { return byte == 0; }));
    }
  }
  // Opens a block, as a search does where nothing else makes room, or as a file of version 3 has
  // it.
  void open(std::uint64_t block, std::uint32_t fingerprint) {
    const Blocks& state = FilterAccess::blocks(filter_);
    const BlockClasses classes = block_classes(state.bits, state.view.geometry, block);
    fingerprint = classes.first() | (fingerprint & 0xff >> classes.shift());
    state.engine->build->open(state.blocks()[block], classes, fingerprint);
  }
  [[nodiscard]] std::size_t open_blocks() const {
    const BlocksView& view = FilterAccess::blocks(filter_).view;
    const auto* const first = view.blocks;
    return static_cast<std::size_t>(
        std::count_if(first, first + view.geometry.blocks(),
                      [](const Block& block) { return is_open_level(block.guest_level()); }));
  }

 private:
  Filter filter_;
  std::mt19937_64 random_;
  std::vector<std::uint64_t> stored_;
};

class GuestLanesTest : public testing::TestWithParam<int> {};

TEST_P(GuestLanesTest, RandomOperations) {
  std::size_t open = 0;
  // The last ones have doubled as often as they can: 16 classes a block are left.
  const std::uint32_t most = GetParam() == 16 ? 8 : max_growth(GetParam());
  for (const auto& [bases, growth] : std::initializer_list<std::pair<std::uint64_t, std::uint32_t>>{
           {64, 0}, {97, 0}, {5, most}}) {
    const std::uint64_t blocks = bases << growth;
    for (const unsigned meeting : {0u, 8u}) {
      SCOPED_TRACE(std::to_string(blocks) + " blocks, meeting " + std::to_string(meeting));
      LaneFilter lanes(GetParam(), bases, bases * 100 + meeting, growth);
      std::size_t guests = 0;
      for (const double load : {0.5, 0.8, 0.9, 0.95, 1.0, 0.7, 0.9}) {
        while (static_cast<double>(lanes.stored().size()) <
               load * static_cast<double>(lanes.filter().slots())) {
          if (lanes.insert(lanes.draw(meeting)) == Outcome::full) break;
        }
        for (int step = 0; step < 800; ++step) {
          // A block may be opened at any time, and those are that full filters need.
          if (meeting != 0 && step % 40 == 0) {
            const std::uint64_t random = lanes.random()();
            lanes.open(random % blocks, 1 + static_cast<std::uint32_t>(random >> 32) % 255);
          }
          lanes.one_operation(load, meeting);
          if (step % 100 == 99) {
            lanes.expect_right();
            open += lanes.open_blocks();
          }
          if (HasFailure()) return;
        }
        for (std::uint64_t b = 0; b < blocks; ++b) {
          guests += FilterAccess::blocks(lanes.filter()).view.blocks[b].guest_level() != 0;
        }
      }
      EXPECT_GT(guests, 0u);
      while (!lanes.stored().empty()) lanes.erase();
      lanes.expect_empty();
      if (HasFailure()) return;
      lanes.insert(1);
      lanes.filter().clear();
      lanes.stored().clear();
      EXPECT_EQ(block_bytes(lanes.filter()), block_bytes(lanes_filter(GetParam(), bases, growth)));
    }
  }
  EXPECT_GT(open, 0u);
}

TEST_P(GuestLanesTest, ManyBlocks) {
  LaneFilter lanes(GetParam(), 4096, 7);
  for (const double load : {0.9, 0.97}) {
    const auto keys = static_cast<std::size_t>(load * static_cast<double>(lanes.filter().slots()));
    while (lanes.stored().size() < keys) {
      std::vector<Hash> more(keys - lanes.stored().size());
      for (Hash& key : more) key = {lanes.draw(1)};
      std::vector<Outcome> outcomes(more.size());
      (void)lanes.filter().insert(more, outcomes);
      for (std::size_t i = 0; i < more.size(); ++i) {
        if (outcomes[i] == Outcome::stored) lanes.stored().push_back(more[i].value);
      }
    }
    lanes.expect_right();
    for (int step = 0; step < 800 && !HasFailure(); ++step) lanes.batch(1);
    lanes.expect_right();
  }
}

// As many copies as a bucket has slots, and one more unless a block is open. After all copies have
// gone, everything goes on.
TEST_P(GuestLanesTest, Copies) {
  const std::uint32_t most = most_copies(GetParam()) / 2 + 1;
  for (const double load : {0.0, 0.5, 0.85}) {
    LaneFilter lanes(GetParam(), 64, 3);
    while (static_cast<double>(lanes.stored().size()) <
           load * static_cast<double>(lanes.filter().slots())) {
      lanes.insert(lanes.random()());
    }
    for (int round = 0; round < 40 && !HasFailure(); ++round) {
      const std::size_t others = lanes.stored().size();
      const std::uint64_t hash = lanes.random()();
      const Place home = home_of(GetParam(), lanes.geometry(), hash);
      const bool alone = alternate_of(lanes.geometry(), home) == home.block;
      const std::uint64_t twin = twin_of(GetParam(), lanes.geometry(), hash);
      const Filter& filter = lanes.filter();
      if (filter.may_contain(Hash{hash}) || filter.may_contain(Hash{twin})) continue;
      std::uint32_t copies = 0;
      for (;;) {
        const std::uint64_t one = round % 3 == 2 && lanes.random()() % 2 == 0 ? twin : hash;
        const Outcome outcome = lanes.insert(one);
        if (outcome != Outcome::stored) {
          EXPECT_EQ(outcome, Outcome::too_many_copies);
          break;
        }
        ++copies;
      }
      const std::uint32_t least = most - (alone ? 2 : 1);
      EXPECT_GE(copies, least) << "load " << load << ", round " << round;
      if (round % 3 != 2 && lanes.open_blocks() == 0) {
        EXPECT_LE(copies, least + 1) << "load " << load << ", round " << round;
      }
      lanes.expect_right();
      // The copies go, or in every other round half of the others first.
      if (round % 2 == 0) {
        for (std::size_t i = 0; i < others / 2; ++i) {
          std::swap(lanes.stored()[i], lanes.stored()[lanes.random()() % others]);
          const std::uint64_t other = lanes.stored()[i];
          EXPECT_TRUE(lanes.filter().erase(Hash{other}));
          EXPECT_TRUE(lanes.filter().insert(Hash{other}));
        }
        lanes.expect_right();
      }
      while (lanes.stored().size() > others) {
        const std::uint64_t one = lanes.stored().back();
        lanes.stored().pop_back();
        EXPECT_TRUE(lanes.filter().erase(Hash{one}));
      }
      lanes.expect_right();
    }
    for (int step = 0; step < 3000 && !HasFailure(); ++step) {
      lanes.one_operation(0.9, 5);
      if (step % 200 == 0) lanes.expect_right();
    }
    lanes.expect_right();
  }
}

// Copies that come by update instead of insert. Each of them takes another key's place. Where a
// tenth of the keys are copies, a new one may find no room, by insert neither (docs/SIZING.md,
// "Filters that turn over").
TEST_P(GuestLanesTest, CopiesByUpdate) {
  unsigned without = 0;
  for (const double load : {0.02, 0.5, 0.9}) {
    LaneFilter lanes(GetParam(), 64, 11);
    while (static_cast<double>(lanes.stored().size()) <
           load * static_cast<double>(lanes.filter().slots())) {
      lanes.insert(lanes.random()());
    }
    for (int round = 0; round < 60 && !HasFailure(); ++round) {
      const std::uint64_t hash =
          hash_of_class(GetParam(), lanes.geometry(), lanes.random()() % 64,
                        1 + static_cast<std::uint32_t>(lanes.random()() % 255), lanes.random());
      std::uint32_t copies = 0;
      while (copies < 12 && lanes.update(hash)) ++copies;
      without += copies == 0;
      lanes.expect_right();
    }
  }
  EXPECT_LE(without, 2u);
}

// As many as by inserts, and no filter grows for one that finds none.
TEST_P(GuestLanesTest, UpdatesStoreAsManyCopies) {
  const std::uint32_t most = most_copies(GetParam()) / 2 + 1;
  for (std::uint64_t seed = 1; seed <= 30 && !HasFailure(); ++seed) {
    LaneFilter lanes(GetParam(), 64, seed);
    for (int i = 0; i < 40; ++i) lanes.insert(lanes.random()());
    const std::uint64_t hash = lanes.random()();
    const Place home = home_of(GetParam(), lanes.geometry(), hash);
    const bool alone = alternate_of(lanes.geometry(), home) == home.block;
    const std::vector<std::uint64_t> others = lanes.stored();
    std::uint32_t copies = 0;
    Outcome outcome = Outcome::stored;
    for (; outcome == Outcome::stored && copies < most + 2; ++copies) {
      outcome = lanes.filter().update(Hash{others[copies]}, Hash{hash}).outcome;
      if (outcome == Outcome::stored) lanes.stored()[copies] = hash;
    }
    EXPECT_EQ(outcome, Outcome::too_many_copies);
    EXPECT_EQ(copies - 1, alone ? most - 1 : most) << "seed " << seed;
    lanes.expect_right();
  }
  Filter filter(
      {.capacity = 20'000, .bits = GetParam(), .max_capacity = 30'000, .turns_over = true});
  for (std::uint64_t key = 0; key < 100; ++key) ASSERT_TRUE(filter.insert(key));
  for (std::uint64_t key = 0; key < 20; ++key) (void)filter.update(key, std::uint64_t{1000});
  EXPECT_EQ(filter.growth(), 0u);
}

// Few classes, all of which leave: lanes fill up.
TEST_P(GuestLanesTest, FewClasses) {
  for (const std::uint32_t classes : {1u, 2u, 5u, 9u}) {
    for (const std::uint32_t from : {1u, 8u, 89u, 95u, 97u, 250u}) {
      SCOPED_TRACE(std::to_string(classes) + " classes from " + std::to_string(from));
      LaneFilter lanes(GetParam(), 64, from * 10 + classes);
      const auto draw = [&] {
        // Mostly of few blocks.
        const std::uint64_t base = lanes.random()() % (lanes.random()() % 8 == 0 ? 64 : 6);
        const auto of = from + static_cast<std::uint32_t>(lanes.random()() % classes);
        return hash_of_class(GetParam(), lanes.geometry(), base, std::min(of, 255u),
                             lanes.random());
      };
      for (int step = 0; step < 1500 && !HasFailure(); ++step) {
        const std::uint64_t what = lanes.random()() % 100;
        if (lanes.stored().empty() || what < (step < 700 ? 70 : 45)) {
          lanes.insert(draw(), what % 2 == 0);
        } else if (what < 93) {
          lanes.erase();
        } else {
          lanes.update(draw());
        }
        if (step % 100 == 99) lanes.expect_right();
      }
      lanes.expect_right();
    }
  }
}

// x is at home in an open block, and looks like y, at home in x's alternate, whose level is below
// their class: so y may have the slot in the guest lane, and is no guest. An erase of x must not
// take y.
TEST_P(GuestLanesTest, NativesAboveTheLevelAreNoGuests) {
  int seen = 0;
  for (std::uint64_t seed = 1; seed < 60 && !HasFailure(); ++seed) {
    LaneFilter lanes(GetParam(), 64, seed);
    const std::uint32_t of = 1 + static_cast<std::uint32_t>(lanes.random()() % 255);
    const std::uint64_t base = lanes.random()() % 64;
    lanes.open(base, of);
    const std::uint64_t x = hash_of_class(GetParam(), lanes.geometry(), base, of, lanes.random());
    const std::uint64_t y = twin_of(GetParam(), lanes.geometry(), x);
    lanes.insert(x);
    for (std::uint32_t i = 0; i < most_copies(GetParam()) / 2; ++i) {
      const Place home = home_of(GetParam(), lanes.geometry(), y);
      if (FilterAccess::blocks(lanes.filter()).view.blocks[home.block].overflow_mark() != 0) break;
      lanes.insert(y);
      ++seen;
    }
    if (lanes.filter().count(Hash{y}) == 0) continue;
    EXPECT_TRUE(lanes.filter().erase(Hash{x}));
    lanes.stored().erase(std::find(lanes.stored().begin(), lanes.stored().end(), x));
    lanes.expect_right();
  }
  EXPECT_GT(seen, 20);
}

// In a full filter a key is refused of which there is no copy, but as many in its alternate as may
// be, which have their home there: there is no room for it, and growth may make some.
TEST_P(GuestLanesTest, ATwinsCopiesAreNotTheKeys) {
  int seen = 0;
  for (std::uint64_t seed = 1; seed <= 8 && !HasFailure(); ++seed) {
    LaneFilter lanes(GetParam(), 64, seed);
    const std::uint64_t x = hash_of_class(GetParam(), lanes.geometry(), seed, 255, lanes.random());
    const std::uint64_t y = twin_of(GetParam(), lanes.geometry(), x);
    const unsigned most = most_copies(GetParam()) / 2;
    while (lanes.filter().count(Hash{y}) < most && lanes.insert(y) == Outcome::stored) continue;
    for (int refused = 0; refused < 15;) {
      refused = lanes.insert(lanes.random()()) == Outcome::stored ? 0 : refused + 1;
    }
    const Outcome outcome = lanes.insert(x);
    if (outcome == Outcome::stored) continue;
    const unsigned copies = lanes.filter().count(Hash{x});
    EXPECT_EQ(outcome, copies + 1 < most ? Outcome::full : Outcome::too_many_copies) << copies;
    seen += copies == 0 && lanes.filter().count(Hash{y}) == most;
  }
  EXPECT_GT(seen, 2);
}

INSTANTIATE_TEST_SUITE_P(Widths, GuestLanesTest, testing::ValuesIn(kFilterWidths));

}}  // namespace nestline::test
