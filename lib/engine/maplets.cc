// The engine of maplets, made once for each target. See engine.h.
#include <cstddef>
#include <cstdint>

#include "lib/engine/engines.h"
#include "lib/engine/kernels/build_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/engine/maplets.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "lib/engine/kernels/assign_values-inl.h"
#include "lib/engine/kernels/bulk_place-inl.h"
#include "lib/engine/kernels/maplet-inl.h"
#include "lib/engine/kernels/split-inl.h"
#include "lib/engine/kernels/values-inl.h"
#include "lib/engine/operations-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nestline { inline namespace v0_3 { namespace HWY_NAMESPACE { namespace maplet {

template <class L, class Locks>
Result insert(const BlocksView& view, std::uint64_t hash, std::uint64_t value) noexcept {
  return insert_value<L, Locks>(view, hash, value);
}

template <class L, class Locks>
Result insert_at(const BlocksView& view, const Place& home, std::uint64_t value) noexcept {
  return Table<L, Locks>(view).insert(home, value);
}

template <class L, class Locks>
RunEnd insert_run(const BlocksView& view, const Inputs& inputs, const std::uint64_t* values,
                  const RunLimits& limits, std::size_t first, Record& record) noexcept {
  return insert_values_run<L, Locks>(view, inputs, RunValues{values}, limits, first, record);
}

template <class L, class Locks>
bool erase(const BlocksView& view, std::uint64_t hash, std::uint64_t value) noexcept {
  Table<L, Locks> table(view);
  return table.erase(table.home(hash), value);
}

template <class L, class Locks>
bool replace(const BlocksView& view, std::uint64_t hash, std::uint64_t old_value,
             std::uint64_t new_value) noexcept {
  Table<L, Locks> table(view);
  return table.change_copy(table.home(hash), old_value, [&](Block& block, std::uint32_t slot) {
    L::set_value(block, slot, new_value);
  });
}

template <class L, class Locks>
std::size_t values(const BlocksView& view, std::uint64_t hash, MapletOperations::Values values,
                   Writers* writers) noexcept {
  const Table<L, Locks> table(view, writers);
  std::size_t found = 0;
  table.for_each_copy(
      table.home(hash), [&] { found = 0; },
      [&](const Block& block, std::uint32_t slot) { values[found++] = L::value(block, slot); });
  return found;
}

template <class L, class Locks>
unsigned count(const BlocksView& view, const Place& home, Writers* writers) noexcept {
  return Table<L, Locks>(view, writers).count(home);
}

template <class L, class Locks>
constexpr MapletOperations operations() {
  return {insert<L, Locks>,     insert_at<L, Locks>, erase<L, Locks>, replace<L, Locks>,
          insert_run<L, Locks>, values<L, Locks>,    count<L, Locks>, change_values<L, Locks>};
}

template <class L>
inline constexpr BuildKernels kBuild = [] {
  BuildKernels kernels = build_kernels<L>();
  kernels.assign_values = assign_values<L>;
  return kernels;
}();

template <class L>
constexpr Engine engine() {
  Engine engine{};
  engine.target = HWY_TARGET;
  engine.layout = L::kNumber;
  engine.block = block_kernels<L>();
  engine.maplet_lookups = {find<L>, find_set<L>, find_sets<L>, find_lists<L>};
  engine.maplet.one_writer = operations<L, OneWriter>();
  engine.maplet.many_writers = operations<L, BlockLocks>();
  engine.split = split_slots<L>;
  // A pair of build_kernels.h has 16 bits for a fingerprint.
  if constexpr (L::kBits <= 16) engine.build = &kBuild<L>;
  return engine;
}

template <class... Layouts>
constexpr Engines<sizeof...(Layouts)> engines_of(LayoutList<Layouts...>) {
  return {HWY_TARGET, {engine<Layouts>()...}};
}

const Engines<MapletLayouts::kNumbers.size()>* engines() {
  static constexpr auto kAll = engines_of(MapletLayouts());
  return &kAll;
}

}}}}  // namespace nestline::HWY_NAMESPACE::maplet
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nestline { inline namespace v0_3 {

const Engine& maplet_engine(int layout) {
  static constexpr const Engines<MapletLayouts::kNumbers.size()>* (*kTargets[])() = {
#if HWY_ARCH_X86 || HWY_ARCH_ARM
    HWY_CHOOSE_TARGET_LIST(maplet::engines),
#endif
    HWY_CHOOSE_FALLBACK(maplet::engines),
  };
  return best_of(kTargets).of[index_of_maplet(layout)];
}

}}  // namespace nestline
#endif
