// The tables of kernels, made once per target. See kernels.h.
#include "lib/kernels/kernels.h"

#include <cstdint>
#include <iterator>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/kernels/kernels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "lib/kernels/locate-inl.h"
#include "lib/kernels/lookup-inl.h"
#include "lib/kernels/maplet-inl.h"
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
const Kernels* filter_kernels() {
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
      contains_batch<L>,
      bits_to_bytes,
      bits_to_positions,
      contains_beside<L>,
      contains_batch_beside<L>,
      locate_batch<L>,
      match_batch<L>,
      locate_pairs<L>,
      complete<L>,
      at_most,
      place_keys<L>,
      place_pairs<L>,
      settle<L>,
      settle_one<L>,
      unpack<L>,
      pack<L>,
      split<L>,
  };
  return &kTable;
}

constexpr MapletKernels maplet_kernels() {
  MapletKernels kernels{};
  kernels.table.target = HWY_TARGET;
  kernels.table.match = match<maplet::L>;
  kernels.table.free_slots = free_slots<maplet::L>;
  kernels.table.rank = rank_by_slots<maplet::L>;
  kernels.table.of_classes = of_classes_by_slots<maplet::L>;
  kernels.table.find_way = maplet::find_way;
  kernels.table.find_free_way = maplet::find_free_way;
  kernels.table.leavers = leavers<maplet::L>;
  kernels.table.split = split_slots<maplet::L>;
  kernels.find = maplet::find;
  kernels.locate = maplet::locate;
  kernels.find_batch = maplet::find_batch;
  kernels.store_beside_readers = maplet::store_first<OneWriter>;
  kernels.store_beside_writers = maplet::store_first<BlockLocks>;
  return kernels;
}

const TargetKernels* all_kernels() {
  static constexpr TargetKernels kAll = {
      {filter_kernels<FilterLayout<8>>, filter_kernels<FilterLayout<12>>,
       filter_kernels<FilterLayout<16>>},
      maplet_kernels()};
  return &kAll;
}

}  // namespace HWY_NAMESPACE
}  // namespace nestline
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nestline {

namespace {

// One for each compiled target, the best first; null for the others. These lists are Highway's.
// Highway's own way of choosing from them needs its library (targets.h).
constexpr const TargetKernels* (*kTargets[])() = {
#if HWY_ARCH_X86 || HWY_ARCH_ARM
    HWY_CHOOSE_TARGET_LIST(all_kernels),
#endif
    HWY_CHOOSE_FALLBACK(all_kernels),
};

const TargetKernels& best_kernels() {
  const std::int64_t supported = supported_targets();
  for (const auto all : kTargets) {
    if (all != nullptr && (all()->maplet.table.target & supported) != 0) return *all();
  }
  return *std::end(kTargets)[-1]();
}

}  // namespace

const Kernels& kernels_for(int bits) {
  const TargetKernels& best = best_kernels();
  if (is_expiring(bits)) return expiring_kernels(bits);
  return bits == kMapletBits ? best.maplet.table : *best.filters[(bits - 8) / 4]();
}

const MapletKernels& maplet_kernels() { return best_kernels().maplet; }

std::vector<std::int64_t> usable_targets() {
  std::vector<std::int64_t> targets;
  for (const auto all : kTargets) {
    if (all == nullptr) continue;
    const std::int64_t target = all()->maplet.table.target;
    // The fallback may be the last one of the list.
    if ((target & supported_targets()) != 0 && (targets.empty() || targets.back() != target)) {
      targets.push_back(target);
    }
  }
  return targets;
}

}  // namespace nestline
#endif
