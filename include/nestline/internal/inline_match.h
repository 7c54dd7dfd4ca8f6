// Which slots of a block hold a fingerprint, in the vectors of the target that the caller's code is
// compiled for: what lib/engine/kernels/match-inl.h computes, by what compilers have built in. Of
// 8, 9 and 10 bits: at 12 and 16 a call takes as long (docs/PERFORMANCE.md). Not for direct use.
//
// Only from AVX2 on: with SSE2 alone the library's own code is faster, in caches (1.2 times at 8
// bits) and in memory. ThreadSanitizer wants shared blocks read by words, as the library does.
#ifndef NESTLINE_INTERNAL_INLINE_MATCH_H_
#define NESTLINE_INTERNAL_INLINE_MATCH_H_

#include <cstddef>
#include <cstdint>

#include "nestline/internal/block.h"
#include "nestline/internal/shared_reads.h"

#if !defined(__x86_64__) || !defined(__AVX2__) || NESTLINE_TSAN
#define NESTLINE_MATCHES_HERE 0
#else
#define NESTLINE_MATCHES_HERE 1

namespace nestline { inline namespace v0_3 { namespace internal {

// Of the source's own: another one may have another step.
#if defined(__AVX512BW__) && defined(__AVX512VL__)
constexpr std::size_t kStep = 64;
#else
constexpr std::size_t kStep = 32;
#endif
using Bytes [[gnu::vector_size(kStep), gnu::may_alias]] = char;

// The bits of equal bytes.
NESTLINE_INLINE std::uint64_t equal_bits(Bytes one, Bytes other) {
#if defined(__AVX512BW__) && defined(__AVX512VL__)
  return __builtin_ia32_cmpb512_mask(one, other, 0, ~std::uint64_t{0});
#else
  return static_cast<std::uint32_t>(__builtin_ia32_pmovmskb256(Bytes(one == other)));
#endif
}

// The slots that hold the fingerprint. Bits after the last slot mean nothing.
template <class L>
NESTLINE_INLINE std::uint64_t inline_match(const unsigned char* block, std::uint32_t fingerprint) {
  const Bytes low = Bytes{} + static_cast<char>(fingerprint);
  std::uint64_t found = 0;
  for (std::size_t i = 0; i < kBlockBytes / kStep; ++i) {
    found |= equal_bits(reinterpret_cast<const Bytes*>(block)[i], low) << i * 32;
  }
  const auto planes = L::planes_of([&](std::size_t byte) __attribute__((always_inline)) {
    std::uint64_t word;
    __builtin_memcpy(&word, block + byte, sizeof(word));
    return word;
  });
  for (std::uint32_t p = 0; p < L::kPlanes; ++p) {
    found &= planes[p] ^ (std::uint64_t{fingerprint >> (8 + p) & 1} - 1);
  }
  return found;
}

}}}  // namespace nestline::internal

#endif  // NESTLINE_MATCHES_HERE

#endif  // NESTLINE_INTERNAL_INLINE_MATCH_H_
