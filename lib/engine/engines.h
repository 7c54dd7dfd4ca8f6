// The engines of one target, as the sources that are compiled for each hand them on.
#ifndef NESTLINE_LIB_ENGINE_ENGINES_H_
#define NESTLINE_LIB_ENGINE_ENGINES_H_

#include <cstddef>
#include <cstdint>

#include "lib/engine/engine.h"
#include "lib/engine/kernels/targets.h"

namespace nestline { inline namespace v0_3 {

// What engines there are: for each of some layouts one. Those of filters of one width are plain,
// and with guest lanes.
template <int kBits>
struct Filters {
  using Engine = FilterEngine;
  using Layouts = LayoutList<FilterLayout<kBits>, Laned<FilterLayout<kBits> > >;
};
struct Maplets {
  using Engine = MapletEngine;
  using Layouts = MapletLayouts;
};
struct ExpiringFilters {
  using Engine = ExpiringEngine;
  using Layouts = ExpiringLayouts;
};

// Those of one target.
template <class Kind>
struct Engines {
  typename Kind::Engine of[Kind::Layouts::kNumbers.size()];
  [[nodiscard]] std::int64_t target() const { return of[0].target; }
};

// Of one width.
template <int kBits>
const FilterEngine& filter_engine_of(Placement placement);

}}  // namespace nestline

#endif  // NESTLINE_LIB_ENGINE_ENGINES_H_
