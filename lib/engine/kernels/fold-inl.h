// Per-target: folding, the residents of several blocks laid over each other (folding.h): the
// opposite of a split.
//
// A slot that several blocks use goes to the first one's resident. The others take the first free
// slots of their buckets.
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

// Copies the residents of some slots, which are free in `to`.
template <class L>
HWY_INLINE void copy_residents(const Block& from, std::uint64_t slots, Block& to) {
#if NESTLINE_ONE_LANE
  for (; slots != 0; slots &= slots - 1) {
    L::set(to, first_slot(slots), L::get(from, first_slot(slots)));
  }
#else
  using T = EvictionOrder::BucketOffset<L>;
  const BlockTag<T> d;
  alignas(64) T chosen[kBlockBytes / sizeof(T)];
  const auto* const parts = reinterpret_cast<const T*>(from.bytes.data());
  auto* const made = reinterpret_cast<T*>(to.bytes.data());
  for (std::size_t s = 0; s < L::kSlots; s += hn::Lanes(d)) {
    const auto here = hn::VecFromMask(d, mask_of(d, slots >> s));
    hn::Store(hn::Or(hn::And(here, hn::Load(d, parts + s)), hn::Load(d, made + s)), d, made + s);
    if constexpr (L::kForm == Form::bytes_and_nibbles) hn::Store(here, d, chosen + s);
  }
  if constexpr (L::kPlanes > 0) {
    const auto planes = L::planes(from);
    auto all = L::planes(to);
    for (std::uint32_t p = 0; p < L::kPlanes; ++p) {
      all[p] = (all[p] & L::kAllSlots) | (planes[p] & slots);
    }
    L::set_planes(to, all);
  }
  if constexpr (L::kForm == Form::bytes_and_nibbles) {
    // 20 bytes, some of them twice.
    static_assert(L::kNibbleRun == 20 && L::kNibbleByte + 20 == kOverflowMarkByte);
    constexpr std::uint64_t kLow = 0x0f0f0f0f0f0f0f0f;
    for (const std::uint32_t s : {0u, 8u, 12u}) {
      std::uint64_t low, high;
      std::memcpy(&low, chosen + s, sizeof(low));
      std::memcpy(&high, chosen + L::kNibbleRun + s, sizeof(high));
      const std::uint32_t byte = L::kNibbleByte + s;
      const std::uint64_t nibbles = word_at(from, byte) & ((low & kLow) | (high & ~kLow));
      set_word_at(to, byte, word_at(to, byte) | nibbles);
    }
  }
#endif
}

// Appends the pairs of the residents of some slots.
template <class L>
HWY_NOINLINE std::uint32_t* append_pairs(const Block& block, std::uint64_t slots,
                                         std::uint32_t* pairs) {
  for (; slots != 0; slots &= slots - 1) {
    const std::uint32_t slot = first_slot(slots);
    const std::uint32_t fingerprint = L::get(block, slot);
    *pairs++ = fingerprint | L::bucket_offset_at(fingerprint, slot) << 16;
  }
  return pairs;
}

template <class L>
void fold_block(const BlocksView& view, std::uint64_t first_number, std::size_t count, Block& to,
                std::uint64_t& free_after, FoldRest& rest) noexcept {
  using Plain = PlainLayout<L>;
  using Lanes = GuestLanes<L>;
  const Block* const from = view.blocks + first_number;
  const std::uint32_t times = first_slot(count);
  Geometry geometry = view.geometry;
  geometry.growth -= times;
  const BlockClasses classes = block_classes<L>(geometry, first_number >> times);
  for (std::size_t i = 0; i < count; ++i) raise_mark(from[i], to);
  if (classes.have_lanes()) to.set_guest_level(folded_level<L>(view, first_number, count, classes));
  const Lanes there(classes, to);
  std::uint64_t free = L::kAllSlots;
  std::uint32_t* native = rest.native;
  std::uint32_t* guest = rest.guest;
  for (std::size_t i = 0; i < count; ++i) {
    BlockCopy copy;
    const Block& block = readable_block(from[i], copy);
    const std::uint64_t residents = L::kAllSlots & ~free_slots<Plain>(block);
    std::uint64_t stay = residents & free;
    std::uint64_t guests = 0;
    if (classes.have_lanes()) {
      const Lanes here(block_classes<L>(view.geometry, first_number + i), block);
      stay &= ~would_be_guests<L>(block, here, there);
      guests = guests_of<L>(block, here);
    }
    copy_residents<Plain>(block, stay, to);
    free &= ~stay;
    native = append_pairs<Plain>(block, residents & ~stay & ~guests, native);
    guest = append_pairs<Plain>(block, residents & ~stay & guests, guest);
  }
  rest.guests = static_cast<std::size_t>(guest - rest.guest);
  const std::uint32_t header = Block::to_header(to.header());
  const std::uint32_t* const end = native;
  native = rest.native;
  for (const std::uint32_t* first = native; first != end;) {
    const std::size_t some = std::min(kGroup, static_cast<std::size_t>(end - first));
    Resident ignored[kGroup];
    std::uint64_t bucket[kGroup];
    complete<Plain>(first, some, Residence::anywhere, ignored, bucket);
    for (std::size_t i = 0; i < some; ++i) {
      *native = *first++;
      native += !place_one<Plain>(to, there, free, bucket[i], fingerprint_of(*native));
    }
  }
  rest.natives = static_cast<std::size_t>(native - rest.native);
  free_after = free;
  std::memcpy(to.bytes.data() + kOverflowMarkByte, &header, sizeof(header));
}

}}}  // namespace nestline::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
