// What this processor has: which of Highway's instruction sets, and how much cache. Targets are
// Highway's numbers, one bit each; a lower bit is a better target. Highway's own detection is in
// its library, of which Debian has only a shared one: without it we need nothing of Highway at run
// time.
#ifndef NESTLINE_LIB_ENGINE_KERNELS_TARGETS_H_
#define NESTLINE_LIB_ENGINE_KERNELS_TARGETS_H_

#include <cstddef>
#include <cstdint>

namespace nestline { inline namespace v0_3 {

// The targets whose instructions this processor has and whose registers the system saves, whether
// compiled or not; or the forced one.
std::int64_t supported_targets();

// The best that this processor can use of tables, the best first, some null, the last for any.
template <class Tables, std::size_t kCount>
const Tables& best_of(const Tables* (*const (&compiled)[kCount])()) {
  for (const auto tables : compiled) {
    if (tables != nullptr && (tables()->target() & supported_targets()) != 0) return *tables();
  }
  return *compiled[kCount - 1]();
}

// Half of a core's second-level cache, in blocks; 0 if the system does not tell.
std::uint64_t blocks_in_near_cache();
// For tests and measurements: from now on supported_targets() returns `target`, or again the
// detected targets when it is 0. Not to be called while another thread makes a filter.
void force_target(std::int64_t target);

}}  // namespace nestline

#endif  // NESTLINE_LIB_ENGINE_KERNELS_TARGETS_H_
