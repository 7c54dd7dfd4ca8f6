// Per-target: the first tries of inserts into an expiring filter, and what a sweep looks for.
//
// An insert looks for its key and stores it, or renews it, while it holds the key's home (aging.h).
// What it cannot decide there is Table::renew's: new keys whose home has a mark that covers them,
// or no room.
#if defined(NESTLINE_LIB_KERNELS_EXPIRING_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_KERNELS_EXPIRING_INL_H_
#undef NESTLINE_LIB_KERNELS_EXPIRING_INL_H_
#else
#define NESTLINE_LIB_KERNELS_EXPIRING_INL_H_
#endif

#include <hwy/highway.h>

#include "lib/kernels/kernels.h"
#include "lib/kernels/match-inl.h"
#include "lib/kernels/ways-inl.h"
#include "lib/place/aging.h"
#include "lib/place/geometry.h"

HWY_BEFORE_NAMESPACE();
namespace nestline {
namespace HWY_NAMESPACE {
namespace expiring {

template <class L>
HWY_INLINE std::uint64_t dead_in(const Block& block, std::uint64_t tick) {
  const auto death = static_cast<std::uint32_t>(tick & 15);
  std::uint64_t slots = 0;
  if constexpr (L::kForm == Form::halfwords) {
    slots = match_high_deaths<L>(block, death);
  } else {
    slots = match_nibbles<L>(block, death);
  }
  return slots & ~match_first_bytes<L>(block, 0) & L::kAllSlots;
}

template <class L>
std::uint64_t dead(const Block& shared, std::uint64_t tick) noexcept {
  BlockCopy copy;
  return dead_in<L>(readable_block(shared, copy), tick);
}

template <class L>
std::size_t next_dead(const Block* blocks, std::size_t count, std::uint64_t tick) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t header = blocks[i].header();
    BlockCopy copy;
    const std::uint64_t found = dead_in<L>(readable_block(blocks[i], copy), tick);
    if (HWY_UNLIKELY(found != 0 || changes(blocks[i], header) != 0)) return i;
  }
  return count;
}

template <class L, class Locks>
HWY_INLINE Renewal renew_at(const Block* blocks, const Place& home, std::uint32_t life) {
  typename Locks::Hold hold(blocks, home.block);
  const Block& shared = hold.at(home.block);
  const std::uint64_t tick = tick_of_holder<Locks>(blocks);
  const std::uint32_t death = death_after(tick, life);
  BlockCopy copy;
  const Block& now = readable_block(shared, copy);
  const std::uint64_t slots = match_among<L>(now, home.fingerprint, home.bucket);
  for (std::uint64_t rest = slots; rest != 0; rest &= rest - 1) {
    const std::uint32_t s = first_slot(rest);
    const std::uint32_t left = ticks_left(L::value(now, s), tick);
    if (HWY_UNLIKELY(left == 0)) continue;
    if (left <= life) L::set_value(hold.change(home.block), s, death);
    return Renewal::present;
  }
  if (spill_class(home.fingerprint) < now.mark()) return Renewal::undecided;
  if (HWY_UNLIKELY(slots != 0)) {
    L::set_value(hold.change(home.block), first_slot(slots), death);
    return Renewal::stored_in_place_of_dead;
  }
  const std::uint64_t free = match_first_bytes<L>(now, 0) & L::kAllSlots;
  const Way way = find_free_way_in<L>(now, free, home.bucket);
  if (!way) return Renewal::undecided;
  walk<L>(hold.change(home.block), way, home.fingerprint, death);
  return Renewal::stored;
}

template <class L, class Locks>
Renewal renew_first(const Block* blocks, const Geometry& geometry, std::uint64_t hash,
                    std::uint32_t life) noexcept {
  return renew_at<L, Locks>(blocks, home_of<L>(geometry, hash), life);
}

template <class L, class Locks>
std::size_t renew_batch(const Block* blocks, const Place* places, std::size_t count,
                        std::uint32_t life, Renewal* renewals) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    renewals[i] = renew_at<L, Locks>(blocks, places[i], life);
    if (HWY_UNLIKELY(renewals[i] == Renewal::undecided)) return i;
  }
  return count;
}

}  // namespace expiring
}  // namespace HWY_NAMESPACE
}  // namespace nestline
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
