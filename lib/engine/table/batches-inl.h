// Per-target: runs of a batch, key by key, with their blocks fetched ahead.
#if defined(NESTLINE_LIB_ENGINE_TABLE_BATCHES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_ENGINE_TABLE_BATCHES_INL_H_
#undef NESTLINE_LIB_ENGINE_TABLE_BATCHES_INL_H_
#else
#define NESTLINE_LIB_ENGINE_TABLE_BATCHES_INL_H_
#endif

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "lib/engine/batch.h"
#include "lib/engine/kernels/lookup-inl.h"
#include "lib/engine/table/first_looks-inl.h"
#include "lib/engine/table/further-inl.h"
#include "lib/engine/table/table-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nestline { inline namespace v0_3 { namespace HWY_NAMESPACE {

// Which blocks are fetched before a key's turn: its home, or also its alternate where home has no
// copy and a mark that covers the rank. `both` is for erase and count, which look there.
enum class Fetch { home, both };

// The places of a chunk of keys, group by group, with their blocks prefetched:
//
//   for (PlaceGroups<L, Fetch::home> groups(view, inputs); groups.next();) {
//     for (std::size_t i = 0; i < groups.size(); ++i) { ... groups.visit(i) ... }
//   }
//
// Homes are fetched two groups ahead. With Fetch::both they are read for copies one group ahead,
// and alternates are fetched then. visit(i) fetches one block of each kind: memory takes only a
// limited number of requests at once.
template <class L, Fetch kFetch>
class PlaceGroups {
 public:
  static constexpr bool kMatch = kFetch == Fetch::both;

  HWY_NOINLINE PlaceGroups(const BlocksView& view, const Inputs& inputs)
      : view_(view), inputs_(inputs) {
    for (Group* group : {&ring_[0], &ring_[1]}) {
      locate_next(*group);
      for (std::size_t i = 0; i < group->size; ++i) fetch_home(group->places[i]);
    }
    match(ring_[0]);
  }
  PlaceGroups(const PlaceGroups&) = delete;
  PlaceGroups& operator=(const PlaceGroups&) = delete;

  // Goes to the first or the next group; false at the end.
  HWY_NOINLINE bool next() {
    now_ = &ring_[at_ % kGroups];
    near_ = &ring_[(at_ + 1) % kGroups];
    far_ = &ring_[(at_ + 2) % kGroups];
    if (at_ * kMaxLocated >= inputs_.count) return false;
    ++at_;
    locate_next(*far_);
    match(*near_);
    return true;
  }

  // The number of the group's first input, and how many keys the group has.
  [[nodiscard]] std::size_t first() const { return (at_ - 1) * kMaxLocated; }
  [[nodiscard]] std::size_t size() const { return now_->size; }

  // Starts the turn of key i of the group and returns its place. Call it for each key, in order.
  HWY_INLINE const Place& visit(std::size_t i) const {
    if (i < far_->size) fetch_home(far_->places[i]);
    if constexpr (kMatch) {
      if (i < near_->size && near_->copies[i] == 0) prefetch_away(near_->places[i]);
    }
    return now_->places[i];
  }
  // The same for `count` keys from key i on.
  HWY_INLINE std::span<const Place> visit(std::size_t i, std::size_t count) const {
    for (std::size_t at = i; at < i + count; ++at) visit(at);
    return std::span(now_->places).subspan(i, count);
  }
  // Places from key i of the group on, at most `count`, whose homes have been fetched.
  [[nodiscard]] std::span<const Place> ahead(std::size_t i, std::size_t count) const {
    const Group& group = i < now_->size ? *now_ : *near_;
    const std::size_t from = i < now_->size ? i : 0;
    return std::span(group.places).subspan(from, std::min(count, group.size - from));
  }
  // With Fetch::both, the slots of its home's bucket that held a copy a group ago: a hint.
  [[nodiscard]] std::uint64_t copies(std::size_t i) const { return now_->copies[i]; }

 private:
  static constexpr std::size_t kGroups = 3;
  struct Group {
    std::size_t size;
    std::array<Place, kMaxLocated> places;
    std::array<std::uint64_t, kMatch ? kMaxLocated : 0> copies;
  };

  // Locates the next keys that have no place yet.
  HWY_INLINE void locate_next(Group& group) {
    group.size = std::min(kMaxLocated, inputs_.count - located_);
    locate_places<L>(view_, inputs_.from(located_).first(group.size), group.places.data());
    located_ += group.size;
  }
  HWY_INLINE void match(Group& group) const {
    if constexpr (kMatch) {
      for (std::size_t i = 0; i < group.size; ++i) {
        const Place& place = group.places[i];
        group.copies[i] =
            match_among<L>(view_.blocks[place.block], place.fingerprint, place.bucket);
      }
    }
  }
  // The alternate of a key without a copy at home, if erase or count would look there.
  void prefetch_away(const Place& home) const {
    Place away;
    const std::uint32_t mark = view_.blocks[home.block].overflow_mark();
    if (may_be_away(view_.geometry, mark, home, away)) prefetch_block(view_.blocks[away.block]);
  }
  HWY_INLINE void fetch_home(const Place& place) const {
    prefetch_block(view_.blocks[place.block]);
  }

  const BlocksView& view_;
  Inputs inputs_;
  std::size_t located_ = 0;
  std::size_t at_ = 0;  // groups that have had their turn, this one included
  Group* now_ = nullptr;
  Group* near_ = nullptr;
  Group* far_ = nullptr;
  std::array<Group, kGroups> ring_;
};

// From 8 MiB on, while keys are evicted, a batch also fetches the alternates of those that would
// leave the homes of the next keys: from 90 to 95 % load that saves 10 to 25 % of the time in
// filters of 16 MiB and 64 MiB. In a processor's nearer caches it costs 6 %.
inline constexpr std::uint64_t kLargeBlocks = std::uint64_t{1} << 17;
// Keys whose blocks are fetched before they are stored.
inline constexpr std::size_t kPiece = 8;

// The values of a run's keys, one for each; of filters empty ones.
struct NoValues {
  NoValue operator[](std::size_t) const { return {}; }
  [[nodiscard]] NoValues from(std::size_t) const { return {}; }
};
struct RunValues {
  const std::uint64_t* of_keys;
  std::uint64_t operator[](std::size_t i) const { return of_keys[i]; }
  [[nodiscard]] RunValues from(std::size_t at) const { return {of_keys + at}; }
};

#if NESTLINE_ANY_PLACEMENT
template <class L, class Values>
HWY_INLINE std::size_t store_at_homes(const BlocksView& view, AnyMode mode,
                                      std::span<const Place> homes, const Values& values) {
  return FirstLooks<L, AnyLocks>(view, AnyLocks(mode)).store_at_homes(homes, values);
}
#else
template <class L, class Values>
HWY_INLINE std::size_t store_at_homes(const BlocksView& view, AnyMode mode,
                                      std::span<const Place> homes, const Values& values) {
  switch (mode.sharing()) {
    case Sharing::alone:
      return FirstLooks<L, NoLocks>(view).store_at_homes(homes, values);
    case Sharing::one_writer:
      return FirstLooks<L, OneWriter>(view).store_at_homes(homes, values);
    default:
      return FirstLooks<L, BlockLocks>(view).store_at_homes(homes, values);
  }
}

#endif

template <class L, class Values>
HWY_NOINLINE RunEnd insert_values_run(const BlocksView& view, AnyMode mode, const Inputs& all,
                                      const Values& values, const RunLimits& limits,
                                      std::size_t first, Record& record) {
  RunEnd end{};
  end.due = limits.room == 0;
  if (end.due) return end;
  const Inputs inputs = all.first(limits.room);
  const bool is_large = view.geometry.blocks() >= kLargeBlocks;
  bool evicts = false;
  for (PlaceGroups<PlainLayout<L>, Fetch::home> groups(view, inputs); groups.next();) {
    for (std::size_t i = 0; i < groups.size(); i += kPiece) {
      const std::span<const Place> homes = groups.visit(i, std::min(kPiece, groups.size() - i));
      if (std::exchange(evicts, false) && is_large) {
        for (const Place& home : groups.ahead(i + kPiece, kPiece)) {
          NESTLINE_FROM_BELOW(Further)<Shared<L> >::prefetch_candidates(view, mode, home);
        }
      }
      for (std::size_t at = 0;; ++at) {
        const std::size_t stored =
            store_at_homes<L>(view, mode, homes.subspan(at), values.from(end.taken));
        record.add_stored(first + end.taken, stored);
        end.taken += stored;
        at += stored;
        if (at == homes.size()) break;
        evicts = true;
        const Result outcome = make_room_and_store<L>(view, mode, homes[at], values[end.taken]);
        end.overtaken = !outcome;
        if constexpr (L::kHasValues) {
          // What becomes of `anywhere` then is decided where single pairs are inserted.
          end.overtaken |= outcome != Outcome::stored && values[end.taken] == L::kValueMask;
        }
        end.full = outcome == Outcome::full && limits.stops_when_full;
        if (end.overtaken || end.full) return end;
        record.add(first + end.taken++, *outcome);
        end.refused += *outcome == Outcome::full;
      }
    }
  }
  return end;
}

template <class L, class Locks>
RunEnd insert_run(const BlocksView& view, const Inputs& inputs, const RunLimits& limits,
                  std::size_t first, Record& record) noexcept {
  return insert_values_run<Compiled<L> >(view, kModeOf<Locks>, inputs, NoValues(), limits, first,
                                         record);
}

// Keys that are there already are not inserted.
template <class L>
HWY_NOINLINE RunEnd insert_unique_keys(const BlocksView& view, AnyMode mode, const Inputs& inputs,
                                       const RunLimits& limits, std::size_t first,
                                       Record& record) noexcept {
  RunEnd end{};
  std::uint64_t room = limits.room;
  const AnyLocks locks(mode);
  const Table<L> looking(view, locks);
  for (PlaceGroups<PlainLayout<L>, Fetch::both> groups(view, inputs); groups.next();) {
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const Place& home = groups.visit(i);
      Result outcome;
      // The insert looks too, but takes locks for it where there are any.
      if ((room == 0 || !locks.blocks_are_stable()) && looking.contains(home)) {
        outcome = Outcome::present;
      } else if (room == 0) {
        end.due = true;
        return end;
      } else {
        outcome = Table<L>(view, locks).insert_unique(home);
      }
      end.overtaken = !outcome;
      end.full = outcome == Outcome::full && limits.stops_when_full;
      if (end.overtaken || end.full) return end;
      record.add(first + end.taken++, *outcome);
      end.present += *outcome == Outcome::present;
      end.refused += *outcome == Outcome::full;
      room -= *outcome == Outcome::stored;
    }
  }
  return end;
}
template <class L, class Locks>
RunEnd insert_unique_run(const BlocksView& view, const Inputs& inputs, const RunLimits& limits,
                         std::size_t first, Record& record) noexcept {
  return insert_unique_keys<Shared<L> >(view, kModeOf<Locks>, inputs, limits, first, record);
}

// Erases a copy of each key.
template <class L, class Locks>
HWY_NOINLINE void erase_keys(const BlocksView& view, const Locks& locks, const Inputs& inputs,
                             std::size_t first, Record& record) noexcept {
  const AnyMode mode = {locks.sharing()};
  FirstLooks<L, Locks> looks(view, locks);
  for (PlaceGroups<PlainLayout<L>, Fetch::both> groups(view, inputs); groups.next();) {
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const Place& home = groups.visit(i);
      const std::uint64_t hint = groups.copies(i);  // slots that lately held copies
      bool erased = hint != 0 && looks.erase_in(home, first_slot(hint));
      if (HWY_LIKELY(erased)) {
        if (has_lanes_in<L, Locks>(view) && may_lower(view.blocks[home.block].overflow_mark())) {
          NESTLINE_FROM_BELOW(Further)<Shared<L> >::let_guests_come_home(view, mode, home.block);
        }
      } else {
        erased = NESTLINE_FROM_BELOW(Further)<Shared<L> >::erase(view, mode, home, {});
      }
      record.add_erased(first + groups.first() + i, erased);
    }
  }
}

template <class L, class Locks>
void erase_run(const BlocksView& view, const Inputs& inputs, std::size_t first,
               Record& record) noexcept {
  erase_keys<Compiled<L>, FirstLocks<Locks> >(view, first_locks<Locks>(), inputs, first, record);
}

// Counts the copies of each key into `out`.
template <class L>
HWY_NOINLINE void count_keys(const BlocksView& view, AnyMode mode, const Inputs& inputs,
                             std::uint8_t* out, Writers* writers) noexcept {
  const Table<L> table(view, AnyLocks(mode, writers));
  for (PlaceGroups<PlainLayout<L>, Fetch::both> groups(view, inputs); groups.next();) {
    for (std::size_t i = 0; i < groups.size(); ++i) {
      out[groups.first() + i] = static_cast<std::uint8_t>(table.count(groups.visit(i)));
    }
  }
}
template <class L, class Locks>
void count_run(const BlocksView& view, const Inputs& inputs, std::uint8_t* out,
               Writers* writers) noexcept {
  count_keys<Shared<L> >(view, kModeOf<Locks>, inputs, out, writers);
}

}}}  // namespace nestline::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
