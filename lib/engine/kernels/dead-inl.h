// Per-target: the dead slots of a block (aging.h), and the block without them.
#if defined(NESTLINE_LIB_ENGINE_KERNELS_DEAD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_ENGINE_KERNELS_DEAD_INL_H_
#undef NESTLINE_LIB_ENGINE_KERNELS_DEAD_INL_H_
#else
#define NESTLINE_LIB_ENGINE_KERNELS_DEAD_INL_H_
#endif

#include <bit>
#include <cstddef>
#include <cstdint>

#include "lib/engine/kernels/match-inl.h"
#include "lib/engine/kernels/paths-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nestline { inline namespace v0_3 { namespace HWY_NAMESPACE {

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

// Empties the dead slots of a held block; returns how many.
template <class L, class BlockLock>
HWY_INLINE std::uint32_t empty_dead(BlockLock& hold, std::uint64_t block, std::uint64_t tick) {
  BlockCopy copy;
  Block cleaned;
  const std::uint64_t dead = without_dead<L>(readable_block(hold.at(block), copy),
                                             tick + (NESTLINE_SWEEP_TOO_EARLY ? 1 : 0), cleaned);
  if (dead != 0) store_slots(hold.change(block).bytes.data(), cleaned.bytes.data());
  return static_cast<std::uint32_t>(std::popcount(dead));
}

// A held block without its dead slots, and a path to a free slot then.
template <class L>
struct Emptied {
  Block block;
  std::uint64_t dead;
  EvictionPath path;

  HWY_INLINE Emptied(const Block& shared, std::uint64_t tick, std::uint64_t bucket) {
    BlockCopy copy;
    dead = without_dead<L>(readable_block(shared, copy), tick + (NESTLINE_SWEEP_TOO_EARLY ? 1 : 0),
                           block);
    path = find_path_to_free_in<L>(block, GuestLanes<L>({}, block),
                                   match_first_bytes<L>(block, 0) & L::kAllSlots, bucket);
  }
  // Empties the dead slots of the block itself; returns how many.
  template <class BlockLock>
  HWY_INLINE std::uint32_t apply(BlockLock& hold, std::uint64_t number) const {
    if (dead != 0) store_slots(hold.change(number).bytes.data(), block.bytes.data());
    return static_cast<std::uint32_t>(std::popcount(dead));
  }
};

}}}  // namespace nestline::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
