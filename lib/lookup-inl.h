// Per-target: asking for many keys at a time, and for one. Batches go in groups of 64 keys through
// three stages, each a group or more behind the one before it, so that memory is never waited for:
//
//   group i + 2   locate: hash, block, bucket bits, spill class of all its keys, in vectors
//   group i       probe: the home block; beside it the prefetch of one key of group i + 2, so that
//                 memory does not idle while a group is computed
//   group i - 1   second probe: the few keys whose home's mark says that they may be away; their
//                 alternates were prefetched when group i - 1 was probed
#if defined(NESTLINE_LIB_LOOKUP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_LOOKUP_INL_H_
#undef NESTLINE_LIB_LOOKUP_INL_H_
#else
#define NESTLINE_LIB_LOOKUP_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "kernels.h"
#include "locate-inl.h"
#include "match-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nestline {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Bit i: classes[i] is below marks[i].
HWY_INLINE std::uint64_t classes_below(const std::uint8_t* classes, const std::uint8_t* marks) {
#if NESTLINE_ONE_LANE
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < kGroup; ++i) {
    bits |= std::uint64_t{classes[i] < marks[i]} << i;
  }
  return bits;
#else
  const BlockTag<std::uint8_t> d;
  const std::size_t step = hn::Lanes(d);
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < kGroup; i += step) {
    // c >= m exactly when max(c, m) == c.
    const auto c = hn::Load(d, classes + i);
    const auto not_below = hn::Eq(hn::Max(c, hn::Load(d, marks + i)), c);
    bits |= bits_of(d, not_below) << i;
  }
  return ~bits;
#endif
}

// The second probe of the keys in `waiting`, whose `offset` is the alternate's by now.
template <class L>
HWY_INLINE std::uint64_t second_probe(const BlocksView& view, const Group& group,
                                      std::uint64_t waiting) {
  std::uint64_t hits = 0;
  for (; waiting != 0; waiting &= waiting - 1) {
    const std::uint32_t i = first_slot(waiting);
    const Block& block = block_at(view.blocks, group.offset[i]);
    hits |= std::uint64_t{match_among<L>(block, group.fingerprint(i), group.bucket[i]) != 0} << i;
  }
  return hits;
}

// Turns the waiting keys' homes into their alternates and prefetches those.
HWY_INLINE void seek_alternates(const BlocksView& view, Group& group, std::uint64_t waiting) {
  for (; waiting != 0; waiting &= waiting - 1) {
    const std::uint32_t i = first_slot(waiting);
    group.offset[i] = alternate_of(view.geometry, group.place(i)) * kBlockBytes;
    prefetch_at(view.blocks, group.offset[i]);
  }
}

// Probes `count` homes, of kGroup at most. `ahead`: blocks to prefetch meanwhile, as many.
template <class L>
HWY_INLINE std::uint64_t probe_homes(const BlocksView& view, const Group& group, std::size_t count,
                                     const std::uint64_t* ahead, std::uint64_t& waiting) {
  alignas(64) std::uint8_t found[kGroup];
  alignas(64) std::uint8_t marks[kGroup];
  const Block* const blocks = view.blocks;
  HWY_UNROLL(8)
  for (std::size_t i = 0; i < count; ++i) {
    prefetch_at(blocks, ahead[i]);
    const Block& block = block_at(blocks, group.offset[i]);
    found[i] = match_among<L>(block, group.fingerprint(i), group.bucket[i]) != 0;
    marks[i] = block.bytes[kMarkByte];
  }
  const std::uint64_t all = count == kGroup ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
  const std::uint64_t hits = ~equal_bytes(found, 0) & all;
  waiting = classes_below(group.spill_class, marks) & ~hits & all;
  return hits;
}

HWY_INLINE void prefetch_homes(const BlocksView& view, const Group& group, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) prefetch_at(view.blocks, group.offset[i]);
}

template <class L>
void contains_batch(const BlocksView& view, const std::uint64_t* keys, std::size_t count,
                    Input input, std::uint64_t* bitmap) noexcept {
  constexpr std::size_t kAhead = 2;  // groups between locating and probing
  constexpr std::size_t kRing = 4;   // those, the probed one and the one in second probe
  Group ring[kRing];
  const std::size_t groups = (count + kGroup - 1) / kGroup;
  const auto size_of = [&](std::size_t g) {
    return g < groups ? std::min(kGroup, count - g * kGroup) : 0;
  };
  const auto locate_group = [&](std::size_t g) HWY_ATTR {
    if (g < groups) locate<L>(view, keys + g * kGroup, size_of(g), input, ring[g % kRing]);
  };
  for (std::size_t g = 0; g < kAhead; ++g) {
    locate_group(g);
    prefetch_homes(view, ring[g], size_of(g));
  }
  std::uint64_t waiting = 0;
  for (std::size_t g = 0; g < groups; ++g) {
    Group& group = ring[g % kRing];
    const Group& ahead = ring[(g + kAhead) % kRing];
    const std::size_t ahead_size = size_of(g + kAhead);
    std::uint64_t now_waiting = 0;
    locate_group(g + kAhead);
    if (ahead_size == kGroup) {
      bitmap[g] = probe_homes<L>(view, group, kGroup, ahead.offset, now_waiting);
    } else {
      // The end of the batch: nothing, or less than a group, is left to prefetch.
      prefetch_homes(view, ahead, ahead_size);
      bitmap[g] = probe_homes<L>(view, group, size_of(g), group.offset, now_waiting);
    }
    seek_alternates(view, group, now_waiting);
    if (g > 0) bitmap[g - 1] |= second_probe<L>(view, ring[(g - 1) % kRing], waiting);
    waiting = now_waiting;
  }
  if (groups > 0) {
    bitmap[groups - 1] |= second_probe<L>(view, ring[(groups - 1) % kRing], waiting);
  }
}

template <class L>
void locate_batch(const BlocksView& view, const std::uint64_t* keys, std::size_t count, Input input,
                  Place* places) noexcept {
  Group group;
  locate<L>(view, keys, count, input, group);
  prefetch_homes(view, group, count);
  for (std::size_t i = 0; i < count; ++i) places[i] = group.place(i);
}

// Out of line, and from the hash again, so that the many keys that need no second probe do not pay
// for its registers.
template <class L>
HWY_NOINLINE bool contains_away(const BlocksView& view, std::uint64_t hash) noexcept {
  const Place away = moved(view.geometry, home_of<L>(view.geometry, hash));
  return match_among<L>(view.blocks[away.block], away.fingerprint, away.bucket) != 0;
}

// One key: in scalars but for the compare, since no other key is there to share vectors with.
template <class L>
HWY_INLINE bool contains_inline(const BlocksView& view, std::uint64_t hash) {
  const Place place = home_of<L>(view.geometry, hash);
  const Block& home = view.blocks[place.block];
  if (match_among<L>(home, place.fingerprint, place.bucket) != 0) return true;
  if (HWY_LIKELY(spill_class(place.fingerprint, place.phase) >= home.mark())) return false;
  return contains_away<L>(view, hash);
}

template <class L>
bool contains(const BlocksView& view, std::uint64_t hash) noexcept {
  return contains_inline<L>(view, hash);
}

template <class L>
bool contains_integer(const BlocksView& view, std::uint64_t key) noexcept {
  return contains_inline<L>(view, mix_integer(key, view.secrets));
}

}  // namespace HWY_NAMESPACE
}  // namespace nestline
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
