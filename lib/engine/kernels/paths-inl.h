// Per-target: paths inside one block (paths.h), looked for from both ends. Forward from the
// newcomer's bucket by scalars: where its k residents could go. Most searches end after that one
// step. The others go on backward from the goals by vectors: which could move into slot e is one
// compare. Both find the same way, so the first step is left out where it costs more than it
// spares: at 16 bits, where a slot of six is a candidate, and with guest lanes above 8 bits in
// blocks with a mark and few free slots, where most searches fail. On one lane it always pays: it
// spares the buckets of all residents.
#if defined(NESTLINE_LIB_ENGINE_KERNELS_PATHS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_ENGINE_KERNELS_PATHS_INL_H_
#undef NESTLINE_LIB_ENGINE_KERNELS_PATHS_INL_H_
#else
#define NESTLINE_LIB_ENGINE_KERNELS_PATHS_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cstdint>

#include "lib/engine/kernels/home-inl.h"
#include "lib/engine/kernels/match-inl.h"
#include "lib/engine/kernels/residents-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nestline { inline namespace v0_3 { namespace HWY_NAMESPACE {

// Where the residents of a bucket's slots could go, one bucket for each lane.
template <class L>
struct FirstSteps {
  std::uint32_t from[L::kChoices];
  std::uint64_t to[L::kChoices];
  std::uint64_t all = 0;

  // A bucket without its slots in some lanes has less residents.
  HWY_INLINE FirstSteps(const Block& block, const GuestLanes<L>& lanes, std::uint64_t bucket) {
    if constexpr (!L::kHasGuestLanes) {
      for (std::uint32_t lane = 0; lane < L::kChoices; ++lane, bucket &= bucket - 1) {
        const std::uint32_t slot = first_slot(bucket);
        from[lane] = slot;
        to[lane] = L::bucket_with(L::get(block, slot), lane, slot - lane * L::kSlotsPerSegment);
        all |= to[lane];
      }
      return;
    }
    for (std::uint32_t lane = 0; lane < L::kChoices; ++lane) {
      const std::uint64_t slots = bucket >> lane * L::kSlotsPerSegment & GuestLanes<L>::kLane;
      const std::uint32_t index = first_slot(slots | 1u << (L::kSlotsPerSegment - 1));
      const std::uint32_t slot = lane * L::kSlotsPerSegment + index;
      const std::uint32_t fingerprint = L::get(block, slot);
      from[lane] = slot;
      // A free slot of the bucket moves nobody.
      to[lane] = slots == 0 || fingerprint == 0 ? 0
                                                : L::bucket_with(fingerprint, lane, index) &
                                                      lanes.of_resident(fingerprint, slot);
      all |= to[lane];
    }
  }
  // A path to a slot that one of them reaches.
  [[nodiscard]] HWY_INLINE EvictionPath path_to(std::uint32_t slot) const {
    // Without a loop, whose end would be mispredicted.
    std::uint32_t lanes = 0;
    for (std::uint32_t lane = 0; lane < L::kChoices; ++lane) {
      lanes |= static_cast<std::uint32_t>(to[lane] >> slot & 1) << lane;
    }
    return EvictionPath(from[first_slot(lanes)]).then(slot);
  }
};

// Whether a search never begins with the first step.
template <class L>
inline constexpr bool kBeginsAtGoals = L::kForm == Form::halfwords && !NESTLINE_ONE_LANE;

// The shortest path to a goal, looked for from there; `start(slot)` begins it, to one of `starts`.
template <class L, class Start>
HWY_INLINE EvictionPath find_back(const MoveMasks<L>& moves, std::uint64_t starts,
                                  std::uint64_t goals, const Start& start) {
  // Slots that lead to a goal: the goals themselves, then those whose residents can move `into` a
  // slot of the entry `parent`.
  struct Entry {
    std::uint64_t slots;
    std::uint32_t parent;
    std::uint32_t into;
  };
  Entry entries[L::kSlots + 1];
  entries[0] = {goals, 0, 0};
  std::uint32_t count = 1;
  std::uint64_t unseen = L::kAllSlots & ~goals;
  for (std::uint32_t i = 0; i < count; ++i) {
    for (std::uint64_t rest = entries[i].slots; rest != 0; rest &= rest - 1) {
      const std::uint32_t e = first_slot(rest);
      const std::uint64_t found = moves.into(e) & unseen;
      if ((found & starts) != 0) {
        EvictionPath path = start(first_slot(found & starts)).then(e);
        for (; i != 0; i = entries[i].parent) {
          if (path.steps() == EvictionPath::kMaxSteps) return {};
          path = path.then(entries[i].into);
        }
        return path;
      }
      unseen &= ~found;
      entries[count] = {found, i, e};
      count += found != 0;
    }
  }
  return {};
}

// A path to goals that the first step does not reach.
template <class L>
HWY_NOINLINE EvictionPath find_longer_path(const Block& block, const GuestLanes<L>& lanes,
                                           const FirstSteps<L>& first, std::uint64_t goals) {
  const MoveMasks<L> moves(block, lanes);
  return find_back(moves, first.all, goals,
                   [&](std::uint32_t slot) { return first.path_to(slot); });
}

// A path from a bucket without goals, without the first step.
template <class L>
HWY_NOINLINE EvictionPath find_path_back(const Block& block, const GuestLanes<L>& lanes,
                                         std::uint64_t bucket, std::uint64_t free) {
  const MoveMasks<L> moves(block, lanes);
  return find_back(moves, bucket, free, [](std::uint32_t slot) { return EvictionPath(slot); });
}

template <class L>
EvictionPath find_path(const Block& shared, const EvictionOrder& order, std::uint64_t bucket,
                       std::uint64_t goals) noexcept {
  if ((goals & bucket) != 0) return EvictionPath(first_slot(goals & bucket));
  BlockCopy copy;
  const Block& block = readable_block(shared, copy);
  if constexpr (L::kForm == Form::maplet) {
    return {};  // every slot is in the bucket
  } else if constexpr (kBeginsAtGoals<L>) {
    const MoveMasks<L> moves(block, GuestLanes<L>(order.classes, block), order);
    return find_back(moves, bucket, goals, [](std::uint32_t slot) { return EvictionPath(slot); });
  } else {
    const GuestLanes<L> lanes(order.classes, block);
    const FirstSteps<L> first(block, lanes, bucket);
    if ((first.all & goals) != 0) return first.path_to(first_slot(first.all & goals));
    const MoveMasks<L> moves(block, lanes, order);
    return find_back(moves, first.all, goals,
                     [&](std::uint32_t slot) { return first.path_to(slot); });
  }
}

// Whether there are so few free slots that in a block with a mark hardly anybody can move to them.
inline bool has_few(std::uint64_t free) { return std::popcount(free) < 3; }

template <class L>
HWY_INLINE EvictionPath find_path_to_free_in(const Block& block, const GuestLanes<L>& lanes,
                                             std::uint64_t free, std::uint64_t bucket) {
  if (HWY_LIKELY((free & bucket) != 0)) return EvictionPath(first_slot(free & bucket));
  if constexpr (L::kForm == Form::maplet) {
    return {};
  } else {
    if (free == 0) return {};
    if (kBeginsAtGoals<L> ||
        (lanes.has() && L::kBits != 8 && block.overflow_mark() != 0 && has_few(free))) {
      return find_path_back<L>(block, lanes, bucket, free);
    }
    const FirstSteps<L> first(block, lanes, bucket);
    if (HWY_LIKELY((first.all & free) != 0)) return first.path_to(first_slot(first.all & free));
    if (L::kHasGuestLanes && first.all == 0) return {};  // all are guests
    return find_longer_path<L>(block, lanes, first, free);
  }
}

// The path of a guest, from its one slot, whose resident often cannot move.
template <class L>
HWY_NOINLINE EvictionPath find_path_of_guest(const Block& block, const GuestLanes<L>& lanes,
                                             std::uint64_t free, std::uint32_t slot) {
  const EvictionPath first(slot);
  if ((free >> slot & 1) != 0) return first;
  const std::uint64_t next = moves_from<L>(block, lanes, slot);
  if ((next & free) != 0) return first.then(first_slot(next & free));
  if (next == 0) return {};
  const MoveMasks<L> moves(block, lanes);
  return find_back(moves, next, free, [&](std::uint32_t second) {
    return second == slot ? first : first.then(second);
  });
}

template <class L>
EvictionPath find_path_to_free(const Block& shared, const Place& place, Residence as,
                               BlockClasses classes) noexcept {
  BlockCopy copy;
  const Block& block = readable_block(shared, copy);
  const std::uint64_t free = match_first_bytes<L>(block, 0) & L::kAllSlots;
  if (free == 0) return {};
  const GuestLanes<L> lanes(classes, block);
  const std::uint64_t bucket =
      bucket_of<L>(place.fingerprint, place.bucket_offset) & lanes.of(place.fingerprint, as);
  if constexpr (L::kHasGuestLanes) {
    if (as == Residence::guest && (bucket & (bucket - 1)) == 0) {
      return find_path_of_guest<L>(block, lanes, free, first_slot(bucket));
    }
  }
  return find_path_to_free_in<L>(block, lanes, free, bucket);
}

// Gives a block this guest level, with all natives that it covers out of their guest lanes; of
// classes up to `done` they are. False: one has no other slot; then others may have moved.
template <class L>
bool clear_guest_lanes(Block& block, BlockClasses classes, std::uint32_t done,
                       std::uint32_t level) noexcept {
  std::uint64_t between = of_ranks<L>(block, done, classes.highest_at(level));
  block.set_guest_level(level);
  for (; between != 0; between &= between - 1) {
    const std::uint32_t slot = first_slot(between);
    const std::uint32_t fingerprint = L::get(block, slot);
    if (!GuestLanes<L>::is_in_lane(fingerprint, slot)) continue;
    const Place native = {0, 0, fingerprint, L::bucket_offset_at(fingerprint, slot)};
    const EvictionPath path = find_path_to_free<L>(block, native, Residence::native, classes);
    if (!path) return false;
    apply<L>(block, path, fingerprint);
    L::set(block, slot, 0);
  }
  return true;
}
// The same from its level on. False: it keeps that.
template <class L>
bool raise_guest_level(Block& block, BlockClasses classes, std::uint32_t level) noexcept {
  const std::uint32_t old = block.guest_level();
  const bool done = clear_guest_lanes<L>(block, classes, classes.highest_at(old), level);
  if (!done) block.set_guest_level(old);
  return done;
}
// Opens a closed block for the class of a fingerprint, if that is possible (G3); of classes up to
// `done` all natives are out of their guest lanes.
template <class L>
bool open(Block& block, BlockClasses classes, std::uint32_t done,
          std::uint32_t fingerprint) noexcept {
  const std::uint32_t old = block.guest_level();
  if (class_of(fingerprint) <= classes.often_away()) return false;
  if (clear_guest_lanes<L>(block, classes, done, kOpenLevel)) return true;
  block.set_guest_level(old);
  return false;
}
// Opens it all the same, in the end to all classes.
template <class L>
void open_surely(Block& block, BlockClasses classes, std::uint32_t fingerprint) noexcept {
  const std::uint32_t level = block.guest_level();
  if (classes.is_unknown_at(level, fingerprint)) return;
  if (is_open_level(level) || !open<L>(block, classes, classes.highest_at(level), fingerprint)) {
    block.set_guest_level(kOpenToAllLevel);
  }
}
// Lets a block take a guest that its level is too low for: by raising it or, if that is allowed, by
// opening the block.
template <class L>
bool take_guest(Block& block, BlockClasses classes, std::uint32_t fingerprint, bool may_open) {
  return raise_guest_level<L>(block, classes, classes.guest_level_for(fingerprint)) ||
         (may_open &&
          open<L>(block, classes, classes.highest_at(block.guest_level()), fingerprint));
}
// Makes a block of hash version 3 one of version 4. There a level ended at each eighth class up to
// 96, a block with the highest mark was open to all classes, and any other one to those above 96.
// `has_unknown`: whether a resident above may be a guest. Where classes are shifted, all may.
template <class L>
void take_over_version_3(Block& block, BlockClasses classes, bool has_unknown) noexcept {
  const std::uint32_t done = 8 * block.guest_level();
  block.set_guest_level(0);
  bool is_right = block.overflow_mark() != kEvictionRanks;
  if (is_right && classes.shift() != 0) {
    is_right = done == 0 && !has_unknown;
  } else if (is_right && has_unknown) {
    is_right = open<L>(block, classes, done, kOlderLanesTop + 1);
  } else if (is_right && done != 0) {
    is_right = clear_guest_lanes<L>(block, classes, done, classes.guest_level_for(done));
  }
  if (!is_right) block.set_guest_level(kOpenToAllLevel);
}
// The path of what is about to come to a block whose level may be too low for it. If it may open
// the block, and has no path else, where doublings have left few classes it opens it to all: there
// so many keys look the same that a guest lane has not the slots for them.
template <class L>
EvictionPath find_path_of_arrival(Block& block, const Place& place, Residence as,
                                  BlockClasses classes, bool may_open) {
  const bool fits = !GuestLanes<L>(classes, block).are_too_low(place.fingerprint, as) ||
                    take_guest<L>(block, classes, place.fingerprint, may_open);
  const bool may_open_to_all = may_open && classes.shift() != 0 && as == Residence::guest;
  const std::uint32_t level = block.guest_level();
  EvictionPath path;
  for (bool opened = !fits; !path; opened = true) {
    if (opened && !may_open_to_all) return path;
    if (opened) block.set_guest_level(kOpenToAllLevel);
    path = find_path_to_free<L>(block, place, as, classes);
    if (opened) break;
  }
  if (!path) block.set_guest_level(level);
  return path;
}
// Raises a held block's level for what is about to come.
template <class L, class BlockLock>
bool admit(BlockLock& hold, BlockClasses classes, std::uint64_t block, std::uint32_t fingerprint,
           Residence as, bool may_open = false) {
  if constexpr (L::kHasGuestLanes) {
    if (GuestLanes<L>(classes, hold.at(block)).are_too_low(fingerprint, as)) {
      return take_guest<L>(hold.change(block), classes, fingerprint, may_open);
    }
  }
  return true;
}
// Lowers a held block's guest level to what its guests need, and closes an open block by G4.
template <class L, class BlockLock>
void lower_guest_level(BlockLock& hold, const Block* blocks, const Geometry& geometry,
                       std::uint64_t number) {
  BlockCopy copy;
  const Block& block = readable_block(hold.at(number), copy);
  if (block.guest_level() == 0) return;
  const BlockClasses classes = block_classes<L>(geometry, number);
  const GuestLanes<L> lanes(classes, block);
  if (unknown_of<L>(block, lanes, blocks, geometry, number) != 0) return;
  std::uint64_t guests = guests_of<L>(block, lanes);
  std::uint32_t level = 0;
  for (; guests != 0; guests &= guests - 1) {
    level = std::max(level, classes.guest_level_for(L::get(block, first_slot(guests))));
  }
  if (level < block.guest_level()) hold.change(number).set_guest_level(level);
}

}  // namespace HWY_NAMESPACE
}}  // namespace nestline
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
