// The tables of kernels of expiring filters, made once per target, as kernels.cc makes the others.
// In a source of their own, so that compilers make of the kernels of filters what they made before.
#include <iterator>

#include "lib/kernels/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/kernels/expiring_kernels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "lib/kernels/expiring-inl.h"
#include "lib/kernels/locate-inl.h"
#include "lib/kernels/lookup-inl.h"
#include "lib/kernels/match-inl.h"
#include "lib/kernels/targets.h"
#include "lib/kernels/ways-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nestline {
namespace HWY_NAMESPACE {
template <class L>
constexpr ExpiringKernels kernels_of() {
  ExpiringKernels kernels{};
  kernels.target = HWY_TARGET;
  kernels.match = match<L>;
  kernels.free_slots = free_slots<L>;
  kernels.rank = rank<L>;
  kernels.of_classes = of_classes<L>;
  kernels.find_way = find_way<L>;
  kernels.find_free_way = find_free_way<L>;
  kernels.leavers = leavers<L>;
  kernels.bits_to_bytes = bits_to_bytes;
  kernels.bits_to_positions = bits_to_positions;
  kernels.contains_beside = contains_beside<L>;
  kernels.contains_batch_beside = contains_batch_beside<L>;
  kernels.locate_batch = locate_batch<L>;
  kernels.dead = expiring::dead<L>;
  kernels.sweep_beside_readers = expiring::sweep<L, OneWriter>;
  kernels.sweep_beside_writers = expiring::sweep<L, BlockLocks>;
  kernels.renew_beside_readers = expiring::renew_first<L, OneWriter>;
  kernels.renew_beside_writers = expiring::renew_first<L, BlockLocks>;
  kernels.renew_batch_beside_readers = expiring::renew_batch<L, OneWriter>;
  kernels.renew_batch_beside_writers = expiring::renew_batch<L, BlockLocks>;
  return kernels;
}

using ExpiringTables = ExpiringKernels[2];  // of 8 and 12 bits

const ExpiringTables* all_expiring() {
  static constexpr ExpiringTables kAll = {kernels_of<ExpiringLayout<8>>(),
                                          kernels_of<ExpiringLayout<12>>()};
  return &kAll;
}

}  // namespace HWY_NAMESPACE
}  // namespace nestline
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nestline {

const ExpiringKernels& expiring_kernels(int layout) {
  constexpr const ExpiringKernels(*(*kTargets[])())[2] = {
#if HWY_ARCH_X86 || HWY_ARCH_ARM
    HWY_CHOOSE_TARGET_LIST(all_expiring),
#endif
    HWY_CHOOSE_FALLBACK(all_expiring),
  };
  const int width = (layout - expiring_layout(8)) / 4;
  for (const auto all : kTargets) {
    if (all != nullptr && ((*all())[0].target & supported_targets()) != 0) return (*all())[width];
  }
  return (*std::end(kTargets)[-1]())[width];
}

}  // namespace nestline
#endif
