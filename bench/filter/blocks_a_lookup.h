// How many blocks questions touch: read off the filter's blocks, not off a clock.
#ifndef NESTLINE_BENCH_FILTER_BLOCKS_A_LOOKUP_H_
#define NESTLINE_BENCH_FILTER_BLOCKS_A_LOOKUP_H_

#include <cstdint>
#include <span>

#include "nestline/filter.h"

namespace nestline::bench {

// Blocks of a question, on the average of these: 1, or 2 where home has no match and its mark says
// that the key may be away.
double blocks_a_lookup(const Filter& filter, std::span<const std::uint64_t> keys);

}  // namespace nestline::bench

#endif  // NESTLINE_BENCH_FILTER_BLOCKS_A_LOOKUP_H_
