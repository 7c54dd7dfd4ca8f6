#include "bench/filters/filter/blocks_a_lookup.h"

#include "lib/filters/filter/blocks.h"

namespace nestline::bench {

double blocks_a_lookup(const Filter& filter, std::span<const std::uint64_t> keys) {
  const Blocks& state = FilterAccess::blocks(filter);
  std::uint64_t second = 0;
  for (const std::uint64_t key : keys) {
    const Place home = home_of(state.bits, state.view.geometry, state.hasher()(key).value);
    const Block& block = state.view.blocks[home.block];
    const bool found = state.engine->block.copies(block, home) != 0;
    second += !found && eviction_rank(home.fingerprint) < block.overflow_mark();
  }
  return 1 + static_cast<double>(second) / static_cast<double>(keys.size());
}

}  // namespace nestline::bench
