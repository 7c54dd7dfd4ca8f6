// Per-target: lookups in a maplet.
//
// Batches pass in groups of 64 keys through the stages of lookup-inl.h, but for the last ones:
//
//   group i + 2   locate
//   group i       probe the homes
//   group i - 1   which keys may be away, although there are copies at home too; their alternates
//                 are located and fetched
//   group i - 2   the values: of the keys with one copy, at home, and no alternate; then of the
//   others
#if defined(NESTLINE_LIB_ENGINE_KERNELS_MAPLET_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_ENGINE_KERNELS_MAPLET_INL_H_
#undef NESTLINE_LIB_ENGINE_KERNELS_MAPLET_INL_H_
#else
#define NESTLINE_LIB_ENGINE_KERNELS_MAPLET_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "lib/engine/kernels/home-inl.h"
#include "lib/engine/kernels/lookup-inl.h"
#include "lib/engine/kernels/match-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nestline { inline namespace v0_3 { namespace HWY_NAMESPACE { namespace maplet {

// Calls take(value) for each of these slots.
template <class L, class Take>
HWY_INLINE void take_slots(const Block& shared, std::uint64_t slots, Take& take) {
  if (HWY_LIKELY(slots == 0)) return;
  BlockCopy copy;
  const Block& block = readable_block(shared, copy);
  for (; slots != 0; slots &= slots - 1) take(L::value(block, first_slot(slots)));
}
// Only for the first one; there must be one.
template <class L, class Take>
HWY_INLINE void take_first(const Block& shared, std::uint64_t slots, Take& take) {
  BlockCopy copy;
  take(L::value(readable_block(shared, copy), first_slot(slots)));
}
// For each copy of a key.
template <class L, class Take>
HWY_INLINE void take_copies(const Block& block, const Place& place, Take& take) {
  take_slots<L>(block, match_among<L>(block, place.fingerprint, place.bucket), take);
}

// R1 and R3 of locking.h: calls take(value) for each of the key's values; false if its blocks were
// busy, and what was taken means nothing.
template <class L, class Take>
HWY_INLINE bool take_all_values(const BlocksView& view, const Place& place, std::uint32_t header,
                                Take&& take) {
  const Block& home = view.blocks[place.block];
  take_copies<L>(home, place, take);
  Place other;
  if (HWY_UNLIKELY(may_be_away(view.geometry, header & kHeaderOverflowMark, place, other))) {
    NESTLINE_TEST_POINT(NESTLINE_POINT_HOME_READ);
    const Block& away = view.blocks[other.block];
    const std::uint32_t header_away = away.header();
    take_copies<L>(away, other, take);
    if (HWY_UNLIKELY(changes(away, header_away) != 0)) return false;
  }
  NESTLINE_TEST_POINT(NESTLINE_POINT_BEFORE_CHECK);
  return HWY_LIKELY(changes(home, header) == 0);
}

// The rest of a lookup, apart from it: the first look needs few registers and no stack.
template <class L>
HWY_NOINLINE std::size_t find_values(const BlocksView& view, const Place& home,
                                     std::uint32_t header, std::uint64_t* values) noexcept {
  std::uint64_t* end = values;
  const auto take = [&](std::uint64_t value) { *end++ = value; };
  return take_all_values<L>(view, home, header, take) ? static_cast<std::size_t>(end - values)
                                                      : MapletLookups::kBusy;
}

// Whether one look at home was enough: no copy there, none away, and no writer.
template <class L>
HWY_INLINE bool is_surely_absent(const BlocksView& view, const Place& home, std::uint32_t header) {
  const Block& block = view.blocks[home.block];
  return match_among<L>(block, home.fingerprint, home.bucket) == 0 &&
         eviction_rank(home.fingerprint) >= (header & kHeaderOverflowMark) &&
         changes(block, header) == 0;
}

template <class L>
std::size_t find(const BlocksView& view, std::uint64_t hash, std::uint64_t* values) noexcept {
  const Place home = home_of_key<L>(view.geometry, hash);
  const std::uint32_t header = view.blocks[home.block].header();
  if (HWY_LIKELY(is_surely_absent<L>(view, home, header))) return 0;
  return find_values<L>(view, home, header, values);
}

template <class L>
HWY_NOINLINE MapletLookups::Found find_some_set(const BlocksView& view, const Place& home,
                                                std::uint32_t header, ValueSets sets) noexcept {
  std::uint64_t set = 0;
  const bool done =
      take_all_values<L>(view, home, header, [&](std::uint64_t value) { set |= sets.of(value); });
  return {set, done};
}

template <class L>
MapletLookups::Found find_set(const BlocksView& view, std::uint64_t hash, ValueSets sets) noexcept {
  const Place home = home_of_key<L>(view.geometry, hash);
  const std::uint32_t header = view.blocks[home.block].header();
  if (HWY_LIKELY(is_surely_absent<L>(view, home, header))) return {0, true};
  return find_some_set<L>(view, home, header, sets);
}

struct CandidateStage : ProbeGroup {
  std::uint64_t wanted;    // keys with copies at home or an alternate
  std::uint64_t single;    // those with one copy at home and no alternate
  std::uint64_t away;      // keys with an alternate to look at
  std::uint64_t unsteady;  // keys whose homes were locked or changed
  // Of the keys that are away, in order.
  alignas(64) std::uint64_t home[kGroup];
  alignas(64) std::uint64_t alternate[kGroup];
  alignas(64) std::uint32_t away_pair[kGroup];
};

// Where a key's copies are, of which there is usually one at most.
struct Copies {
  const Block* home;
  const Block* away;  // home, if the key cannot be away
  std::uint32_t header_away;
  std::uint64_t at_home;  // slots
  std::uint64_t elsewhere;

  [[nodiscard]] HWY_INLINE bool are_several() const {
    return ((at_home & (at_home - 1)) | (elsewhere & (elsewhere - 1))) != 0 ||
           (at_home != 0 && elsewhere != 0);
  }
  // Of the first one.
  [[nodiscard]] HWY_INLINE const Block& block() const { return at_home != 0 ? *home : *away; }
  [[nodiscard]] HWY_INLINE std::uint64_t slots() const {
    return at_home != 0 ? at_home : elsewhere;
  }
};

// The stages up to the alternates, for batches that look at both blocks of a key.
template <class L>
class CandidateStages : protected HomeStages<L, true, CandidateStage> {
  using Homes = HomeStages<L, true, CandidateStage>;

 protected:
  using Homes::view_;
  HWY_INLINE CandidateStages(const BlocksView& view, const Inputs& inputs) : Homes(view, inputs) {
    Homes::begin_to_locate();
  }

  // The next group, number `taken() - 1`, with its blocks near; null at the end.
  HWY_NOINLINE const CandidateStage* next() {
    const std::size_t groups = Homes::groups();
    if (taken_ == groups) return nullptr;
    // Group g is located into the place of group g - 4 of the ring, which has been taken.
    for (; step_ <= taken_ + 1; ++step_) {
      if (step_ < groups) Homes::probe(step_);
      if (step_ >= 1 && step_ <= groups)
        look_away(Homes::group(step_ - 1), Homes::size_of(step_ - 1));
    }
    return &Homes::group(taken_++);
  }
  [[nodiscard]] HWY_INLINE std::size_t taken() const { return taken_; }
  // The copies of key i of a group. Moves on in the group's list of alternates.
  HWY_INLINE Copies copies_of(const CandidateStage& group, std::uint32_t i,
                              const std::uint64_t*& alternate) const {
    const Block& home = block_at(group.address[i]);
    Copies copies{&home, &home, 0, group.matches[i] & group.bucket[i], 0};
    if (HWY_LIKELY((group.away >> i & 1) != 0)) {
      NESTLINE_TEST_POINT(NESTLINE_POINT_HOME_READ);
      copies.away = &block_at(*alternate++);
      copies.header_away = copies.away->header();
      if (copies.away != &home) {
        const std::uint32_t fingerprint = fingerprint_of_pair<L>(group.pair[i]);
        copies.elsewhere = match_among<L>(*copies.away, fingerprint, group.bucket[i]);
      }
    }
    return copies;
  }

 private:
  HWY_INLINE void look_away(CandidateStage& group, std::size_t size) {
    const std::uint64_t all = ~std::uint64_t{0} >> (kGroup - size);
    group.unsteady = unsteady_homes(group, size);
    group.away = covered<true>(group) & all;
    const std::uint64_t found = found_homes<L>(group) & all;
    group.wanted = found | group.away;
    group.single = found & ~group.away & ~found_homes<L, true>(group);
    std::size_t n = 0;
    for (std::uint64_t rest = group.away; rest != 0; rest &= rest - 1, ++n) {
      const std::uint32_t i = first_slot(rest);
      group.home[n] = group.address[i];
      group.away_pair[n] = group.pair[i];
    }
    locate_alternates<L>(view_, group.home, group.away_pair, n, group.alternate);
    for (std::size_t i = 0; i < n; ++i) prefetch_at(group.alternate[i]);
  }

  std::size_t step_ = 0;
  std::size_t taken_ = 0;
};

// The values are read after the probe, so a home is checked after them once more.
template <class L, class Sink>
class CandidateBatch : CandidateStages<L> {
  using Stages = CandidateStages<L>;

 public:
  HWY_INLINE CandidateBatch(const BlocksView& view, const Inputs& inputs, Sink& sink)
      : Stages(view, inputs), sink_(sink) {}

  HWY_INLINE void run() {
    while (const CandidateStage* const group = Stages::next()) {
      take_values_of(*group, Stages::taken() - 1);
    }
  }

 private:
  HWY_INLINE void take_values_of(const CandidateStage& group, std::size_t g) {
    sink_.begin(g * kGroup, Stages::size_of(g));
    std::uint64_t undecided = group.unsteady | take_singles(group);
    const std::uint64_t* alternate = group.alternate;
    for (std::uint64_t rest = group.wanted & ~group.single; rest != 0; rest &= rest - 1) {
      const std::uint32_t i = first_slot(rest);
      const Copies copies = Stages::copies_of(group, i, alternate);
      auto key = sink_.begin_key(i);
      if (HWY_LIKELY(!copies.are_several())) {
        if (copies.slots() != 0) take_first<L>(copies.block(), copies.slots(), key);
      } else {
        take_slots<L>(*copies.home, copies.at_home, key);
        take_slots<L>(*copies.away, copies.elsewhere, key);
      }
      sink_.end_key(i, key);
      NESTLINE_TEST_POINT(NESTLINE_POINT_BEFORE_CHECK);
      std::uint32_t changed = changes(*copies.home, group.header[i]);
      if (copies.away != copies.home) changed |= changes(*copies.away, copies.header_away);
      undecided |= std::uint64_t{changed != 0} << i;
    }
    sink_.end(group.wanted, undecided);
  }
  // Most present keys: apart, for a loop without branches. Returns those whose homes have changed.
  HWY_INLINE std::uint64_t take_singles(const CandidateStage& group) {
    Sink sink = sink_;  // a copy: the compiler knows that stores do not change it
    std::uint32_t changed = 0;
    for (std::uint64_t rest = group.single; rest != 0; rest &= rest - 1) {
      const std::uint32_t i = first_slot(rest);
      const Block& home = block_at(group.address[i]);
      auto key = sink.begin_key(i);
      take_first<L>(home, group.matches[i] & group.bucket[i], key);
      sink.end_key(i, key);
      NESTLINE_TEST_POINT(NESTLINE_POINT_BEFORE_CHECK);
      changed |= home.header_again() ^ group.header[i];
    }
    std::uint64_t undecided = 0;
    for (std::uint64_t rest = changed != 0 ? group.single : 0; rest != 0; rest &= rest - 1) {
      const std::uint32_t i = first_slot(rest);
      const bool is_steady = changes(block_at(group.address[i]), group.header[i]) == 0;
      undecided |= std::uint64_t{!is_steady} << i;
    }
    return undecided;
  }

  Sink& sink_;
};

struct SetSink {
  struct Key {
    ValueSets sets;
    std::uint64_t set = 0;
    HWY_INLINE void operator()(std::uint64_t value) { set |= sets.of(value); }
  };
  const ValueSets sets;
  std::uint64_t* const found;
  std::uint64_t* const undecided;
  std::uint64_t any_undecided = 0;
  std::uint64_t* group = nullptr;
  HWY_INLINE void begin(std::size_t first, std::size_t keys) {
    group = found + first;
    std::fill_n(group, keys, 0);
  }
  [[nodiscard]] HWY_INLINE Key begin_key(std::uint32_t) const { return {sets}; }
  HWY_INLINE void end_key(std::uint32_t i, const Key& key) { group[i] = key.set; }
  HWY_INLINE void end(std::uint64_t, std::uint64_t bits) {
    undecided[static_cast<std::size_t>(group - found) / kGroup] = bits;
    any_undecided |= bits;
  }
};

struct ListSink {
  struct Room {
    std::uint8_t counts[kGroup];
    std::uint64_t values[kGroup * MapletLayout::kMaxCopies];  // each key's have as many places
  };
  struct Key {
    std::uint64_t* first;
    std::uint64_t* last;
    HWY_INLINE void operator()(std::uint64_t value) { *last++ = value; }
  };
  CandidateSink& sink;
  Room& room;
  std::size_t first = 0;
  std::size_t keys = 0;
  HWY_INLINE void begin(std::size_t of, std::size_t size) {
    first = of;
    keys = size;
    std::fill_n(room.counts, keys, std::uint8_t{0});
  }
  [[nodiscard]] HWY_INLINE Key begin_key(std::uint32_t i) const {
    std::uint64_t* const values = room.values + i * MapletLayout::kMaxCopies;
    return {values, values};
  }
  HWY_INLINE void end_key(std::uint32_t i, const Key& key) {
    room.counts[i] = static_cast<std::uint8_t>(key.last - key.first);
  }
  HWY_INLINE void end(std::uint64_t wanted, std::uint64_t undecided) {
    std::uint64_t* last = room.values;
    for (std::uint64_t rest = wanted; rest != 0; rest &= rest - 1) {
      const std::uint32_t i = first_slot(rest);
      const std::uint64_t* const values = begin_key(i).first;
      *last = *values;  // also where there is none: no branch
      for (std::size_t n = 1; n < room.counts[i]; ++n) last[n] = values[n];
      last += room.counts[i];
    }
    sink.take(first, keys, undecided == 0 ? room.counts : nullptr, {room.values, last});
  }
};

template <class L>
bool find_sets(const BlocksView& view, const Inputs& inputs, const ValueSets& sets,
               std::uint64_t* found, std::uint64_t* undecided) noexcept {
  SetSink sink{sets, found, undecided};
  CandidateBatch<L, SetSink>(view, inputs, sink).run();
  return sink.any_undecided != 0;
}

template <class L>
void find_lists(const BlocksView& view, const Inputs& inputs, CandidateSink& sink) {
  ListSink::Room room;
  ListSink lists{sink, room};
  CandidateBatch<L, ListSink>(view, inputs, lists).run();
}

}  // namespace maplet
}  // namespace HWY_NAMESPACE
}}  // namespace nestline
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
