// Per-target: lookups in a maplet, and changes of the values of all pairs.
//
// A group of a batch takes three passes: places, with prefetches of the homes; which keys may have
// values in their alternates, with prefetches of those; values.
#if defined(NESTLINE_LIB_ENGINE_KERNELS_MAPLET_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_ENGINE_KERNELS_MAPLET_INL_H_
#undef NESTLINE_LIB_ENGINE_KERNELS_MAPLET_INL_H_
#else
#define NESTLINE_LIB_ENGINE_KERNELS_MAPLET_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <utility>

#include "lib/engine/kernels/home-inl.h"
#include "lib/engine/kernels/lookup-inl.h"
#include "lib/engine/kernels/match-inl.h"
#include "lib/engine/place/locking.h"

HWY_BEFORE_NAMESPACE();
namespace nestline { inline namespace v0_3 { namespace HWY_NAMESPACE { namespace maplet {

// Calls take(value) for each copy of the key in this block.
template <class L, class Take>
HWY_INLINE void take_values(const Block& block, const Place& place, const Take& take) {
  std::uint64_t slots = match_among<L>(block, place.fingerprint, place.bucket);
  for (; HWY_UNLIKELY(slots != 0); slots &= slots - 1) take(L::value(block, first_slot(slots)));
}

HWY_INLINE bool may_be_away(const Place& home, std::uint32_t header) {
  return eviction_rank(home.fingerprint) < (header & kHeaderOverflowMark);
}

// R1 and R3 of locking.h: calls take(value) for each of the key's values; false if its blocks were
// busy, and what was taken means nothing.
template <class L, class Take>
HWY_INLINE bool take_all_values(const BlocksView& view, const Place& place, std::uint32_t header,
                                const Take& take) {
  const Block& home = view.blocks[place.block];
  take_values<L>(home, place, take);
  if (HWY_UNLIKELY(may_be_away(place, header))) {
    const Place other = moved(view.geometry, place);
    if (other.block != place.block) {
      NESTLINE_TEST_POINT(NESTLINE_POINT_HOME_READ);
      const Block& away = view.blocks[other.block];
      const std::uint32_t header_away = away.header();
      take_values<L>(away, other, take);
      if (HWY_UNLIKELY(changes(away, header_away) != 0)) return false;
    }
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
  return match_among<L>(block, home.fingerprint, home.bucket) == 0 && !may_be_away(home, header) &&
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
bool find_set(const BlocksView& view, std::uint64_t hash, const ValueSets& sets,
              std::uint64_t& set) noexcept {
  const Place home = home_of_key<L>(view.geometry, hash);
  const std::uint32_t header = view.blocks[home.block].header();
  std::uint64_t found = 0;
  const bool done = take_all_values<L>(view, home, header,
                                       [&](std::uint64_t value) { found |= sets.of(value); });
  set = found;
  return done;
}

template <class L>
void locate_group(const BlocksView& view, const Inputs& inputs, MapletGroup& group) noexcept {
  group.count = inputs.count;
  if constexpr (L::kForm == Form::maplet) {
    for (std::size_t i = 0; i < inputs.count; ++i) {
      group.homes[i] = home_of_key<L>(view.geometry, inputs.hash(i, view.secrets));
    }
  } else {
    locate_places<L>(view, inputs, group.homes);
  }
  for (std::size_t i = 0; i < inputs.count; ++i) {
    __builtin_prefetch(&view.blocks[group.homes[i].block]);
  }
}

// The headers of the homes; fetches the alternates that will be read.
HWY_INLINE void read_headers(const BlocksView& view, MapletGroup& group) {
  for (std::size_t i = 0; i < group.count; ++i) {
    const Place& home = group.homes[i];
    group.headers[i] = view.blocks[home.block].header();
    if (HWY_UNLIKELY(may_be_away(home, group.headers[i]))) {
      __builtin_prefetch(&view.blocks[alternate_of(view.geometry, home)]);
    }
  }
}

template <class L>
std::size_t find_batch(const BlocksView& view, MapletGroup& group, std::uint8_t* counts,
                       std::uint64_t* values) noexcept {
  read_headers(view, group);
  std::uint64_t* end = values;
  for (std::size_t i = 0; i < group.count; ++i) {
    std::uint64_t* const first = end;
    const auto take = [&](std::uint64_t value) { *end++ = value; };
    if (HWY_UNLIKELY(!take_all_values<L>(view, group.homes[i], group.headers[i], take))) {
      return MapletLookups::kBusy;
    }
    counts[i] = static_cast<std::uint8_t>(end - first);
  }
  return static_cast<std::size_t>(end - values);
}

template <class L>
bool find_sets(const BlocksView& view, MapletGroup& group, const ValueSets& sets,
               std::uint64_t* found) noexcept {
  read_headers(view, group);
  bool done = true;
  for (std::size_t i = 0; i < group.count; ++i) {
    std::uint64_t set = 0;
    done &= take_all_values<L>(view, group.homes[i], group.headers[i],
                               [&](std::uint64_t value) { set |= sets.of(value); });
    found[i] = set;
  }
  return done;
}

// A block with its values changed, but for its header. Returns the slots that have changed.
template <class L>
HWY_INLINE std::uint64_t with_values_changed(const Block& block, const ValueChange& change,
                                             Block& changed, std::uint64_t& erased) {
  const std::uint64_t taken = ~match_first_bytes<L>(block, 0) & L::kAllSlots;
  std::uint64_t affected = 0;
  for (std::uint32_t s = 0; s < L::kSlots; ++s) {
    const std::uint64_t number = L::value(block, s) - change.first;
    affected |= std::uint64_t{number < change.to.size() && change.to[number] != number + change.first}
                << s;
  }
  affected &= taken;
  erased = 0;
  if (affected == 0) return 0;
  changed = block;
  for (std::uint64_t rest = affected; rest != 0; rest &= rest - 1) {
    const std::uint32_t s = first_slot(rest);
    const std::uint64_t to = change.to[L::value(block, s) - change.first];
    const bool goes = to == ValueChange::kErased;
    erased += goes;
    L::set(changed, s, goes ? 0 : L::get(block, s), goes ? 0 : to);
  }
  return affected;
}

template <class L, class Locks>
std::pair<std::uint64_t, std::uint64_t> change_values(const BlocksView& view,
                                                      const ValueChange& change) noexcept {
  std::uint64_t all = 0;
  std::uint64_t all_erased = 0;
  for (std::uint64_t i = 0; i < view.geometry.blocks(); ++i) {
    BlockCopy copy;
    Block changed;
    std::uint64_t erased = 0;
    const std::uint64_t slots =
        with_values_changed<L>(readable_block(view.blocks[i], copy), change, changed, erased);
    if (slots == 0) continue;
    typename Locks::BlockLock hold(view.blocks, i);
    store_slots(hold.change(i).bytes.data(), changed.bytes.data());
    all += static_cast<std::uint64_t>(std::popcount(slots));
    all_erased += erased;
  }
  return {all, all_erased};
}

}  // namespace maplet
}  // namespace HWY_NAMESPACE
}}  // namespace nestline
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
