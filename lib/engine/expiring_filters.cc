// The engines of expiring filters, made once for each target (expiring_filters-inl.h).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/engine/expiring_filters.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "lib/engine/expiring_filters-inl.h"
