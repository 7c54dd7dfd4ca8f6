// What only maplets have: their layouts, and the kernels of their lookups and changes, on every
// target that this machine can run, against plain loops over layout.h and geometry.h. Kernels of
// one block are in tests/engine/kernels/kernels_test.cc but for those of 20 + 40 bits, whose bucket
// is the whole block.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "lib/engine/batch.h"
#include "lib/engine/engine.h"
#include "lib/engine/place/geometry.h"
#include "lib/engine/place/layout.h"
#include "tests/engine/kernels/each_target.h"
#include "tests/support/lane_rules.h"

namespace nestline::test { namespace {

using Wide = MapletLayout;

template <class Layout>
class MapletLayoutTest : public testing::Test {};
template <class Layout>
class MapletKernelsTest : public testing::Test {};
using AllMaplets = testing::Types<Maplet8And4, Maplet12And4, Maplet8And8, Maplet12And8,
                                  Maplet16And16, MapletLayout>;
TYPED_TEST_SUITE(MapletLayoutTest, AllMaplets);
TYPED_TEST_SUITE(MapletKernelsTest, AllMaplets);

TYPED_TEST(MapletLayoutTest, KeepsEachFingerprintAndValueApart) {
  using L = TypeParam;
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    Block block{};
    std::memset(block.bytes.data() + kOverflowMarkByte, 0xa5, 4);
    std::array<std::uint32_t, L::kSlots> fingerprints{};
    std::array<std::uint64_t, L::kSlots> values{};
    for (int step = 0; step < 100; ++step) {
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

// A block with these bytes, and 0 elsewhere.
Block block_of(std::initializer_list<std::pair<std::size_t, std::uint8_t>> bytes) {
  Block block{};
  for (const auto& [at, byte] : bytes) block.bytes[at] = byte;
  return block;
}

template <class L>
void expect_stored(std::uint32_t slot, std::uint32_t fingerprint, std::uint64_t value,
                   std::initializer_list<std::pair<std::size_t, std::uint8_t>> bytes) {
  Block block{};
  L::set(block, slot, fingerprint, value);
  EXPECT_EQ(block.bytes, block_of(bytes).bytes) << L::kNumber;
}

TEST(MapletLayouts, StoreBytesWhereTheFormatSays) {
  expect_stored<Maplet8And4>(3, 0xfe, 9, {{3, 0xfe}, {43, 0x09}});
  expect_stored<Maplet8And4>(39, 0xfe, 9, {{39, 0xfe}, {59, 0x90}});
  expect_stored<Maplet12And4>(29, 0xedc, 9, {{58, 0xdc}, {59, 0x9e}});
  expect_stored<Maplet8And8>(29, 0xdc, 0x9b, {{58, 0xdc}, {59, 0x9b}});
  expect_stored<Maplet12And8>(22, 0xedc, 0x9b, {{44, 0xdc}, {45, 0xbe}, {59, 0x09}});
  expect_stored<Maplet12And8>(23, 0xedc, 0x9b, {{46, 0xdc}, {47, 0xbe}, {59, 0x90}});
  expect_stored<Maplet16And16>(14, 0xfedc, 0x1234,
                               {{28, 0xdc}, {29, 0xfe}, {58, 0x34}, {59, 0x12}});
  expect_stored<Wide>(3, 0xfedcb, 0x0123456789,
                      {{6, 0xcb},
                       {7, 0xed},
                       {57, 0xf0},
                       {31, 0x89},
                       {32, 0x67},
                       {33, 0x45},
                       {34, 0x23},
                       {35, 0x01}});
  // Of 64 hash bits with the low byte 0: 1 in its place.
  EXPECT_EQ(Wide::fingerprint_of(0xabc00fffu), 0xabc01u);
  EXPECT_EQ(Wide::fingerprint_of(0xabc01fffu), 0xabc01u);
}

template <class L>
Block random_block(std::mt19937_64& random, std::uint32_t percent) {
  Block block{};
  for (std::uint32_t s = 0; s < L::kSlots; ++s) {
    if (random() % 100 >= percent) continue;
    // Often alike: the same low bytes, or the same fingerprint.
    const std::uint32_t high = static_cast<std::uint32_t>(random() % 3) << (L::kBits - 4);
    const std::uint32_t low =
        random() % 2 == 0 ? 0x1234 : 1 + static_cast<std::uint32_t>(random() % 255);
    L::set(block, s, (high | low) & ((1u << L::kBits) - 1), random() & L::kValueMask);
  }
  if (random() % 2 == 0)
    block.raise_overflow_mark(static_cast<std::uint32_t>(random() % kEvictionRanks));
  return block;
}

std::uint64_t slots_where(const Block& block, auto&& condition) {
  std::uint64_t slots = 0;
  for (std::uint32_t s = 0; s < Wide::kSlots; ++s) {
    slots |= std::uint64_t{condition(Wide::get(block, s))} << s;
  }
  return slots;
}

TEST(WideMapletKernelsTest, BlocksAreReadAsTheLayoutSays) {
  for_each_target([](std::int64_t target) {
    const BlockKernels& kernels = engine_of<Wide>().block;
    EXPECT_EQ(engine_of<Wide>().target, target);
    std::mt19937_64 random(2);
    for (int i = 0; i < 2000; ++i) {
      const Block block = random_block<Wide>(random, static_cast<std::uint32_t>(i % 101));
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
      ASSERT_EQ(order.below, block.overflow_mark() + EvictionOrder::kStep<Wide>);
      ASSERT_EQ(order.next, between(block.overflow_mark(), order.below));
      for (std::uint32_t s = 0; s < Wide::kSlots; ++s) ASSERT_EQ(order.bucket_offset<Wide>(s), 0u);
      const EvictionPath way =
          kernels.find_path_to_free(block, {0, Wide::kAllSlots, 1, 0}, Residence::anywhere, {});
      ASSERT_EQ(static_cast<bool>(way), free != 0);
      if (way) {
        ASSERT_EQ(way.steps(), 1u);
        ASSERT_NE(free >> way.step(0) & 1, 0u);
      }
    }
  });
}

// Few blocks, and as many as are written past the caches; what stands around them stays.
TYPED_TEST(MapletKernelsTest, SplitsByTheNextBit) {
  using L = TypeParam;
  for_each_engine<L>([](const auto& engine) {
    std::mt19937_64 random(3);
    std::vector<Block> sample;
    for (std::uint32_t i = 0; i < 50; ++i) {
      sample.push_back(random_block<L>(random, 2 * i + 2));
      sample.back().bytes[61] = 0x55;  // lock and version
    }
    for (std::uint32_t growth = 0; growth < max_growth(L::kNumber); ++growth) {
      const std::size_t count = growth == 1 ? 40'000 : sample.size();
      std::vector<Block> blocks(count);
      for (std::size_t i = 0; i < count; ++i) blocks[i] = sample[i % sample.size()];
      std::vector<Block> children(2 * count + 2);
      std::memset(static_cast<void*>(children.data()), 0xaa, children.size() * kBlockBytes);
      const Block dirty = children[0];
      engine.split(blocks.data(), count, growth, children.data() + 1);
      ASSERT_EQ(children.front().bytes, dirty.bytes);
      ASSERT_EQ(children.back().bytes, dirty.bytes);
      for (std::size_t i = 0; i < count; ++i) {
        Block wanted[2] = {};
        for (std::uint32_t s = 0; s < L::kSlots; ++s) {
          const std::uint32_t f = L::get(blocks[i], s);
          const std::uint32_t child = f >> (static_cast<std::uint32_t>(L::kBits) - 1 - growth) & 1;
          L::set(wanted[child], s, f, L::value(blocks[i], s));
        }
        for (std::size_t child = 0; child < 2; ++child) {
          wanted[child].bytes[kOverflowMarkByte] = blocks[i].bytes[kOverflowMarkByte];
          wanted[child].set_guest_level(blocks[i].guest_level());
          ASSERT_EQ(children[1 + 2 * i + child].bytes, wanted[child].bytes);
        }
      }
    }
  });
}

// A nearly full table, so that many pairs are away. Many keys have several values, and some look
// the same as others: there are few rests of hashes.
template <class L>
struct Filled {
  static constexpr Geometry kGeometry{127, 1};
  std::vector<Block> blocks = std::vector<Block>(kGeometry.blocks());
  std::vector<std::uint64_t> hashes;

  explicit Filled(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::array<std::uint32_t, 300> rests;
    for (std::uint32_t& rest : rests) rest = static_cast<std::uint32_t>(random());
    const auto any = [&] {
      if (random() % 2 == 0) return random();
      return hash_at(kGeometry.base_blocks, random() % kGeometry.base_blocks,
                     rests[random() % rests.size()]);
    };
    for (std::uint64_t i = 0; i < kGeometry.blocks() * L::kSlots * 96 / 100; ++i) {
      hashes.push_back(i % 5 == 0 && hashes.size() > 10 ? hashes[hashes.size() - 7] : any());
      const std::uint64_t value = random() & L::kValueMask;
      if (operations().insert(view(), hashes.back(), value) != Outcome::stored) hashes.pop_back();
    }
    for (int i = 0; i < 2000; ++i) hashes.push_back(any());
    std::shuffle(hashes.begin(), hashes.end(), random);
  }
  [[nodiscard]] BlocksView view() const { return {blocks.data(), kGeometry, derive_secrets(9)}; }
  static const MapletOperations& operations() { return engine_of<L>().operations.one_writer; }
  // The values of a key, by a plain loop: those at home first.
  [[nodiscard]] std::vector<std::uint64_t> values(std::uint64_t hash) const {
    std::vector<std::uint64_t> all;
    const auto take = [&](const Place& place) {
      const Block& block = blocks[place.block];
      for (std::uint32_t s = 0; s < L::kSlots; ++s) {
        if ((place.bucket >> s & 1) == 0 || L::get(block, s) != place.fingerprint) continue;
        all.push_back(L::value(block, s));
      }
    };
    const Place home = home_of<L>(kGeometry, hash);
    take(home);
    Place away;
    if (may_be_away(kGeometry, blocks[home.block].overflow_mark(), home, away)) take(away);
    return all;
  }
  static constexpr std::uint64_t kAnywhere = 0x8000'0000'0000'0005;
  [[nodiscard]] std::uint64_t set(std::uint64_t hash) const {
    std::uint64_t set = 0;
    for (const std::uint64_t value : values(hash)) {
      const bool is_bit = value < 64 && value != L::kValueMask;
      set |= is_bit ? std::uint64_t{1} << value : kAnywhere;
    }
    return set;
  }
  static constexpr ValueSets kSets{kAnywhere, L::kValueMask};
};

TYPED_TEST(MapletKernelsTest, FindsTheValuesThatAreThere) {
  using L = TypeParam;
  for_each_engine<L>([](const auto& engine) {
    const Filled<L> filled(4);
    std::size_t away = 0;
    std::size_t several = 0;
    std::size_t none = 0;
    for (const std::uint64_t hash : filled.hashes) {
      const std::vector<std::uint64_t> wanted = filled.values(hash);
      std::array<std::uint64_t, MapletLayout::kMaxCopies> found;
      const std::size_t count = engine.values.find(filled.view(), hash, found.data());
      ASSERT_EQ(std::vector(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count)),
                wanted);
      for (const auto& policy : {engine.operations.one_writer, engine.operations.many_writers}) {
        ASSERT_EQ(policy.values(filled.view(), hash, found, nullptr), wanted.size());
        ASSERT_TRUE(std::equal(wanted.begin(), wanted.end(), found.begin()));
        ASSERT_EQ(policy.count(filled.view(), home_of<L>(filled.kGeometry, hash), nullptr),
                  wanted.size());
      }
      const auto found_set = engine.values.find_set(filled.view(), hash, filled.kSets);
      ASSERT_TRUE(found_set.done);
      ASSERT_EQ(found_set.set, filled.set(hash));
      const Place home = home_of<L>(filled.kGeometry, hash);
      away += engine.block.copies(filled.blocks[home.block], home) == 0 && count != 0;
      several += count > 1;
      none += count == 0;
    }
    EXPECT_GT(away, 50u);  // some are found in their alternates only
    EXPECT_GT(several, 50u);
    EXPECT_GT(none, 50u);
  });
}

// Keeps what a batch gives.
struct Lists : CandidateSink {
  std::vector<std::uint8_t> counts;  // 99 where writers were at the blocks
  std::vector<std::uint64_t> values;
  void take(std::size_t first, std::size_t keys, const std::uint8_t* of,
            std::span<const std::uint64_t> found) override {
    EXPECT_EQ(first, counts.size());
    EXPECT_LE(keys, kMaxLocated);
    if (of == nullptr) {
      counts.resize(first + keys, 99);
    } else {
      counts.insert(counts.end(), of, of + keys);
      values.insert(values.end(), found.begin(), found.end());
    }
  }
};

TYPED_TEST(MapletKernelsTest, BatchesFindWhatSinglesFind) {
  using L = TypeParam;
  for_each_engine<L>([](const auto& engine) {
    const MapletLookups& kernels = engine.values;
    const Filled<L> filled(5);
    constexpr std::uint64_t kUntouched = 0xaaaa'aaaa'aaaa'aaaau;
    std::size_t round = 0;
    for (const InputKind input : {InputKind::hashes, InputKind::integers}) {
      for (const std::size_t count : {0u, 1u, 2u, 7u, 8u, 31u, 63u, 64u, 65u, 100u, 127u, 128u,
                                      129u, 191u, 192u, 193u, 1000u}) {
        const std::uint64_t* const keys = filled.hashes.data() + ++round * 37;
        const Inputs inputs = {keys, count, input};
        Lists lists;
        kernels.find_lists(filled.view(), inputs, lists);
        std::vector<std::uint64_t> sets(count + 1, kUntouched);
        std::vector<std::uint64_t> undecided((count + 63) / 64 + 1, kUntouched);
        ASSERT_FALSE(
            kernels.find_sets(filled.view(), inputs, filled.kSets, sets.data(), undecided.data()));
        ASSERT_EQ(sets.back(), kUntouched);
        ASSERT_EQ(undecided.back(), kUntouched);
        for (std::size_t w = 0; w + 1 < undecided.size(); ++w) ASSERT_EQ(undecided[w], 0u);
        ASSERT_EQ(lists.counts.size(), count);
        std::size_t at = 0;
        for (std::size_t i = 0; i < count; ++i) {
          const std::uint64_t hash = hash_of(keys[i], input, filled.view().secrets);
          const std::vector<std::uint64_t> wanted = filled.values(hash);
          ASSERT_EQ(lists.counts[i], wanted.size());
          for (const std::uint64_t value : wanted) ASSERT_EQ(lists.values[at++], value);
          ASSERT_EQ(sets[i], filled.set(hash));
        }
        ASSERT_EQ(lists.values.size(), at);
      }
    }
  });
}

// A key is undecided if a block that is looked at is locked; in lists all keys of its group are.
TYPED_TEST(MapletKernelsTest, ALockedBlockIsBusy) {
  using L = TypeParam;
  for_each_engine<L>([](const auto& engine) {
    const MapletLookups& kernels = engine.values;
    Filled<L> filled(6);
    const auto looks_at = [&](std::uint64_t hash, std::uint64_t block) {
      const Place home = home_of<L>(filled.kGeometry, hash);
      Place away = home;
      return home.block == block ||
             (may_be_away(filled.kGeometry, filled.blocks[home.block].overflow_mark(), home,
                          away) &&
              away.block == block);
    };
    constexpr std::size_t kCount = 150;
    std::array<std::uint64_t, MapletLayout::kMaxCopies> values;
    std::size_t away_only = 0;
    std::size_t busy_keys = 0;
    for (std::size_t start = 0; start < 1500; start += 11) {
      const std::uint64_t* const keys = filled.hashes.data() + start;
      const Place home = home_of<L>(filled.kGeometry, keys[3]);
      const std::uint64_t locked =
          start % 2 == 0 ? home.block : moved(filled.kGeometry, home).block;
      away_only += locked != home.block && looks_at(keys[3], locked);
      filled.blocks[locked].bytes[61] |= 1;
      Lists lists;
      kernels.find_lists(filled.view(), {keys, kCount, InputKind::hashes}, lists);
      std::array<std::uint64_t, kCount> sets;
      std::array<std::uint64_t, 3> undecided;
      const bool any = kernels.find_sets(filled.view(), {keys, kCount, InputKind::hashes},
                                         filled.kSets, sets.data(), undecided.data());
      ASSERT_EQ(any, (undecided[0] | undecided[1] | undecided[2]) != 0);
      std::array<bool, 3> group_busy{};
      for (std::size_t i = 0; i < kCount; ++i) {
        const bool busy = looks_at(keys[i], locked);
        busy_keys += busy;
        group_busy[i / 64] |= busy;
        ASSERT_EQ(undecided[i / 64] >> i % 64 & 1, busy ? 1u : 0u);
        if (!busy) {
          ASSERT_EQ(sets[i], filled.set(keys[i]));
        }
        ASSERT_EQ(kernels.find(filled.view(), keys[i], values.data()) == MapletLookups::kBusy,
                  busy);
        ASSERT_EQ(kernels.find_set(filled.view(), keys[i], filled.kSets).done, !busy);
      }
      for (std::size_t i = 0; i < kCount; ++i) {
        ASSERT_EQ(lists.counts[i] == 99, group_busy[i / 64]);
      }
      filled.blocks[locked].bytes[61] &= 0xfe;
    }
    EXPECT_GT(busy_keys, 100u);
    EXPECT_GT(away_only, 2u);
  });
}

// Runs of a batch store what single inserts store, up to a limit, or to a key that is for its
// caller.
TYPED_TEST(MapletKernelsTest, RunsInsertAsSinglesDo) {
  using L = TypeParam;
  for_each_engine<L>([](const auto& engine) {
    for (const auto& policy : {engine.operations.one_writer, engine.operations.many_writers}) {
      constexpr Geometry kGeometry{9, 0};
      std::vector<Block> blocks(kGeometry.blocks());
      std::vector<Block> wanted = blocks;
      const BlocksView view = {blocks.data(), kGeometry, derive_secrets(3)};
      const BlocksView wanted_view = {wanted.data(), kGeometry, {}};
      std::mt19937_64 random(11);
      std::size_t due = 0;
      std::size_t full = 0;
      std::size_t overtaken = 0;
      for (int round = 0; round < 40; ++round) {
        const bool integers = round % 2 == 0;
        std::vector<std::uint64_t> keys(random() % 150);
        std::vector<std::uint64_t> values(keys.size());
        for (std::size_t i = 0; i < keys.size(); ++i) {
          keys[i] = random() % (round < 20 ? 40 : ~std::uint64_t{0});
          values[i] = random() % 3 == 0 ? L::kValueMask : random() & L::kValueMask;
        }
        const Inputs inputs = {keys.data(), keys.size(),
                               integers ? InputKind::integers : InputKind::hashes};
        const RunLimits limits = {round % 3 == 0
                                      ? random() % 100 * static_cast<std::uint64_t>(round % 2)
                                      : ~std::uint64_t{0},
                                  round % 5 == 0};
        std::vector<Outcome> outcomes(keys.size() + 7);
        Record record(outcomes, outcomes.size());
        const RunEnd end = policy.insert_run(view, inputs, values.data(), limits, 7, record);
        std::uint64_t stored = 0;
        std::size_t refused = 0;
        for (std::size_t i = 0; i < end.taken; ++i) {
          ASSERT_LT(stored, limits.room);
          const Result one = policy.insert(wanted_view, inputs.hash(i, view.secrets), values[i]);
          ASSERT_EQ(one, outcomes[7 + i]);
          stored += one == Outcome::stored;
          refused += one == Outcome::full;
        }
        ASSERT_EQ(record.total(), stored);
        ASSERT_EQ(end.refused, refused);
        for (std::size_t b = 0; b < blocks.size(); ++b) {
          ASSERT_EQ(blocks[b].bytes, wanted[b].bytes);
        }
        const std::uint64_t most = std::min<std::uint64_t>(keys.size(), limits.room);
        ASSERT_EQ(end.taken < most, end.full || end.overtaken);
        ASSERT_EQ(end.due, limits.room == 0);
        if (end.full || end.overtaken) {
          const auto copy = wanted;
          const Result next =
              policy.insert(wanted_view, inputs.hash(end.taken, view.secrets), values[end.taken]);
          ASSERT_TRUE(next == Outcome::full || (!end.full && next == Outcome::too_many_copies));
          for (std::size_t b = 0; b < blocks.size(); ++b) ASSERT_EQ(wanted[b].bytes, copy[b].bytes);
        }
        due += end.due;
        full += end.full;
        overtaken += end.overtaken;
        if (round % 10 == 9) {
          std::fill(blocks.begin(), blocks.end(), Block{});
          wanted = blocks;
        }
      }
      EXPECT_GT(due, 0u);
      EXPECT_GT(full, 0u);
      EXPECT_GT(overtaken, 0u);
    }
  });
}

// Renamed and erased values, several of which become one, by a table from any first value on.
TYPED_TEST(MapletKernelsTest, ChangesTheValuesOfAllBlocks) {
  using L = TypeParam;
  for_each_engine<L>([](const auto& engine) {
    std::mt19937_64 random(8);
    const Filled<L> filled(7);
    for (int round = 0; round < 40; ++round) {
      std::vector<Block> blocks = filled.blocks;
      // Values that often come.
      for (Block& block : blocks) {
        for (std::uint32_t s = 0; s < L::kSlots; ++s) {
          if (L::get(block, s) != 0 && random() % 2 == 0) L::set_value(block, s, random() % 20);
        }
      }
      const std::uint64_t first = round % 3 == 0 ? 0 : random() % 8;
      std::vector<std::uint64_t> to(random() % 9);
      for (std::size_t i = 0; i < to.size(); ++i) {
        const std::array choices = {first + i, random() % 16, ValueChange::kErased, L::kValueMask};
        to[i] = choices[random() % choices.size()];
      }
      std::vector<Block> wanted = blocks;
      std::uint64_t changed = 0;
      std::uint64_t erased = 0;
      for (Block& block : wanted) {
        bool any = false;
        for (std::uint32_t s = 0; s < L::kSlots; ++s) {
          const std::uint64_t value = L::value(block, s);
          if (L::get(block, s) == 0 || value < first || value - first >= to.size()) continue;
          const std::uint64_t next = to[value - first];
          if (next == value) continue;
          any = true;
          ++changed;
          erased += next == ValueChange::kErased;
          if (next == ValueChange::kErased) {
            L::set(block, s, 0);
          } else {
            L::set_value(block, s, next);
          }
        }
        // A new version where something has changed, and no lock.
        if (any) block.header_word() = Block::to_header(block.header() + kHeaderVersion);
      }
      const auto& policy =
          round % 2 == 0 ? engine.operations.one_writer : engine.operations.many_writers;
      const BlocksView view = {blocks.data(), filled.kGeometry, {}};
      ASSERT_EQ(policy.change_values(view, {first, to}), std::pair(changed, erased));
      for (std::size_t b = 0; b < blocks.size(); ++b) ASSERT_EQ(blocks[b].bytes, wanted[b].bytes);
    }
  });
}

template <class Locks>
void expect_first_store() {
  for_each_target([](std::int64_t) {
    const MapletEngine& engine = engine_of<Wide>();
    constexpr Geometry kGeometry{5, 0};
    std::vector<Block> blocks(kGeometry.blocks());
    const BlocksView view = {blocks.data(), kGeometry, {}};
    std::mt19937_64 random(7);
    for (std::uint64_t i = 0; i < 60; ++i) {
      const std::uint64_t hash = random();
      const Place place = home_of<Wide>(kGeometry, hash);
      const std::uint64_t free = engine.block.free_slots(blocks[place.block]);
      const std::vector<Block> before = blocks;
      const Result outcome = engine.operations.with<Locks>().insert(view, hash, i);
      if (free != 0) {
        ASSERT_EQ(outcome, Outcome::stored);
        ASSERT_EQ(Wide::get(blocks[place.block], first_slot(free)), place.fingerprint);
        ASSERT_EQ(Wide::value(blocks[place.block], first_slot(free)), i);
        ASSERT_EQ(blocks[place.block].header(), before[place.block].header() + kHeaderVersion);
      } else if (outcome != Outcome::stored) {
        for (std::size_t b = 0; b < blocks.size(); ++b) ASSERT_EQ(blocks[b].bytes, before[b].bytes);
      }
    }
  });
}

TEST(WideMapletKernelsTest, StoresFirstWhereThereIsRoomAtHome) {
  expect_first_store<OneWriter>();
  expect_first_store<BlockLocks>();
}

// What is done until a maplet is full, with changes in between, leaves the same blocks on every
// target, by one writer and by many.
TYPED_TEST(MapletKernelsTest, FullMapletsHaveTheSameBytesOnEveryTarget) {
  using L = TypeParam;
  constexpr Geometry kGeometry{64, 0};
  std::vector<Block> first;
  for_each_engine<L>([&](const auto& engine) {
    for (const auto& policy : {engine.operations.one_writer, engine.operations.many_writers}) {
      std::vector<Block> blocks(kGeometry.blocks());
      const BlocksView view = {blocks.data(), kGeometry, {}};
      std::mt19937_64 random(9);
      std::vector<std::uint64_t> hashes(3 * kGeometry.blocks() * L::kSlots);
      for (std::uint64_t& hash : hashes) hash = random();
      const auto value = [&](std::size_t i) { return i * 7 & L::kValueMask; };
      int full = 0;
      int replaced = 0;
      for (std::size_t i = 0; i < hashes.size(); ++i) {
        full += policy.insert(view, hashes[i], value(i)) == Outcome::full;
        if (i % 3 == 0) policy.erase(view, hashes[i / 2], value(i / 2));
        if (i % 3 == 1) replaced += policy.replace(view, hashes[i / 2], value(i / 2), value(i));
      }
      EXPECT_GT(full, 0);
      EXPECT_GT(replaced, 100);
      if (first.empty()) first = blocks;
      for (std::size_t b = 0; b < blocks.size(); ++b) ASSERT_EQ(blocks[b].bytes, first[b].bytes);
    }
  });
}

}  // namespace
}  // namespace nestline::test
