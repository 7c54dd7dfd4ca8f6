// Every kernel of a maplet's blocks, on every target that this machine can run, against its
// definition in layout.h and geometry.h.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "lib/engine/engine.h"
#include "lib/engine/place/geometry.h"
#include "lib/engine/place/layout.h"
#include "tests/engine/kernels/each_target.h"

namespace nestline::test { namespace {

using L = MapletLayout;

TEST(MapletLayout, KeepsEachFingerprintAndValueApart) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 1000; ++round) {
    Block block{};
    std::memset(block.bytes.data() + kOverflowMarkByte, 0xa5, 4);
    std::array<std::uint32_t, L::kSlots> fingerprints{};
    std::array<std::uint64_t, L::kSlots> values{};
    for (int step = 0; step < 30; ++step) {
      const auto slot = static_cast<std::uint32_t>(random() % L::kSlots);
      values[slot] = random() % 3 == 0 ? L::kValueMask : random() & L::kValueMask;
      if (random() % 2 == 0) {
        fingerprints[slot] = L::fingerprint_of(static_cast<std::uint32_t>(random()));
        L::set(block, slot, fingerprints[slot], values[slot]);
      } else {
        L::set_value(block, slot, values[slot]);
      }
      if (random() % 4 == 0) {
        L::set(block, slot, 0);
        fingerprints[slot] = 0;
        values[slot] = 0;
      }
      for (std::uint32_t s = 0; s < L::kSlots; ++s) {
        ASSERT_EQ(L::get(block, s), fingerprints[s]);
        ASSERT_EQ(L::value(block, s), values[s]);
      }
    }
    for (std::size_t b = kOverflowMarkByte; b < kBlockBytes; ++b) ASSERT_EQ(block.bytes[b], 0xa5);
  }
}

TEST(MapletLayout, StoresBytesWhereTheFormatSays) {
  Block block{};
  L::set(block, 3, 0xfedcb, 0x0123456789);
  Block wanted{};
  wanted.bytes[6] = 0xcb;
  wanted.bytes[7] = 0xed;
  wanted.bytes[57] = 0xf0;
  const std::array<std::uint8_t, 5> value = {0x89, 0x67, 0x45, 0x23, 0x01};
  std::copy(value.begin(), value.end(), wanted.bytes.begin() + 16 + 15);
  EXPECT_EQ(block.bytes, wanted.bytes);
  // Of 64 hash bits with the low byte 0: 1 in its place.
  EXPECT_EQ(L::fingerprint_of(0xabc00fffu), 0xabc01u);
  EXPECT_EQ(L::fingerprint_of(0xabc01fffu), 0xabc01u);
}

Block random_block(std::mt19937_64& random, std::uint32_t percent) {
  Block block{};
  for (std::uint32_t s = 0; s < L::kSlots; ++s) {
    if (random() % 100 >= percent) continue;
    // Often alike: the same halfword, or the same fingerprint.
    const std::uint32_t high = static_cast<std::uint32_t>(random() % 3) << 16;
    const std::uint32_t low =
        random() % 2 == 0 ? 0x1234 : 1 + static_cast<std::uint32_t>(random() % 255);
    L::set(block, s, high | low, random() & L::kValueMask);
  }
  if (random() % 2 == 0)
    block.raise_overflow_mark(static_cast<std::uint32_t>(random() % kEvictionRanks));
  return block;
}

std::uint64_t slots_where(const Block& block, auto&& condition) {
  std::uint64_t slots = 0;
  for (std::uint32_t s = 0; s < L::kSlots; ++s) {
    slots |= std::uint64_t{condition(L::get(block, s))} << s;
  }
  return slots;
}

TEST(MapletKernelsTest, BlocksAreReadAsTheLayoutSays) {
  for_each_target([](std::int64_t target) {
    const BlockKernels& kernels = engine_for(kMapletBits).block;
    EXPECT_EQ(engine_for(kMapletBits).target, target);
    std::mt19937_64 random(2);
    for (int i = 0; i < 2000; ++i) {
      const Block block = random_block(random, static_cast<std::uint32_t>(i % 101));
      for (const std::uint32_t f : {0x1234u, 0x11234u, 0x21234u, 1u, 0x20007u, 0x31234u}) {
        ASSERT_EQ(kernels.match(block, f),
                  slots_where(block, [&](std::uint32_t g) { return g == f; }));
      }
      const std::uint64_t free = slots_where(block, [](std::uint32_t f) { return f == 0; });
      ASSERT_EQ(kernels.free_slots(block), free);
      const auto from = static_cast<std::uint32_t>(random() % 256);
      const auto below = static_cast<std::uint32_t>(random() % 400);
      const auto between = [&](std::uint32_t low, std::uint32_t high) {
        return slots_where(block, [&](std::uint32_t f) {
          return f != 0 && eviction_rank(f) >= low && eviction_rank(f) < high;
        });
      };
      ASSERT_EQ(kernels.of_ranks(block, from, below), between(from, below));
      EvictionOrder order;
      kernels.rank(block, order);
      ASSERT_EQ(order.free, free);
      ASSERT_EQ(order.covered, between(0, block.overflow_mark()));
      ASSERT_EQ(order.below, block.overflow_mark() + EvictionOrder::kStep<L>);
      ASSERT_EQ(order.next, between(block.overflow_mark(), order.below));
      for (std::uint32_t s = 0; s < L::kSlots; ++s) ASSERT_EQ(order.bucket_offset<L>(s), 0u);
      const EvictionPath way =
          kernels.find_path_to_free(block, {0, L::kAllSlots, 1, 0}, Residence::anywhere);
      ASSERT_EQ(static_cast<bool>(way), free != 0);
      if (way) {
        ASSERT_EQ(way.steps(), 1u);
        ASSERT_NE(free >> way.step(0) & 1, 0u);
      }
    }
  });
}

TEST(MapletKernelsTest, SplitsByTheNextBit) {
  for_each_target([](std::int64_t) {
    const Engine& engine = engine_for(kMapletBits);
    std::mt19937_64 random(3);
    for (std::uint32_t growth = 0; growth < max_growth(kMapletBits); ++growth) {
      std::vector<Block> blocks;
      for (std::uint32_t i = 0; i < 50; ++i) {
        blocks.push_back(random_block(random, 2 * i));
        blocks.back().bytes[61] = 0x55;  // lock and version
      }
      std::vector<Block> children(2 * blocks.size(), blocks[0]);
      engine.split(blocks.data(), blocks.size(), growth, children.data());
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        Block wanted[2] = {};
        for (std::uint32_t s = 0; s < L::kSlots; ++s) {
          const std::uint32_t f = L::get(blocks[i], s);
          L::set(wanted[f >> (19 - growth) & 1], s, f, L::value(blocks[i], s));
        }
        for (std::size_t child = 0; child < 2; ++child) {
          wanted[child].bytes[kOverflowMarkByte] = blocks[i].bytes[kOverflowMarkByte];
          wanted[child].set_guest_level(blocks[i].guest_level());
          ASSERT_EQ(children[2 * i + child].bytes, wanted[child].bytes);
        }
      }
    }
  });
}

// A nearly full table, so that many pairs are away.
struct Filled {
  static constexpr Geometry kGeometry{127, 1};
  std::vector<Block> blocks = std::vector<Block>(kGeometry.blocks());
  std::vector<std::uint64_t> hashes;

  explicit Filled(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    for (std::uint64_t i = 0; i < kGeometry.blocks() * L::kSlots * 96 / 100; ++i) {
      // Some keys have several values.
      hashes.push_back(i % 5 == 0 && i > 10 ? hashes[i - 7] : random());
      if (operations().insert(view(), hashes.back(), i) != Outcome::stored) hashes.pop_back();
    }
    for (int i = 0; i < 500; ++i) hashes.push_back(random());
  }
  [[nodiscard]] BlocksView view() const { return {blocks.data(), kGeometry, derive_secrets(9)}; }
  static const MapletOperations& operations() { return engine_for(kMapletBits).maplet.one_writer; }
};

TEST(MapletKernelsTest, FindsTheValuesThatTheTableFinds) {
  for_each_target([](std::int64_t) {
    const Engine& engine = engine_for(kMapletBits);
    Filled filled(4);
    std::size_t away = 0;
    for (const std::uint64_t hash : filled.hashes) {
      std::array<std::uint64_t, L::kMaxCopies> wanted;
      std::array<std::uint64_t, L::kMaxCopies> found;
      const std::size_t count = filled.operations().values(filled.view(), hash, wanted, nullptr);
      ASSERT_EQ(engine.maplet_lookups.find(filled.view(), hash, found.data()), count);
      ASSERT_TRUE(std::equal(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count),
                             wanted.begin()));
      const Place home = home_of<L>(Filled::kGeometry, hash);
      away += engine.block.copies(filled.blocks[home.block], home) == 0 && count != 0;
    }
    EXPECT_GT(away, 50u);  // some are found in their alternates only
  });
}

TEST(MapletKernelsTest, BatchesFindWhatSinglesFind) {
  for_each_target([](std::int64_t) {
    const MapletLookups& kernels = engine_for(kMapletBits).maplet_lookups;
    Filled filled(5);
    for (const InputKind input : {InputKind::hashes, InputKind::integers}) {
      for (std::size_t count = 0; count <= kMaxLocated; ++count) {
        const std::uint64_t* const keys = filled.hashes.data() + count * 7;
        std::array<std::uint8_t, kMaxLocated> counts;
        std::array<std::uint64_t, kMaxLocated * L::kMaxCopies> values;
        MapletGroup group;
        kernels.locate(filled.view(), {keys, count, input}, group);
        const std::size_t all =
            kernels.find_batch(filled.view(), group, counts.data(), values.data());
        std::size_t at = 0;
        for (std::size_t i = 0; i < count; ++i) {
          const std::uint64_t hash =
              input == InputKind::hashes ? keys[i] : mix_integer(keys[i], filled.view().secrets);
          std::array<std::uint64_t, L::kMaxCopies> alone;
          ASSERT_EQ(kernels.find(filled.view(), hash, alone.data()), counts[i]);
          for (std::size_t v = 0; v < counts[i]; ++v) ASSERT_EQ(values[at++], alone[v]);
        }
        ASSERT_EQ(all, at);
      }
    }
  });
}

TEST(MapletKernelsTest, ALockedBlockIsBusy) {
  for_each_target([](std::int64_t) {
    const MapletLookups& kernels = engine_for(kMapletBits).maplet_lookups;
    Filled filled(6);
    const std::uint64_t hash = filled.hashes[0];
    const Place home = home_of<L>(Filled::kGeometry, hash);
    std::array<std::uint64_t, L::kMaxCopies> values;
    ASSERT_NE(kernels.find(filled.view(), hash, values.data()), MapletLookups::kBusy);
    filled.blocks[home.block].bytes[61] |= 1;
    EXPECT_EQ(kernels.find(filled.view(), hash, values.data()), MapletLookups::kBusy);
    std::uint8_t count = 0;
    MapletGroup group;
    kernels.locate(filled.view(), {&hash, 1, InputKind::hashes}, group);
    EXPECT_EQ(kernels.find_batch(filled.view(), group, &count, values.data()),
              MapletLookups::kBusy);
  });
}

template <class Locks>
void expect_first_store() {
  for_each_target([](std::int64_t) {
    const Engine& engine = engine_for(kMapletBits);
    constexpr Geometry kGeometry{5, 0};
    std::vector<Block> blocks(kGeometry.blocks());
    const BlocksView view = {blocks.data(), kGeometry, {}};
    std::mt19937_64 random(7);
    for (std::uint64_t i = 0; i < 60; ++i) {
      const std::uint64_t hash = random();
      const Place place = home_of<L>(kGeometry, hash);
      const std::uint64_t free = engine.block.free_slots(blocks[place.block]);
      const std::vector<Block> before = blocks;
      const Result outcome = engine.maplet.with<Locks>().insert(view, hash, i);
      if (free != 0) {
        ASSERT_EQ(outcome, Outcome::stored);
        ASSERT_EQ(L::get(blocks[place.block], first_slot(free)), place.fingerprint);
        ASSERT_EQ(L::value(blocks[place.block], first_slot(free)), i);
        ASSERT_EQ(blocks[place.block].header(), before[place.block].header() + kHeaderVersion);
      } else if (outcome != Outcome::stored) {
        for (std::size_t b = 0; b < blocks.size(); ++b) ASSERT_EQ(blocks[b].bytes, before[b].bytes);
      }
    }
  });
}

TEST(MapletKernelsTest, StoresFirstWhereThereIsRoomAtHome) {
  expect_first_store<OneWriter>();
  expect_first_store<BlockLocks>();
}

}  // namespace
}  // namespace nestline::test
