// From a filter's state to the table that works on its blocks.
#ifndef NESTLINE_LIB_FILTER_FILTER_TABLE_H_
#define NESTLINE_LIB_FILTER_FILTER_TABLE_H_

#include "lib/filter/filter_state.h"
#include "lib/place/layout.h"
#include "lib/table/table.h"

namespace nestline {

// Calls work(table) with the table for the filter's width and the lock policy `Locks`.
template <class Locks, typename Work>
decltype(auto) with_table(const Filter::State& state, Work&& work) {
  return visit_layout(state.bits, [&](auto layout) -> decltype(auto) {
    Table<decltype(layout), Locks> table(state.blocks(), state.view.geometry, *state.kernels);
    return work(table);
  });
}

}  // namespace nestline

#endif  // NESTLINE_LIB_FILTER_FILTER_TABLE_H_
