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

// The rest of an insert and of an erase, apart from them: the first look needs few registers and no
// stack. So the place is passed in registers too.
template <class L, class Locks>
HWY_NOINLINE Result insert_further(const BlocksView& view, std::uint64_t block,
                                   std::uint64_t bucket, std::uint32_t fingerprint,
                                   std::uint32_t bucket_offset, typename L::Value value) noexcept {
  return Table<L, Locks>(view).insert({block, bucket, fingerprint, bucket_offset}, value);
}
template <class L, class Locks>
HWY_NOINLINE bool erase_further(const BlocksView& view, std::uint64_t block, std::uint64_t bucket,
                                std::uint32_t fingerprint, std::uint32_t bucket_offset,
                                typename L::Value value) noexcept {
  return Table<L, Locks>(view).erase({block, bucket, fingerprint, bucket_offset}, value);
}

template <class L, class Locks>
HWY_INLINE Result insert_value(const BlocksView& view, std::uint64_t hash,
                               typename L::Value value) {
  const Place place = home_of_key<L>(view.geometry, hash);
  {
    typename Locks::BlockLock hold(view.blocks, place.block);
    BlockCopy copy;
    const Block& now = readable_block(hold.at(place.block), copy);
    std::uint64_t free = match_first_bytes<L>(now, 0) & place.bucket;
    if (L::kHasGuestLanes) {
      free = GuestLanes<L>(true, now).best_of_native(place.fingerprint, free);
    }
    if (HWY_LIKELY(free != 0)) {
      L::set(hold.change(place.block), first_slot(free), place.fingerprint, value);
      return Outcome::stored;
    }
  }
  return insert_further<L, Locks>(view, place.block, place.bucket, place.fingerprint,
                                  place.bucket_offset, value);
}

// Whether there is a copy, for lookups that look again (LookupFallback).
template <class L, class Locks>
bool contains_again(const BlocksView& view, std::uint64_t hash, Writers* writers) noexcept {
  const Table<L, Locks> table(view, writers);
  return table.contains(table.home(hash));
}

}}}  // namespace nestline::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
