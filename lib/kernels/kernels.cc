// The table of kernels, made once per target. See kernels.h.
#include "lib/kernels/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/kernels/kernels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "lib/kernels/locate-inl.h"
#include "lib/kernels/lookup-inl.h"
#include "lib/kernels/match-inl.h"
#include "lib/kernels/split-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nestline {
namespace HWY_NAMESPACE {

template <class L>
const Kernels* table() {
  static constexpr Kernels kTable = {
      HWY_TARGET,
      match<L>,
      free_slots<L>,
      find_residents<L>,
      displace<L>,
      contains<L>,
      contains_integer<L>,
      contains_batch<L>,
      try_contains<L>,
      try_contains_integer<L>,
      try_contains_batch<L>,
      locate_batch<L>,
      match_batch<L>,
      split<L>,
  };
  return &kTable;
}

const Kernels* table_for(int bits) {
  return visit_layout(bits, [](auto layout) { return table<decltype(layout)>(); });
}

}  // namespace HWY_NAMESPACE
}  // namespace nestline
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nestline {

HWY_EXPORT(table_for);

const Kernels& kernels_for(int bits) { return *HWY_DYNAMIC_DISPATCH(table_for)(bits); }

}  // namespace nestline
#endif
