// The engines of filters, made once for each target. See engine.h.
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "lib/engine/engines.h"
#include "lib/engine/kernels/build_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/engine/filters.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "lib/engine/kernels/bulk_place-inl.h"
#include "lib/engine/kernels/split-inl.h"
#include "lib/engine/operations-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nestline { inline namespace v0_3 { namespace HWY_NAMESPACE {

template <class L, class Locks>
Result insert(const BlocksView& view, std::uint64_t hash) noexcept {
  return insert_value<L, Locks>(view, hash, {});
}

template <class L, class Locks>
Result insert_unique(const BlocksView& view, std::uint64_t hash) noexcept {
  Table<L, Locks> table(view);
  return table.insert_unique(table.home(hash));
}

template <class L, class Locks>
Result insert_at(const BlocksView& view, const Place& home) noexcept {
  return insert_further<L, Locks>(view, home.block, home.bucket, home.fingerprint,
                                  home.bucket_offset, {});
}

template <class L, class Locks>
Result update(const BlocksView& view, std::uint64_t old_hash, std::uint64_t new_hash,
              bool& replaced) noexcept {
  Table<L, Locks> table(view);
  return table.update(table.home(old_hash), table.home(new_hash), replaced);
}

template <class L, class Locks>
bool erase(const BlocksView& view, std::uint64_t hash) noexcept {
  const Place place = home_of_key<L>(view.geometry, hash);
  [[maybe_unused]] bool erased = false;
  {
    typename Locks::BlockLock hold(view.blocks, place.block);
    const Block& home = hold.at(place.block);
    std::uint64_t copies = match_among<L>(home, place.fingerprint, place.bucket);
    if constexpr (L::kHasGuestLanes) {
      copies &= GuestLanes<L>(true, home).of_native(place.fingerprint);
      // In a mixed block it depends on the alternate which one is cleared.
      if (HWY_UNLIKELY(home.overflow_mark() == kMixed)) copies = 0;
    }
    if (HWY_LIKELY(copies != 0)) {
      L::set(hold.change(place.block), first_slot(copies), 0);
      if constexpr (!L::kHasGuestLanes) return true;
      erased = true;
    }
  }
  if (erased) {
    lower_mark<L, Locks>(view, place.block);
    return true;
  }
  return erase_further<L, Locks>(view, place.block, place.bucket, place.fingerprint,
                                 place.bucket_offset, {});
}

template <class L, class Locks>
unsigned count(const BlocksView& view, const Place& home, Writers* writers) noexcept {
  return Table<L, Locks>(view, writers).count(home);
}

template <class L, class Locks>
constexpr FilterOperations filter_operations() {
  using Plain = PlainLayout<L>;
  return {insert<L, Locks>,    insert_unique<L, Locks>, insert_at<L, Locks>,
          update<L, Locks>,    erase<L, Locks>,         contains_again<Plain, Locks>,
          count<Plain, Locks>, insert_run<L, Locks>,    insert_unique_run<L, Locks>,
          erase_run<L, Locks>, count_run<Plain, Locks>};
}

template <class L>
inline constexpr BuildKernels kBuild = [] {
  BuildKernels kernels = build_kernels<L>();
  kernels.is_in_guest_lane = is_in_guest_lane<L>;
  kernels.raise_guest_level = raise_guest_level<L>;
  return kernels;
}();

template <class L>
constexpr Engine filter_engine() {
  using Plain = PlainLayout<L>;
  Engine engine{};
  engine.target = HWY_TARGET;
  engine.layout = L::kNumber;
  engine.filter_lookups = {contains<Plain>, contains_away<Plain>, contains_batch<Plain>};
#if NESTLINE_SMALL
  engine.block = block_kernels<Plain>();
  engine.lookups.bits_to_bytes = bits_to_bytes;
  if constexpr (!L::kHasGuestLanes) engine.filter.alone = filter_operations<L, NoLocks>();
  engine.filter.alone.update = nullptr;
  engine.filter.alone.contains = nullptr;
  engine.filter.alone.count = count<Plain, NoLocks>;
  engine.filter.alone.count_run = count_run<Plain, NoLocks>;
#else
  engine.block = block_kernels<L>();
  engine.lookups = lookup_operations<Plain>();
  engine.filter = {filter_operations<L, NoLocks>(), filter_operations<L, OneWriter>(),
                   filter_operations<L, BlockLocks>()};
  engine.build = &kBuild<L>;
#endif
  engine.split = split<Plain>;
  return engine;
}

// Those of each width, then those of each width with guest lanes.
constexpr std::size_t kEngines = 2 * kFilterWidths.size();
template <std::size_t... kIndex>
constexpr Engines<kEngines> engines_of_widths(std::index_sequence<kIndex...>) {
  return {HWY_TARGET,
          {filter_engine<FilterLayout<kFilterWidths[kIndex]> >()...,
           filter_engine<Laned<FilterLayout<kFilterWidths[kIndex]> > >()...}};
}

const Engines<kEngines>* filter_engines() {
  static constexpr Engines<kEngines> kAll =
      engines_of_widths(std::make_index_sequence<kFilterWidths.size()>());
  return &kAll;
}

}}}  // namespace nestline::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nestline { inline namespace v0_3 {
namespace {

// One for each compiled target, the best first; null for the others. These lists are Highway's.
// Highway's own way of choosing from them needs its library (targets.h).
constexpr const Engines<2 * kFilterWidths.size()>* (*kTargets[])() = {
#if HWY_ARCH_X86 || HWY_ARCH_ARM
    HWY_CHOOSE_TARGET_LIST(filter_engines),
#endif
    HWY_CHOOSE_FALLBACK(filter_engines),
};

}  // namespace

const Engine& filter_engine(int bits, Placement placement) {
  const std::size_t first = placement == Placement::anywhere ? 0 : kFilterWidths.size();
  return best_of(kTargets).of[first + index_of_width(bits)];
}

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
