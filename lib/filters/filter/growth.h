// New tables made from old ones without the keys: a doubled table, the union of two, copies.
//
// Each function reads its filters, which no thread may write meanwhile, and returns a new state in
// memory from the same source, with lock and version bytes 0. So a filter changes by one exchange
// of pointers, and not when something fails. Those that are not noexcept throw std::bad_alloc.
#ifndef NESTLINE_LIB_FILTERS_FILTER_GROWTH_H_
#define NESTLINE_LIB_FILTERS_FILTER_GROWTH_H_

#include <cstdint>
#include <memory_resource>
#include <string>
#include <utility>

#include "lib/filters/filter/blocks.h"

namespace nestline { inline namespace v0_3 {

// The filter doubled: the same keys, and the capacity that grown_capacity returns. Null when it can
// double no more: max_growth is reached, or there would be more than kMaxBlocks.
OwnedBlocks grown(const Blocks& state);
// An empty filter doubled as inserts of so many keys would; and its geometry and capacity then.
std::pair<Geometry, std::uint64_t> doubled_for(const Blocks& empty, std::uint64_t keys);
OwnedBlocks grown_for(OwnedBlocks empty, std::uint64_t keys);
// What grown does, for a filter that grows automatically: also nothing when there is no memory.
// When it returns nothing, the patience of `state` begins.
OwnedBlocks grown_if_possible(const Blocks& state) noexcept;
// Replaces the state with grown_if_possible(*state), because `keys` more keys need it (0: they are
// counted already). False when it is unchanged: it cannot grow, or its patience has not ended.
bool try_to_grow(OwnedBlocks& state, std::uint64_t keys = 1) noexcept;
// Whether two filters can be merged; if not, the reason is put into `why` unless that is null.
bool can_merge(const Shape& into, const Shape& other, std::string* why);
// All keys of `into` and `other`, which may be the same filter; capacities are those of `into`.
// `left_out`: how many copies are not among them. Also throws std::invalid_argument unless
// can_merge, std::length_error when a key finds no room, or, with Copies::all, a copy.
OwnedBlocks merged(const Blocks& into, const Blocks& other, Copies copies, std::uint64_t& left_out);
// The kinds of keys that the union of two filters names: those of both, or none where one that has
// keys names none.
std::uint32_t united_key_kinds(const Blocks& one, const Blocks& other);
// The same filter without and with its keys.
OwnedBlocks empty_copy(const Blocks& state);
OwnedBlocks full_copy(const Blocks& state);
// The same in two steps, so that only the second needs a filter that stands still: an empty filter
// with memory that is ready to be written, and the copy into it, which allocates nothing. The copy
// is refused, and changes nothing, unless can_merge.
OwnedBlocks ready_for_copy(const Shape& shape, std::pmr::memory_resource* memory);
bool copy_into(const Blocks& state, Blocks& to) noexcept;

// Opens the block of a resident of whom it is not known whether it is a native, for an insert there
// (lanes.h, G3), and if it may have to leave its other block too. All marks of `into` cover what
// may be away.
void open_for(Blocks& into, const Place& place);
// Opens the other blocks of a home's residents one by one until an insert there finds room: many
// pairs of copies, of which guest lanes take one each, leave it none. The higher classes first:
// what is open for them alone is closed sooner (lanes.h).
Outcome open_alternates(Blocks& made, const Place& home);
// The home of a resident of a block of another filter, which has these classes, for an insert into
// `into`. With guest lanes that of a guest is its other block.
template <class L>
Place home_of_resident(const Block& from, BlockClasses classes, Blocks& into, Place place,
                       std::uint32_t slot) {
  const Geometry& geometry = into.view.geometry;
  if (L::kHasValues || !has_guest_lanes(geometry)) return place;
  const GuestLanes<Laned<L>> lanes(classes, from);
  if (lanes.is_guest(place.fingerprint, slot)) return moved(geometry, place);
  if (lanes.is_unknown(place.fingerprint)) open_for(into, place);
  return place;
}

}}  // namespace nestline

#endif  // NESTLINE_LIB_FILTERS_FILTER_GROWTH_H_
