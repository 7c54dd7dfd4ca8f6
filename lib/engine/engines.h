// The engines of one target, as the sources that are compiled for each hand them on.
#ifndef NESTLINE_LIB_ENGINE_ENGINES_H_
#define NESTLINE_LIB_ENGINE_ENGINES_H_

#include <cstddef>
#include <cstdint>

#include "lib/engine/engine.h"
#include "lib/engine/kernels/targets.h"

namespace nestline { inline namespace v0_3 {

template <std::size_t kLayouts>
struct Engines {
  std::int64_t target;
  Engine of[kLayouts];
};

const Engine& filter_engine(int bits, Placement placement);
const Engine& maplet_engine(int layout);
const Engine& expiring_engine(int layout);

}}  // namespace nestline

#endif  // NESTLINE_LIB_ENGINE_ENGINES_H_
