// The table of kernels, made once per target. See kernels.h.
#include "lib/kernels/kernels.h"

#include <cstdint>
#include <iterator>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/kernels/kernels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "lib/kernels/answers-inl.h"
#include "lib/kernels/locate-inl.h"
#include "lib/kernels/lookup-inl.h"
#include "lib/kernels/maplet_kernels.h"
#include "lib/kernels/match-inl.h"
#include "lib/kernels/settle-inl.h"
#include "lib/kernels/split-inl.h"
#include "lib/kernels/targets.h"
#include "lib/kernels/ways-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nestline {
namespace HWY_NAMESPACE {

template <class L, class Locks>
constexpr FirstTries first_tries() {
  return {store_first<L, Locks>, store_batch<L, Locks>, erase_first<L, Locks>};
}

template <class L>
const Kernels* table() {
  static constexpr Kernels kTable = {
      HWY_TARGET,
      match<L>,
      free_slots<L>,
      rank<L>,
      of_classes<L>,
      find_way<L>,
      find_free_way<L>,
      leavers<L>,
      first_tries<L, NoLocks>(),
      first_tries<L, OneWriter>(),
      first_tries<L, BlockLocks>(),
      contains<L>,
      contains_integer<L>,
      contains_batch<L>,
      bits_to_bytes,
      bits_to_positions,
      contains_beside<L>,
      contains_integer_beside<L>,
      contains_batch_beside<L>,
      locate_batch<L>,
      match_batch<L>,
      locate_pairs<L>,
      complete<L>,
      at_most,
      settle<L>,
      settle_few<L>,
      settle_one<L>,
      clear<L>,
      unpack<L>,
      pack<L>,
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

namespace {

using TableFor = const Kernels* (*)(int bits);

// One for each compiled target, the best first; null for the others. These lists are Highway's.
// Highway's own way of choosing from them needs its library (targets.h).
constexpr TableFor kTables[] = {
#if HWY_ARCH_X86 || HWY_ARCH_ARM
    HWY_CHOOSE_TARGET_LIST(table_for),
#endif
    HWY_CHOOSE_FALLBACK(table_for),
};

}  // namespace

const Kernels& kernels_for(int bits) {
  if (bits == kMapletBits) return maplet_kernels().table;
  const std::int64_t supported = supported_targets();
  for (const TableFor table_for : kTables) {
    if (table_for == nullptr) continue;
    const Kernels& kernels = *table_for(bits);
    if ((kernels.target & supported) != 0) return kernels;
  }
  return *std::end(kTables)[-1](bits);
}

std::vector<std::int64_t> usable_targets() {
  std::vector<std::int64_t> targets;
  for (const TableFor table_for : kTables) {
    if (table_for == nullptr) continue;
    const std::int64_t target = table_for(8)->target;
    // The fallback may be the last one of the list.
    if ((target & supported_targets()) != 0 && (targets.empty() || targets.back() != target)) {
      targets.push_back(target);
    }
  }
  return targets;
}

}  // namespace nestline
#endif
