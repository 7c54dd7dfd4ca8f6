#include "lib/engine/engine.h"

#include "lib/engine/engines.h"

namespace nestline { inline namespace v0_3 {

const Engine& engine_for(int layout, Placement placement) {
  if (is_expiring(layout)) return expiring_engine(layout);
  return is_maplet(layout) ? maplet_engine(layout) : filter_engine(layout, placement);
}

}}  // namespace nestline
