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
// target.
template <class Bits, typename Words, typename Visit>
HWY_INLINE void each(Words* words, std::uint64_t blocks, std::size_t bits,
                     std::span<const std::uint64_t> keys, const Visit& visit) {
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
        __builtin_prefetch(words + block_of(hash[i], blocks) * Bits::kWords);
      }
    }
    if (g < kAhead) continue;
    const std::size_t first = (g - kAhead) * kGroup;
    const std::uint64_t* const hash = hashes[(g - kAhead) % (kAhead + 1)];
    const std::size_t most = size - first < kGroup ? size - first : kGroup;
    for (std::size_t i = 0; i < most; ++i) {
      visit(first + i, words + block_of(hash[i], blocks) * Bits::kWords,
            Bits(static_cast<std::uint32_t>(hash[i]), bits));
    }
  }
}

template <class Bits>
std::size_t may_contain_batch(const std::uint32_t* words, std::uint64_t blocks, std::size_t bits,
                              std::span<const std::uint64_t> keys, std::uint8_t* out) {
  std::size_t hits = 0;
  each<Bits>(words, blocks, bits, keys,
             [&](std::size_t i, const std::uint32_t* block, const Bits& wanted) HWY_ATTR {
               const bool found = contains(block, wanted);
               out[i] = found;
               hits += found;
             });
  return hits;
}

template <class Bits>
void insert_batch(std::uint32_t* words, std::uint64_t blocks, std::size_t bits,
                  std::span<const std::uint64_t> keys) {
  each<Bits>(words, blocks, bits, keys,
             [](std::size_t, std::uint32_t* block, const Bits& wanted)
                 HWY_ATTR { add(block, wanted); });
}

template <class Bits>
inline constexpr Kernels kKernels = {may_contain_one<Bits>, may_contain_batch<Bits>,
                                     insert_batch<Bits>};

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

}  // namespace nestline::bench
#endif
