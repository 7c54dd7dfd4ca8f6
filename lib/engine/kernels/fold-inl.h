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
HWY_INLINE std::uint64_t would_be_guests(const Block& block, const GuestLanes<L>& here,
                                         const GuestLanes<L>& there) {
  if (there.highest() <= here.highest()) return 0;
  return of_ranks<L>(block, here.highest(), there.highest()) & in_guest_lanes<L>(block);
}

// All bits of blocks, and their highest mark and guest level.
HWY_INLINE void combine(const Block* from, std::size_t count, Block& to) {
  const hn::CappedTag<std::uint64_t, kBlockBytes / 8> d;  // on one lane too
  std::uint32_t mark = 0;
  std::uint32_t level = 0;
  for (std::size_t i = 0; i < count; ++i) {
    mark = std::max(mark, from[i].overflow_mark());
    level = std::max(level, from[i].guest_level());
  }
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
  const std::uint32_t header = Block::to_header(Block::header_of(mark, level));
  std::memcpy(to.bytes.data() + kOverflowMarkByte, &header, sizeof(header));
}

template <class L>
void fold_block(const Block* from, std::size_t count, bool has_guest_lanes, Block& to,
                std::uint64_t& free, FoldRest& rest) noexcept {
  using Plain = PlainLayout<L>;
  using Lanes = GuestLanes<L>;
  combine(from, count, to);
  const Lanes there(has_guest_lanes, to);
  rest.natives = 0;
  rest.guests = 0;
  free = L::kAllSlots;
  std::uint64_t mixtures = 0;
  for (std::size_t i = 0; i < count; ++i) {
    BlockCopy copy;
    const Block& block = readable_block(from[i], copy);
    const std::uint64_t residents = L::kAllSlots & ~free_slots<Plain>(block);
    const Lanes here(has_guest_lanes, block);
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
