// The tables of kernels, made once per target. See kernels.h.
#include "lib/engine/kernels/kernels.h"

#include <cstddef>
#include <cstdint>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/engine/kernels/kernels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "lib/engine/kernels/bulk_place-inl.h"
#include "lib/engine/kernels/first_tries-inl.h"
#include "lib/engine/kernels/maplet-inl.h"
#include "lib/engine/kernels/split-inl.h"
#include "lib/engine/kernels/tables-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nestline { inline namespace v0_3 { namespace HWY_NAMESPACE {
template <class L, class Locks>
constexpr FirstTries first_tries() {
  return {store_first<L, Locks>, store_batch<L, Locks>, erase_first<L, Locks>};
}

template <class L>
constexpr FilterKernels filter_kernels() {
  return {lookup_kernels<L>(),
          contains<L>,
          contains_away<L>,
          contains_batch<L>,
          match_batch<L>,
          first_tries<L, NoLocks>(),
          {first_tries<L, OneWriter>(), first_tries<L, BlockLocks>()},
          split<L>};
}

template <class L>
constexpr BuildKernels build_kernels() {
  return {L::kSlots,      L::kMaxCopies, locate_pairs<L>,    complete<L>, at_most, place_keys<L>,
          place_pairs<L>, place_bulk<L>, place_by_search<L>, unpack<L>,   pack<L>};
}

constexpr MapletKernels maplet_kernels() {
  using maplet::L;
  return {{HWY_TARGET, L::kNumber, match<L>, free_slots<L>, rank_by_slots<L>, of_ranks_by_slots<L>,
           maplet::find_path, maplet::find_path_to_free, candidates<L>},
          maplet::find,
          maplet::locate,
          maplet::find_batch,
          {maplet::store_first<OneWriter>, maplet::store_first<BlockLocks>},
          split_slots<L>};
}

template <std::size_t... kIndex>
constexpr TargetKernels kernels_of_widths(std::index_sequence<kIndex...>) {
  return {HWY_TARGET,
          {filter_kernels<FilterLayout<kFilterWidths[kIndex]>>()...},
          {build_kernels<FilterLayout<kFilterWidths[kIndex]>>()...},
          maplet_kernels()};
}

const TargetKernels* all_kernels() {
  static constexpr TargetKernels kAll =
      kernels_of_widths(std::make_index_sequence<kFilterWidths.size()>());
  return &kAll;
}

}  // namespace HWY_NAMESPACE
}}  // namespace nestline
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nestline { inline namespace v0_3 {

namespace {

// One for each compiled target, the best first; null for the others. These lists are Highway's.
// Highway's own way of choosing from them needs its library (targets.h).
constexpr const TargetKernels* (*kTargets[])() = {
#if HWY_ARCH_X86 || HWY_ARCH_ARM
    HWY_CHOOSE_TARGET_LIST(all_kernels),
#endif
    HWY_CHOOSE_FALLBACK(all_kernels),
};

const TargetKernels& best_kernels() { return best_of(kTargets); }

}  // namespace

const TableKernels& kernels_for(int layout) {
  if (is_expiring(layout)) return expiring_kernels(layout);
  if (layout == kMapletBits) return maplet_kernels();
  return filter_kernels(layout);
}
const FilterKernels& filter_kernels(int bits) {
  return best_kernels().filters[index_of_width(bits)];
}
const BuildKernels& build_kernels(int bits) { return best_kernels().builds[index_of_width(bits)]; }
const MapletKernels& maplet_kernels() { return best_kernels().maplet; }

std::vector<std::int64_t> usable_targets() {
  std::vector<std::int64_t> targets;
  for (const auto all : kTargets) {
    if (all == nullptr) continue;
    const std::int64_t target = all()->target;
    // The fallback may be the last one of the list.
    if ((target & supported_targets()) != 0 && (targets.empty() || targets.back() != target)) {
      targets.push_back(target);
    }
  }
  return targets;
}

}}  // namespace nestline
#endif
