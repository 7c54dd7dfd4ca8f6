// Per-target: the beginning of changes, at home (FirstTries in kernels.h).
#if defined(NESTLINE_LIB_ENGINE_KERNELS_FIRST_TRIES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_ENGINE_KERNELS_FIRST_TRIES_INL_H_
#undef NESTLINE_LIB_ENGINE_KERNELS_FIRST_TRIES_INL_H_
#else
#define NESTLINE_LIB_ENGINE_KERNELS_FIRST_TRIES_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "lib/engine/kernels/home-inl.h"
#include "lib/engine/kernels/match-inl.h"
#include "lib/engine/kernels/paths-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nestline { inline namespace v0_3 { namespace HWY_NAMESPACE {

// Stores at home, which nobody holds yet.
template <class L, class Locks>
HWY_INLINE bool store_at(const Block* blocks, const Place& home) {
  typename Locks::BlockLock hold(blocks, home.block);
  BlockCopy copy;
  const Block& now = readable_block(hold.at(home.block), copy);
  const std::uint64_t free = match_first_bytes<L>(now, 0) & L::kAllSlots;
  // Apart from the paths: packing a path of one slot and walking it takes longer than the rest.
  if (HWY_LIKELY((free & home.bucket) != 0)) {
    L::set(hold.change(home.block), first_slot(free & home.bucket), home.fingerprint);
    return true;
  }
  const EvictionPath path = find_path_to_free_in<L>(now, free, home.bucket);
  if (!path) return false;
  walk<L>(hold.change(home.block), path, home.fingerprint);
  return true;
}

// The rest of store_first, apart from it: the first look needs few registers and no stack.
template <class L, class Locks>
HWY_NOINLINE bool store_by_way(const Block* blocks, const Geometry& geometry,
                               std::uint64_t hash) noexcept {
  return store_at<L, Locks>(blocks, home_of_key<L>(geometry, hash));
}

template <class L, class Locks>
bool store_first(const Block* blocks, const Geometry& geometry, std::uint64_t hash) noexcept {
  {
    const Place place = home_of_key<L>(geometry, hash);
    typename Locks::BlockLock hold(blocks, place.block);
    BlockCopy copy;
    const Block& now = readable_block(hold.at(place.block), copy);
    const std::uint64_t free = match_first_bytes<L>(now, 0) & place.bucket;
    if (HWY_LIKELY(free != 0)) {
      L::set(hold.change(place.block), first_slot(free), place.fingerprint);
      return true;
    }
  }
  return store_by_way<L, Locks>(blocks, geometry, hash);
}

template <class L, class Locks>
std::size_t store_batch(const Block* blocks, const Place* places, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    if (!store_at<L, Locks>(blocks, places[i])) return i;
  }
  return count;
}

template <class L, class Locks>
bool erase_first(const Block* blocks, const Geometry& geometry, std::uint64_t hash) noexcept {
  const Place place = home_of_key<L>(geometry, hash);
  typename Locks::BlockLock hold(blocks, place.block);
  const std::uint64_t copies =
      match_among<L>(hold.at(place.block), place.fingerprint, place.bucket);
  if (HWY_UNLIKELY(copies == 0)) return false;
  L::set(hold.change(place.block), first_slot(copies), 0);
  return true;
}

}  // namespace HWY_NAMESPACE
}}  // namespace nestline
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
