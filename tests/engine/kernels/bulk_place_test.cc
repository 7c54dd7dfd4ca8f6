// The kernels that give slots to keys that come all at once, against plain matching and plain
// placing, on every target that this machine can run.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "lib/engine/place/lanes.h"
#include "tests/engine/kernels/each_target.h"

namespace nestline::test { namespace {

template <class Layout>
class SettleTest : public testing::Test {};
using SettledLayouts = testing::Types<FilterLayout<8>, FilterLayout<9>, FilterLayout<10>,
                                      FilterLayout<12>, FilterLayout<16>, Maplet8And4, Maplet12And4,
                                      Maplet8And8, Maplet12And8, Maplet16And16>;
TYPED_TEST_SUITE(SettleTest, SettledLayouts);

// The most of these buckets that can have a slot each, by one plain search after the other.
template <class L>
std::size_t most_settled(const std::vector<std::uint64_t>& buckets) {
  std::vector<int> owner(L::kSlots, -1);
  std::size_t settled = 0;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    std::uint64_t seen = 0;
    const auto find = [&](const auto& self, std::size_t key) -> bool {
      for (std::uint32_t s = 0; s < L::kSlots; ++s) {
        const std::uint64_t bit = std::uint64_t{1} << s;
        if ((buckets[key] & bit) == 0 || (seen & bit) != 0) continue;
        seen |= bit;
        if (owner[s] < 0 || self(self, static_cast<std::size_t>(owner[s]))) {
          owner[s] = static_cast<int>(key);
          return true;
        }
      }
      return false;
    };
    settled += find(find, i);
  }
  return settled;
}

// As many newcomers as possible get a slot, in two steps as in one; everybody is in its own bucket.
TYPED_TEST(SettleTest, SettleStoresAsManyAsPossible) {
  using L = TypeParam;
  for_each_engine<L>([](const auto& engine) {
    const BuildKernels& kernels = *engine.build;
    std::mt19937_64 random(6);
    std::size_t all_left = 0;
    const auto placement = std::make_unique<BulkPlacement>();
    UnpackedBlock& block = placement->block;
    for (std::size_t round = 0; round < 1000; ++round) {
      const std::size_t count = round % (2 * kMaxBulkPlaced) + 1;
      std::vector<std::uint32_t> pairs(count + kMaxBulkPlaced);
      for (std::uint32_t& pair : pairs) pair = random_pair<L>(random);
      // Copies, so that some blocks have too many for a few slots.
      if (round % 3 == 0) std::fill_n(pairs.begin(), std::min<std::size_t>(count, 7), pairs[0]);
      kernels.unpack(Block{}, {}, block);
      std::vector<Resident> newcomers;
      std::vector<Resident> held;
      std::vector<Resident> missing;
      const std::size_t least = count - std::min(count, kMaxBulkPlaced);
      const std::size_t early = least + (std::min(count, kMaxBulkPlaced) - least) * (round % 5) / 4;
      for (const bool first : {true, false}) {
        placement->count = first ? early : count - early;
        kernels.complete(pairs.data() + (first ? 0 : early), placement->count, Residence::anywhere,
                         placement->newcomer, placement->bucket);
        newcomers.insert(newcomers.end(), placement->newcomer,
                         placement->newcomer + placement->count);
        kernels.place_bulk(*placement);
        for (std::size_t n = 0; n < placement->unplaced_count; ++n) {
          missing.push_back(placement->newcomer[placement->unplaced[n]]);
        }
      }
      held = missing;
      for (std::uint32_t s = 0; s < L::kSlots; ++s) {
        if ((block.free >> s & 1) != 0) {
          ASSERT_EQ(fingerprint_of(block.resident[s]), 0u);
          continue;
        }
        const std::uint32_t pair = block.resident[s] & kPairMask;
        ASSERT_EQ(block.bucket[s], L::bucket(pair & 0xffff, pair >> 16));
        ASSERT_NE(block.bucket[s] >> s & 1, 0u);
        held.push_back(block.resident[s]);
      }
      std::vector<std::uint64_t> buckets;
      for (const Resident newcomer : newcomers) {
        buckets.push_back(L::bucket(fingerprint_of(newcomer), bucket_offset_of(newcomer)));
      }
      std::sort(held.begin(), held.end());
      std::sort(newcomers.begin(), newcomers.end());
      ASSERT_EQ(held, newcomers);
      ASSERT_EQ(count - missing.size(), most_settled<L>(buckets));
      all_left += missing.size();

      // One that was left takes a slot that it reaches, and nobody but that slot's resident goes.
      if (missing.empty()) continue;
      const Resident newcomer = missing[0];
      const std::uint64_t bucket = L::bucket(fingerprint_of(newcomer), bucket_offset_of(newcomer));
      const std::uint32_t goal = first_slot(bucket);
      const Resident gone = block.resident[goal];
      const std::uint64_t free = block.free;
      ASSERT_TRUE(kernels.place_by_search(block, newcomer, bucket, std::uint64_t{1} << goal));
      ASSERT_EQ(block.resident[goal], newcomer);
      ASSERT_EQ(block.free, free);
      ASSERT_FALSE(kernels.place_by_search(block, gone, 0, block.free));
    }
    EXPECT_GT(all_left, 1000u);
  });
}

template <class L>
std::vector<std::uint32_t> pairs_of(const Block& block, std::uint64_t slots = L::kAllSlots) {
  std::vector<std::uint32_t> pairs;
  for (; slots != 0; slots &= slots - 1) {
    const std::uint32_t slot = first_slot(slots);
    const std::uint32_t fingerprint = L::get(block, slot);
    if (fingerprint == 0) continue;
    pairs.push_back(fingerprint | L::bucket_offset_at(fingerprint, slot) << 16);
  }
  return pairs;
}

// Nobody is lost, who can stay does, known guests are told apart, and natives keep out of the
// lanes.
TYPED_TEST(SettleTest, FoldKeepsAllResidents) {
  using L = TypeParam;
  for_each_engine<L>([](const auto& engine) {
    const auto fold = engine.build->fold_block;
    if (fold == nullptr) return;  // of a maplet
    std::mt19937_64 random(9);
    std::vector<std::uint32_t> natives(9 * 64);
    std::vector<std::uint32_t> guests(9 * 64);
    FoldRest rest{natives.data(), guests.data(), 0, 0};
    for (std::size_t round = 0; round < 4000; ++round) {
      const bool has_lanes = round % 2 == 0;
      const std::size_t count = std::size_t{2} << random() % 3;
      const std::uint64_t most = random() % L::kSlots + 1;
      std::vector<Block> from(count);
      std::vector<std::uint32_t> all;
      // Doubled as often as it is folded, or so often that all fingerprints begin alike.
      const auto times = static_cast<std::uint32_t>(std::countr_zero(count));
      const std::uint32_t growth = random() % 2 == 0 ? times : max_growth(L::kBits);
      const BlocksView view = {
          from.data(),
          {1, growth, has_lanes ? Placement::guest_lanes : Placement::anywhere},
          derive_secrets(5)};
      const auto classes_of = [&](std::size_t i) {
        return block_classes<Laned<L> >(view.geometry, i);
      };
      for (std::size_t i = 0; i < count; ++i) {
        Block& block = from[i];
        block.set_overflow_mark(static_cast<std::uint32_t>(random() % 256));
        if (has_lanes) {
          block.set_guest_level(random() % 3 == 0 ? static_cast<std::uint32_t>(random() % 16) : 0);
        }
        for (std::uint64_t keys = random() % most; keys-- > 0;) {
          const auto slot = static_cast<std::uint32_t>(random() % L::kSlots);
          const std::uint32_t own = 0xffu >> classes_of(i).shift();
          const std::uint32_t fingerprint = random_pair<L>(random) & (0xff00 | own);
          L::set(block, slot, fingerprint | classes_of(i).first() | (fingerprint & own ? 0 : 1));
        }
        const auto some = pairs_of<L>(block);
        all.insert(all.end(), some.begin(), some.end());
      }
      const auto lanes_of = [&](std::size_t i) {
        return GuestLanes<Laned<L> >(classes_of(i), from[i]);
      };
      Geometry folded = view.geometry;
      folded.growth -= times;
      const auto classes = block_classes<Laned<L> >(folded, 0);
      const std::uint32_t most_away = has_lanes ? classes.often_away() : 255;
      // Of an open block the caller knows whether somebody may be a guest.
      Block to{};
      std::uint32_t mark = 0;
      std::uint32_t highest = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t one = std::min(from[i].overflow_mark(), most_away);
        if (!has_lanes || one >= classes_of(i).first()) mark = std::max(mark, one);
        if (!has_lanes) continue;
        const std::uint32_t level = from[i].guest_level();
        const std::uint32_t covered = std::min(classes_of(i).highest_at(level), most_away);
        if (level != 0 && covered >= classes_of(i).first()) highest = std::max(highest, covered);
        if (!is_open_level(level) || round % 3 == 0) continue;
        const bool to_all = lanes_of(i).highest() < most_away;
        to.set_guest_level(std::max(to.guest_level(), to_all ? kOpenToAllLevel : kOpenLevel));
      }
      const bool is_open = is_open_level(to.guest_level());
      std::uint64_t free = 0;
      fold(view, 0, count, to, free, rest);
      ASSERT_EQ(to.overflow_mark(), mark);
      ASSERT_EQ(free, engine.block.free_slots(to));
      const GuestLanes<Laned<L> > lanes(classes, to);
      if (has_lanes) {
        ASSERT_EQ(lanes.is_open(), is_open);
      }
      if (has_lanes && !is_open) {
        ASSERT_GE(lanes.highest(), highest);
        ASSERT_LE(lanes.highest(), most_away);
      }
      std::uint64_t kept = 0;
      // Those of open blocks who may be guests come first.
      for (const bool unknown : {true, false}) {
        for (std::size_t i = 0; i < count; ++i) {
          for (std::uint32_t s = 0; s < L::kSlots; ++s) {
            const std::uint32_t fingerprint = L::get(from[i], s);
            if (fingerprint == 0 || (kept >> s & 1) != 0) continue;
            if (unknown != (is_open && lanes_of(i).is_unknown(fingerprint))) continue;
            const bool guest = lanes_of(i).is_guest(fingerprint, s);
            if (guest != lanes.is_guest(fingerprint, s)) continue;  // goes home, or keeps out
            kept |= std::uint64_t{1} << s;
            ASSERT_EQ(L::get(to, s), fingerprint);
          }
        }
      }
      for (std::uint32_t s = 0; s < L::kSlots; ++s) {
        const std::uint32_t fingerprint = L::get(to, s);
        if (fingerprint == 0 || (kept >> s & 1) != 0) continue;
        ASSERT_FALSE(lanes.is_guest(fingerprint, s));  // who has another slot now is a native
      }
      auto found = pairs_of<L>(to);
      for (std::size_t i = 0; i < rest.natives; ++i) {
        const std::uint32_t fingerprint = natives[i] & 0xffff;
        const std::uint64_t bucket = L::bucket(fingerprint, natives[i] >> 16);
        ASSERT_EQ(free & bucket & lanes.of_native(fingerprint), 0u);
      }
      ASSERT_TRUE(has_lanes || rest.guests == 0);
      found.insert(found.end(), natives.begin(),
                   natives.begin() + static_cast<std::ptrdiff_t>(rest.natives));
      found.insert(found.end(), guests.begin(),
                   guests.begin() + static_cast<std::ptrdiff_t>(rest.guests));
      std::sort(found.begin(), found.end());
      std::sort(all.begin(), all.end());
      ASSERT_EQ(found, all);
    }
  });
}

// What both forms of placing do: each key gets a free slot of its bucket in its block, or is
// deferred because none of them is free when its turn comes.
TYPED_TEST(SettleTest, PlaceGivesFreeSlots) {
  using L [[maybe_unused]] = TypeParam;  // clang 14 sees no use in a generic lambda
  for_each_engine<L>([](const auto& engine) {
    const BuildKernels& kernels = *engine.build;
    constexpr std::size_t kBlocks = 16;
    const BlocksView view = {nullptr, {kBlocks, 0}, derive_secrets(5)};
    std::mt19937_64 random(8);
    struct Filled {
      std::vector<Block> blocks = std::vector<Block>(kBlocks);
      std::vector<std::uint64_t> free = std::vector<std::uint64_t>(kBlocks, L::kAllSlots);
      std::vector<std::uint64_t> deferred;
    };
    for (const InputKind input : {InputKind::integers, InputKind::hashes}) {
      Filled expected;
      Filled in_order;
      Filled by_pairs;
      std::vector<std::uint64_t> keys(kBlocks * (L::kSlots + 4));
      for (std::uint64_t& key : keys) key = random();
      std::vector<std::uint64_t> numbers(kMaxLocated);
      std::vector<std::uint32_t> pairs(2 * kMaxLocated);
      std::vector<std::uint64_t> deferred(kMaxLocated);
      std::vector<std::uint32_t> late_pairs(kMaxLocated);
      std::size_t count = 0;
      for (std::size_t first = 0; first + 63 < keys.size(); first += count) {
        count = first / 64 % 64 + 1;
        const std::uint64_t* const from = keys.data() + first;
        kernels.locate_pairs(view, from, count, input, numbers.data());
        for (std::size_t i = 0; i < count; ++i) {
          const auto pair = static_cast<std::uint32_t>(numbers[i]) & kPairMask;
          const std::uint64_t number = numbers[i] >> 20;
          std::uint64_t& free = expected.free[number];
          const std::uint64_t open = free & L::bucket(pair & 0xffff, pair >> 16);
          if (open == 0) {
            expected.deferred.push_back(numbers[i]);
          } else {
            L::set(expected.blocks[number], first_slot(open), pair & 0xffff);
            free ^= open & (~open + 1);
          }
          // What is above the mask does not count.
          pairs[i] = static_cast<std::uint32_t>(numbers[i]) | 0xf0000000;
        }
        std::size_t n = kernels.place_keys(view, in_order.blocks.data(), from, count, input,
                                           in_order.free.data(), deferred.data());
        in_order.deferred.insert(in_order.deferred.end(), deferred.begin(),
                                 deferred.begin() + static_cast<std::ptrdiff_t>(n));
        n = kernels.place_pairs(pairs.data(), count, kBlocks - 1, by_pairs.blocks.data(),
                                by_pairs.free.data(), late_pairs.data());
        for (std::size_t i = 0; i < n; ++i) by_pairs.deferred.push_back(late_pairs[i] & 0x0fffffff);
      }
      EXPECT_GT(expected.deferred.size(), kBlocks);
      for (const Filled& filled : {in_order, by_pairs}) {
        EXPECT_EQ(filled.deferred, expected.deferred);
        EXPECT_EQ(filled.free, expected.free);
        for (std::size_t b = 0; b < kBlocks; ++b) {
          // The header of a block where somebody is deferred means nothing.
          EXPECT_TRUE(std::equal(filled.blocks[b].bytes.begin(),
                                 filled.blocks[b].bytes.begin() + kOverflowMarkByte,
                                 expected.blocks[b].bytes.begin()));
        }
      }
    }
  });
}

}  // namespace
}  // namespace nestline::test
