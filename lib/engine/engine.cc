#include "lib/engine/engine.h"

#include "lib/engine/engines.h"

namespace nestline { inline namespace v0_3 {

const Engine& filter_engine(int bits, Placement placement) {
  return visit_layout(bits, [&](auto layout) -> const Engine& {
    return filter_engine_of<decltype(layout)::kBits>(placement);
  });
}

}}  // namespace nestline
