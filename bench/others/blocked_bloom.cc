#include "bench/others/blocked_bloom.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/others/blocked_bloom.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "bench/others/prefetched.h"

HWY_BEFORE_NAMESPACE();
namespace nestline::bench {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Block = BlockedBloom::Block;
using Lanes = hn::CappedTag<std::uint32_t, 8>;

alignas(32) constexpr std::uint32_t kMultipliers[8] = {
    0x2df1424b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x9efc4947, 0x5c6bfb31, 0x47b6137b};

// The bits of a key in the words from `first` on.
HWY_INLINE hn::Vec<Lanes> bits_of(std::uint32_t pattern, std::size_t first) {
  const Lanes d;
  const auto products = hn::Mul(hn::Set(d, pattern), hn::Load(d, kMultipliers + first));
  return hn::Shl(hn::Set(d, 1), hn::ShiftRight<27>(products));
}

HWY_INLINE bool contains(const Block& block, std::uint32_t pattern) {
  const Lanes d;
  auto missing = hn::Zero(d);
  for (std::size_t i = 0; i < 8; i += hn::Lanes(d)) {
    missing = hn::Or(missing, hn::AndNot(hn::Load(d, block.words.data() + i), bits_of(pattern, i)));
  }
  return hn::AllTrue(d, hn::Eq(missing, hn::Zero(d)));
}

HWY_INLINE void add(Block& block, std::uint32_t pattern) {
  const Lanes d;
  for (std::size_t i = 0; i < 8; i += hn::Lanes(d)) {
    std::uint32_t* const words = block.words.data() + i;
    hn::Store(hn::Or(hn::Load(d, words), bits_of(pattern, i)), d, words);
  }
}

HWY_INLINE std::uint64_t block_of(std::uint64_t hash, std::uint64_t blocks) {
  return (hash >> 32) * blocks >> 32;
}

bool may_contain_one(const Block* blocks, std::uint64_t count, std::uint64_t key) {
  const std::uint64_t hash = mixed(key);
  return contains(blocks[block_of(hash, count)], static_cast<std::uint32_t>(hash));
}

// The batch form of prefetched.h, written out here: its callbacks would not be compiled for the
// target.
template <typename Fetch, typename Visit>
HWY_INLINE void each(std::uint64_t count, std::span<const std::uint64_t> keys, const Fetch& fetch,
                     const Visit& visit) {
  constexpr std::size_t kGroup = 64;
  constexpr std::size_t kAhead = 2;
  std::uint64_t hashes[kAhead + 1][kGroup];
  const std::size_t size = keys.size();
  const std::size_t groups = (size + kGroup - 1) / kGroup;
  for (std::size_t g = 0; g < groups + kAhead; ++g) {
    if (g < groups) {
      std::uint64_t* const hash = hashes[g % (kAhead + 1)];
      const std::size_t most = size - g * kGroup < kGroup ? size - g * kGroup : kGroup;
      for (std::size_t i = 0; i < most; ++i) {
        hash[i] = mixed(keys[g * kGroup + i]);
        fetch(block_of(hash[i], count));
      }
    }
    if (g < kAhead) continue;
    const std::size_t first = (g - kAhead) * kGroup;
    const std::uint64_t* const hash = hashes[(g - kAhead) % (kAhead + 1)];
    const std::size_t most = size - first < kGroup ? size - first : kGroup;
    for (std::size_t i = 0; i < most; ++i) {
      visit(first + i, block_of(hash[i], count), static_cast<std::uint32_t>(hash[i]));
    }
  }
}

std::size_t may_contain_batch(const Block* blocks, std::uint64_t count,
                              std::span<const std::uint64_t> keys, std::uint8_t* out) {
  std::size_t hits = 0;
  each(
      count, keys, [&](std::uint64_t block) HWY_ATTR { __builtin_prefetch(blocks + block); },
      [&](std::size_t i, std::uint64_t block, std::uint32_t pattern) HWY_ATTR {
        const bool found = contains(blocks[block], pattern);
        out[i] = found;
        hits += found;
      });
  return hits;
}

std::size_t count_in_any_of(const Block* const* filters, std::size_t filter_count,
                            std::uint64_t count, std::span<const std::uint64_t> keys) {
  std::size_t hits = 0;
  for (const std::uint64_t key : keys) {
    const std::uint64_t hash = mixed(key);
    const std::uint64_t at = block_of(hash, count);
    for (std::size_t f = 0; f < filter_count; ++f) {
      if (!contains(filters[f][at], static_cast<std::uint32_t>(hash))) continue;
      ++hits;
      break;
    }
  }
  return hits;
}

// The same for several filters of one size: whether any has the key.
std::size_t may_contain_any(const Block* const* filters, std::size_t filter_count,
                            std::uint64_t count, std::span<const std::uint64_t> keys,
                            std::uint8_t* out) {
  std::size_t hits = 0;
  each(
      count, keys,
      [&](std::uint64_t block) HWY_ATTR {
        for (std::size_t f = 0; f < filter_count; ++f) __builtin_prefetch(filters[f] + block);
      },
      [&](std::size_t i, std::uint64_t block, std::uint32_t pattern) HWY_ATTR {
        bool found = false;
        for (std::size_t f = 0; f < filter_count && !found; ++f)
          found = contains(filters[f][block], pattern);
        out[i] = found;
        hits += found;
      });
  return hits;
}

void insert_batch(Block* blocks, std::uint64_t count, std::span<const std::uint64_t> keys) {
  each(
      count, keys, [&](std::uint64_t block) HWY_ATTR { __builtin_prefetch(blocks + block); },
      [&](std::size_t, std::uint64_t block, std::uint32_t pattern)
          HWY_ATTR { add(blocks[block], pattern); });
}

}  // namespace HWY_NAMESPACE
}  // namespace nestline::bench
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nestline::bench {

HWY_EXPORT(may_contain_one);
HWY_EXPORT(may_contain_batch);
HWY_EXPORT(insert_batch);
HWY_EXPORT(count_in_any_of);
HWY_EXPORT(may_contain_any);

bool BlockedBloom::may_contain(std::uint64_t key) const {
  return HWY_DYNAMIC_DISPATCH(may_contain_one)(blocks_.data(), blocks_.size(), key);
}

std::size_t BlockedBloom::insert(std::span<const std::uint64_t> keys) {
  HWY_DYNAMIC_DISPATCH(insert_batch)(blocks_.data(), blocks_.size(), keys);
  return keys.size();
}

std::size_t BlockedBloom::may_contain(std::span<const std::uint64_t> keys,
                                      std::span<std::uint8_t> out) const {
  return HWY_DYNAMIC_DISPATCH(may_contain_batch)(blocks_.data(), blocks_.size(), keys, out.data());
}

std::size_t BlockedBloom::may_contain_any(std::span<const BlockedBloom* const> filters,
                                          std::span<const std::uint64_t> keys,
                                          std::span<std::uint8_t> out) {
  const std::vector<const BlockedBloom::Block*> blocks = blocks_of(filters);
  return HWY_DYNAMIC_DISPATCH(may_contain_any)(blocks.data(), blocks.size(),
                                               filters[0]->blocks_.size(), keys, out.data());
}

std::size_t BlockedBloom::count_in_any(std::span<const BlockedBloom* const> filters,
                                       std::span<const std::uint64_t> keys) {
  const std::vector<const BlockedBloom::Block*> blocks = blocks_of(filters);
  return HWY_DYNAMIC_DISPATCH(count_in_any_of)(blocks.data(), blocks.size(),
                                               filters[0]->blocks_.size(), keys);
}

std::vector<const BlockedBloom::Block*> BlockedBloom::blocks_of(
    std::span<const BlockedBloom* const> filters) {
  std::vector<const BlockedBloom::Block*> blocks;
  for (const BlockedBloom* filter : filters) blocks.push_back(filter->blocks_.data());
  return blocks;
}

}  // namespace nestline::bench
#endif
