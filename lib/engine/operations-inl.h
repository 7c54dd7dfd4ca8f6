// Per-target: the functions behind the face (engine.h), one of each kind for a layout and a policy.
#if defined(NESTLINE_LIB_ENGINE_OPERATIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_ENGINE_OPERATIONS_INL_H_
#undef NESTLINE_LIB_ENGINE_OPERATIONS_INL_H_
#else
#define NESTLINE_LIB_ENGINE_OPERATIONS_INL_H_
#endif

#include <cstdint>

#include "lib/engine/engine.h"
#include "lib/engine/kernels/candidates-inl.h"
#include "lib/engine/kernels/lookup-inl.h"
#include "lib/engine/kernels/match-inl.h"
#include "lib/engine/kernels/paths-inl.h"
#include "lib/engine/kernels/residents-inl.h"
#include "lib/engine/table/batches-inl.h"
#include "lib/engine/table/first_looks-inl.h"
#include "lib/engine/table/further-inl.h"
#include "lib/engine/table/table-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nestline { inline namespace v0_3 { namespace HWY_NAMESPACE {

template <class L>
constexpr BlockKernels block_kernels() {
  return {match<PlainLayout<L> >,
          free_slots<PlainLayout<L> >,
          rank<L>,
          of_ranks<PlainLayout<L> >,
          find_path<L>,
          find_path_to_free<L>,
          find_candidates<L>,
          nullptr};
}

template <class L>
constexpr LookupOperations lookup_operations() {
  return {contains_concurrent<L>, contains_batch_concurrent<L>, bits_to_bytes, bits_to_positions,
          locate_places<L>};
}

// The rest of an insert, apart from it: the first look needs few registers and no stack. So the
// place is passed in registers too.
template <class L, class Locks>
HWY_NOINLINE Result insert_further(const BlocksView& view, Locks locks, std::uint64_t block,
                                   std::uint64_t bucket, std::uint32_t fingerprint,
                                   std::uint32_t bucket_offset, typename L::Value value) noexcept {
  const Place home = {block, bucket, fingerprint, bucket_offset};
  if (FirstLooks<L, Locks>(view, locks).has_stored_at_home(home, value)) return Outcome::stored;
  return make_room_and_store<L>(view, {locks.sharing()}, home, value);
}

template <class L, class Locks>
HWY_INLINE Result insert_value(const BlocksView& view, const Locks& locks, std::uint64_t hash,
                               typename L::Value value) {
  const Place place = home_of_key<L>(view.geometry, hash);
  {
    typename Locks::BlockLock hold(locks, view.blocks, place.block);
    BlockCopy copy;
    const Block& now = readable_block(hold.at(place.block), copy);
    std::uint64_t free = match_first_bytes<L>(now, 0) & place.bucket;
    if (has_lanes_in<L, Locks>(view)) {
      free = GuestLanes<L>(block_classes<L>(view.geometry, place.block), now)
                 .best_of_native(place.fingerprint, free);
    }
    if (HWY_LIKELY(free != 0)) {
      L::set(hold.change(place.block), first_slot(free), place.fingerprint, value);
      return Outcome::stored;
    }
  }
  return insert_further<L>(view, locks, place.block, place.bucket, place.fingerprint,
                           place.bucket_offset, value);
}

// Whether there is a copy, for lookups that look again (LookupFallback).
template <class L>
HWY_NOINLINE bool contains_at(const BlocksView& view, AnyMode mode, std::uint64_t hash,
                              Writers* writers) noexcept {
  const Table<L> table(view, AnyLocks(mode, writers));
  return table.contains(table.home(hash));
}
template <class L, class Locks>
bool contains_again(const BlocksView& view, std::uint64_t hash, Writers* writers) noexcept {
  return contains_at<Shared<L> >(view, kModeOf<Locks>, hash, writers);
}
template <class L>
HWY_NOINLINE unsigned count_at(const BlocksView& view, AnyMode mode, const Place& home,
                               Writers* writers) noexcept {
  return Table<L>(view, AnyLocks(mode, writers)).count(home);
}
template <class L, class Locks>
unsigned count(const BlocksView& view, const Place& home, Writers* writers) noexcept {
  return count_at<Shared<L> >(view, kModeOf<Locks>, home, writers);
}

}}}  // namespace nestline::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
