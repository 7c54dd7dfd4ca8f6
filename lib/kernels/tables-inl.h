// Per-target: the parts of tables that several kinds of filters have.
#if defined(NESTLINE_LIB_KERNELS_TABLES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_KERNELS_TABLES_INL_H_
#undef NESTLINE_LIB_KERNELS_TABLES_INL_H_
#else
#define NESTLINE_LIB_KERNELS_TABLES_INL_H_
#endif

#include "lib/kernels/leavers-inl.h"
#include "lib/kernels/locate-inl.h"
#include "lib/kernels/lookup-inl.h"
#include "lib/kernels/match-inl.h"
#include "lib/kernels/residents-inl.h"
#include "lib/kernels/ways-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nestline::inline v0_2 {
namespace HWY_NAMESPACE {

template <class L>
constexpr LookupKernels lookup_kernels() {
  return {{HWY_TARGET, L::kNumber, match<L>, free_slots<L>, rank<L>, of_classes<L>, find_way<L>,
           find_free_way<L>, leavers<L>},
          contains_beside<L>,
          contains_batch_beside<L>,
          bits_to_bytes,
          bits_to_positions,
          locate_batch<L>};
}

}  // namespace HWY_NAMESPACE
}  // namespace nestline::inline v0_2
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
