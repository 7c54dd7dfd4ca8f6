// Lookups of single keys in the caller's code: what contains and contains_concurrent of
// lib/engine/kernels/lookup-inl.h do for the keys that home decides. The library answers for the
// others. Not for direct use.
//
// The test of home's mark comes first, and only behind it whether there was a match: few marks
// cover a key, so one branch is predicted, and the match is a number that no branch depends on.
#ifndef NESTLINE_INTERNAL_INLINE_LOOKUP_H_
#define NESTLINE_INTERNAL_INLINE_LOOKUP_H_

#include <cstdint>
#include <type_traits>

#include "nestline/internal/inline_match.h"

#if NESTLINE_MATCHES_HERE

namespace nestline { inline namespace v0_3 { namespace internal {

// A key's home block, and the slots of its bucket there that hold its fingerprint.
template <class L>
struct AtHome {
  const unsigned char* block;
  std::uint32_t low_byte;  // of the fingerprint: a mark from there on covers the key
  std::uint32_t fingerprint;
  std::uint32_t bucket_offset;

  NESTLINE_INLINE AtHome(const BlocksView& view, std::uint64_t hash) {
    const Home home = home_block_of(view.geometry, hash);
    block = reinterpret_cast<const unsigned char*>(view.blocks) + home.block * kBlockBytes;
    fingerprint = L::fingerprint_of(home.rest);
    low_byte = fingerprint & 0xff;
    bucket_offset = L::bucket_offset_of(home.rest);
  }
  [[nodiscard]] NESTLINE_INLINE std::uint64_t matches(const BlocksView& view) const {
    return inline_match<L>(block, fingerprint) &
           L::bucket_in(static_cast<const typename L::Entry*>(view.buckets), fingerprint,
                        bucket_offset);
  }
};

// Whether the key with this hash may be in the filter. away(): whether it is in its alternate.
template <class L, class Away>
NESTLINE_INLINE bool contains_here(const BlocksView& view, std::uint64_t hash, Away&& away) {
  const AtHome<L> home(view, hash);
  const std::uint64_t found = home.matches(view);
  if (home.low_byte <= home.block[kOverflowMarkByte]) [[unlikely]] {
    if (found == 0) return away();
  }
  return found != 0;
}

// The same beside writers, by R1 to R3 of lib/engine/place/locking.h; library(): its own answer.
template <class L, class Library>
NESTLINE_INLINE bool contains_here_beside(const BlocksView* view, std::uint64_t hash,
                                          Library&& library) {
  asm("" : "+r"(view));  // else g++ 12 keeps it in a vector register, and moves it back five times
  const AtHome<L> home(*view, hash);
  const auto& word = *reinterpret_cast<const SharedWord*>(home.block + kOverflowMarkByte);
  const std::uint32_t header = load_acquire(word);
  const std::uint64_t found = home.matches(*view);
  const bool changed = load_again(word) != header;
  if constexpr (std::is_same_v<L, ExpiringSlots>) {  // the library finds out whether it is alive
    if (found != 0) return library();
  }
  // A lock is above every low byte.
  if (changed || home.low_byte <= (header & (kHeaderLock | kHeaderOverflowMark))) [[unlikely]] {
    // Of bytes alone a match is a yes at once.
    const bool steady = !changed && (header & kHeaderLock) == 0;
    if (found == 0 || (L::kPlanes > 0 && !steady)) return library();
  }
  return found != 0;
}

// Calls look with the slots of the layout, or library() where it has no lookups here. The width of
// a filter stays the same, so the branches are predicted: two instructions for the first width. The
// empty statement keeps compilers from making a jump through a table of them.
NESTLINE_INLINE bool inline_lookup(int layout, auto&& look, auto&& library) {
  if (layout == 8) return look(FilterSlots<8>());
  asm("" : "+r"(layout));
  if (layout == 9) return look(FilterSlots<9>());
  if (layout == 10) return look(FilterSlots<10>());
  return library();
}

}}}  // namespace nestline::internal

#endif  // NESTLINE_MATCHES_HERE

#endif  // NESTLINE_INTERNAL_INLINE_LOOKUP_H_
