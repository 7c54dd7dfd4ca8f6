// Which slots of a block hold a fingerprint, and a key's bucket, in the vectors of the target that
// the caller's code is compiled for: what lib/kernels/match-inl.h and home-inl.h compute, by what
// compilers have built in. Not for direct use.
//
// Whatever depends on the target is in a namespace of the target's name, and inlined: so code for
// different targets can be linked together. Only from AVX2 on: with SSE2 alone the library's own
// code is faster, in caches (1.2 times at 8 bits, 1.5 at 16) and in memory. ThreadSanitizer wants
// shared blocks read by words, as the library does.
#ifndef NESTLINE_INTERNAL_MATCH_HERE_H_
#define NESTLINE_INTERNAL_MATCH_HERE_H_

#include <utility>

#include "nestline/internal/block.h"
#include "nestline/internal/shared_reads.h"

#if !defined(__x86_64__) || !defined(__AVX2__) || NESTLINE_TSAN
#define NESTLINE_MATCHES_HERE 0
#else
#define NESTLINE_MATCHES_HERE 1
#if defined(__AVX512BW__) && defined(__AVX512VL__)
#define NESTLINE_TARGET_HERE avx512
#else
#define NESTLINE_TARGET_HERE avx2
#endif

namespace nestline::inline v0_2::internal {
inline namespace NESTLINE_TARGET_HERE {

#if defined(__AVX512BW__) && defined(__AVX512VL__)
inline constexpr std::size_t kStep = 64;
#else
inline constexpr std::size_t kStep = 32;
#endif
using Bytes [[gnu::vector_size(kStep), gnu::may_alias]] = char;
using Halfwords [[gnu::vector_size(kStep), gnu::may_alias]] = short;
using Words [[gnu::vector_size(kStep), gnu::may_alias]] = int;

// A match or a bucket of halfwords has so many bits for each slot.
inline constexpr std::uint32_t kHalfwordBits = kStep == 64 ? 1 : 2;

// The bits of equal bytes or halfwords.
NESTLINE_INLINE std::uint64_t equal_bits(Bytes one, Bytes other) {
#if defined(__AVX512BW__) && defined(__AVX512VL__)
  return __builtin_ia32_cmpb512_mask(one, other, 0, ~std::uint64_t{0});
#else
  return static_cast<std::uint32_t>(__builtin_ia32_pmovmskb256(Bytes(one == other)));
#endif
}
NESTLINE_INLINE std::uint64_t equal_bits(Halfwords one, Halfwords other) {
#if defined(__AVX512BW__) && defined(__AVX512VL__)
  return __builtin_ia32_cmpw512_mask(one, other, 0, ~std::uint32_t{0});
#else
  return static_cast<std::uint32_t>(__builtin_ia32_pmovmskb256(Bytes(one == other)));
#endif
}

// Bit i: part i of the block equals those of `wanted`.
template <class Vector>
NESTLINE_INLINE std::uint64_t equal_parts(const unsigned char* block, Vector wanted) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < kBlockBytes / kStep; ++i) {
    bits |= equal_bits(reinterpret_cast<const Vector*>(block)[i], wanted) << i * 32;
  }
  return bits;
}

// For each slot from kFirst on, in which half of its byte its nibble is.
template <class L, std::size_t kFirst>
struct NibbleHalves {
  alignas(kStep) unsigned char bytes[kStep];
  constexpr NibbleHalves() : bytes() {
    for (std::size_t i = 0; i < kStep && kFirst + i < L::kSlots; ++i) {
      bytes[i] = kFirst + i < L::kNibbleRun ? 0x0f : 0xf0;
    }
  }
};
template <class L, std::size_t kFirst>
inline constexpr NibbleHalves<L, kFirst> kNibbleHalves;

// One compare of the slots from kFirst on: a shuffle brings the words of nibbles beside their
// bytes'.
template <class L, std::size_t kFirst, std::size_t... kWord>
NESTLINE_INLINE std::uint64_t match_nibbles(const unsigned char* block, Bytes low, Bytes high,
                                            std::index_sequence<kWord...>) {
  constexpr std::size_t kLast = kBlockBytes - kStep;
  constexpr auto word_of = [](std::size_t slot) {
    return static_cast<int>((L::kNibbleByte + slot % L::kNibbleRun - kLast) / 4);
  };
  const Words last = *reinterpret_cast<const Words*>(block + kLast);
  const auto nibbles = reinterpret_cast<Bytes>(__builtin_shufflevector(
      last, last, (kFirst + 4 * kWord < L::kSlots ? word_of(kFirst + 4 * kWord) : 0)...));
  const Bytes half = *reinterpret_cast<const Bytes*>(kNibbleHalves<L, kFirst>.bytes);
  const Bytes bytes = *reinterpret_cast<const Bytes*>(block + kFirst);
  return equal_bits((bytes ^ low) | ((nibbles ^ high) & half), Bytes{}) << kFirst;
}

// The slots that hold the fingerprint. Bits after the last slot mean nothing.
template <class L>
NESTLINE_INLINE std::uint64_t match_here(const unsigned char* block, std::uint32_t fingerprint) {
  if constexpr (L::kForm == Form::halfwords) {
    return equal_parts(block, Halfwords{} + static_cast<short>(fingerprint));
  } else {
    const Bytes low = Bytes{} + static_cast<char>(fingerprint);
    if constexpr (L::kForm == Form::bytes_and_nibbles) {
      const Bytes high = Bytes{} + static_cast<char>((fingerprint >> 8) * 0x11);
      constexpr std::make_index_sequence<kStep / 4> kWords;
      std::uint64_t slots = match_nibbles<L, 0>(block, low, high, kWords);
      if constexpr (kStep == 32) slots |= match_nibbles<L, 32>(block, low, high, kWords);
      return slots;
    } else {
      std::uint64_t slots = equal_parts(block, low);
      const auto planes = L::planes_of([&](std::size_t byte) __attribute__((always_inline)) {
        std::uint64_t word;
        __builtin_memcpy(&word, block + byte, sizeof(word));
        return word;
      });
      for (std::uint32_t p = 0; p < L::kPlanes; ++p) {
        slots &= planes[p] ^ (std::uint64_t{fingerprint >> (8 + p) & 1} - 1);
      }
      return slots;
    }
  }
}

// The bucket of a key, as match_here gives slots. `table`: the layout's.
template <class L>
NESTLINE_INLINE std::uint64_t bucket_here(const void* table, std::uint32_t fingerprint,
                                          std::uint32_t phase) {
  if constexpr (!L::kIsComputed) {
    return L::bucket_in(static_cast<const typename L::Entry*>(table), fingerprint, phase);
  } else {
    using Each [[gnu::vector_size(16)]] = std::uint16_t;
    using Signed [[gnu::vector_size(16)]] = short;
    using Slots [[gnu::vector_size(32)]] = std::uint64_t;
    using Half [[gnu::vector_size(16)]] = std::uint64_t;
    static_assert(L::kLanes == 5 && L::kForm == Form::halfwords);
    constexpr std::uint16_t kR = L::kSlotsPerLane;
    // Lanes after lane 0, of which the phase is the slot.
    constexpr Each kMultipliers = {kRotationMultiplier[1], kRotationMultiplier[2],
                                   kRotationMultiplier[3], kRotationMultiplier[4]};
    const Each product = (Each{} + static_cast<std::uint16_t>(fingerprint)) * kMultipliers;
    const auto rotation = reinterpret_cast<Each>(__builtin_ia32_pmulhuw128(
        reinterpret_cast<Signed>(product), reinterpret_cast<Signed>(Each{} + kR)));
    const Each turned = rotation + static_cast<std::uint16_t>(phase);
    const Each over = turned - kR;
    const Each at = (turned < over ? turned : over) * static_cast<std::uint16_t>(kHalfwordBits);
    constexpr auto first_of = [](std::uint32_t lane) {
      return std::uint64_t{1} << lane * L::kSlotsPerLane * kHalfwordBits;
    };
    constexpr Slots kFirst = {first_of(1), first_of(2), first_of(3), first_of(4)};
    const Slots slots =
        kFirst << __builtin_convertvector(__builtin_shufflevector(at, at, 0, 1, 2, 3), Slots);
    const Half halves =
        __builtin_shufflevector(slots, slots, 0, 1) | __builtin_shufflevector(slots, slots, 2, 3);
    return halves[0] | halves[1] | std::uint64_t{1} << phase * kHalfwordBits;
  }
}

}  // namespace NESTLINE_TARGET_HERE
}  // namespace nestline::inline v0_2::internal

#endif  // NESTLINE_MATCHES_HERE

#endif  // NESTLINE_INTERNAL_MATCH_HERE_H_
