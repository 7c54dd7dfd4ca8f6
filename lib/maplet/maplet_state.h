// What a Maplet is made of: the state of a concurrent filter with the layout of a maplet. So
// sections, exchanges of the table, counting and growth are those of ConcurrentFilter, and only the
// operations on pairs are the maplet's own.
#ifndef NESTLINE_LIB_MAPLET_MAPLET_STATE_H_
#define NESTLINE_LIB_MAPLET_MAPLET_STATE_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "lib/concurrent/concurrent_state.h"
#include "lib/filter/filter_state.h"
#include "lib/kernels/maplet_kernels.h"
#include "lib/place/layout.h"
#include "lib/table/table.h"
#include "nestline/maplet.h"

namespace nestline {

using MapletLayout = Layout<kMapletBits>;
static_assert(Maplet::kMaxValue == MapletLayout::kValueMask);
static_assert(Maplet::kMostCandidates == MapletLayout::kMaxCopies);

// The table that works on a maplet's blocks.
template <class Locks>
Table<MapletLayout, Locks> maplet_table(const Filter::State& state, Locks locks = Locks()) {
  return {state.blocks(), state.view.geometry, *state.kernels, locks};
}

struct Maplet::State : ConcurrentFilter::State {
  explicit State(std::unique_ptr<Filter::State> table)
      : ConcurrentFilter::State(FilterAccess::make(std::move(table))) {}

  const MapletKernels& kernels = maplet_kernels();
};

struct MapletAccess {
  static Maplet make(std::unique_ptr<Filter::State> table) {
    return Maplet(std::make_unique<Maplet::State>(std::move(table)));
  }
  static const Maplet::State& state(const Maplet& maplet) { return *maplet.state_; }
};

// The candidates of the key with this hash, into the front of `values`.
std::size_t find_hash(const Maplet::State& state, std::uint64_t hash,
                      std::span<std::uint64_t, Maplet::kMostCandidates> values) noexcept;

// Adds a pair; pauses the other writers or grows the maplet if it has to.
Inserted insert_hash(Maplet::State& state, std::uint64_t hash, std::uint64_t value) noexcept;

}  // namespace nestline

#endif  // NESTLINE_LIB_MAPLET_MAPLET_STATE_H_
