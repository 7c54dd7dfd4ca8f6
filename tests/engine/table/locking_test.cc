// What a lock leaves in the headers: a new version in each block that it changed, and nothing in
// the others. And which locks readers take when they lock (locking.h, R4).
//
// Linked with nestline_hooked: a call at a hook acts as a writer that disturbs the reader.
#include "lib/engine/place/locking.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <random>

#include "lib/engine/engine.h"

namespace nestline::test { namespace {

// A table of two blocks, and keys for it as hashes.
template <class L>
class LockingTest : public testing::Test {
 protected:
  using Headers = std::array<std::uint32_t, 2>;

  // A key, as its hash, with this home whose alternate is the other block.
  std::uint64_t key(std::uint64_t block) {
    for (;;) {
      const std::uint64_t hash = random_();
      const Place home = home_of<L>(kGeometry, hash);
      if (home.block == block && alternate_of(kGeometry, home) != block) return hash;
    }
  }
  // Puts a key with this home into its alternate.
  std::uint64_t key_that_is_away(std::uint64_t block) {
    const std::uint64_t hash = key(block);
    const Place home = home_of<L>(kGeometry, hash);
    L::set(blocks_[1 - block], first_slot(home.bucket), home.fingerprint);
    blocks_[block].raise_overflow_mark(eviction_rank(home.fingerprint));
    return hash;
  }
  // Fills both blocks, until no key finds room.
  void fill_up() {
    for (int failed = 0; failed < 50;) {
      failed += insert(key(random_() % 2)) != Outcome::stored;
    }
  }
  Result insert(std::uint64_t hash) { return filter_.insert(view_, hash); }
  Result insert_unique(std::uint64_t hash) { return filter_.insert_unique(view_, hash); }
  bool erase(std::uint64_t hash) { return filter_.erase(view_, hash); }
  Result update(std::uint64_t old_hash, std::uint64_t new_hash, bool& replaced) {
    return filter_.update(view_, old_hash, new_hash, replaced);
  }
  bool contains(std::uint64_t hash) const { return filter_.contains(view_, hash, nullptr); }
  unsigned count(std::uint64_t hash) const {
    return filter_.count(view_, home_of<L>(kGeometry, hash), nullptr);
  }
  bool is_away(std::uint64_t hash) const {
    const Place home = home_of<L>(kGeometry, hash);
    const Block& other = blocks_[1 - home.block];
    std::uint64_t rest = home.bucket;
    while (rest != 0 && L::get(other, first_slot(rest)) != home.fingerprint) rest &= rest - 1;
    return rest != 0;
  }

  // Whether the key is among the first to be evicted.
  static bool leaves_first(std::uint64_t hash) {
    return eviction_rank(home_of<L>(kGeometry, hash).fingerprint) < 8;
  }
  // A key with this home that is not.
  std::uint64_t key_that_stays(std::uint64_t block) {
    for (;;) {
      const std::uint64_t hash = key(block);
      if (!leaves_first(hash)) return hash;
    }
  }
  // Puts such a key into a slot of its home.
  std::uint64_t fill(std::uint64_t block, std::uint32_t slot) {
    for (;;) {
      const std::uint64_t hash = key_that_stays(block);
      const Place home = home_of<L>(kGeometry, hash);
      if ((home.bucket >> slot & 1) == 0) continue;
      L::set(blocks_[block], slot, home.fingerprint);
      return hash;
    }
  }

  // A key of block 0, which is full without it and the only one. Once a writer that has found it
  // absent has released its locks to make room, another stores it in place of one of the others.
  class Latecomer {
   public:
    explicit Latecomer(LockingTest& test) {
      table_ = &test;
      test.blocks_ = {};
      for (std::uint32_t slot = 0; slot < L::kSlots; ++slot) goes_ = test.fill(0, slot);
      do key_ = test.key(0);
      while (!leaves_first(key_));
      // It may leave, but finds no free slot of its bucket there: so it goes before the newcomer.
      const Place home = home_of<L>(kGeometry, key_);
      test.blocks_[0].raise_overflow_mark(eviction_rank(home.fingerprint));
      for (std::uint64_t rest = home.bucket; rest != 0; rest &= rest - 1) {
        test.fill(1, first_slot(rest));
      }
      test_hooks::at_point = [](int point) {
        if (point != NESTLINE_POINT_UNLOCKED) return;
        test_hooks::at_point = nullptr;
        EXPECT_TRUE(table_->erase(goes_));
        EXPECT_EQ(table_->insert_unique(key_), Outcome::stored);
      };
    }
    ~Latecomer() { test_hooks::at_point = nullptr; }
    Latecomer(const Latecomer&) = delete;
    Latecomer& operator=(const Latecomer&) = delete;

    std::uint64_t key() const { return key_; }
    bool has_come() const { return test_hooks::at_point == nullptr; }

   private:
    static inline LockingTest* table_ = nullptr;
    static inline std::uint64_t key_ = 0;
    static inline std::uint64_t goes_ = 0;
  };
  Headers headers() const { return {blocks_[0].header(), blocks_[1].header()}; }

  static constexpr Geometry kGeometry{2, 0};
  static constexpr std::uint32_t kNew = kHeaderVersion;
  std::mt19937_64 random_{L::kBits};
  std::array<Block, 2> blocks_{};
  const BlocksView view_ = {blocks_.data(), kGeometry, {}};
  const FilterOperations& filter_ =
      filter_engine(L::kBits, Placement::anywhere).of_filters().operations.many_writers;
};

using Layouts = testing::Types<FilterLayout<8>, FilterLayout<9>, FilterLayout<10>, FilterLayout<12>,
                               FilterLayout<16>>;
TYPED_TEST_SUITE(LockingTest, Layouts);

TYPED_TEST(LockingTest, AChangedBlockGetsANewVersion) {
  const std::uint64_t home = this->key(1);
  EXPECT_EQ(this->insert(home), Outcome::stored);
  EXPECT_EQ(this->headers(), (typename TestFixture::Headers{0, this->kNew}));
  EXPECT_EQ(this->insert_unique(this->key(0)), Outcome::stored);
  EXPECT_EQ(this->headers(), (typename TestFixture::Headers{this->kNew, this->kNew}));
  EXPECT_TRUE(this->erase(home));
  EXPECT_EQ(this->headers(), (typename TestFixture::Headers{this->kNew, 2 * this->kNew}));
  bool replaced = true;
  EXPECT_EQ(this->update(home, this->key(0), replaced), Outcome::stored);
  EXPECT_FALSE(replaced);
  EXPECT_EQ(this->headers(), (typename TestFixture::Headers{2 * this->kNew, 2 * this->kNew}));
}

TYPED_TEST(LockingTest, OnlyTheBlockThatAnEraseChanges) {
  for (const std::uint64_t block : {0, 1}) {
    const std::uint64_t home = this->key_that_is_away(block);
    auto expected = this->headers();
    expected[1 - block] += this->kNew;
    EXPECT_TRUE(this->erase(home));
    EXPECT_EQ(this->headers(), expected);
  }
}

TYPED_TEST(LockingTest, WhatChangesNothingLeavesTheHeaders) {
  const std::uint64_t stored = this->key(0);
  EXPECT_EQ(this->insert(stored), Outcome::stored);
  const auto early = this->headers();
  EXPECT_EQ(this->insert_unique(stored), Outcome::present);
  EXPECT_FALSE(this->erase(this->key(0)));
  EXPECT_FALSE(this->erase(this->key(1)));
  EXPECT_EQ(this->headers(), early);
  this->fill_up();
  const auto late = this->headers();
  EXPECT_NE(late, early);
  bool replaced = false;
  for (const std::uint64_t block : {0, 1}) {
    EXPECT_EQ(this->insert(this->key(block)), Outcome::full);
    EXPECT_EQ(this->insert_unique(this->key(block)), Outcome::full);
    EXPECT_EQ(this->update(this->key(block), this->key(block), replaced), Outcome::full);
    EXPECT_FALSE(this->erase(this->key(block)));
  }
  EXPECT_EQ(this->insert_unique(stored), Outcome::present);
  EXPECT_EQ(this->headers(), late);
}

// Gives a block a new version whenever the reader is about to compare headers, as a writer would
// that is always in the path. Records what is locked when a lock has been taken.
struct Nuisance {
  static inline Block* blocks = nullptr;
  static inline std::uint64_t block = 0;
  static inline std::uint32_t changes = 0;
  static inline std::uint32_t holds = 0;
  static inline bool other_locked = false;

  Nuisance(Block* all, std::uint64_t one) {
    blocks = all;
    block = one;
    changes = holds = 0;
    other_locked = false;
    test_hooks::at_point = [](int point) {
      if (point == NESTLINE_POINT_LOCKED) {
        ++holds;
        other_locked = (blocks[1 - block].header() & kHeaderLock) != 0;
      }
      if (point != NESTLINE_POINT_BEFORE_CHECK) return;
      ++changes;
      BlockLocks::lock(blocks[block]);
      BlockLocks::unlock(blocks[block], kHeaderVersion);
    };
  }
  ~Nuisance() { test_hooks::at_point = nullptr; }
  Nuisance(const Nuisance&) = delete;
  Nuisance& operator=(const Nuisance&) = delete;
};

TYPED_TEST(LockingTest, ReadersThatLockChangeNoHeader) {
  const std::uint64_t away = this->key_that_is_away(0);
  const std::uint64_t absent = this->key(0);
  for (const std::uint64_t home : {away, absent}) {
    for (const bool counting : {true, false}) {
      auto expected = this->headers();
      const Nuisance nuisance(this->blocks_.data(), 0);
      const unsigned found = counting ? this->count(home) : unsigned{this->contains(home)};
      EXPECT_EQ(found, home == away ? 1u : 0u);
      EXPECT_EQ(Nuisance::holds, 1u);
      EXPECT_EQ(Nuisance::changes, BlockLocks::kReadTries);
      expected[0] += Nuisance::changes * this->kNew;
      EXPECT_EQ(this->headers(), expected);
    }
  }
}

TYPED_TEST(LockingTest, ReadersLockTheAlternateOnlyWhereTheMarkCoversTheClass) {
  const std::uint64_t home = this->key(1);
  // Locked for good: a caller that wants this lock would never return.
  BlockLocks::lock(this->blocks_[0]);
  {
    const Nuisance nuisance(this->blocks_.data(), 1);
    EXPECT_EQ(this->count(home), 0u);
    EXPECT_FALSE(this->contains(home));
    EXPECT_EQ(Nuisance::holds, 2u);
  }
  // A copy at home says yes to contains, whatever the mark.
  BlockLocks::unlock(this->blocks_[0], 0);
  EXPECT_EQ(this->insert(home), Outcome::stored);
  this->blocks_[1].raise_overflow_mark(kEvictionRanks - 1);
  BlockLocks::lock(this->blocks_[0]);
  const Nuisance nuisance(this->blocks_.data(), 1);
  EXPECT_TRUE(this->contains(home));
  EXPECT_EQ(Nuisance::holds, 1u);
}

TYPED_TEST(LockingTest, FindsAKeyThatCameMeanwhileWhereItHasMovedIt) {
  for (const bool updates : {false, true}) {
    int moved = 0;
    for (int round = 0; round < 200; ++round) {
      const typename TestFixture::Latecomer late(*this);
      bool replaced = false;
      if (updates) {
        EXPECT_EQ(this->update(late.key(), this->key_that_stays(0), replaced), Outcome::stored);
      } else {
        EXPECT_EQ(this->insert_unique(late.key()), Outcome::present);
        moved += this->is_away(late.key());
      }
      EXPECT_TRUE(late.has_come());
      EXPECT_EQ(replaced, updates);
      EXPECT_EQ(this->count(late.key()), updates ? 0u : 1u);
    }
    EXPECT_EQ(moved != 0, !updates);
  }
}

}  // namespace
}  // namespace nestline::test
