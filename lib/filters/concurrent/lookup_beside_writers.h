// Batches of lookups beside writers, for all concurrent filters: one section per chunk.
#ifndef NESTLINE_LIB_FILTERS_CONCURRENT_LOOKUP_BESIDE_WRITERS_H_
#define NESTLINE_LIB_FILTERS_CONCURRENT_LOOKUP_BESIDE_WRITERS_H_

#include <cstddef>
#include <cstdint>

#include "lib/filters/concurrent/concurrent_state.h"
#include "lib/filters/filter/batch.h"

namespace nestline { inline namespace v0_3 {

// Looks up a chunk of keys, as batch::look_up wants it.
struct ConcurrentLookup {
  const ConcurrentFilter::State& state;
  // The same for every table of the filter.
  [[nodiscard]] const LookupOperations& operations() const { return state.engine.lookups; }
  void operator()(const Inputs& inputs, std::uint64_t* bitmap) const {
    state.read([&](const Blocks& table) {
      batch::ChunkBitmap undecided;
      if (!operations().contains_batch(table.view, inputs, bitmap, undecided.data())) {
        return;
      }
      for (std::size_t first = 0; first < inputs.count; first += 64) {
        for_each_bit(undecided[first / 64], first, [&](std::size_t i) {
          const bool found = state.look(state, inputs.hash(i, state.secrets));
          bitmap[i / 64] |= std::uint64_t{found} << i % 64;
        });
      }
    });
  }
};

}}  // namespace nestline

#endif  // NESTLINE_LIB_FILTERS_CONCURRENT_LOOKUP_BESIDE_WRITERS_H_
