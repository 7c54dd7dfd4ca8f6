// Per-target: what most inserts and erases need: one look at a key's home, compiled for each lock
// policy, with few registers and little code. What it does not decide goes on in further-inl.h.
#if defined(NESTLINE_LIB_ENGINE_TABLE_FIRST_LOOKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_ENGINE_TABLE_FIRST_LOOKS_INL_H_
#undef NESTLINE_LIB_ENGINE_TABLE_FIRST_LOOKS_INL_H_
#else
#define NESTLINE_LIB_ENGINE_TABLE_FIRST_LOOKS_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/engine/engine.h"
#include "lib/engine/kernels/home-inl.h"
#include "lib/engine/kernels/match-inl.h"
#include "lib/engine/kernels/paths-inl.h"
#include "lib/engine/place/locking.h"

HWY_BEFORE_NAMESPACE();
namespace nestline { inline namespace v0_3 { namespace HWY_NAMESPACE {

// Once for all policies.
template <class L>
HWY_NOINLINE EvictionPath find_path_apart(const Block& block, BlockClasses classes,
                                          std::uint64_t free, std::uint64_t bucket) {
  if (L::kHasGuestLanes && !NESTLINE_ANY_PLACEMENT && block.guest_level() == 0) {
    return find_path_apart<PlainLayout<L> >(block, {}, free, bucket);
  }
  return find_path_to_free_in<L>(block, GuestLanes<L>(classes, block), free, bucket);
}

// Does not own the blocks.
template <class L, class Locks>
class FirstLooks {
 public:
  // What a slot carries beside a fingerprint: in filters nothing, an empty class.
  using Value = typename L::Value;
  using BlockLock = typename Locks::BlockLock;

  explicit HWY_INLINE FirstLooks(const BlocksView& view, const Locks& locks = Locks())
      : view_(view), locks_(locks) {}
  [[nodiscard]] HWY_INLINE Place home(std::uint64_t hash) const {
    return home_of_key<L>(view_.geometry, hash);
  }

  // Stores if a free slot or a displacement at home allows it.
  HWY_NOINLINE bool has_stored_at_home(const Place& home, Value value) {
    BlockLock hold(locks_, view_.blocks, home.block);
    return store(hold, home, value);
  }

  // The same for each place in turn, up to the first that has no way; returns how many were stored.
  template <class Values>
  HWY_NOINLINE std::size_t store_at_homes(std::span<const Place> places, const Values& values) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      BlockLock hold(locks_, view_.blocks, places[i].block);
      if (!store(hold, places[i], values[i])) return i;
    }
    return places.size();
  }

  // Clears a slot of home that held a copy a moment ago.
  HWY_INLINE bool erase_in(const Place& home, std::uint32_t slot) {
    BlockLock hold(locks_, view_.blocks, home.block);
    const Block& block = view_.blocks[home.block];
    if (has_lanes()) {  // the one that erase would take
      const std::uint64_t own = own_copies(home, Residence::native);
      if (own == 0 || is_unknown(block, home)) return false;
      slot = first_slot(own);
    } else if (L::get(block, slot) != home.fingerprint) {
      return false;
    }
    L::set(hold.change(home.block), slot, 0);
    return true;
  }

  // Stores in a held block if a free slot or a displacement allows it.
  HWY_INLINE bool store(BlockLock& hold, const Place& place, Value value) {
    BlockCopy copy;
    const Block& now = readable_block(hold.at(place.block), copy);
    const std::uint64_t free = match_first_bytes<L>(now, 0) & L::kAllSlots;
    const GuestLanes<L> lanes(classes_of(place), now);
    const std::uint64_t bucket = place.bucket & lanes.of_native(place.fingerprint);
    // Apart from the paths: packing a path of one slot and applying it takes longer than the rest.
    if (HWY_LIKELY((free & bucket) != 0)) {
      const std::uint64_t slots =
          has_lanes() ? lanes.best_of_native(place.fingerprint, free & bucket) : free & bucket;
      L::set(hold.change(place.block), first_slot(slots), place.fingerprint, value);
      return true;
    }
    if (free == 0) return false;
    const EvictionPath path = L::kForm == Form::halfwords
                                  ? find_path_to_free_in<L>(now, lanes, free, bucket)
                                  : find_path_apart<L>(now, classes_of(place), free, bucket);
    if (!path) return false;
    apply<L>(hold.change(place.block), path, place.fingerprint, value);
    return true;
  }

 protected:
  // Whether the filter has guest lanes (lanes.h).
  [[nodiscard]] HWY_INLINE bool has_lanes() const { return has_lanes_in<L, Locks>(view_); }
  [[nodiscard]] HWY_INLINE BlockClasses classes_of(const Place& place) const {
    return block_classes<L>(view_.geometry, place.block);
  }
  // Of the block of a place, as it is read.
  [[nodiscard]] HWY_INLINE GuestLanes<L> lanes_of(const Block& block, const Place& place) const {
    return GuestLanes<L>(classes_of(place), block);
  }
  [[nodiscard]] HWY_INLINE Residence as(Residence residence) const {
    return has_lanes() ? residence : Residence::anywhere;
  }
  // Whether a block is open for the fingerprint (lanes.h).
  [[nodiscard]] HWY_INLINE bool is_unknown(const Block& block, const Place& place) const {
    return has_lanes() && lanes_of(block, place).is_unknown(place.fingerprint);
  }
  // Of an expiring filter those that live.
  [[nodiscard]] HWY_INLINE std::uint64_t copies(const Block& block, const Place& place) const {
    return match_live<L>(view_, block, place.fingerprint, place.bucket);
  }
  [[nodiscard]] HWY_INLINE std::uint64_t copies(const Place& place) const {
    return copies(view_.blocks[place.block], place);
  }
  // Those that may be cleared for a key that is there as this, and have this value.
  [[nodiscard]] HWY_INLINE std::uint64_t own_copies(const Place& place, Residence as,
                                                    Value value = {}) const {
    std::uint64_t found = copies(place);
    if constexpr (L::kHasGuestLanes) {
      const GuestLanes<L> lanes = lanes_of(view_.blocks[place.block], place);
      found &= as == Residence::guest ? lanes.of_guests_now(place.fingerprint)
                                      : lanes.of(place.fingerprint, as);
    }
    if constexpr (L::kHasValues) {
      for (std::uint64_t rest = found; rest != 0; rest &= rest - 1) {
        const std::uint32_t slot = first_slot(rest);
        if (L::value(view_.blocks[place.block], slot) != value) found ^= std::uint64_t{1} << slot;
      }
    }
    return found;
  }

  const BlocksView& view_;  // its blocks are changed through BlockLock
  [[no_unique_address]] const Locks locks_;
};

}}}  // namespace nestline::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
