// The engines of filters of 8 to 10 bits, made once for each target (filters-inl.h).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/engine/filters_narrow.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "lib/engine/filters-inl.h"

#if HWY_ONCE
namespace nestline { inline namespace v0_3 {

NESTLINE_FILTERS_OF(8)
NESTLINE_FILTERS_OF(9)
NESTLINE_FILTERS_OF(10)

}}  // namespace nestline
#endif
