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

// What there is in the other blocks of candidates. As bits: those that have another block, those
// with a free slot in it, and those with a free slot of their buckets.
template <class L>
struct AlternateSurvey {
  EvictionCandidates& candidates;
  std::uint64_t away = 0;
  std::uint64_t with_room = 0;
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
    if constexpr (!L::kIsComputed) find_bucket(from, slot);
  }
  HWY_INLINE void find_bucket(const EvictionContext& from, std::uint32_t slot) {
    Place& target = candidates.target[slot];
    target.bucket = bucket_of<L>(target.fingerprint, target.bucket_offset);
    if (L::kHasGuestLanes && from.order.classes.have_lanes()) {
      // The other block of a key has the same classes.
      const GuestLanes<L> lanes(from.order.classes, from.blocks[target.block]);
      const Residence as = from.order.residence_after(slot);
      target.bucket &= lanes.of(target.fingerprint, as);
      if (lanes.are_too_low(target.fingerprint, as)) return;  // so it does not fit as it is
    }
    const bool fits = (candidates.free[slot] & target.bucket) != 0;
    fitting |= std::uint64_t{fits} << slot;
  }
};

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
  const std::uint64_t open = survey.away & survey.with_room;
  if constexpr (L::kIsComputed) {
    for (std::uint64_t rest = open; rest != 0; rest &= rest - 1) {
      survey.find_bucket(from, first_slot(rest));
    }
  }
  candidates.away = survey.away;
  candidates.open = open;
  candidates.direct = open & survey.fitting;
}

}  // namespace HWY_NAMESPACE
}}  // namespace nestline
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
