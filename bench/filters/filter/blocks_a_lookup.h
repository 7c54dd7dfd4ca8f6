// How many blocks a lookup touches, computed from the filter's blocks, not from a clock.
#ifndef NESTLINE_BENCH_FILTERS_FILTER_BLOCKS_A_LOOKUP_H_
#define NESTLINE_BENCH_FILTERS_FILTER_BLOCKS_A_LOOKUP_H_

#include <cstdint>
#include <span>

#include "nestline/filter.h"

namespace nestline::bench {

// The average number of blocks for these keys: 1 for a key, or 2 if its home has no match and the
// home's mark says that the key may be away.
double blocks_a_lookup(const Filter& filter, std::span<const std::uint64_t> keys);

}  // namespace nestline::bench

#endif  // NESTLINE_BENCH_FILTERS_FILTER_BLOCKS_A_LOOKUP_H_
