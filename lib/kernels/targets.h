// What this processor has: which of Highway's instruction sets, and how much cache. Targets are
// Highway's numbers, HWY_AVX2 and so on, one bit each; a lower bit is a better target.
//
// Highway can detect this too, but in its library, which Debian has only as a shared one. That
// would be the only thing that our library, and a module that a server loads, need of Highway at
// run time. With this file Highway is a set of headers.
#ifndef NESTLINE_LIB_KERNELS_TARGETS_H_
#define NESTLINE_LIB_KERNELS_TARGETS_H_

#include <cstddef>
#include <cstdint>

namespace nestline {

// The targets whose instructions this processor has and whose registers the system saves, whether
// compiled or not; or the forced one.
std::int64_t supported_targets();

// Of tables for the compiled targets, the best first and some of them null, the best one that this
// processor can use; the last one is for every processor.
template <class Tables, std::size_t kCount>
const Tables& best_of(const Tables* (*const (&compiled)[kCount])()) {
  for (const auto tables : compiled) {
    if (tables != nullptr && (tables()->target & supported_targets()) != 0) return *tables();
  }
  return *compiled[kCount - 1]();
}

// Blocks that stay in a core's second-level cache beside other data: half of its size; 0 if the
// system does not tell.
std::uint64_t blocks_in_near_cache();

// For tests and measurements: from now on supported_targets() returns `target`, or again the
// detected targets when it is 0. Not to be called while another thread makes a filter.
void force_target(std::int64_t target);

}  // namespace nestline

#endif  // NESTLINE_LIB_KERNELS_TARGETS_H_
