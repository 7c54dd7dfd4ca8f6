// The tables of kernels of expiring filters, made once per target, as kernels.cc makes the others.
// In a source of their own, so that compilers make of the kernels of filters what they made before.

#include "lib/engine/kernels/build_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/engine/kernels/expiring_kernels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "lib/engine/kernels/expiring-inl.h"
#include "lib/engine/kernels/tables-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nestline { inline namespace v0_3 { namespace HWY_NAMESPACE {
template <class L>
constexpr ExpiringKernels kernels_of() {
  return {lookup_kernels<L>(),
          expiring::dead<L>,
          {expiring::sweep<L, OneWriter>, expiring::sweep<L, BlockLocks>},
          {expiring::renew_first<L, OneWriter>, expiring::renew_first<L, BlockLocks>},
          {expiring::renew_batch<L, OneWriter>, expiring::renew_batch<L, BlockLocks>}};
}

const ExpiringTables* all_expiring() {
  static constexpr ExpiringTables kAll = {
      HWY_TARGET, {kernels_of<ExpiringLayout<8>>(), kernels_of<ExpiringLayout<12>>()}};
  return &kAll;
}

}  // namespace HWY_NAMESPACE
}}  // namespace nestline
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nestline { inline namespace v0_3 {

const ExpiringKernels& expiring_kernels(int layout) {
  static constexpr const ExpiringTables* (*kTargets[])() = {
#if HWY_ARCH_X86 || HWY_ARCH_ARM
    HWY_CHOOSE_TARGET_LIST(all_expiring),
#endif
    HWY_CHOOSE_FALLBACK(all_expiring),
  };
  return best_of(kTargets).of_bits[fingerprint_bits(layout) == 8 ? 0 : 1];
}

}}  // namespace nestline
#endif
