// Per-target: which residents could leave a block, and where they would go (paths.h).
#if defined(NESTLINE_LIB_ENGINE_KERNELS_CANDIDATES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_ENGINE_KERNELS_CANDIDATES_INL_H_
#undef NESTLINE_LIB_ENGINE_KERNELS_CANDIDATES_INL_H_
#else
#define NESTLINE_LIB_ENGINE_KERNELS_CANDIDATES_INL_H_
#endif

#include <cstdint>

#include "lib/engine/kernels/home-inl.h"
#include "lib/engine/kernels/match-inl.h"
#include "lib/engine/kernels/residents-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nestline { inline namespace v0_3 { namespace HWY_NAMESPACE {

// What there is in the other blocks of candidates. As bits: those that have another block, those of
// whose blocks there one has a free slot, or a mark, and those with a free slot of their buckets.
template <class L>
struct AlternateSurvey {
  EvictionCandidates& candidates;
  std::uint64_t away = 0;
  std::uint64_t with_room = 0;
  std::uint64_t marked = 0;
  std::uint64_t fitting = 0;

  // Without a branch, so that several blocks are fetched at a time. Buckets from tables cost less
  // than one more loop, whose end would be mispredicted; computed ones do not.
  HWY_INLINE void look(const EvictionContext& from, std::uint32_t slot,
                       std::uint64_t number_there) {
    const Block& other = from.blocks[number_there];
    const std::uint64_t free = free_slots<L>(other);
    candidates.target[slot].block = number_there;
    candidates.free[slot] = free;
    away |= std::uint64_t{number_there != from.number} << slot;
    with_room |= std::uint64_t{free != 0} << slot;
    marked |= std::uint64_t{other.overflow_mark() != 0} << slot;
    if constexpr (!L::kIsComputed) find_bucket(from, slot);
  }
  HWY_INLINE void find_bucket(const EvictionContext& from, std::uint32_t slot) {
    Place& target = candidates.target[slot];
    target.bucket = bucket_of<L>(target.fingerprint, target.bucket_offset);
    if (L::kHasGuestLanes && from.order.has_guest_lanes) {
      const GuestLanes<L> lanes(true, from.blocks[target.block]);
      const Residence as = from.order.residence_after(slot);
      target.bucket &= lanes.of(target.fingerprint, as);
      if (lanes.are_too_low(target.fingerprint, as)) return;  // so it does not fit as it is
    }
    const bool fits = (candidates.free[slot] & target.bucket) != 0;
    fitting |= std::uint64_t{fits} << slot;
  }
};

// Whether a resident could move into one of these free slots.
template <class L>
HWY_INLINE bool anyone_moves_into(const Block& shared, bool has_guest_lanes, std::uint64_t free) {
  BlockCopy copy;
  const Block& block = readable_block(shared, copy);
#if NESTLINE_ONE_LANE
  const GuestLanes<L> lanes(has_guest_lanes, block);
  for (std::uint32_t s = 0; s < L::kSlots; ++s) {
    if (L::get(block, s) != 0 && (moves_from<L>(block, lanes, s) & free) != 0) return true;
  }
  return false;
#else
  const MoveMasks<L> moves(block, GuestLanes<L>(has_guest_lanes, block));
  std::uint64_t found = 0;
  for (; free != 0; free &= free - 1) found |= moves.into(first_slot(free));
  return found != 0;
#endif
}

template <class L>
void find_candidates(const EvictionContext& from, std::uint64_t slots,
                     EvictionCandidates& candidates) noexcept {
  AlternateSurvey<L> survey{candidates};
  for (std::uint64_t rest = slots; rest != 0; rest &= rest - 1) {
    const std::uint32_t slot = first_slot(rest);
    const std::uint32_t fingerprint = L::get(from.block, slot);
    const std::uint32_t bucket_offset = from.order.bucket_offset<L>(slot);
    candidates.target[slot].fingerprint = fingerprint;
    candidates.target[slot].bucket_offset = bucket_offset;
    survey.look(from, slot,
                alternate_of(from.geometry, {from.number, 0, fingerprint, bucket_offset}));
  }
  if (candidates.all != 0)
    survey.look(from, EvictionOrder::kNobody, candidates.target[EvictionOrder::kNobody].block);
  candidates.all |= slots;
  std::uint64_t open = survey.away & survey.with_room;
  if constexpr (L::kIsComputed) {
    for (std::uint64_t rest = open; rest != 0; rest &= rest - 1) {
      survey.find_bucket(from, first_slot(rest));
    }
  }
  const std::uint64_t direct = open & survey.fitting;
  // Test every open candidate, not only up to the first direct one: in 5 of 6 searches one that is
  // ranked before it could be used.
  if constexpr (L::kForm != Form::maplet) {  // else all residents reach every slot
    std::uint64_t tested = open & ~direct & survey.marked;
    // Who would be a guest there has one slot, from which a search soon ends.
    if (L::kHasGuestLanes && from.order.has_guest_lanes) tested &= from.order.guests;
    for (std::uint64_t rest = tested; rest != 0; rest &= rest - 1) {
      const std::uint32_t slot = first_slot(rest);
      const Block& other = from.blocks[candidates.target[slot].block];
      const bool hopeless =
          !anyone_moves_into<L>(other, from.order.has_guest_lanes, candidates.free[slot]);
      open ^= std::uint64_t{hopeless} << slot;
    }
  }
  candidates.away = survey.away;
  candidates.open = open;
  candidates.direct = direct;
}

}  // namespace HWY_NAMESPACE
}}  // namespace nestline
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
