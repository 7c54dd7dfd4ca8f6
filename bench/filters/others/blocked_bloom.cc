#include "bench/filters/others/blocked_bloom.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/filters/others/blocked_bloom.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "bench/filters/others/prefetched.h"

HWY_BEFORE_NAMESPACE();
namespace nestline::bench { namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Lanes = hn::CappedTag<std::uint32_t, 8>;
using Kernels = BlockedBloom::Kernels;
using Shape = BlockedBloom::Shape;

alignas(32) constexpr std::uint32_t kMultipliers[BlockedBloom::kMostBits] = {
    0x2df1424b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x9efc4947, 0x5c6bfb31, 0x47b6137b,
    0x9e3779b1, 0x85ebca77, 0xc2b2ae3d, 0x27d4eb2f, 0x165667b1, 0xcc9e2d51, 0x1b873593, 0xe6546b65};

// The bits of a key: one in each of eight words.
struct InEachWord {
  static constexpr std::size_t kWords = 8;
  std::uint32_t pattern;

  InEachWord(std::uint32_t key_pattern, std::size_t) : pattern(key_pattern) {}
  // In the words from `first` on.
  [[nodiscard]] HWY_INLINE hn::Vec<Lanes> at(std::size_t first) const {
    const Lanes d;
    const auto products = hn::Mul(hn::Set(d, pattern), hn::Load(d, kMultipliers + first));
    return hn::Shl(hn::Set(d, 1), hn::ShiftRight<27>(products));
  }
};

// The bits of a key: so many anywhere in a block.
template <std::size_t words>
struct Anywhere {
  static constexpr std::size_t kWords = words;
  alignas(32) std::uint32_t mask[kWords] = {};

  Anywhere(std::uint32_t pattern, std::size_t bits) {
    constexpr int kShift = kWords == 8 ? 24 : 23;  // 256 or 512 places
    for (std::size_t i = 0; i < bits; ++i) {
      const std::uint32_t place = pattern * kMultipliers[i] >> kShift;
      mask[place / 32] |= std::uint32_t{1} << place % 32;
    }
  }
  [[nodiscard]] HWY_INLINE hn::Vec<Lanes> at(std::size_t first) const {
    return hn::Load(Lanes(), mask + first);
  }
};

template <class Bits>
HWY_INLINE bool contains(const std::uint32_t* block, const Bits& bits) {
  const Lanes d;
  auto missing = hn::Zero(d);
  for (std::size_t i = 0; i < Bits::kWords; i += hn::Lanes(d)) {
    missing = hn::Or(missing, hn::AndNot(hn::Load(d, block + i), bits.at(i)));
  }
  return hn::AllTrue(d, hn::Eq(missing, hn::Zero(d)));
}

template <class Bits>
HWY_INLINE void add(std::uint32_t* block, const Bits& bits) {
  const Lanes d;
  for (std::size_t i = 0; i < Bits::kWords; i += hn::Lanes(d)) {
    hn::Store(hn::Or(hn::Load(d, block + i), bits.at(i)), d, block + i);
  }
}

HWY_INLINE std::uint64_t block_of(std::uint64_t hash, std::uint64_t blocks) {
  return (hash >> 32) * blocks >> 32;
}

template <class Bits>
bool may_contain_one(const std::uint32_t* words, std::uint64_t blocks, std::size_t bits,
                     std::uint64_t key) {
  const std::uint64_t hash = mixed(key);
  return contains(words + block_of(hash, blocks) * Bits::kWords,
                  Bits(static_cast<std::uint32_t>(hash), bits));
}

// The batch form of prefetched.h, written out here: its callbacks would not be compiled for the
// target. visit(i, block, bits) for each key.
template <class Bits, typename Fetch, typename Visit>
HWY_INLINE void each(std::uint64_t blocks, std::size_t bits, std::span<const std::uint64_t> keys,
                     const Fetch& fetch, const Visit& visit) {
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
        fetch(block_of(hash[i], blocks) * Bits::kWords);
      }
    }
    if (g < kAhead) continue;
    const std::size_t first = (g - kAhead) * kGroup;
    const std::uint64_t* const hash = hashes[(g - kAhead) % (kAhead + 1)];
    const std::size_t most = size - first < kGroup ? size - first : kGroup;
    for (std::size_t i = 0; i < most; ++i) {
      visit(first + i, block_of(hash[i], blocks) * Bits::kWords,
            Bits(static_cast<std::uint32_t>(hash[i]), bits));
    }
  }
}

template <class Bits>
std::size_t may_contain_batch(const std::uint32_t* words, std::uint64_t blocks, std::size_t bits,
                              std::span<const std::uint64_t> keys, std::uint8_t* out) {
  std::size_t hits = 0;
  each<Bits>(
      blocks, bits, keys, [&](std::size_t at) HWY_ATTR { __builtin_prefetch(words + at); },
      [&](std::size_t i, std::size_t at, const Bits& wanted) HWY_ATTR {
        const bool found = contains(words + at, wanted);
        out[i] = found;
        hits += found;
      });
  return hits;
}

template <class Bits>
std::size_t count_in_any(std::span<const std::uint32_t* const> filters, std::uint64_t blocks,
                         std::size_t bits, std::span<const std::uint64_t> keys) {
  std::size_t hits = 0;
  for (const std::uint64_t key : keys) {
    const std::uint64_t hash = mixed(key);
    const std::size_t at = block_of(hash, blocks) * Bits::kWords;
    for (const std::uint32_t* const words : filters) {
      if (!contains(words + at, Bits(static_cast<std::uint32_t>(hash), bits))) continue;
      ++hits;
      break;
    }
  }
  return hits;
}

// The same for several filters of one size: whether any has the key.
template <class Bits>
std::size_t may_contain_any(std::span<const std::uint32_t* const> filters, std::uint64_t blocks,
                            std::size_t bits, std::span<const std::uint64_t> keys,
                            std::uint8_t* out) {
  std::size_t hits = 0;
  each<Bits>(
      blocks, bits, keys,
      [&](std::size_t at) HWY_ATTR {
        for (const std::uint32_t* const words : filters) __builtin_prefetch(words + at);
      },
      [&](std::size_t i, std::size_t at, const Bits& wanted) HWY_ATTR {
        bool found = false;
        for (std::size_t f = 0; f < filters.size() && !found; ++f) {
          found = contains(filters[f] + at, wanted);
        }
        out[i] = found;
        hits += found;
      });
  return hits;
}

template <class Bits>
void insert_batch(std::uint32_t* words, std::uint64_t blocks, std::size_t bits,
                  std::span<const std::uint64_t> keys) {
  each<Bits>(
      blocks, bits, keys, [&](std::size_t at) HWY_ATTR { __builtin_prefetch(words + at); },
      [&](std::size_t, std::size_t at, const Bits& wanted) HWY_ATTR { add(words + at, wanted); });
}

template <class Bits>
inline constexpr Kernels kKernels = {may_contain_one<Bits>, may_contain_batch<Bits>,
                                     may_contain_any<Bits>, count_in_any<Bits>, insert_batch<Bits>};

const Kernels* kernels_of(Shape shape) {
  if (shape.bits == 0) return &kKernels<InEachWord>;
  return shape.block_bytes == 32 ? &kKernels<Anywhere<8>> : &kKernels<Anywhere<16>>;
}

}  // namespace HWY_NAMESPACE
}  // namespace nestline::bench
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nestline::bench {

HWY_EXPORT(kernels_of);

BlockedBloom::BlockedBloom(std::size_t bytes, Shape shape)
    : shape_(shape),
      blocks_(bytes / shape.block_bytes),
      words_(blocks_ * shape.block_bytes / sizeof(std::uint32_t)),
      kernels_(HWY_DYNAMIC_DISPATCH(kernels_of)(shape)) {}

std::size_t BlockedBloom::may_contain_any(std::span<const BlockedBloom* const> filters,
                                          std::span<const std::uint64_t> keys,
                                          std::span<std::uint8_t> out) {
  const BlockedBloom& one = *filters[0];
  return one.kernels_->may_contain_any(words_of(filters), one.blocks_, one.shape_.bits, keys,
                                       out.data());
}

std::size_t BlockedBloom::count_in_any(std::span<const BlockedBloom* const> filters,
                                       std::span<const std::uint64_t> keys) {
  const BlockedBloom& one = *filters[0];
  return one.kernels_->count_in_any(words_of(filters), one.blocks_, one.shape_.bits, keys);
}

std::vector<const std::uint32_t*> BlockedBloom::words_of(
    std::span<const BlockedBloom* const> filters) {
  std::vector<const std::uint32_t*> words;
  for (const BlockedBloom* filter : filters) words.push_back(filter->words_.data());
  return words;
}

}  // namespace nestline::bench
#endif
