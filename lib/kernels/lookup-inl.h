// Per-target: looking up many keys at a time, or one. Batches pass in groups of 64 keys through
// three stages, each a group or more behind the one before it, so that no stage waits for memory:
//
//   group i + 2   locate: hash, block, bucket bits, spill class of all its keys, in vectors
//   group i       probe: the home block; beside it the prefetch of one key of group i + 2, so that
//                 memory does not idle while a group is computed
//   group i - 1   second probe: the few keys whose home's mark says that they may be away; their
//                 alternates were prefetched when group i - 1 was probed
//
// Beside writers lookups follow steps R1 to R3 of locking.h; keys that need R4 are left undecided.
#if defined(NESTLINE_LIB_KERNELS_LOOKUP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_KERNELS_LOOKUP_INL_H_
#undef NESTLINE_LIB_KERNELS_LOOKUP_INL_H_
#else
#define NESTLINE_LIB_KERNELS_LOOKUP_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "lib/kernels/kernels.h"
#include "lib/kernels/locate-inl.h"
#include "lib/kernels/match-inl.h"
#include "lib/place/memory_order.h"
#include "lib/place/test_hooks.h"

HWY_BEFORE_NAMESPACE();
namespace nestline {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Bit i: marks[i] covers a fingerprint with the low byte low_bytes[i], so is not less.
HWY_INLINE std::uint64_t covered(const std::uint8_t* low_bytes, const std::uint8_t* marks) {
#if NESTLINE_ONE_LANE
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < kGroup; ++i) {
    bits |= std::uint64_t{low_bytes[i] <= marks[i]} << i;
  }
  return bits;
#else
  const BlockTag<std::uint8_t> d;
  const std::size_t step = hn::Lanes(d);
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < kGroup; i += step) {
    const auto mark = hn::Load(d, marks + i);
    const auto covers = hn::Eq(hn::Max(mark, hn::Load(d, low_bytes + i)), mark);
    bits |= bits_of(d, covers) << i;
  }
  return bits;
#endif
}

// What is known of a group's keys, one bit per key. No key is in two of the sets.
struct Verdict {
  std::uint64_t hits = 0;
  std::uint64_t waiting = 0;    // for the second probe
  std::uint64_t undecided = 0;  // only beside writers
};

// The parts of a lookup that differ when writers may be at work: kBeside. There each block is read
// between two loads of its header, and a key's home is checked once more after its alternate.
template <bool kBeside>
struct ProbeGroup : Group {};
template <>
struct ProbeGroup<true> : Group {
  alignas(64) std::uint32_t header[kGroup];  // of home, when it was read
  std::uint64_t home[kGroup];                // its offset, for waiting keys
};

// Not 0: the block was locked before, or has changed since.
HWY_INLINE std::uint32_t changes(const Block& block, std::uint32_t header) {
  if (NESTLINE_SKIP_VALIDATION) return 0;
  return (block.header_again() ^ header) | (header & kHeaderLock);
}

// Whether one of a group's headers has the lock bit.
HWY_INLINE bool any_locked(const std::uint32_t* headers) {
  const hn::CappedTag<std::uint32_t, kGroup> d;
  auto all = hn::Zero(d);
  for (std::size_t i = 0; i < kGroup; i += hn::Lanes(d))
    all = hn::Or(all, hn::Load(d, headers + i));
  return !hn::AllFalse(d, hn::TestBit(all, hn::Set(d, kHeaderLock)));
}

// The second probe of the waiting keys; their `offset` is the alternate's by now.
template <class L, bool kBeside>
HWY_INLINE void second_probe(const BlocksView& view, const ProbeGroup<kBeside>& group,
                             Verdict& verdict) {
  for (std::uint64_t waiting = verdict.waiting; waiting != 0; waiting &= waiting - 1) {
    const std::uint32_t i = first_slot(waiting);
    const Block& block = block_at(view.blocks, group.offset[i]);
    if constexpr (!kBeside) {
      const bool found = match_among<L>(block, group.fingerprint(i), group.bucket[i]) != 0;
      verdict.hits |= std::uint64_t{found} << i;
    } else {
      NESTLINE_TEST_POINT(NESTLINE_POINT_HOME_READ);
      const std::uint32_t header = block.header();
      const bool found = match_among<L>(block, group.fingerprint(i), group.bucket[i]) != 0;
      NESTLINE_TEST_POINT(NESTLINE_POINT_BEFORE_CHECK);
      bool stable = changes(block, header) == 0;
      if (!found) stable &= changes(block_at(view.blocks, group.home[i]), group.header[i]) == 0;
      const bool hit = found && (stable || L::kBits != 12);
      verdict.hits |= std::uint64_t{hit} << i;
      verdict.undecided |= std::uint64_t{!hit && !stable} << i;
    }
  }
}

// Turns the waiting keys' homes into their alternates and prefetches those.
template <bool kBeside>
HWY_INLINE void seek_alternates(const BlocksView& view, ProbeGroup<kBeside>& group,
                                std::uint64_t waiting) {
  for (; waiting != 0; waiting &= waiting - 1) {
    const std::uint32_t i = first_slot(waiting);
    if constexpr (kBeside) group.home[i] = group.offset[i];
    group.offset[i] = alternate_of(view.geometry, group.place(i)) * kBlockBytes;
    prefetch_at(view.blocks, group.offset[i]);
  }
}

// Probes `count` homes, at most kGroup. `ahead`: as many blocks to prefetch meanwhile.
template <class L, bool kBeside>
HWY_INLINE Verdict probe_homes(const BlocksView& view, ProbeGroup<kBeside>& group,
                               std::size_t count, const std::uint64_t* ahead) {
  alignas(64) std::uint8_t found[kGroup];
  alignas(64) std::uint8_t marks[kGroup];
  std::uint32_t drift = 0;  // what differed between the two loads of a header, for all keys
  const Block* const blocks = view.blocks;
  HWY_UNROLL(8)
  for (std::size_t i = 0; i < count; ++i) {
    prefetch_at(blocks, ahead[i]);
    const Block& block = block_at(blocks, group.offset[i]);
    if constexpr (!kBeside) {
      found[i] = match_among<L>(block, group.fingerprint(i), group.bucket[i]) != 0;
      marks[i] = block.bytes[kMarkByte];
    } else {
      const std::uint32_t header = block.header();
      found[i] = match_among<L>(block, group.fingerprint(i), group.bucket[i]) != 0;
      NESTLINE_TEST_POINT(NESTLINE_POINT_BEFORE_CHECK);
      marks[i] = static_cast<std::uint8_t>(header & kHeaderMark);
      group.header[i] = header;
      drift |= block.header_again() ^ header;
    }
  }
  const std::uint64_t all = count == kGroup ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
  Verdict verdict;
  verdict.hits = ~equal_bytes(found, 0) & all;
  if constexpr (kBeside) {
    std::uint64_t unsteady = 0;
    if (HWY_UNLIKELY(drift != 0 || count != kGroup || any_locked(group.header))) {
      // Find out which ones: a header that has changed stays changed, so it is not too late.
      for (std::size_t i = 0; i < count; ++i) {
        const Block& block = block_at(blocks, group.offset[i]);
        unsteady |= std::uint64_t{changes(block, group.header[i]) != 0} << i;
      }
    }
    if constexpr (L::kBits == 12) verdict.hits &= ~unsteady;
    verdict.undecided = unsteady & ~verdict.hits;
  }
  verdict.waiting = covered(group.low_byte, marks) & ~(verdict.hits | verdict.undecided) & all;
  return verdict;
}

HWY_INLINE void prefetch_homes(const BlocksView& view, const Group& group, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) prefetch_at(view.blocks, group.offset[i]);
}

// The pipeline. Calls done(g, verdict) for each group in order.
template <class L, bool kBeside, class Done>
HWY_INLINE void look_up(const BlocksView& view, const std::uint64_t* keys, std::size_t count,
                        Input input, const Done& done) {
  constexpr std::size_t kAhead = 2;  // groups between locating and probing
  constexpr std::size_t kRing = 4;   // those, the probed group and the one in second probe
  ProbeGroup<kBeside> ring[kRing];
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
  Verdict before;
  for (std::size_t g = 0; g < groups; ++g) {
    ProbeGroup<kBeside>& group = ring[g % kRing];
    const Group& ahead = ring[(g + kAhead) % kRing];
    const std::size_t ahead_size = size_of(g + kAhead);
    Verdict now;
    locate_group(g + kAhead);
    if (ahead_size == kGroup) {
      now = probe_homes<L, kBeside>(view, group, kGroup, ahead.offset);
    } else {
      // The end of the batch: nothing, or less than a group, is left to prefetch.
      prefetch_homes(view, ahead, ahead_size);
      now = probe_homes<L, kBeside>(view, group, size_of(g), group.offset);
    }
    seek_alternates<kBeside>(view, group, now.waiting);
    if (g > 0) {
      second_probe<L, kBeside>(view, ring[(g - 1) % kRing], before);
      done(g - 1, before);
    }
    before = now;
  }
  if (groups > 0) {
    second_probe<L, kBeside>(view, ring[(groups - 1) % kRing], before);
    done(groups - 1, before);
  }
}

template <class L>
void contains_batch(const BlocksView& view, const std::uint64_t* keys, std::size_t count,
                    Input input, std::uint64_t* bitmap) noexcept {
  look_up<L, false>(view, keys, count, input, [&](std::size_t g, const Verdict& verdict) HWY_ATTR {
    bitmap[g] = verdict.hits;
  });
}

template <class L>
bool try_contains_batch(const BlocksView& view, const std::uint64_t* keys, std::size_t count,
                        Input input, std::uint64_t* bitmap, std::uint64_t* undecided) noexcept {
  std::uint64_t any = 0;
  look_up<L, true>(view, keys, count, input, [&](std::size_t g, const Verdict& verdict) HWY_ATTR {
    bitmap[g] = verdict.hits;
    undecided[g] = verdict.undecided;
    any |= verdict.undecided;
  });
  return any != 0;
}

template <class L>
void locate_batch(const BlocksView& view, const std::uint64_t* keys, std::size_t count, Input input,
                  Place* places) noexcept {
  Group group;
  locate<L>(view, keys, count, input, group);
  for (std::size_t i = 0; i < count; ++i) places[i] = group.place(i);
}

template <class L>
void match_batch(const BlocksView& view, const Place* places, std::size_t count,
                 std::uint64_t* slots) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    const Place& place = places[i];
    slots[i] = match_among<L>(view.blocks[place.block], place.fingerprint, place.bucket);
  }
}

// Out of line, and starting from the hash again, so that the many keys that need no second probe do
// not pay for its registers.
template <class L>
HWY_NOINLINE bool contains_away(const BlocksView& view, std::uint64_t hash) noexcept {
  const Place away = moved(view.geometry, home_of<L>(view.geometry, hash));
  return match_among<L>(view.blocks[away.block], away.fingerprint, away.bucket) != 0;
}

// One key: scalar except for the compare, since there is no other key to share vectors with. The
// only branch is the one to the alternate. Yes and no are equally likely, and so are the two sides
// of the mark; a mispredicted branch on them throws away the next lookups, whose blocks are being
// fetched. So the conditions are numbers that are negative when true: the compiler would turn each
// bool into a branch.
template <class L>
struct AtHome {
  std::uint64_t matches;
  std::int64_t no_match;
  std::int64_t sent_on;  // the mark covers the class

  HWY_INLINE AtHome(const Place& place, const Block& home, std::uint32_t mark)
      : matches(match_among<L>(home, place.fingerprint, place.bucket)),
        no_match(static_cast<std::int64_t>(matches) - 1),
        sent_on(std::int64_t{spill_class(place.fingerprint)} - mark) {}
};

template <class L>
HWY_INLINE bool contains_inline(const BlocksView& view, std::uint64_t hash) {
  const Place place = home_of<L>(view.geometry, hash);
  const Block& home = view.blocks[place.block];
  const AtHome<L> key(place, home, home.mark());
  if (HWY_UNLIKELY((key.no_match & key.sent_on) < 0)) return contains_away<L>(view, hash);
  return key.matches != 0;
}

template <class L>
bool contains(const BlocksView& view, std::uint64_t hash) noexcept {
  return contains_inline<L>(view, hash);
}

template <class L>
bool contains_integer(const BlocksView& view, std::uint64_t key) noexcept {
  return contains_inline<L>(view, mix_integer(key, view.secrets));
}

HWY_INLINE Answer match_at_once() {
  read_before();
  return Answer::yes;
}

// The same beside writers.
template <class L>
HWY_NOINLINE Answer ask_away(const BlocksView& view, std::uint64_t hash,
                             std::uint32_t home_header) noexcept {
  const Place home = home_of<L>(view.geometry, hash);
  const Place away = moved(view.geometry, home);
  const Block& block = view.blocks[away.block];
  NESTLINE_TEST_POINT(NESTLINE_POINT_HOME_READ);
  const std::uint32_t header = block.header();
  const bool found = match_among<L>(block, away.fingerprint, away.bucket) != 0;
  if (found && L::kBits != 12) return match_at_once();
  NESTLINE_TEST_POINT(NESTLINE_POINT_BEFORE_CHECK);
  if (changes(block, header) != 0) return Answer::undecided;
  if (found) return Answer::yes;
  return changes(view.blocks[home.block], home_header) == 0 ? Answer::no : Answer::undecided;
}

template <class L>
HWY_INLINE Answer ask_inline(const BlocksView& view, std::uint64_t hash) {
  const Place place = home_of<L>(view.geometry, hash);
  const Block& home = view.blocks[place.block];
  const std::uint32_t header = home.header();
  const AtHome<L> key(place, home, header & kHeaderMark);
  NESTLINE_TEST_POINT(NESTLINE_POINT_BEFORE_CHECK);
  const std::int64_t unsteady = -std::int64_t{changes(home, header)};
  // Negative without a match if something forbids a no; at 12 bits a match has to be steady too.
  const std::int64_t doubt = L::kBits == 12 ? (key.no_match & key.sent_on) | unsteady
                                            : key.no_match & (key.sent_on | unsteady);
  if (HWY_UNLIKELY(doubt < 0)) {
    return unsteady != 0 ? Answer::undecided : ask_away<L>(view, hash, header);
  }
  return key.matches != 0 ? Answer::yes : Answer::no;
}

template <class L>
Answer try_contains(const BlocksView& view, std::uint64_t hash) noexcept {
  return ask_inline<L>(view, hash);
}

template <class L>
Answer try_contains_integer(const BlocksView& view, std::uint64_t key) noexcept {
  return ask_inline<L>(view, mix_integer(key, view.secrets));
}

}  // namespace HWY_NAMESPACE
}  // namespace nestline
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
