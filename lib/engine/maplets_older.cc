// The engine of maplets for processors without AVX2, made once for each target (maplets-inl.h).
#define NESTLINE_OLDER
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/engine/maplets_older.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "lib/engine/maplets-inl.h"

#if HWY_ONCE && NESTLINE_IS_COMPILED_HERE
namespace nestline { inline namespace v0_3 {

NESTLINE_OF_OLDER(Maplets);

}}  // namespace nestline
#endif
