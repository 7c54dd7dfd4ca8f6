// Every kernel, on every target that this machine can run, against its definition in layout.h and
// geometry.h, on random blocks and on edge cases: empty, full, all slots equal. Layouts of expiring
// filters and of maplets of small values are here as well; what only they have is in
// tests/filters/expiring/expiring_kernels_test.cc and tests/filters/maplet/maplet_kernels_test.cc.
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <queue>
#include <random>
#include <vector>

#include "lib/engine/engine.h"
#include "lib/engine/kernels/build_kernels.h"
#include "tests/engine/kernels/each_target.h"

namespace nestline::test { namespace {

template <class L>
std::uint32_t random_fingerprint(std::mt19937_64& random) {
  return L::fingerprint_of(static_cast<std::uint32_t>(random()));
}

// Puts a fingerprint into a slot, with any value where there are values.
template <class L>
void set_slot(Block& block, std::uint32_t slot, std::uint32_t fingerprint,
              std::mt19937_64& random) {
  if constexpr (L::kHasValues) {
    const std::uint64_t value = random() & ((std::uint64_t{1} << L::kValueBits) - 1);
    L::set(block, slot, fingerprint, static_cast<typename L::Value>(value));
  } else {
    L::set(block, slot, fingerprint);
  }
}

// Blocks to try: empty, full of one fingerprint, full of different ones, and partly filled, all
// with marks of any size and, after the mark, bits that must not matter.
template <class L>
std::vector<Block> sample_blocks() {
  std::mt19937_64 random(L::kBits);
  std::vector<Block> blocks(2);
  std::memset(blocks[1].bytes.data() + kOverflowMarkByte, 0xff, 4);
  for (const std::uint32_t f : {1u, 0x80u, 0xffu}) {
    Block block{};
    for (std::uint32_t s = 0; s < L::kSlots; ++s) set_slot<L>(block, s, f, random);
    blocks.push_back(block);
  }
  for (int i = 0; i < 200; ++i) {
    Block block{};
    for (std::uint32_t s = 0; s < L::kSlots; ++s) {
      if (i < 20 || static_cast<int>(random() % 200) < i) {
        set_slot<L>(block, s, random_fingerprint<L>(random), random);
      }
    }
    for (std::size_t b = kOverflowMarkByte; b < kBlockBytes; ++b) {
      block.bytes[b] = static_cast<std::uint8_t>(random());
    }
    blocks.push_back(block);
  }
  return blocks;
}

template <class L>
std::uint64_t slots_where(const Block& block, auto&& condition) {
  std::uint64_t slots = 0;
  for (std::uint32_t s = 0; s < L::kSlots; ++s) {
    slots |= std::uint64_t{condition(L::get(block, s))} << s;
  }
  return slots;
}

// The length of the shortest displacement, by a plain search forward from the bucket; 0 if none.
template <class L>
std::uint32_t shortest_displacement(const Block& block, std::uint64_t bucket, std::uint64_t goals) {
  std::vector<std::uint32_t> distance(L::kSlots, 0);
  std::queue<std::uint32_t> queue;
  for (std::uint32_t s = 0; s < L::kSlots; ++s) {
    if ((bucket >> s & 1) != 0 && (goals >> s & 1) == 0) {
      distance[s] = 1;
      queue.push(s);
    }
  }
  while (!queue.empty()) {
    const std::uint32_t s = queue.front();
    queue.pop();
    const std::uint32_t f = L::get(block, s);
    for (std::uint32_t lane = 0; lane < L::kChoices; ++lane) {
      const std::uint32_t next = L::slot(f, L::bucket_offset_at(f, s), lane);
      if ((goals >> next & 1) != 0) return distance[s] + 1;
      if (distance[next] == 0) {
        distance[next] = distance[s] + 1;
        queue.push(next);
      }
    }
  }
  return 0;
}

// NESTLINE_EXPECTED_TARGET names the instruction set that must be used. A test that falls back to
// another one would show nothing about it.
TEST(Kernels, BestTargetIsTheExpectedOne) {
  const char* const expected = std::getenv("NESTLINE_EXPECTED_TARGET");
  if (expected == nullptr) GTEST_SKIP() << "NESTLINE_EXPECTED_TARGET is not set";
  EXPECT_STREQ(hwy::TargetName(engine_of<FilterLayout<8>>().target), expected);
}

template <class Layout>
class KernelsTest : public testing::Test {};
using Layouts = testing::Types<FilterLayout<8>, FilterLayout<9>, FilterLayout<10>, FilterLayout<12>,
                               FilterLayout<16>, ExpiringLayout<8>, ExpiringLayout<12>, Maplet8And4,
                               Maplet12And4, Maplet8And8, Maplet12And8, Maplet16And16>;
TYPED_TEST_SUITE(KernelsTest, Layouts);

// Of kernels that maplets do not have.
template <class Layout>
class LocateKernelsTest : public testing::Test {};
using LocatedLayouts =
    testing::Types<FilterLayout<8>, FilterLayout<9>, FilterLayout<10>, FilterLayout<12>,
                   FilterLayout<16>, ExpiringLayout<8>, ExpiringLayout<12>>;
TYPED_TEST_SUITE(LocateKernelsTest, LocatedLayouts);

// Of kernels that expiring filters do not have.
template <class Layout>
class FilterKernelsTest : public testing::Test {};
using FilterLayouts = testing::Types<FilterLayout<8>, FilterLayout<9>, FilterLayout<10>,
                                     FilterLayout<12>, FilterLayout<16>>;
TYPED_TEST_SUITE(FilterKernelsTest, FilterLayouts);

TYPED_TEST(KernelsTest, TableIsTheForcedTargets) {
  for_each_target([](std::int64_t target) { EXPECT_EQ(engine_of<TypeParam>().target, target); });
}

TYPED_TEST(KernelsTest, MatchAndFreeSlots) {
  using L = TypeParam;
  for_each_engine<L>([](const auto& engine) {
    const BlockKernels& kernels = engine.block;
    std::mt19937_64 random(1);
    for (const Block& block : sample_blocks<L>()) {
      EXPECT_EQ(kernels.free_slots(block),
                slots_where<L>(block, [](std::uint32_t f) { return f == 0; }));
      std::vector<std::uint32_t> wanted = {1, 0x80, 0xff, random_fingerprint<L>(random)};
      for (std::uint32_t s = 0; s < L::kSlots; s += 3) wanted.push_back(L::get(block, s));
      for (std::uint32_t f : wanted) {
        if (f == 0) continue;
        // Near misses differ in the high bits only.
        for (const std::uint32_t near : {f, (f ^ 0x100) & ((1u << L::kBits) - 1)}) {
          if ((near & 0xff) == 0) continue;
          EXPECT_EQ(kernels.match(block, near),
                    slots_where<L>(block, [&](std::uint32_t g) { return g == near; }));
        }
      }
    }
  });
}

// Bucket offsets, and the slots of some ranks.
TYPED_TEST(KernelsTest, RanksOfResidents) {
  using L = TypeParam;
  for_each_engine<L>([](const auto& engine) {
    const BlockKernels& kernels = engine.block;
    for (const Block& block : sample_blocks<L>()) {
      EvictionOrder order;
      kernels.rank(block, order);
      const std::uint32_t mark = block.overflow_mark();
      EXPECT_GT(order.below, mark);
      for (std::uint32_t s = 0; s < L::kSlots; ++s) {
        const std::uint32_t f = L::get(block, s);
        if (f != 0) {
          EXPECT_EQ(order.template bucket_offset<L>(s), L::bucket_offset_at(f, s));
        }
      }
      const auto between = [&](std::uint32_t from, std::uint32_t below) {
        return slots_where<L>(block, [&](std::uint32_t f) {
          return f != 0 && eviction_rank(f) >= from && eviction_rank(f) < below;
        });
      };
      EXPECT_EQ(order.free, kernels.free_slots(block));
      EXPECT_EQ(order.covered, between(0, mark));
      EXPECT_EQ(order.next, between(mark, order.below));
      for (const std::uint32_t from : {0u, mark, std::min(order.below, 255u), kEvictionRanks - 1}) {
        for (const std::uint32_t width : {1u, 8u, 255u, 300u}) {
          EXPECT_EQ(kernels.of_ranks(block, from, from + width), between(from, from + width));
        }
      }
    }
  });
}

TYPED_TEST(KernelsTest, CandidatesAndTheirOtherBlocks) {
  using L = TypeParam;
  for_each_engine<L>([](const auto& engine) {
    const BlockKernels& kernels = engine.block;
    std::mt19937_64 random(7);
    std::vector<Block> blocks = sample_blocks<L>();
    for (Block& block : blocks) {
      if (random() % 2 == 0) block.bytes[kOverflowMarkByte] = 0;
    }
    for (const Geometry geometry : {Geometry{1, 0}, Geometry{50, 2}, Geometry{199, 0}}) {
      for (std::uint64_t number = 0; number < geometry.blocks(); ++number) {
        const Block& block = blocks[number];
        EvictionOrder order;
        kernels.rank(block, order);
        std::uint64_t all = random() & random() & L::kAllSlots & ~order.free;
        const std::uint64_t slots = all;
        EvictionCandidates candidates;
        const std::uint32_t newcomer = random_fingerprint<L>(random);
        const auto bucket_offset = static_cast<std::uint32_t>(random() % L::kSlotsPerSegment);
        if (random() % 2 == 0) {
          candidates.target[EvictionOrder::kNobody] =
              moved(geometry, {number, 0, newcomer, bucket_offset});
          candidates.all = std::uint64_t{1} << EvictionOrder::kNobody;
          all |= candidates.all;
        }
        kernels.find_candidates({blocks.data(), geometry, block, number, order}, slots, candidates);
        EXPECT_EQ(candidates.all, all);
        EXPECT_EQ((candidates.away | candidates.open | candidates.direct) & ~all, 0u);
        for (std::uint64_t rest = all; rest != 0; rest &= rest - 1) {
          const std::uint32_t s = first_slot(rest);
          const std::uint32_t f = s == EvictionOrder::kNobody ? newcomer : L::get(block, s);
          const std::uint32_t p =
              s == EvictionOrder::kNobody ? bucket_offset : L::bucket_offset_at(f, s);
          const Place away = moved(geometry, {number, L::bucket(f, p), f, p});
          EXPECT_EQ(candidates.target[s].block, away.block);
          EXPECT_EQ(candidates.target[s].fingerprint, f);
          EXPECT_EQ(candidates.target[s].bucket_offset, p);
          EXPECT_EQ(candidates.away >> s & 1, away.block != number ? 1u : 0u);
          const Block& other = blocks[away.block];
          const std::uint64_t free = kernels.free_slots(other);
          EXPECT_EQ(candidates.free[s], free);
          const bool open = away.block != number && free != 0;
          EXPECT_EQ(candidates.direct >> s & 1, open && (free & away.bucket) != 0 ? 1u : 0u);
          if (open) {
            EXPECT_EQ(candidates.target[s].bucket, away.bucket);
          }
          EXPECT_EQ(candidates.open >> s & 1, open ? 1u : 0u);
        }
      }
    }
  });
}

// Without guest lanes.
template <class L>
bool is_possible(const Block& block, EvictionPath path) {
  return still_valid<L>(block, path, GuestLanes<L>({}, block), L::kAllSlots);
}

// Whether each step of a path is possible in the block, from the bucket to one of the goals.
template <class L>
void expect_valid(const Block& block, std::uint64_t bucket, std::uint64_t goals,
                  EvictionPath path) {
  const std::uint32_t last = path.steps() - 1;
  EXPECT_NE(bucket >> path.step(0) & 1, 0u);
  EXPECT_NE(goals >> path.step(last) & 1, 0u);
  for (std::uint32_t i = 0; i < last; ++i) {
    const std::uint32_t s = path.step(i);
    EXPECT_EQ(goals >> s & 1, 0u);
    EXPECT_NE(bucket_at<L>(block, s) >> path.step(i + 1) & 1, 0u);
  }
}

// The number of steps of the shortest path, or 0 where it is too long to be found.
template <class L>
std::uint32_t expected_steps(const Block& block, std::uint64_t bucket, std::uint64_t goals) {
  if ((goals & bucket) != 0) return 1;
  const std::uint32_t shortest = shortest_displacement<L>(block, bucket, goals);
  return shortest <= EvictionPath::kMaxSteps ? shortest : 0;
}

TYPED_TEST(KernelsTest, PathsAreValidAndShortest) {
  using L = TypeParam;
  for_each_engine<L>([](const auto& engine) {
    const BlockKernels& kernels = engine.block;
    std::mt19937_64 random(2);
    int found = 0;
    int none = 0;
    for (const Block& block : sample_blocks<L>()) {
      const std::uint64_t free = kernels.free_slots(block);
      EvictionOrder order;
      kernels.rank(block, order);
      for (int i = 0; i < 20; ++i) {
        const std::uint32_t newcomer = random_fingerprint<L>(random);
        const std::uint64_t bucket =
            L::bucket(newcomer, static_cast<std::uint32_t>(random() % L::kSlotsPerSegment));
        // Sometimes a taken slot is a goal as well, as it is when its resident will leave.
        const std::uint64_t goals =
            free | (i % 2 == 0 ? 0 : std::uint64_t{1} << random() % L::kSlots);
        const EvictionPath path = kernels.find_path(block, order, bucket, goals);
        EXPECT_EQ(path.steps(), expected_steps<L>(block, bucket, goals));
        ++(path ? found : none);
        if (path) expect_valid<L>(block, bucket, goals, path);
      }
    }
    EXPECT_GT(found, 1000);
    EXPECT_GT(none, 200);
  });
}

// Paths to free slots, in blocks with and without a mark, and what applying them does.
TYPED_TEST(KernelsTest, AppliedPathsAreShortest) {
  using L = TypeParam;
  for_each_engine<L>([](const auto& engine) {
    const BlockKernels& kernels = engine.block;
    std::mt19937_64 random(6);
    int walked = 0;
    int refused = 0;
    for (Block block : sample_blocks<L>()) {
      for (int i = 0; i < 40; ++i) {
        block.bytes[kOverflowMarkByte] = static_cast<std::uint8_t>(i % 2 == 0 ? 0 : random() % 256);
        const std::uint32_t fingerprint = random_fingerprint<L>(random);
        const auto bucket_offset = static_cast<std::uint32_t>(random() % L::kSlotsPerSegment);
        const std::uint64_t bucket = L::bucket(fingerprint, bucket_offset);
        const std::uint64_t free = kernels.free_slots(block);
        const EvictionPath path = kernels.find_path_to_free(
            block, {0, 0, fingerprint, bucket_offset}, Residence::anywhere, {});
        EXPECT_EQ(path.steps(), free == 0 ? 0 : expected_steps<L>(block, bucket, free));
        EXPECT_FALSE(path && !is_possible<L>(block, path));
        Block expected = block;
        if (path) {
          expect_valid<L>(block, bucket, free, path);
          apply<L>(expected, path, fingerprint);
          // Whoever has moved has kept its value.
          for (std::uint32_t step = 1; step < path.steps(); ++step) {
            EXPECT_EQ(L::value(expected, path.step(step)), L::value(block, path.step(step - 1)));
          }
          EXPECT_EQ(kernels.free_slots(expected),
                    free & ~(std::uint64_t{1} << path.step(path.steps() - 1)));
          EXPECT_EQ(L::get(expected, path.step(0)), fingerprint);
          EXPECT_FALSE(is_possible<L>(expected, path));
        }
        block = expected;
        ++(path ? walked : refused);
      }
    }
    EXPECT_GT(walked, 1000);
    EXPECT_GT(refused, 1000);
  });
}

// What a table does until it is full, and what it does with erases in between, leaves the same
// blocks on every target.
TYPED_TEST(FilterKernelsTest, FullFiltersHaveTheSameBytesOnEveryTarget) {
  using L = TypeParam;
  constexpr Geometry kGeometry{64, 0};
  std::vector<Block> first;
  for_each_target([&](std::int64_t) {
    std::vector<Block> blocks(kGeometry.blocks());
    const BlocksView view = {blocks.data(), kGeometry, {}};
    const FilterOperations& filter = engine_of<L>().operations.alone;
    std::mt19937_64 random(9);
    std::vector<std::uint64_t> hashes(3 * kGeometry.blocks() * L::kSlots);
    for (std::uint64_t& hash : hashes) hash = random();
    int full = 0;
    for (std::size_t i = 0; i < hashes.size(); ++i) {
      full += filter.insert(view, hashes[i]) == Outcome::full;
      if (i % 3 == 0) filter.erase(view, hashes[i / 2]);
    }
    EXPECT_GT(full, 0);
    if (first.empty()) first = blocks;
    for (std::size_t b = 0; b < blocks.size(); ++b) ASSERT_EQ(blocks[b].bytes, first[b].bytes);
  });
}

// Locating and finding, at many numbers of keys, for filters of one block, few, many, and more than
// 2^32 (located only), before and after growth.
TYPED_TEST(LocateKernelsTest, LocateBatch) {
  using L = TypeParam;
  for_each_engine<L>([](const auto& engine) {
    std::mt19937_64 random(3);
    const MixSecrets secrets = derive_secrets(77);
    std::vector<std::uint64_t> keys(kMaxLocated + 1);
    for (std::uint64_t& key : keys) key = random();
    keys[1] = 0;
    keys[2] = ~std::uint64_t{0};
    for (const std::uint64_t bases :
         {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{61}, std::uint64_t{1} << 20,
          (std::uint64_t{1} << 32) - 1, std::uint64_t{1} << 32, (std::uint64_t{1} << 40) - 7}) {
      for (const std::uint32_t growth : {0u, 1u, 5u}) {
        if (L::kExpires && growth != 0) continue;
        const BlocksView view = {nullptr, {bases, growth}, secrets};
        for (const std::size_t count : {0u, 1u, 7u, 8u, 63u, 64u}) {
          for (const std::size_t shift : {0u, 1u}) {
            for (const InputKind input : {InputKind::integers, InputKind::hashes}) {
              std::vector<Place> places(kMaxLocated);
              engine.lookups.locate(view, {keys.data() + shift, count, input}, places.data());
              for (std::size_t i = 0; i < count; ++i) {
                const std::uint64_t key = keys[i + shift];
                const Place expected = home_of<L>(
                    view.geometry, input == InputKind::hashes ? key : mix_integer(key, secrets));
                ASSERT_EQ(places[i].block, expected.block);
                ASSERT_EQ(places[i].bucket, expected.bucket);
                ASSERT_EQ(places[i].fingerprint, expected.fingerprint);
                ASSERT_EQ(places[i].bucket_offset, expected.bucket_offset);
              }
              if constexpr (L::kExpires) continue;
              std::vector<std::uint64_t> numbers(kMaxLocated);
              engine.build->locate_pairs(view, keys.data() + shift, count, input, numbers.data());
              for (std::size_t i = 0; i < count; ++i) {
                ASSERT_EQ(numbers[i], located(places[i].block, places[i].fingerprint |
                                                                   places[i].bucket_offset << 16));
              }
            }
          }
        }
      }
    }
  });
}

TEST(Kernels, BitsToBytesAndPositions) {
  for_each_target([](std::int64_t) {
    const LookupOperations& kernels = engine_of<FilterLayout<8>>().lookups;
    std::mt19937_64 random(9);
    for (const std::size_t count : {0u, 1u, 5u, 63u, 64u, 65u, 128u, 191u, 1000u}) {
      for (const int density : {0, 1, 2, 5}) {  // of 6 bits
        std::vector<std::uint64_t> bitmap((count + 63) / 64 + 1, ~std::uint64_t{0});
        std::vector<std::uint32_t> selection(count);
        for (std::size_t i = 0; i < count; ++i) {
          selection[i] = static_cast<std::uint32_t>(7 * i + 3);
          if (static_cast<int>(random() % 6) >= density) {
            bitmap[i / 64] &= ~(std::uint64_t{1} << i % 64);
          }
        }
        if (count % 64 != 0) bitmap[count / 64] &= (std::uint64_t{1} << count % 64) - 1;
        std::vector<std::uint8_t> bytes(count + 1, 99);
        std::vector<std::uint32_t> expected;
        std::vector<std::uint32_t> selected;
        const std::size_t total = kernels.bits_to_bytes(bitmap.data(), count, bytes.data());
        for (std::size_t i = 0; i < count; ++i) {
          const bool set = (bitmap[i / 64] >> i % 64 & 1) != 0;
          ASSERT_EQ(bytes[i], set);
          if (!set) continue;
          expected.push_back(static_cast<std::uint32_t>(40 + i));
          selected.push_back(selection[i]);
        }
        EXPECT_EQ(bytes[count], 99);
        EXPECT_EQ(total, expected.size());
        std::vector<std::uint32_t> positions(count + 1, 99);
        ASSERT_EQ(kernels.bits_to_positions(bitmap.data(), count, nullptr, 40, positions.data()),
                  total);
        // What follows stays as it was.
        expected.resize(count + 1, 99);
        EXPECT_EQ(positions, expected);
        const std::vector<std::uint32_t> before = selection;
        ASSERT_EQ(
            kernels.bits_to_positions(bitmap.data(), count, selection.data(), 0, selection.data()),
            total);
        selected.insert(selected.end(), before.begin() + static_cast<std::ptrdiff_t>(total),
                        before.end());
        EXPECT_EQ(selection, selected);
      }
    }
  });
}

TYPED_TEST(FilterKernelsTest, ContainsBatchAndSingle) {
  using L = TypeParam;
  for_each_engine<L>([](const auto& engine) {
    std::mt19937_64 random(4);
    const MixSecrets secrets = derive_secrets(78);
    const std::vector<Block> blocks = sample_blocks<L>();
    for (const std::uint64_t bases : {1u, 3u, 11u, 50u}) {
      for (const std::uint32_t growth : {0u, 2u}) {
        const BlocksView view = {blocks.data(), {bases, growth}, secrets};
        const auto plain = [&](std::uint64_t hash) {
          const Place home = home_of<L>(view.geometry, hash);
          const auto probe = [&](const Place& place) {
            return (slots_where<L>(blocks[place.block],
                                   [&](std::uint32_t f) { return f == place.fingerprint; }) &
                    place.bucket) != 0;
          };
          return probe(home) ||
                 (eviction_rank(home.fingerprint) < blocks[home.block].overflow_mark() &&
                  probe(moved(view.geometry, home)));
        };
        for (const std::size_t count : {0u, 1u, 7u, 63u, 64u, 65u, 127u, 128u, 129u, 192u, 1000u}) {
          std::vector<std::uint64_t> keys(count + 1);
          for (std::uint64_t& key : keys) key = random();
          for (const std::size_t shift : {0u, 1u}) {
            for (const InputKind input : {InputKind::integers, InputKind::hashes}) {
              std::vector<std::uint64_t> bitmap((count + 63) / 64 + 1, 0xaaaaaaaaaaaaaaaau);
              engine.lookups_alone.contains_batch(view, {keys.data() + shift, count, input},
                                                  bitmap.data());
              EXPECT_EQ(bitmap.back(), 0xaaaaaaaaaaaaaaaau);
              for (std::size_t i = 0; i < bitmap.size() * 64 - 64; ++i) {
                bool expected = false;
                if (i < count) {
                  const std::uint64_t key = keys[i + shift];
                  const std::uint64_t hash =
                      input == InputKind::hashes ? key : mix_integer(key, secrets);
                  expected = plain(hash);
                  EXPECT_EQ(engine.lookups_alone.contains(view, hash), expected);
                }
                ASSERT_EQ(bitmap[i / 64] >> i % 64 & 1, std::uint64_t{expected}) << i;
              }
            }
          }
        }
      }
    }
  });
}

template <class L>
Resident resident_of(std::uint32_t pair) {
  return pair | eviction_rank(pair & 0xffff) << 24;
}

TYPED_TEST(FilterKernelsTest, CompleteAndAtMost) {
  using L = TypeParam;
  for_each_engine<L>([](const auto& engine) {
    const BuildKernels& kernels = *engine.build;
    std::mt19937_64 random(5);
    // Whole vectors are read and written beyond the last key.
    std::vector<std::uint32_t> pairs(kMaxBulkPlaced + 64);
    std::vector<Resident> newcomers(kMaxBulkPlaced + 64);
    std::vector<std::uint64_t> buckets(kMaxBulkPlaced + 64);
    for (std::size_t count = 0; count <= kMaxBulkPlaced; ++count) {
      for (std::uint32_t& pair : pairs) {
        pair = random_pair<L>(random) | static_cast<std::uint32_t>(random() % 4096) << 20;
      }
      kernels.complete(pairs.data(), count, Residence::anywhere, newcomers.data(), buckets.data());
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t pair = pairs[i] & kPairMask;
        ASSERT_EQ(newcomers[i], resident_of<L>(pair));
        ASSERT_EQ(buckets[i], L::bucket(pair & 0xffff, pair >> 16));
      }
    }
    for (std::uint32_t eviction_rank = 0; eviction_rank < kEvictionRanks; ++eviction_rank) {
      std::uint64_t expected = 0;
      for (std::uint32_t i = 0; i < 64; ++i) {
        expected |= std::uint64_t{rank_of_resident(newcomers[i]) <= eviction_rank} << i;
      }
      ASSERT_EQ(kernels.at_most(newcomers.data(), eviction_rank), expected);
    }
  });
}

TYPED_TEST(FilterKernelsTest, UnpackAndPack) {
  using L = TypeParam;
  for_each_engine<L>([](const auto& engine) {
    const BuildKernels& kernels = *engine.build;
    for (const Block& block : sample_blocks<L>()) {
      UnpackedBlock unpacked;
      kernels.unpack(block, {}, unpacked);
      EXPECT_EQ(unpacked.free, slots_where<L>(block, [](std::uint32_t f) { return f == 0; }));
      Block expected{};
      for (std::uint32_t s = 0; s < L::kSlots; ++s) {
        const std::uint32_t f = L::get(block, s);
        if (f == 0) continue;
        const std::uint32_t bucket_offset = L::bucket_offset_at(f, s);
        ASSERT_EQ(unpacked.resident[s], resident_of<L>(f | bucket_offset << 16));
        ASSERT_EQ(unpacked.bucket[s], L::bucket(f, bucket_offset));
        L::set(expected, s, f);
      }
      Block packed;
      packed.bytes.fill(0xff);  // pack must write every bit
      kernels.pack(unpacked, 77, packed);
      expected.bytes[kOverflowMarkByte] = 77;
      ASSERT_EQ(packed.bytes, expected.bytes);
    }
  });
}

// Few blocks, and as many as are written past the caches; `to` is dirty before.
TYPED_TEST(FilterKernelsTest, Split) {
  using L = TypeParam;
  const std::vector<Block> sample = sample_blocks<L>();
  const auto expected = [](const Block& from, std::uint32_t next_bit, std::uint32_t child) {
    Block block{};
    block.bytes[kOverflowMarkByte] = from.bytes[kOverflowMarkByte];
    block.set_guest_level(from.guest_level());
    for (std::uint32_t s = 0; s < L::kSlots; ++s) {
      const std::uint32_t f = L::get(from, s);
      if ((f >> next_bit & 1) == child) L::set(block, s, f);
    }
    return block;
  };
  for_each_engine<L>([&](const auto& engine) {
    for (std::uint32_t growth = 0; growth < max_growth(L::kBits); ++growth) {
      const std::uint32_t next_bit = static_cast<std::uint32_t>(L::kBits) - 1 - growth;
      for (const std::size_t count : {std::size_t{0}, std::size_t{1}, sample.size(),
                                      growth == 1 ? std::size_t{40000} : std::size_t{3}}) {
        std::vector<Block> from(count);
        for (std::size_t i = 0; i < count; ++i) from[i] = sample[i % sample.size()];
        const std::vector<Block> before = from;
        std::vector<Block> to(2 * count + 2);
        std::memset(static_cast<void*>(to.data()), 0xaa, to.size() * kBlockBytes);
        const Block dirty = to[0];
        engine.split(from.data(), count, growth, to.data() + 1);
        EXPECT_EQ(to.front().bytes, dirty.bytes);
        EXPECT_EQ(to.back().bytes, dirty.bytes);
        for (std::size_t i = 0; i < count; ++i) {
          ASSERT_EQ(from[i].bytes, before[i].bytes);
          for (std::uint32_t child = 0; child < 2; ++child) {
            ASSERT_EQ(to[1 + 2 * i + child].bytes, expected(from[i], next_bit, child).bytes)
                << "growth " << growth << ", block " << i << ", child " << child;
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace nestline::test
