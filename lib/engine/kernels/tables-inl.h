// Per-target: the parts of tables that several kinds of filters have.
#if defined(NESTLINE_LIB_ENGINE_KERNELS_TABLES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_ENGINE_KERNELS_TABLES_INL_H_
#undef NESTLINE_LIB_ENGINE_KERNELS_TABLES_INL_H_
#else
#define NESTLINE_LIB_ENGINE_KERNELS_TABLES_INL_H_
#endif

#include "lib/engine/kernels/candidates-inl.h"
#include "lib/engine/kernels/locate-inl.h"
#include "lib/engine/kernels/lookup-inl.h"
#include "lib/engine/kernels/match-inl.h"
#include "lib/engine/kernels/paths-inl.h"
#include "lib/engine/kernels/residents-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nestline { inline namespace v0_3 { namespace HWY_NAMESPACE {

template <class L>
constexpr LookupKernels lookup_kernels() {
  return {{HWY_TARGET, L::kNumber, match<L>, free_slots<L>, rank<L>, of_ranks<L>, find_path<L>,
           find_path_to_free<L>, candidates<L>},
          contains_concurrent<L>,
          contains_batch_concurrent<L>,
          bits_to_bytes,
          bits_to_positions,
          locate_batch<L>};
}

}  // namespace HWY_NAMESPACE
}}  // namespace nestline
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
