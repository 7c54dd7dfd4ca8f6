// Per-target: lookups in a maplet.
//
// Batches pass in groups of 64 keys through the stages of lookup-inl.h, but for the last ones:
//
//   group i + 2   locate
//   group i       probe the homes
//   group i - 1   which keys may be away, although there are copies at home too; their alternates
//                 are located and fetched
//   group i - 2   the values, of keys with a copy at home or an alternate, in the order of the keys
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
// The same for each copy of a key.
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
  std::uint64_t away;      // keys with an alternate to look at
  std::uint64_t unsteady;  // keys whose homes were locked or changed
  // Of the keys that are away, in order.
  alignas(64) std::uint64_t home[kGroup];
  alignas(64) std::uint64_t alternate[kGroup];
  alignas(64) std::uint32_t away_pair[kGroup];
};

// The values are read after the probe, so a home is checked after them once more.
template <class L, class Sink>
class CandidateBatch : HomeStages<L, true, CandidateStage> {
  using Homes = HomeStages<L, true, CandidateStage>;
  using Homes::view_;

 public:
  HWY_INLINE CandidateBatch(const BlocksView& view, const Inputs& inputs, Sink& sink)
      : Homes(view, inputs), sink_(sink) {}

  HWY_INLINE void run() {
    const std::size_t groups = Homes::groups();
    Homes::begin_to_locate();
    for (std::size_t g = 0; g < groups + 2; ++g) {
      // Before a probe locates into the same place of the ring.
      if (g >= 2) take_values_of(g - 2);
      if (g < groups) Homes::probe(g);
      if (g >= 1 && g <= groups) look_away(Homes::group(g - 1), Homes::size_of(g - 1));
    }
  }

 private:
  HWY_INLINE void look_away(CandidateStage& group, std::size_t size) {
    const std::uint64_t all = ~std::uint64_t{0} >> (kGroup - size);
    group.unsteady = unsteady_homes(group, size);
    group.away = covered<true>(group) & all;
    group.wanted = (found_homes<L>(group) & all) | group.away;
    std::size_t n = 0;
    for (std::uint64_t rest = group.away; rest != 0; rest &= rest - 1, ++n) {
      const std::uint32_t i = first_slot(rest);
      group.home[n] = group.address[i];
      group.away_pair[n] = group.pair[i];
    }
    locate_alternates<L>(view_, group.home, group.away_pair, n, group.alternate);
    for (std::size_t i = 0; i < n; ++i) prefetch_at(group.alternate[i]);
  }
  HWY_INLINE void take_values_of(std::size_t g) {
    const CandidateStage& group = Homes::group(g);
    sink_.begin(g * kGroup, Homes::size_of(g));
    std::uint64_t undecided = group.unsteady;
    const std::uint64_t* alternate = group.alternate;
    for (std::uint64_t rest = group.wanted; rest != 0; rest &= rest - 1) {
      const std::uint32_t i = first_slot(rest);
      const Block& home = block_at(group.address[i]);
      auto key = sink_.begin_key();
      take_slots<L>(home, group.matches[i] & group.bucket[i], key);
      std::uint32_t changed = 0;
      if ((group.away >> i & 1) != 0) {
        NESTLINE_TEST_POINT(NESTLINE_POINT_HOME_READ);
        const Block& away = block_at(*alternate++);
        const std::uint32_t header = away.header();
        if (&away != &home) {
          const std::uint32_t fingerprint = fingerprint_of_pair<L>(group.pair[i]);
          take_slots<L>(away, match_among<L>(away, fingerprint, group.bucket[i]), key);
        }
        changed = changes(away, header);
      }
      sink_.end_key(i, key);
      NESTLINE_TEST_POINT(NESTLINE_POINT_BEFORE_CHECK);
      changed |= changes(home, group.header[i]);
      undecided |= std::uint64_t{changed != 0} << i;
    }
    sink_.end(undecided);
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
  [[nodiscard]] HWY_INLINE Key begin_key() const { return {sets}; }
  HWY_INLINE void end_key(std::uint32_t i, const Key& key) { group[i] = key.set; }
  HWY_INLINE void end(std::uint64_t bits) {
    undecided[static_cast<std::size_t>(group - found) / kGroup] = bits;
    any_undecided |= bits;
  }
};

struct ListSink {
  struct Key {
    std::uint64_t* first;
    std::uint64_t* last;
    HWY_INLINE void operator()(std::uint64_t value) { *last++ = value; }
  };
  explicit ListSink(CandidateSink& to) : sink(to) {}
  CandidateSink& sink;
  std::size_t first = 0;
  std::size_t keys = 0;
  std::uint64_t* last = nullptr;
  std::uint8_t counts[kGroup];
  std::uint64_t values[kGroup * MapletLayout::kMaxCopies];
  HWY_INLINE void begin(std::size_t of, std::size_t size) {
    first = of;
    keys = size;
    last = values;
    std::fill_n(counts, keys, std::uint8_t{0});
  }
  [[nodiscard]] HWY_INLINE Key begin_key() const { return {last, last}; }
  HWY_INLINE void end_key(std::uint32_t i, const Key& key) {
    counts[i] = static_cast<std::uint8_t>(key.last - key.first);
    last = key.last;
  }
  HWY_INLINE void end(std::uint64_t undecided) {
    sink.take(first, keys, undecided == 0 ? counts : nullptr, {values, last});
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
  ListSink lists(sink);
  CandidateBatch<L, ListSink>(view, inputs, lists).run();
}

}  // namespace maplet
}  // namespace HWY_NAMESPACE
}}  // namespace nestline
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
