// Per-target: the first tries of inserts into an expiring filter, and what a sweep looks for.
//
// An insert looks for its key and renews or stores it while it holds home (aging.h), and the
// alternate too if home's mark covers it. New keys without room there are ExpiringTable::renew's.
#if defined(NESTLINE_LIB_ENGINE_KERNELS_EXPIRING_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_ENGINE_KERNELS_EXPIRING_INL_H_
#undef NESTLINE_LIB_ENGINE_KERNELS_EXPIRING_INL_H_
#else
#define NESTLINE_LIB_ENGINE_KERNELS_EXPIRING_INL_H_
#endif

#include <bit>
#include <cstddef>
#include <cstdint>

#include "lib/engine/kernels/home-inl.h"
#include "lib/engine/kernels/match-inl.h"
#include "lib/engine/kernels/paths-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nestline { inline namespace v0_3 { namespace HWY_NAMESPACE { namespace expiring {

// The block without its slots that are dead at this tick, but for its header; returns these slots.
template <class L>
HWY_INLINE std::uint64_t without_dead(const Block& block, std::uint64_t tick, Block& cleaned) {
  const std::uint64_t dead = dead_residents<L>(block, tick);
#if NESTLINE_ONE_LANE
  cleaned = block;
  for (std::uint64_t rest = dead; rest != 0; rest &= rest - 1) {
    L::set(cleaned, first_slot(rest), 0);
  }
#else
  using T = EvictionOrder::BucketOffset<L>;  // of a slot's first part
  const BlockTag<T> d;
  const auto chosen = [&](std::uint64_t slots, std::size_t i)
                          HWY_ATTR { return mask_of(d, slots >> i); };
  for (std::size_t i = 0; i < kBlockBytes / sizeof(T); i += hn::Lanes(d)) {
    auto kept = hn::IfThenZeroElse(chosen(dead, i),
                                   hn::Load(d, reinterpret_cast<const T*>(block.bytes.data()) + i));
    if constexpr (L::kForm == Form::bytes) {
      constexpr std::uint64_t kRun = (std::uint64_t{1} << L::kNibbleRun) - 1;
      const auto low = chosen((dead & kRun) << L::kNibbleByte, i);
      const auto high = chosen((dead >> L::kNibbleRun) << L::kNibbleByte, i);
      kept = hn::AndNot(hn::IfThenElseZero(low, hn::Set(d, T{0x0f})), kept);
      kept = hn::AndNot(hn::IfThenElseZero(high, hn::Set(d, T{0xf0})), kept);
    }
    hn::Store(kept, d, reinterpret_cast<T*>(cleaned.bytes.data()) + i);
  }
#endif
  return dead;
}

template <class L>
std::uint64_t dead(const Block& shared, std::uint64_t tick) noexcept {
  BlockCopy copy;
  return dead_residents<L>(readable_block(shared, copy), tick);
}

template <class L, class Locks>
std::size_t sweep(const Block* blocks, std::size_t count, std::uint64_t tick) noexcept {
  std::size_t emptied = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t header = blocks[i].header();
    BlockCopy copy;
    Block cleaned;
    std::uint64_t dead = without_dead<L>(readable_block(blocks[i], copy), tick, cleaned);
    if (dead == 0 && changes(blocks[i], header) == 0) continue;
    typename Locks::BlockLock hold(blocks, i);
    if constexpr (!Locks::kBlocksAreStable) {
      dead = without_dead<L>(readable_block(hold.at(i), copy), tick, cleaned);
    }
    if (dead == 0) continue;
    store_slots(hold.change(i).bytes.data(), cleaned.bytes.data());
    emptied += static_cast<std::size_t>(std::popcount(dead));
  }
  return emptied;
}

// Lets the first live one of some copies live for `life` ticks at least; false if none is alive.
template <class L, class BlockLock>
HWY_INLINE bool renew_copy(BlockLock& hold, std::uint64_t block, std::uint64_t copies,
                           std::uint64_t tick, std::uint32_t life) {
  for (; copies != 0; copies &= copies - 1) {
    const std::uint32_t s = first_slot(copies);
    const std::uint32_t left = ticks_left(L::value(hold.at(block), s), tick);
    if (HWY_UNLIKELY(left == 0)) continue;
    if (left <= life) L::set_value(hold.change(block), s, death_after(tick, life));
    return true;
  }
  return false;
}

// Stores a key without a copy in a held block, if there is a path to a free slot.
template <class L, class BlockLock>
HWY_INLINE bool store_new(BlockLock& hold, const Place& place, std::uint32_t death) {
  BlockCopy copy;
  const Block& now = readable_block(hold.at(place.block), copy);
  const std::uint64_t free = match_first_bytes<L>(now, 0) & L::kAllSlots;
  if (HWY_LIKELY((free & place.bucket) != 0)) {
    L::set(hold.change(place.block), first_slot(free & place.bucket), place.fingerprint, death);
    return true;
  }
  const EvictionPath path = find_path_to_free_in<L>(now, free, place.bucket);
  if (!path) return false;
  walk<L>(hold.change(place.block), path, place.fingerprint, death);
  return true;
}

// A held block without its dead slots, and a path for a newcomer there.
template <class L>
struct Emptied {
  Block block;
  std::uint64_t dead;
  EvictionPath path;

  HWY_INLINE Emptied(const Block& shared, std::uint64_t tick, std::uint64_t bucket) {
    BlockCopy copy;
    dead = without_dead<L>(readable_block(shared, copy), tick + (NESTLINE_SWEEP_TOO_EARLY ? 1 : 0),
                           block);
    path = find_path_to_free_in<L>(block, match_first_bytes<L>(block, 0) & L::kAllSlots, bucket);
  }
  // Empties the dead slots of the block itself; returns how many.
  template <class BlockLock>
  HWY_INLINE std::uint32_t carry_out(BlockLock& hold, std::uint64_t number) const {
    if (dead != 0) store_slots(hold.change(number).bytes.data(), block.bytes.data());
    return static_cast<std::uint32_t>(std::popcount(dead));
  }
};

// Keys that home's mark covers, and those without a path at home: what ExpiringTable::renew does
// before it searches for others that could leave.
template <class L, class Locks>
HWY_NOINLINE Renewal renew_slowly(const Block* blocks, const Geometry& geometry, const Place& home,
                                  std::uint32_t life, std::uint32_t& emptied) {
  typename Locks::BlockLock hold(blocks, home.block);
  Place away = home;
  if (eviction_rank(home.fingerprint) < hold.at(home.block).overflow_mark()) {
    away.block = alternate_of(geometry, home);
    hold.add(away.block);
  }
  const bool both = away.block != home.block;
  const std::uint64_t tick = tick_of_holder<Locks>(blocks);
  const auto renew = [&](const Place& place) HWY_ATTR {
    const std::uint64_t copies =
        match_among<L>(hold.at(place.block), place.fingerprint, place.bucket);
    return renew_copy<L>(hold, place.block, copies, tick, life);
  };
  const auto stays_away = [&] {
    raise_overflow_marks<L>(hold, blocks, geometry, home.block, eviction_rank(home.fingerprint));
  };
  if (renew(home)) return Renewal::present;
  if (both && renew(away)) {
    if (!NESTLINE_FORGET_YOUNG_MARKS) stays_away();
    return Renewal::present;
  }
  const auto store = [&](const Place& place, EvictionPath path) HWY_ATTR {
    walk<L>(hold.change(place.block), path, place.fingerprint, death_after(tick, life));
    return Renewal::stored;
  };
  const Emptied<L> at_home(hold.at(home.block), tick, home.bucket);
  if (at_home.path) {
    emptied += at_home.carry_out(hold, home.block);
    return store(home, at_home.path);
  }
  if (!both) return Renewal::undecided;
  const Emptied<L> at_other(hold.at(away.block), tick, home.bucket);
  if (!at_other.path) return Renewal::undecided;
  emptied += at_home.carry_out(hold, home.block) + at_other.carry_out(hold, away.block);
  stays_away();
  return store(away, at_other.path);
}

template <class L, class Locks>
HWY_INLINE Renewal renew_at(const Block* blocks, const Geometry& geometry, const Place& home,
                            std::uint32_t life, std::uint32_t& emptied) {
  {
    typename Locks::BlockLock hold(blocks, home.block);
    const Block& shared = hold.at(home.block);
    const std::uint64_t tick = tick_of_holder<Locks>(blocks);
    const std::uint64_t copies = match_among<L>(shared, home.fingerprint, home.bucket);
    if (HWY_UNLIKELY(copies != 0) && renew_copy<L>(hold, home.block, copies, tick, life)) {
      return Renewal::present;
    }
    if (HWY_LIKELY(eviction_rank(home.fingerprint) >= shared.overflow_mark())) {
      if (HWY_UNLIKELY(copies != 0)) {
        L::set_value(hold.change(home.block), first_slot(copies), death_after(tick, life));
        return Renewal::stored_in_place_of_dead;
      }
      if (HWY_LIKELY(store_new<L>(hold, home, death_after(tick, life)))) return Renewal::stored;
    }
  }
  return renew_slowly<L, Locks>(blocks, geometry, home, life, emptied);
}

template <class L, class Locks>
Renewal renew_first(const Block* blocks, const Geometry& geometry, std::uint64_t hash,
                    std::uint32_t life, std::uint32_t& emptied) noexcept {
  return renew_at<L, Locks>(blocks, geometry, home_of_key<L>(geometry, hash), life, emptied);
}

template <class L, class Locks>
std::size_t renew_batch(const Block* blocks, const Geometry& geometry, const Place* places,
                        std::size_t count, std::uint32_t life, Renewal* renewals,
                        std::uint32_t& emptied) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    renewals[i] = renew_at<L, Locks>(blocks, geometry, places[i], life, emptied);
    if (HWY_UNLIKELY(renewals[i] == Renewal::undecided)) return i;
  }
  return count;
}

}  // namespace expiring
}  // namespace HWY_NAMESPACE
}}  // namespace nestline
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
