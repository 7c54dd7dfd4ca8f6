// The engines of filters of 12 and 16 bits, made once for each target (filters-inl.h), and the
// choice among all widths.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/engine/filters_wide.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cstdint>
#include <vector>

#include "lib/engine/filters-inl.h"

#if HWY_ONCE
namespace nestline { inline namespace v0_3 {

NESTLINE_FILTERS_OF(12)
NESTLINE_FILTERS_OF(16)

const Engine& filter_engine(int bits, Placement placement) {
  return visit_layout(bits, [&](auto layout) -> const Engine& {
    return filter_engine_of<decltype(layout)::kBits>(placement);
  });
}

std::vector<std::int64_t> usable_targets() {
  std::vector<std::int64_t> targets;
  for (const auto all : kOfTargets<Filters<16> >) {
    if (all == nullptr) continue;
    const std::int64_t target = all()->target();
    // The fallback may be the last one of the list.
    if ((target & supported_targets()) != 0 && (targets.empty() || targets.back() != target)) {
      targets.push_back(target);
    }
  }
  return targets;
}

}}  // namespace nestline
#endif
