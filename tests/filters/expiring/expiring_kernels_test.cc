// The kernels that only expiring filters have, on every target that this machine can run, against
// their definitions in layout.h and aging.h. Those that other filters have as well are in
// tests/engine/kernels/kernels_test.cc.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "lib/engine/engine.h"
#include "lib/engine/place/aging.h"
#include "lib/engine/place/geometry.h"
#include "lib/engine/place/layout.h"
#include "lib/engine/place/locking.h"
#include "lib/filters/expiring/expiring_state.h"
#include "nestline/expiring_filter.h"
#include "tests/engine/kernels/each_target.h"
#include "tests/filters/expiring/expiring_model.h"

namespace nestline::test { namespace {

using Narrow = ExpiringLayout<8>;
using Wide12 = ExpiringLayout<12>;

template <class L>
class ExpiringLayoutTest : public testing::Test {};
using ExpiringLayouts = testing::Types<Narrow, Wide12>;
TYPED_TEST_SUITE(ExpiringLayoutTest, ExpiringLayouts);

TYPED_TEST(ExpiringLayoutTest, KeepsEachFingerprintAndDeathApart) {
  using L = TypeParam;
  std::mt19937_64 random(1);
  Block block{};
  std::memset(block.bytes.data() + kOverflowMarkByte, 0xa5, 4);
  std::vector<std::uint32_t> fingerprints(L::kSlots);
  std::vector<std::uint32_t> deaths(L::kSlots);
  for (int step = 0; step < 20'000; ++step) {
    const auto slot = static_cast<std::uint32_t>(random() % L::kSlots);
    const auto death = static_cast<std::uint32_t>(random() % 16);
    if (random() % 4 == 0) {
      L::set(block, slot, 0);
      fingerprints[slot] = deaths[slot] = 0;
    } else if (random() % 2 == 0) {
      L::set_value(block, slot, death);
      deaths[slot] = death;
    } else {
      fingerprints[slot] = L::fingerprint_of(static_cast<std::uint32_t>(random()));
      deaths[slot] = death;
      L::set(block, slot, fingerprints[slot], death);
    }
    for (std::uint32_t s = 0; s < L::kSlots; ++s) {
      ASSERT_EQ(L::get(block, s), fingerprints[s]);
      ASSERT_EQ(L::value(block, s), deaths[s]);
    }
  }
  for (std::size_t b = kOverflowMarkByte; b < kBlockBytes; ++b) ASSERT_EQ(block.bytes[b], 0xa5);
}

TEST(ExpiringLayouts, StoreBytesWhereTheFormatSays) {
  Block block{};
  Narrow::set(block, 3, 0xfe, 9);
  Narrow::set(block, 23, 0x12, 6);
  Block wanted{};
  wanted.bytes[3] = 0xfe;
  wanted.bytes[23] = 0x12;
  wanted.bytes[43] = 0x69;
  EXPECT_EQ(block.bytes, wanted.bytes);
  block = Block{};
  Wide12::set(block, 3, 0xedc, 9);
  wanted = Block{};
  wanted.bytes[6] = 0xdc;
  wanted.bytes[7] = 0x9e;
  EXPECT_EQ(block.bytes, wanted.bytes);
}

TEST(Aging, DeathsAreTicksMod16) {
  for (std::uint64_t tick = 0; tick < 40; ++tick) {
    for (std::uint32_t life = 1; life <= kMaxLife; ++life) {
      const std::uint32_t death = death_after(tick, life);
      for (std::uint64_t later = 0; later < 16; ++later) {
        const std::uint64_t left = later <= life ? life + 1 - later : 16 + life + 1 - later;
        EXPECT_EQ(ticks_left(death, tick + later), left % 16);
      }
    }
  }
}

// A head with a tick, then blocks that are filled to different degrees with keys of their own and
// others, marks, and here and there a lock.
template <class L>
class ExpiringKernelsTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kBlocks = 40;
  static constexpr Geometry kGeometry{kBlocks, 0};
  using Blocks = std::vector<Block>;

  ExpiringKernelsTest() : memory_(kHeadBlocks + with_next_overflow_marks(kBlocks)) {
    for (std::uint64_t b = 0; b < kBlocks; ++b) {
      // Few fingerprints, so that lookups often find some.
      for (std::uint32_t s = 0; s < L::kSlots; ++s) {
        if (random_() % kBlocks < b) L::set(blocks()[b], s, fingerprint(), any_death());
      }
      const std::uint32_t version = static_cast<std::uint32_t>(random_()) & ~(kHeaderVersion - 1);
      const std::uint32_t mark = b % 3 == 0 ? 0 : static_cast<std::uint32_t>(random_() % 256);
      blocks()[b].header_word() = Block::to_header(version | mark);
    }
  }

  Block* blocks() { return memory_.data() + kHeadBlocks; }
  std::uint32_t any_death() { return static_cast<std::uint32_t>(random_() % 16); }
  std::uint32_t fingerprint() {
    return L::fingerprint_of(static_cast<std::uint32_t>(random_() % 64) << 26);
  }
  std::uint64_t any_hash() {
    // With one of those fingerprints.
    const std::uint64_t rest = (random_() % 64) << 58 | (random_() & (~std::uint64_t{0} >> 6)) >> 6;
    return with_rest(random_() % kBlocks, rest);
  }
  // A hash with this base and, in the 64 bits below it, about these.
  static std::uint64_t with_rest(std::uint64_t base, std::uint64_t rest) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = Wide{base} << 64 | rest;
    return static_cast<std::uint64_t>((product + kBlocks - 1) / kBlocks);
  }
  void lock_some() {
    for (std::uint64_t b = 0; b < kBlocks; b += 1 + random_() % 9) {
      blocks()[b].header_word() = Block::to_header(blocks()[b].header() | kHeaderLock);
    }
  }
  static bool is_locked(const Block& block) { return (block.header() & kHeaderLock) != 0; }
  static const ExpiringEngine& engine() { return engine_of<L>(); }
  BlocksView view() { return {blocks(), kGeometry, {}}; }

  static std::uint64_t slots_with(const Block& block, auto&& condition) {
    std::uint64_t slots = 0;
    for (std::uint32_t s = 0; s < L::kSlots; ++s) {
      slots |= std::uint64_t{condition(L::get(block, s), L::value(block, s))} << s;
    }
    return slots;
  }
  std::uint64_t copies_at(const Place& place) {
    return place.bucket & slots_with(blocks()[place.block], [&](std::uint32_t f, std::uint32_t) {
             return f == place.fingerprint;
           });
  }
  std::uint64_t live_at(const Place& place, std::uint64_t now) {
    return place.bucket &
           slots_with(blocks()[place.block], [&](std::uint32_t f, std::uint32_t death) {
             return f == place.fingerprint && ticks_left(death, now) != 0;
           });
  }

  std::mt19937_64 random_{L::kBits};
  Blocks memory_;
};
TYPED_TEST_SUITE(ExpiringKernelsTest, ExpiringLayouts);

TYPED_TEST(ExpiringKernelsTest, SweepsEmptyDeadSlotsAndNothingElse) {
  using L = TypeParam;
  for_each_target([&](std::int64_t target) {
    const ExpiringEngine& engine = this->engine();
    EXPECT_EQ(engine.target, target);
    const auto before = this->memory_;
    // No dead ones in some blocks, so that a sweep passes them.
    for (std::uint64_t b = 0; b < this->kBlocks; ++b) {
      for (std::uint32_t s = 0; s < L::kSlots; ++s) {
        const bool is_free = L::get(this->blocks()[b], s) == 0;
        if (!is_free && b % 4 != 0) L::set_value(this->blocks()[b], s, 1 + this->any_death() % 3);
      }
    }
    const auto swept_before = this->memory_;
    std::size_t all_emptied = 0;
    for (std::uint64_t now = 0; now < 40; ++now) {
      for (const bool alone : {true, false}) {
        this->memory_ = swept_before;
        Block* const blocks = this->blocks();
        set_tick(blocks, now);
        const std::size_t first = this->random_() % this->kBlocks;
        const std::size_t count = this->random_() % (this->kBlocks - first + 1);
        auto expected = this->memory_;
        std::size_t emptied = 0;
        for (std::size_t b = 0; b < this->kBlocks; ++b) {
          std::uint64_t dead = this->slots_with(blocks[b], [&](std::uint32_t f, std::uint32_t d) {
            return f != 0 && ticks_left(d, now) == 0;
          });
          ASSERT_EQ(engine.block.dead(blocks[b], now), dead);
          if (b < first || b >= first + count) continue;
          emptied += static_cast<std::size_t>(std::popcount(dead));
          for (; dead != 0; dead &= dead - 1) {
            L::set(expected[kHeadBlocks + b], first_slot(dead), 0);
          }
        }
        const auto& expiring =
            alone ? engine.operations.one_writer : engine.operations.many_writers;
        ASSERT_EQ(expiring.sweep(this->view(), first, count, now, false), emptied);
        all_emptied += emptied;
        for (std::size_t b = 0; b < expected.size(); ++b) {
          const bool is_block = b >= kHeadBlocks && b < kHeadBlocks + this->kBlocks;
          const std::size_t slots = is_block ? std::size_t{kOverflowMarkByte} : kBlockBytes;
          ASSERT_EQ(std::memcmp(this->memory_[b].bytes.data(), expected[b].bytes.data(), slots), 0);
          if (!is_block) continue;
          // A new version where something was emptied; the mark stays, and no lock.
          ASSERT_EQ(this->memory_[b].overflow_mark(), expected[b].overflow_mark());
          ASSERT_FALSE(this->is_locked(this->memory_[b]));
          const bool has_changed =
              std::memcmp(swept_before[b].bytes.data(), expected[b].bytes.data(), slots) != 0;
          ASSERT_EQ(this->memory_[b].header() != swept_before[b].header(), has_changed);
        }
      }
    }
    EXPECT_GT(all_emptied, 200u);
    this->memory_ = before;
  });
}

// Where readers look beside writers: a locked block leaves the key to the second look.
TYPED_TEST(ExpiringKernelsTest, ContainsBesideWriters) {
  using L = TypeParam;
  struct Second : LookupFallback {
    Second()
        : LookupFallback{[](const LookupFallback& self, std::uint64_t) noexcept {
            static_cast<const Second&>(self).looked = true;
            return false;
          }} {}
    mutable bool looked = false;
  };
  for_each_target([&](std::int64_t) {
    const LookupOperations& lookups = this->engine().lookups;
    const auto before = this->memory_;
    this->lock_some();
    Block* const blocks = this->blocks();
    const MixSecrets secrets = derive_secrets(78);
    const BlocksView view = {blocks, this->kGeometry, secrets};
    std::array<std::size_t, 4> seen{};  // what the lookups have met
    for (const std::uint64_t now :
         {std::uint64_t{0}, std::uint64_t{7}, std::uint64_t{1} << 40 | 13}) {
      set_tick(blocks, now);
      enum Answer : std::size_t { no, yes_at_home, yes_away, undecided };
      const auto plain = [&](std::uint64_t hash) {
        const Place home = home_of<L>(this->kGeometry, hash);
        if (this->is_locked(blocks[home.block])) return undecided;
        if (this->live_at(home, now) != 0) return yes_at_home;
        if (eviction_rank(home.fingerprint) >= blocks[home.block].overflow_mark()) return no;
        const Place away = moved(this->kGeometry, home);
        if (this->is_locked(blocks[away.block])) return undecided;
        return this->live_at(away, now) != 0 ? yes_away : no;
      };
      for (const std::size_t count : {0u, 1u, 7u, 63u, 64u, 65u, 129u, 1000u}) {
        for (const InputKind input : {InputKind::integers, InputKind::hashes}) {
          std::vector<std::uint64_t> keys(count);
          for (std::uint64_t& key : keys) key = this->any_hash();
          const std::size_t words = (count + 63) / 64;
          std::vector<std::uint64_t> bitmap(words + 1, 0xaaaaaaaaaaaaaaaau);
          std::vector<std::uint64_t> unknown(words + 1, 0xaaaaaaaaaaaaaaaau);
          const bool any = lookups.contains_batch(view, {keys.data(), count, input}, bitmap.data(),
                                                  unknown.data());
          EXPECT_EQ(bitmap.back(), 0xaaaaaaaaaaaaaaaau);
          EXPECT_EQ(unknown.back(), 0xaaaaaaaaaaaaaaaau);
          bool expected_any = false;
          for (std::size_t i = 0; i < count; ++i) {
            const std::uint64_t hash = hash_of(keys[i], input, secrets);
            const Answer expected = plain(hash);
            ++seen[expected];
            expected_any |= expected == undecided;
            const bool is_yes = expected == yes_at_home || expected == yes_away;
            ASSERT_EQ(unknown[i / 64] >> i % 64 & 1, expected == undecided ? 1u : 0u);
            if (expected != undecided) {
              ASSERT_EQ(bitmap[i / 64] >> i % 64 & 1, is_yes ? 1u : 0u);
            }
            const Second second;
            ASSERT_EQ(lookups.contains(view, second, hash), is_yes);
            ASSERT_EQ(second.looked, expected == undecided);
          }
          EXPECT_EQ(any, expected_any);
        }
      }
    }
    for (const std::size_t times : seen) EXPECT_GT(times, 5u);
    this->memory_ = before;
  });
}

// What an insert does that evicts nothing, by the words of expiring_table-inl.h, and which blocks
// it changes.
template <class L>
class FirstTry {
 public:
  FirstTry(Block* blocks, const Geometry& geometry, std::uint64_t now, std::uint32_t life)
      : blocks_(blocks), geometry_(geometry), now_(now), life_(life) {}
  ~FirstTry() {
    for (const std::uint64_t block : changed) {
      blocks_[block].header_word() = Block::to_header(blocks_[block].header() + kHeaderVersion);
    }
  }
  FirstTry(const FirstTry&) = delete;
  FirstTry& operator=(const FirstTry&) = delete;

  // Nothing: it has to evict.
  Result of(const Place& home) {
    const bool is_covered = eviction_rank(home.fingerprint) < blocks_[home.block].overflow_mark();
    const Place away = is_covered ? moved(geometry_, home) : home;
    const bool both = away.block != home.block;
    if (renew(home)) return Outcome::present;
    if (both && renew(away)) {
      raise(home);
      return Outcome::present;
    }
    if (!is_covered) {
      if (const std::uint64_t copies = slots(home, false); copies != 0) {
        L::set_value(change(home.block), first_slot(copies), death_after(now_, life_));
        ++emptied;
        return Outcome::stored;
      }
      if (store(home, blocks_[home.block])) return Outcome::stored;
    }
    const Block home_emptied = without_dead(home.block);
    if (store(home, home_emptied)) return Outcome::stored;
    if (!both || !store(away, without_dead(away.block))) return std::nullopt;
    empty(home.block, home_emptied);
    raise(home);
    return Outcome::stored;
  }

  std::uint32_t emptied = 0;
  std::set<std::uint64_t> changed;

 private:
  Block& change(std::uint64_t block) {
    changed.insert(block);
    return blocks_[block];
  }
  [[nodiscard]] std::uint64_t slots(const Place& place, bool alive) const {
    const Block& block = blocks_[place.block];
    std::uint64_t found = 0;
    for (std::uint64_t rest = place.bucket; rest != 0; rest &= rest - 1) {
      const std::uint32_t s = first_slot(rest);
      if (L::get(block, s) != place.fingerprint) continue;
      if (alive && ticks_left(L::value(block, s), now_) == 0) continue;
      found |= std::uint64_t{1} << s;
    }
    return found;
  }
  bool renew(const Place& place) {
    const std::uint64_t live = slots(place, true);
    if (live == 0) return false;
    const std::uint32_t s = first_slot(live);
    if (ticks_left(L::value(blocks_[place.block], s), now_) <= life_) {
      L::set_value(change(place.block), s, death_after(now_, life_));
    }
    return true;
  }
  void raise(const Place& home) {
    change(home.block).raise_overflow_mark(eviction_rank(home.fingerprint));
    raise_next_overflow_mark(blocks_, geometry_, home.block, eviction_rank(home.fingerprint));
  }
  [[nodiscard]] Block without_dead(std::uint64_t block) const {
    Block copy = blocks_[block];
    for (std::uint32_t s = 0; s < L::kSlots; ++s) {
      if (ticks_left(L::value(copy, s), now_) == 0) L::set(copy, s, 0);
    }
    return copy;
  }
  void empty(std::uint64_t block, const Block& content) {
    for (std::uint32_t s = 0; s < L::kSlots; ++s) {
      if (L::get(blocks_[block], s) == L::get(content, s)) continue;
      ++emptied;
      L::set(change(block), s, 0);
    }
  }
  // Stores in a block that then has this content besides.
  bool store(const Place& place, const Block& content) {
    const EvictionPath way =
        engine_of<L>().block.find_path_to_free(content, place, Residence::anywhere, {});
    if (!way) return false;
    empty(place.block, content);
    apply<L>(change(place.block), way, place.fingerprint, death_after(now_, life_));
    return true;
  }

  Block* blocks_;
  Geometry geometry_;
  std::uint64_t now_;
  std::uint32_t life_;
};

TYPED_TEST(ExpiringKernelsTest, RenewsOrStores) {
  using L = TypeParam;
  for_each_target([&](std::int64_t) {
    const auto beginning = this->memory_;
    Block* const blocks = this->blocks();
    for (const bool alone : {true, false}) {
      const auto& policies = this->engine().operations;
      const ExpiringOperations& expiring = alone ? policies.one_writer : policies.many_writers;
      this->memory_ = beginning;
      std::array<std::size_t, 5> seen{};  // by the outcome; 0: it had to evict
      std::size_t in_two_blocks = 0;
      std::size_t some_emptied = 0;
      for (int i = 0; i < 6000; ++i) {
        const std::uint64_t now = static_cast<std::uint64_t>(i) / 100;
        set_tick(blocks, now);
        const std::uint64_t hash = this->any_hash();
        const auto life = static_cast<std::uint32_t>(1 + this->random_() % kMaxLife);
        const Place home = home_of<L>(this->kGeometry, hash);
        auto wanted = this->memory_;
        std::uint32_t wanted_emptied = 7;
        Result wanted_outcome;
        {
          FirstTry<L> first(wanted.data() + kHeadBlocks, this->kGeometry, now, life);
          wanted_outcome = first.of(home);
          wanted_emptied += first.emptied;
          ++seen[wanted_outcome ? static_cast<std::size_t>(*wanted_outcome) : 0];
          in_two_blocks += first.changed.size() > 1;
        }
        some_emptied += wanted_emptied != 7;
        std::uint32_t emptied = 7;
        const Result outcome = expiring.renew(this->view(), hash, life, emptied);
        if (wanted_outcome) {
          ASSERT_EQ(outcome, wanted_outcome);
          ASSERT_EQ(emptied, wanted_emptied);
          for (std::size_t b = 0; b < wanted.size(); ++b) {
            ASSERT_EQ(this->memory_[b].bytes, wanted[b].bytes);
          }
        } else if (outcome == Outcome::full) {  // dead slots may have been emptied
          for (std::uint64_t b = 0; b < this->kBlocks; ++b) {
            const Block& before = wanted[kHeadBlocks + b];
            for (std::uint32_t s = 0; s < L::kSlots; ++s) {
              if (ticks_left(L::value(before, s), now) == 0) continue;
              ASSERT_EQ(L::get(blocks[b], s), L::get(before, s));
              ASSERT_EQ(L::value(blocks[b], s), L::value(before, s));
            }
          }
        } else {
          ASSERT_EQ(outcome, Outcome::stored);
          ASSERT_GE(expiring.ticks_left(this->view(), home, nullptr), life);
        }
        if (this->random_() % 2 == 0) {  // room for the next
          const auto s = static_cast<std::uint32_t>(this->random_() % L::kSlots);
          L::set(blocks[this->random_() % this->kBlocks], s, 0);
        }
      }
      for (const Outcome outcome : {Outcome{}, Outcome::stored, Outcome::present}) {
        EXPECT_GT(seen[static_cast<std::size_t>(outcome)], 5u);
      }
      EXPECT_GT(in_two_blocks, 50u);
      EXPECT_GT(some_emptied, 50u);
    }
    this->memory_ = beginning;
  });
}

TYPED_TEST(ExpiringKernelsTest, RunsRenewAsSingleKeys) {
  for_each_target([&](std::int64_t) {
    const auto beginning = this->memory_;
    for (const bool alone : {true, false}) {
      const auto& policies = this->engine().operations;
      const ExpiringOperations& expiring = alone ? policies.one_writer : policies.many_writers;
      this->memory_ = beginning;
      auto other = beginning;
      const BlocksView other_view = {other.data() + kHeadBlocks, this->kGeometry, {}};
      std::uint32_t emptied = 0;
      std::uint32_t one_by_one = 0;
      for (std::uint64_t now = 0; now < 20; ++now) {
        set_tick(this->blocks(), now);
        set_tick(other.data() + kHeadBlocks, now);
        std::vector<std::uint64_t> hashes(200);
        for (std::uint64_t& hash : hashes) hash = this->any_hash();
        const auto life = static_cast<std::uint32_t>(1 + now % kMaxLife);
        std::vector<Outcome> outcomes(hashes.size());
        Record record(outcomes, hashes.size());
        const Inputs inputs = {hashes.data(), hashes.size(), InputKind::hashes};
        ASSERT_EQ(expiring.renew_run(this->view(), inputs, life, 0, record, emptied),
                  hashes.size());
        for (std::size_t i = 0; i < hashes.size(); ++i) {
          ASSERT_EQ(expiring.renew(other_view, hashes[i], life, one_by_one), outcomes[i]);
        }
        ASSERT_EQ(emptied, one_by_one);
        for (std::size_t b = 0; b < other.size(); ++b) {
          ASSERT_EQ(this->memory_[b].bytes, other[b].bytes);
        }
      }
    }
    this->memory_ = beginning;
  });
}

// Filters that turn over leave the same bytes on every target, and answer batches as single keys.
TYPED_TEST(ExpiringKernelsTest, FiltersAreTheSameOnEveryTarget) {
  using L = TypeParam;
  std::vector<std::uint8_t> first;
  for_each_target([&](std::int64_t) {
    ExpiringFilter filter({.capacity = 20'000, .bits = L::kBits, .seed = 3});
    std::mt19937_64 random(5);
    std::vector<std::uint64_t> keys(filter.capacity() / 15);
    std::uint64_t next = 0;
    for (int tick = 0; tick < 24; ++tick) {
      for (std::uint64_t& key : keys) key = random() % 8 == 0 ? random() % (next + 1) : next++;
      (void)filter.insert(keys, static_cast<unsigned>(14 - tick % 3));
      if (tick < 23) filter.advance();
    }
    std::vector<std::uint64_t> asked(next + 100'000);
    for (std::uint64_t i = 0; i < asked.size(); ++i) asked[i] = i;
    std::vector<std::uint8_t> found(asked.size());
    filter.may_contain(asked, found);
    for (const std::uint64_t key : asked) ASSERT_EQ(filter.may_contain(key), found[key] != 0);
    const auto& state = ExpiringAccess::state(filter).table_of_writer();
    const auto* const bytes = state.view.blocks[0].bytes.data();
    const std::vector<std::uint8_t> all(
        bytes, bytes + with_next_overflow_marks(state.view.geometry.blocks()) * kBlockBytes);
    if (first.empty()) first = all;
    ASSERT_EQ(all, first);
  });
}

}  // namespace
}  // namespace nestline::test
