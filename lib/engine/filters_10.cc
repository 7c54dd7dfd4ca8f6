// The engines of filters of 10 bits, made once for each target (filters-inl.h).
#define NESTLINE_WIDTH 10
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/engine/filters_10.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "lib/engine/filters-inl.h"
