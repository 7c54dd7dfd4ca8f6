// Per-target: the first tries of inserts into an expiring filter, and what a sweep looks for.
//
// An insert looks for its key and renews or stores it while it holds home (aging.h). New keys whose
// home has a mark that covers them, or no room, are Table::renew's.
#if defined(NESTLINE_LIB_KERNELS_EXPIRING_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_KERNELS_EXPIRING_INL_H_
#undef NESTLINE_LIB_KERNELS_EXPIRING_INL_H_
#else
#define NESTLINE_LIB_KERNELS_EXPIRING_INL_H_
#endif

#include "lib/kernels/home-inl.h"
#include "lib/kernels/match-inl.h"
#include "lib/kernels/ways-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nestline::inline v0_2 {
namespace HWY_NAMESPACE {
namespace expiring {

// The block without its slots that are dead at this tick, but for its header; returns these slots.
// Free slots, which may match the death, stay 0.
#if NESTLINE_ONE_LANE
template <class L>
HWY_INLINE std::uint64_t without_dead(const Block& block, std::uint64_t tick, Block& cleaned) {
  cleaned = block;
  const std::uint64_t dead = dead_residents<L>(block, tick);
  for (std::uint64_t rest = dead; rest != 0; rest &= rest - 1) {
    L::set(cleaned, first_slot(rest), 0);
  }
  return dead;
}
#else
// Of slots whose deaths are nibbles: their masks come into the order of the slots as in
// unpack_nibbles (residents-inl.h).
template <class L>
HWY_INLINE std::uint64_t without_dead_nibbles(const Block& block, std::uint64_t tick,
                                              Block& cleaned) {
  static_assert(L::kForm == Form::bytes && L::kNibbleByte == 40 && L::kNibbleRun == 20);
  alignas(16) static constexpr std::uint8_t kTail[16] = {
      8, 9, 10, 11, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80};
  alignas(16) static constexpr std::uint8_t kHead[16] = {0x80, 0x80, 0x80, 0x80, 0, 1, 2,  3,
                                                         4,    5,    6,    7,    8, 9, 10, 11};
  alignas(16) static constexpr std::uint8_t kRest[16] = {
      4, 5, 6, 7, 8, 9, 10, 11, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80};
  const hn::CappedTag<std::uint8_t, 16> d;
  const auto low = hn::Set(d, std::uint8_t{0x0f});
  const auto high = hn::Set(d, std::uint8_t{0xf0});
  const auto death = hn::Set(d, static_cast<std::uint8_t>((tick & 15) * 0x11));
  const std::uint8_t* const from = block.bytes.data();
  std::uint8_t* const to = cleaned.bytes.data();
  const auto all_ones = [&](auto differs)
                            HWY_ATTR { return hn::VecFromMask(d, hn::Eq(differs, hn::Zero(d))); };
  const auto first = hn::LoadU(d, from + 40);
  const auto last = hn::LoadU(d, from + 48);
  const auto first_low = all_ones(hn::And(hn::Xor(first, death), low));
  const auto first_high = all_ones(hn::And(hn::Xor(first, death), high));
  const auto last_low = all_ones(hn::And(hn::Xor(last, death), low));
  const auto last_high = all_ones(hn::And(hn::Xor(last, death), high));
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  const auto clean = [&](std::size_t i, auto masks) HWY_ATTR {
    const auto slots = hn::Load(d, from + i);
    const auto kept = hn::AndNot(masks, slots);
    hn::Store(kept, d, to + i);
    before |= bits_of(d, hn::Eq(slots, hn::Zero(d))) << i;
    after |= bits_of(d, hn::Eq(kept, hn::Zero(d))) << i;
  };
  clean(0, first_low);
  clean(16, hn::Or(hn::TableLookupBytesOr0(last_low, hn::Load(d, kTail)),
                   hn::TableLookupBytesOr0(first_high, hn::Load(d, kHead))));
  clean(32, hn::TableLookupBytesOr0(last_high, hn::Load(d, kRest)));
  const auto clean_nibbles = [&](auto nibbles, auto in_low, auto in_high) HWY_ATTR {
    return hn::AndNot(hn::Or(hn::And(in_low, low), hn::And(in_high, high)), nibbles);
  };
  hn::StoreU(clean_nibbles(first, first_low, first_high), d, to + 40);
  hn::StoreU(clean_nibbles(last, last_low, last_high), d, to + 48);
  return after & ~before & L::kAllSlots;
}

template <class L>
HWY_INLINE std::uint64_t without_dead(const Block& block, std::uint64_t tick, Block& cleaned) {
  if constexpr (L::kForm == Form::bytes) {
    return without_dead_nibbles<L>(block, tick, cleaned);
  } else {
    const BlockTag<std::uint16_t> d;
    const auto* const from = reinterpret_cast<const std::uint16_t*>(block.bytes.data());
    auto* const to = reinterpret_cast<std::uint16_t*>(cleaned.bytes.data());
    const auto death = hn::Set(d, static_cast<std::uint16_t>((tick & 15) << 12));
    const auto high = hn::Set(d, std::uint16_t{0xf000});
    std::uint64_t before = 0;
    std::uint64_t after = 0;
    for (std::size_t i = 0; i < kBlockBytes / 2; i += hn::Lanes(d)) {
      const auto slots = hn::Load(d, from + i);
      const auto kept = hn::IfThenZeroElse(hn::Eq(hn::And(slots, high), death), slots);
      hn::Store(kept, d, to + i);
      before |= bits_of(d, hn::Eq(slots, hn::Zero(d))) << i;
      after |= bits_of(d, hn::Eq(kept, hn::Zero(d))) << i;
    }
    return after & ~before & L::kAllSlots;
  }
}
#endif

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
    typename Locks::Hold hold(blocks, i);
    if constexpr (!Locks::kAlone) {
      dead = without_dead<L>(readable_block(hold.at(i), copy), tick, cleaned);
    }
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
  return renew_at<L, Locks>(blocks, home_of_key<L>(geometry, hash), life);
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
}  // namespace nestline::inline v0_2
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
