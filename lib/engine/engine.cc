#include "lib/engine/engine.h"

#include "lib/engine/engines.h"

namespace nestline { inline namespace v0_3 {

const Engine& engine_for(int layout, Placement placement) {
  if (is_expiring(layout)) return expiring_engine(layout);
#if !NESTLINE_SMALL
  if (is_maplet(layout)) return maplet_engine(layout);
#endif
  return filter_engine(layout, placement);
}

}}  // namespace nestline
