// Per-target: the kernels of a maplet's blocks.
//
// A block has 8 slots, and each of them is in every bucket. So a way is one step to any free slot,
// and what the kernels of filters do in vectors over all residents (ranks, who could move where) is
// a short loop here. Fingerprints are compared in one vector of 128 bits.
//
// A group of a batch is worked on in three passes over its keys: places, with prefetches of the
// homes; which keys may have values in their alternates, with prefetches of those; values.
#if defined(NESTLINE_LIB_KERNELS_MAPLET_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_KERNELS_MAPLET_INL_H_
#undef NESTLINE_LIB_KERNELS_MAPLET_INL_H_
#else
#define NESTLINE_LIB_KERNELS_MAPLET_INL_H_
#endif

#include <hwy/highway.h>

#include "lib/kernels/kernels.h"
#include "lib/kernels/maplet_kernels.h"
#include "lib/kernels/match-inl.h"
#include "lib/kernels/way.h"
#include "lib/place/geometry.h"
#include "lib/place/test_hooks.h"

HWY_BEFORE_NAMESPACE();
namespace nestline {
namespace HWY_NAMESPACE {
namespace maplet {

using L = Layout<kMapletBits>;

HWY_INLINE std::uint64_t free_in(const Block& block) {
  return match_first_bytes<L>(block, 0) & L::kAllSlots;
}

// Residents with low bytes above `from` and up to `below`. Free slots have low byte 0.
HWY_INLINE std::uint64_t low_bytes(const Block& block, std::uint32_t from, std::uint32_t below) {
  std::uint64_t slots = 0;
  for (std::uint32_t s = 0; s < L::kSlots; ++s) {
    const std::uint32_t low_byte = block.bytes[2 * std::size_t{s}];
    slots |= std::uint64_t{low_byte > from && low_byte <= below} << s;
  }
  return slots;
}

inline std::uint64_t of_classes(const Block& shared, std::uint32_t from,
                                std::uint32_t below) noexcept {
  BlockCopy copy;
  return low_bytes(readable_block(shared, copy), from, below);
}

inline void rank(const Block& shared, Ranks& ranks) noexcept {
  BlockCopy copy;
  const Block& block = readable_block(shared, copy);
  std::memset(ranks.phases, 0, L::kSlots);
  const std::uint32_t mark = block.mark();
  ranks.below = mark + Ranks::kStep<L>;
  ranks.free = free_in(block);
  ranks.covered = low_bytes(block, 0, mark);
  ranks.next = low_bytes(block, mark, ranks.below);
}

inline Way find_way(const Block&, const Ranks&, std::uint64_t, std::uint64_t goals) noexcept {
  return Way(first_slot(goals));
}

inline Way find_free_way(const Block& shared, const Place&) noexcept {
  BlockCopy copy;
  const std::uint64_t free = free_in(readable_block(shared, copy));
  return free != 0 ? Way(first_slot(free)) : Way();
}

inline void leavers(const BlocksView& view, const Block& block, std::uint64_t number, const Ranks&,
                    std::uint64_t slots, Leavers& leavers) noexcept {
  leavers.open = 0;
  // Without a branch that waits for the other block, so that several are fetched at a time.
  const auto look = [&](std::uint32_t slot) HWY_ATTR {
    Place& target = leavers.target[slot];
    target.bucket = L::kAllSlots;
    const std::uint64_t free = free_slots<L>(view.blocks[target.block]);
    leavers.free[slot] = free;
    leavers.open |= std::uint64_t{free != 0 && target.block != number} << slot;
  };
  for (std::uint64_t rest = slots; rest != 0; rest &= rest - 1) {
    const std::uint32_t slot = first_slot(rest);
    Place& target = leavers.target[slot];
    target.fingerprint = L::get(block, slot);
    target.phase = 0;
    target.block = alternate_of(view.geometry, {number, 0, target.fingerprint, 0});
    look(slot);
  }
  if (leavers.all != 0) look(Ranks::kNobody);
  leavers.all |= slots;
  leavers.direct = leavers.open;
}

// A slot's bytes go to the child that the next bit of its fingerprint says.
inline void split(const Block* from, std::size_t count, std::uint32_t growth, Block* to) noexcept {
  const std::uint32_t next_bit = static_cast<std::uint32_t>(L::kBits) - 1 - growth;
  for (std::size_t i = 0; i < count; ++i) {
    BlockCopy copy;  // a reader may take the lock of a block meanwhile
    const Block& block = readable_block(from[i], copy);
    Block children[2] = {};
    for (Block& child : children) child.bytes[kMarkByte] = block.bytes[kMarkByte];
    for (std::uint32_t s = 0; s < L::kSlots; ++s) {
      const std::uint32_t fingerprint = L::get(block, s);
      L::set(children[fingerprint >> next_bit & 1], s, fingerprint, L::value(block, s));
    }
    to[2 * i] = children[0];
    to[2 * i + 1] = children[1];
  }
}

// Appends the values of the fingerprint in this block to `values` and returns their end.
HWY_INLINE std::uint64_t* take_values(const Block& shared, std::uint32_t fingerprint,
                                      std::uint64_t* values) {
  BlockCopy copy;
  const Block& block = readable_block(shared, copy);
  std::uint64_t slots = match_first_bytes<L>(block, fingerprint) & L::kAllSlots;
  for (; HWY_UNLIKELY(slots != 0); slots &= slots - 1) {
    const std::uint32_t s = first_slot(slots);
    if (HWY_LIKELY(L::get(block, s) == fingerprint)) *values++ = L::value(block, s);
  }
  return values;
}

HWY_INLINE bool is_same(const Block& block, std::uint32_t header) {
  if (NESTLINE_SKIP_VALIDATION) return true;
  return (header & kHeaderLock) == 0 && block.header_again() == header;
}

using Looked = MapletGroup::Looked;

HWY_INLINE bool may_be_away(const Looked& key) {
  return spill_class(key.fingerprint) < (key.header & kHeaderMark);
}
HWY_INLINE std::uint64_t away_of(const Geometry& geometry, const Looked& key) {
  return alternate_of(geometry, {key.block, 0, key.fingerprint, 0});
}

// R1 and R3 of locking.h: the key's values, or null if its blocks were busy.
HWY_INLINE std::uint64_t* values_of(const BlocksView& view, const Looked& key,
                                    std::uint64_t* values) {
  const Block& home = view.blocks[key.block];
  std::uint64_t* end = take_values(home, key.fingerprint, values);
  if (HWY_UNLIKELY(may_be_away(key))) {
    const std::uint64_t other = away_of(view.geometry, key);
    if (other != key.block) {
      NESTLINE_TEST_POINT(NESTLINE_POINT_HOME_READ);
      const Block& away = view.blocks[other];
      const std::uint32_t header = away.header();
      end = take_values(away, key.fingerprint, end);
      if (HWY_UNLIKELY(!is_same(away, header))) return nullptr;
    }
  }
  NESTLINE_TEST_POINT(NESTLINE_POINT_BEFORE_CHECK);
  return HWY_LIKELY(is_same(home, key.header)) ? end : nullptr;
}

// The rest of find, apart from it: the first look needs few registers and no stack.
HWY_NOINLINE std::size_t find_values(const BlocksView& view, const Looked& key,
                                     std::uint64_t* values) noexcept {
  const std::uint64_t* const end = values_of(view, key, values);
  return HWY_UNLIKELY(end == nullptr) ? MapletKernels::kBusy
                                      : static_cast<std::size_t>(end - values);
}

inline std::size_t find(const BlocksView& view, std::uint64_t hash,
                        std::uint64_t* values) noexcept {
  const auto [block, rest] = home_block_of(view.geometry, hash);
  const Block& home = view.blocks[block];
  const Looked key{block, L::fingerprint_of(rest), home.header()};
  {
    BlockCopy copy;
    const std::uint64_t slots =
        match_first_bytes<L>(readable_block(home, copy), key.fingerprint) & L::kAllSlots;
    if (HWY_LIKELY(slots == 0 && !may_be_away(key) && is_same(home, key.header))) return 0;
  }
  return find_values(view, key, values);
}

inline void locate(const BlocksView& view, const std::uint64_t* keys, std::size_t count,
                   Input input, MapletGroup& group) noexcept {
  group.count = count;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t hash =
        input == Input::integers ? mix_integer(keys[i], view.secrets) : keys[i];
    const auto [block, rest] = home_block_of(view.geometry, hash);
    group.keys[i].block = block;
    group.keys[i].fingerprint = L::fingerprint_of(rest);
    __builtin_prefetch(&view.blocks[block]);
  }
}

inline std::size_t find_batch(const BlocksView& view, MapletGroup& group, std::uint8_t* counts,
                              std::uint64_t* values) noexcept {
  for (std::size_t i = 0; i < group.count; ++i) {
    Looked& key = group.keys[i];
    key.header = view.blocks[key.block].header();
    if (HWY_UNLIKELY(may_be_away(key))) {
      __builtin_prefetch(&view.blocks[away_of(view.geometry, key)]);
    }
  }
  std::uint64_t* end = values;
  for (std::size_t i = 0; i < group.count; ++i) {
    std::uint64_t* const next = values_of(view, group.keys[i], end);
    if (HWY_UNLIKELY(next == nullptr)) return MapletKernels::kBusy;
    counts[i] = static_cast<std::uint8_t>(next - end);
    end = next;
  }
  return static_cast<std::size_t>(end - values);
}

template <class Locks>
bool store_first(const Block* blocks, const Geometry& geometry, std::uint64_t hash,
                 std::uint64_t value, Place& home) noexcept {
  const Place place = home_of<L>(geometry, hash);
  typename Locks::Hold hold(blocks, place.block);
  BlockCopy copy;
  const std::uint64_t free = free_in(readable_block(hold.at(place.block), copy));
  if (HWY_LIKELY(free != 0)) {
    L::set(hold.change(place.block), first_slot(free), place.fingerprint, value);
    return true;
  }
  home = place;
  return false;
}

}  // namespace maplet
}  // namespace HWY_NAMESPACE
}  // namespace nestline
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
