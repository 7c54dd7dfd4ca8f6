// Per-target: a batch's answers from bits to bytes, and to the positions of the keys that were
// found. kernels.h says what each computes.
#if defined(NESTLINE_LIB_KERNELS_ANSWERS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_KERNELS_ANSWERS_INL_H_
#undef NESTLINE_LIB_KERNELS_ANSWERS_INL_H_
#else
#define NESTLINE_LIB_KERNELS_ANSWERS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "lib/kernels/match-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nestline {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Writes 64 bytes, 1 or 0, for the bits of a word.
HWY_INLINE void word_to_bytes(std::uint64_t bits, std::uint8_t* bytes) {
#if NESTLINE_ONE_LANE
  for (std::size_t i = 0; i < 64; ++i) bytes[i] = bits >> i & 1;
#else
  const BlockTag<std::uint8_t> d;
  const std::size_t step = hn::Lanes(d);
  const auto ones = hn::Set(d, std::uint8_t{1});
  for (std::size_t i = 0; i < 64; i += step) {
    std::uint8_t part[8];  // LoadMaskBits may read 8 bytes
    const std::uint64_t rest = bits >> i;
    std::memcpy(part, &rest, sizeof(part));
    hn::StoreU(hn::IfThenElseZero(hn::LoadMaskBits(d, part), ones), d, bytes + i);
  }
#endif
}

std::size_t bits_to_bytes(const std::uint64_t* bitmap, std::size_t count,
                          std::uint8_t* bytes) noexcept {
  std::size_t total = 0;
  for (std::size_t first = 0; first < count; first += 64) {
    const std::uint64_t bits = bitmap[first / 64];
    total += static_cast<std::size_t>(std::popcount(bits));
    if (count - first >= 64) {
      word_to_bytes(bits, bytes + first);
    } else {
      std::uint8_t part[64];
      word_to_bytes(bits, part);
      std::copy_n(part, count - first, bytes + first);
    }
  }
  return total;
}

// The positions are first, first + 1, ... or, with a selection, what it holds at the keys' places.
std::size_t bits_to_positions(const std::uint64_t* bitmap, std::size_t count,
                              const std::uint32_t* selection, std::uint32_t first,
                              std::uint32_t* positions) noexcept {
  std::uint32_t* to = positions;
  const auto position = [&](std::size_t key) {
    return selection != nullptr ? selection[key] : first + static_cast<std::uint32_t>(key);
  };
  for (std::size_t at = 0; at < count; at += 64) {
    std::uint64_t bits = bitmap[at / 64];
#if !NESTLINE_ONE_LANE && HWY_TARGET != HWY_EMU128  // whose Compress is a loop too
    constexpr int kMany = 12;                       // with fewer, one at a time is faster
    if (std::popcount(bits) >= kMany && count - at >= 64) {
      const hn::CappedTag<std::uint32_t, 16> d;
      const std::size_t step = hn::Lanes(d);
      // Whole vectors are stored, so not to `positions`, which must stay as it is after the last.
      std::uint32_t found[64 + 16];
      std::size_t n = 0;
      for (std::size_t i = 0; i < 64; i += step) {
        std::uint8_t part[8];
        std::memcpy(part, &bits, sizeof(part));
        const auto from = selection != nullptr
                              ? hn::LoadU(d, selection + at + i)
                              : hn::Iota(d, first + static_cast<std::uint32_t>(at + i));
        hn::StoreU(hn::Compress(from, hn::LoadMaskBits(d, part)), d, found + n);
        n += static_cast<std::size_t>(std::popcount(bits & ((std::uint64_t{1} << step) - 1)));
        bits >>= step;
      }
      to = std::copy_n(found, n, to);
      continue;
    }
#endif
    for (; bits != 0; bits &= bits - 1) *to++ = position(at + first_slot(bits));
  }
  return static_cast<std::size_t>(to - positions);
}

}  // namespace HWY_NAMESPACE
}  // namespace nestline
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
