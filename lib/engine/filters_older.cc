// The engines of filters of all widths for processors without AVX2 (filters-inl.h).
#define NESTLINE_OLDER
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/engine/filters_older.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "lib/engine/filters-inl.h"

#if HWY_ONCE && NESTLINE_IS_COMPILED_HERE
namespace nestline { inline namespace v0_3 {

NESTLINE_OF_OLDER(Filters<8>);
NESTLINE_OF_OLDER(Filters<9>);
NESTLINE_OF_OLDER(Filters<10>);
NESTLINE_OF_OLDER(Filters<12>);
NESTLINE_OF_OLDER(Filters<16>);

}}  // namespace nestline
#endif
