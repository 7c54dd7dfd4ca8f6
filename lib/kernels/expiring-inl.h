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

#include <bit>

#include "lib/kernels/kernels.h"
#include "lib/kernels/match-inl.h"
#include "lib/kernels/ways-inl.h"
#include "lib/place/aging.h"
#include "lib/place/geometry.h"

HWY_BEFORE_NAMESPACE();
namespace nestline {
namespace HWY_NAMESPACE {
namespace expiring {

// The block without its slots that are dead at this tick, but for its header; returns these slots.
// Free slots, which may match the death, stay 0.
#if NESTLINE_ONE_LANE
template <class L>
HWY_INLINE std::uint64_t without_dead(const Block& block, std::uint64_t tick, Block& cleaned) {
  cleaned = block;
  std::uint64_t dead = 0;
  for (std::uint32_t s = 0; s < L::kSlots; ++s) {
    if (L::get(block, s) == 0 || ticks_left(L::value(block, s), tick) != 0) continue;
    L::set(cleaned, s, 0);
    dead |= std::uint64_t{1} << s;
  }
  return dead;
}
#else
template <class L>
HWY_INLINE std::uint64_t without_dead(const Block& block, std::uint64_t tick, Block& cleaned) {
  using T = Ranks::Phase<L>;
  const BlockTag<T> d;
  const T* const from = reinterpret_cast<const T*>(block.bytes.data());
  T* const to = reinterpret_cast<T*>(cleaned.bytes.data());
  // For each slot, all ones where it is dead.
  alignas(64) T masks[64 / sizeof(T)] = {};
  if constexpr (L::kForm == Form::halfwords) {
    const auto death = hn::Set(d, static_cast<T>((tick & 15) << 12));
    const auto high = hn::Set(d, T{0xf000});
    for (std::size_t i = 0; i < 64 / sizeof(T); i += hn::Lanes(d)) {
      hn::Store(hn::VecFromMask(d, hn::Eq(hn::And(hn::Load(d, from + i), high), death)), d,
                masks + i);
    }
  } else {
    const hn::CappedTag<T, 16> d16;
    const auto low = hn::Set(d16, T{0x0f});
    const auto high = hn::Set(d16, T{0xf0});
    const auto death = hn::Set(d16, static_cast<T>((tick & 15) * 0x11));
    // Two overlapping pieces of the nibbles.
    for (const std::size_t i : {std::size_t{0}, L::kNibbleRun - std::size_t{16}}) {
      const auto differs = hn::Xor(hn::LoadU(d16, from + L::kNibbleByte + i), death);
      const auto in_low = hn::Eq(hn::And(differs, low), hn::Zero(d16));
      const auto in_high = hn::Eq(hn::And(differs, high), hn::Zero(d16));
      hn::StoreU(hn::VecFromMask(d16, in_low), d16, masks + i);
      hn::StoreU(hn::VecFromMask(d16, in_high), d16, masks + L::kNibbleRun + i);
    }
  }
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  for (std::size_t i = 0; i < L::kSlots; i += hn::Lanes(d)) {
    const auto slots = hn::Load(d, from + i);
    const auto kept = hn::AndNot(hn::Load(d, masks + i), slots);
    hn::Store(kept, d, to + i);
    before |= bits_of(d, hn::Eq(slots, hn::Zero(d))) << i;
    after |= bits_of(d, hn::Eq(kept, hn::Zero(d))) << i;
  }
  if constexpr (L::kForm == Form::bytes) {
    const hn::CappedTag<T, 16> d16;
    for (const std::size_t i : {std::size_t{0}, L::kNibbleRun - std::size_t{16}}) {
      const auto in_low = hn::And(hn::LoadU(d16, masks + i), hn::Set(d16, T{0x0f}));
      const auto in_high =
          hn::And(hn::LoadU(d16, masks + L::kNibbleRun + i), hn::Set(d16, T{0xf0}));
      const auto nibbles = hn::LoadU(d16, from + L::kNibbleByte + i);
      hn::StoreU(hn::AndNot(hn::Or(in_low, in_high), nibbles), d16, to + L::kNibbleByte + i);
    }
  }
  return after & ~before & L::kAllSlots;
}
#endif

template <class L>
std::uint64_t dead(const Block& shared, std::uint64_t tick) noexcept {
  BlockCopy copy;
  Block cleaned;
  return without_dead<L>(readable_block(shared, copy), tick, cleaned);
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
    typename Locks::Hold hold(blocks, i);
    if constexpr (!Locks::kAlone) dead = without_dead<L>(hold.at(i), tick, cleaned);
    if (dead == 0) continue;
    store_slots(hold.change(i).bytes.data(), cleaned.bytes.data());
    emptied += static_cast<std::size_t>(std::popcount(dead));
  }
  return emptied;
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
