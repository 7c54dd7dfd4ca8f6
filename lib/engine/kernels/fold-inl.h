// Per-target: folding, the residents of several blocks laid over each other (folding.h): the
// opposite of a split.
//
// All words of the blocks are combined at once. That leaves a mixture in slots that several
// residents had, few until the block is nearly full: each gets the resident of the first block
// again, and the others take the first free slots of their buckets.
#if defined(NESTLINE_LIB_ENGINE_KERNELS_FOLD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_ENGINE_KERNELS_FOLD_INL_H_
#undef NESTLINE_LIB_ENGINE_KERNELS_FOLD_INL_H_
#else
#define NESTLINE_LIB_ENGINE_KERNELS_FOLD_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lib/engine/kernels/build_kernels.h"
#include "lib/engine/kernels/bulk_place-inl.h"
#include "lib/engine/kernels/match-inl.h"
#include "lib/engine/kernels/residents-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nestline { inline namespace v0_3 { namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The residents of a block that would look like guests in one whose guests are `there` (G2).
template <class L>
HWY_NOINLINE std::uint64_t would_be_guests(const Block& block, const GuestLanes<L>& here,
                                           const GuestLanes<L>& there) {
  if (there.highest() <= here.highest()) return 0;
  return of_ranks<L>(block, here.highest(), there.highest()) & in_guest_lanes<L>(block);
}

// The guest level of a block of these classes with the residents of others. It is open if one of
// them is, as far as that one is, and where a closed level would be above the first open one and in
// the way of natives: few blocks have room for so many outside their guest lanes.
template <class L>
HWY_NOINLINE std::uint32_t folded_level(const BlocksView& from, std::uint64_t first,
                                        std::size_t count, BlockClasses classes) {
  std::uint32_t level = 0;
  const std::uint32_t often_away = classes.often_away();
  for (std::uint64_t i = first; i < first + count; ++i) {
    const std::uint32_t one = from.blocks[i].guest_level();
    const BlockClasses own = block_classes<L>(from.geometry, i);
    const std::uint32_t highest = own.highest_at(one);
    if (one == 0 || (!is_open_level(one) && highest < own.first())) continue;
    level = std::max(level, !is_open_level(one)    ? classes.guest_level_for(highest)
                            : highest < often_away ? kOpenToAllLevel
                                                   : kOpenLevel);
  }
  if (is_open_level(level) || classes.highest_at(level) <= often_away) return level;
  const GuestLanes<L> there(level, classes.highest_at(level));
  std::uint64_t in_lanes = 0;
  for (std::uint64_t i = first; i < first + count; ++i) {
    const GuestLanes<L> here(block_classes<L>(from.geometry, i), from.blocks[i]);
    in_lanes |= would_be_guests<L>(from.blocks[i], here, there);
  }
  return in_lanes != 0 ? kOpenLevel : level;
}

// All bits of blocks, and their highest mark.
HWY_INLINE void combine(const Block* from, std::size_t count, Block& to) {
  const hn::CappedTag<std::uint64_t, kBlockBytes / 8> d;  // on one lane too
  std::uint32_t mark = 0;
  for (std::size_t i = 0; i < count; ++i) mark = std::max(mark, from[i].overflow_mark());
  for (std::size_t byte = 0; byte < kBlockBytes; byte += 8 * hn::Lanes(d)) {
    auto all = hn::Zero(d);
    for (std::size_t i = 0; i < count; ++i) {
      BlockCopy copy;
      const Block& block = readable_block(from[i], copy);
      const auto* const words = reinterpret_cast<const std::uint64_t*>(block.bytes.data() + byte);
      all = hn::Or(all, hn::Load(d, words));
    }
    hn::Store(all, d, reinterpret_cast<std::uint64_t*>(to.bytes.data() + byte));
  }
  const std::uint32_t header = Block::to_header(Block::header_of(mark, 0));
  std::memcpy(to.bytes.data() + kOverflowMarkByte, &header, sizeof(header));
}

template <class L>
void fold_block(const BlocksView& view, std::uint64_t first_number, std::size_t count, Block& to,
                std::uint64_t& free, FoldRest& rest) noexcept {
  using Plain = PlainLayout<L>;
  using Lanes = GuestLanes<L>;
  const Block* const from = view.blocks + first_number;
  const std::uint32_t times = first_slot(count);
  Geometry geometry = view.geometry;
  geometry.growth -= times;
  const BlockClasses classes = block_classes<L>(geometry, first_number >> times);
  combine(from, count, to);
  if (classes.have_lanes()) to.set_guest_level(folded_level<L>(view, first_number, count, classes));
  const Lanes there(classes, to);
  rest.natives = 0;
  rest.guests = 0;
  free = L::kAllSlots;
  std::uint64_t mixtures = 0;
  for (std::size_t i = 0; i < count; ++i) {
    BlockCopy copy;
    const Block& block = readable_block(from[i], copy);
    const std::uint64_t residents = L::kAllSlots & ~free_slots<Plain>(block);
    const Lanes here(block_classes<L>(view.geometry, first_number + i), block);
    rest.stay[i] = residents & free & ~would_be_guests<L>(block, here, there);
    free &= ~rest.stay[i];
    std::uint64_t slots = residents & ~rest.stay[i];
    if (slots == 0) continue;
    mixtures |= slots;
    const std::uint64_t guests = guests_of<L>(block, here);
    for (; slots != 0; slots &= slots - 1) {
      const std::uint32_t slot = first_slot(slots);
      const std::uint32_t fingerprint = Plain::get(block, slot);
      const std::uint32_t pair = fingerprint | Plain::bucket_offset_at(fingerprint, slot) << 16;
      const bool is_guest = (guests >> slot & 1) != 0;
      rest.guest[rest.guests] = pair;
      rest.guests += is_guest;
      rest.native[rest.natives] = pair;
      rest.natives += !is_guest;
    }
  }
  if (mixtures == 0) return;
  for (; mixtures != 0; mixtures &= mixtures - 1) {
    const std::uint32_t slot = first_slot(mixtures);
    std::size_t i = 0;
    while (i < count && (rest.stay[i] >> slot & 1) == 0) ++i;
    Plain::set(to, slot, i < count ? Plain::get(from[i], slot) : 0);
  }
  const std::uint32_t header = Block::to_header(to.header());
  const std::size_t natives = rest.natives;
  rest.natives = 0;
  for (std::size_t first = 0; first < natives; first += kGroup) {
    const std::size_t end = std::min(kGroup, natives - first);
    Resident ignored[kGroup];
    std::uint64_t bucket[kGroup];
    complete<Plain>(rest.native + first, end, Residence::anywhere, ignored, bucket);
    for (std::size_t i = 0; i < end; ++i) {  // without branches, as place_one
      const std::uint32_t pair = rest.native[first + i];
      const std::uint32_t fingerprint = fingerprint_of(pair);
      const std::uint64_t open = there.best_of_native(fingerprint, free & bucket[i]);
      const std::uint64_t choice = open & (~open + 1);
      free ^= choice;
      Plain::fill(to, choice, fingerprint);
      rest.native[rest.natives] = pair;
      rest.natives += open == 0;
    }
  }
  std::memcpy(to.bytes.data() + kOverflowMarkByte, &header, sizeof(header));
}

}}}  // namespace nestline::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
