// From a filter's state to the table that works on its blocks.
#ifndef NESTLINE_LIB_FILTER_FILTER_TABLE_H_
#define NESTLINE_LIB_FILTER_FILTER_TABLE_H_

#include <cstdint>
#include <optional>

#include "lib/filter/filter_state.h"
#include "lib/place/layout.h"
#include "lib/table/table.h"

namespace nestline {

// Calls work(table) with the table for the filter's width and the lock policy `Locks`.
template <class Locks, typename Work>
decltype(auto) with_table(const Filter::State& state, Work&& work, Locks locks = Locks()) {
  return visit_layout(state.bits, [&](auto layout) -> decltype(auto) {
    Table<decltype(layout), Locks> table(state.blocks(), state.view.geometry, *state.kernels,
                                         locks);
    return work(table);
  });
}

// The first tries of an insert and an erase: one call of a kernel, which is all that most of them
// need. Nothing has changed if they fail; `home` is then the key's.
template <class Locks>
bool insert_first(const Filter::State& state, std::uint64_t hash, Place& home) {
  const BlocksView& view = state.view;
  return state.kernels->first_tries<Locks>().store(view.blocks, view.geometry, hash, home);
}
template <class Locks>
bool erase_first(const Filter::State& state, std::uint64_t hash, Place& home) {
  const BlocksView& view = state.view;
  return state.kernels->first_tries<Locks>().erase(view.blocks, view.geometry, hash, home);
}

// Table's insert and erase of a key, the first tries before the rest.
template <class Locks>
std::optional<Outcome> insert_in(const Filter::State& state, std::uint64_t hash) {
  Place home;
  if (insert_first<Locks>(state, hash, home)) [[likely]]
    return Outcome::stored;
  return with_table<Locks>(state, [&](auto& table) { return table.insert_with_room_made(home); });
}
template <class Locks>
bool erase_in(const Filter::State& state, std::uint64_t hash) {
  Place home;
  if (erase_first<Locks>(state, hash, home)) [[likely]]
    return true;
  return with_table<Locks>(state, [&](auto& table) { return table.erase(home); });
}

// Table's is_crowded of a key, for the thread that changes the filter.
inline bool is_crowded(const Filter::State& state, std::uint64_t key) {
  return with_table<NoLocks>(
      state, [&](auto& table) { return table.is_crowded(table.home(state.hash(key))); });
}

}  // namespace nestline

#endif  // NESTLINE_LIB_FILTER_FILTER_TABLE_H_
