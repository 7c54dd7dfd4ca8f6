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

// Makes mark and guest level of an empty block cover what those of another cover of the classes
// that are often away: the guests of higher classes go home. An open block stays as it is.
template <class L>
void raise_to(const BlocksView& from, std::uint64_t number, BlockClasses classes, Block& to) {
  const Block& block = from.blocks[number];
  const std::uint32_t most = classes.often_away();
  const BlockClasses own = block_classes<L>(from.geometry, number);
  const std::uint32_t mark = std::min(block.overflow_mark(), most);
  if (mark >= own.first()) to.set_overflow_mark(std::max(to.overflow_mark(), mark));
  const std::uint32_t highest = std::min(own.highest_at(block.guest_level()), most);
  if (block.guest_level() == 0 || highest < own.first() || highest == 0) return;
  to.set_guest_level(std::max(to.guest_level(), classes.guest_level_for(highest)));
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
  for (std::size_t i = 0; i < count; ++i) {
    if (classes.have_lanes()) {
      raise_to<L>(view, first_number + i, classes, to);
    } else {
      raise_mark(from[i], to);
    }
  }
  const Lanes there(classes, to);
  std::uint64_t free = L::kAllSlots;
  std::uint32_t* native = rest.native;
  std::uint32_t* guest = rest.guest;
  // Of blocks that are open first those who may have to stay (lanes.h, G3).
  const bool is_open = classes.have_lanes() && there.is_open();
  for (const bool unknown : {true, false}) {
    if (unknown && !is_open) continue;
    for (std::size_t i = 0; i < count; ++i) {
      BlockCopy copy;
      const Block& block = readable_block(from[i], copy);
      std::uint64_t residents = L::kAllSlots & ~free_slots<Plain>(block);
      std::uint64_t guests = 0;
      std::uint64_t in_the_way = 0;
      if (classes.have_lanes()) {
        const Lanes here(block_classes<L>(view.geometry, first_number + i), block);
        if (is_open) {
          const std::uint64_t above =
              here.is_open() ? of_ranks<L>(block, here.highest(), 255) & residents : 0;
          residents &= unknown ? above : ~above;
        }
        guests = guests_of<L>(block, here) & residents;
        in_the_way = would_be_guests<L>(block, here, there);
        if (here.highest() > there.highest()) {
          in_the_way |= guests & of_ranks<L>(block, there.highest(), 255);
        }
      }
      const std::uint64_t stay = residents & free & ~in_the_way;
      copy_residents<Plain>(block, stay, to);
      free &= ~stay;
      native = append_pairs<Plain>(block, residents & ~stay & ~guests, native);
      guest = append_pairs<Plain>(block, guests & ~stay, guest);
    }
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
