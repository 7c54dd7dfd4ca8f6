// The engine of maplets, made once for each target (maplets-inl.h).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/engine/maplets.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "lib/engine/maplets-inl.h"
