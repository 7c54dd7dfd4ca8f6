// Per-target: the engine of maplets. Included by maplets.cc and, for older processors
// (match-inl.h), maplets_older.cc.
#if defined(NESTLINE_LIB_ENGINE_MAPLETS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_ENGINE_MAPLETS_INL_H_
#undef NESTLINE_LIB_ENGINE_MAPLETS_INL_H_
#else
#define NESTLINE_LIB_ENGINE_MAPLETS_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "lib/engine/engines-inl.h"
#include "lib/engine/kernels/assign_values-inl.h"
#include "lib/engine/kernels/build_kernels.h"
#include "lib/engine/kernels/bulk_place-inl.h"
#include "lib/engine/kernels/maplet-inl.h"
#include "lib/engine/kernels/split-inl.h"
#include "lib/engine/kernels/values-inl.h"
#include "lib/engine/operations-inl.h"

#if NESTLINE_IS_COMPILED_HERE

HWY_BEFORE_NAMESPACE();
namespace nestline { inline namespace v0_3 { namespace HWY_NAMESPACE {
namespace maplet {

template <class L, class Locks>
Result insert(const BlocksView& view, std::uint64_t hash, std::uint64_t value) noexcept {
  return insert_value<L>(view, Locks(), hash, value);
}

template <class L, class Locks>
Result insert_at(const BlocksView& view, const Place& home, std::uint64_t value) noexcept {
  return Table<L>(view, AnyLocks(kModeOf<Locks>)).insert(home, value);
}

template <class L, class Locks>
RunEnd insert_run(const BlocksView& view, const Inputs& inputs, const std::uint64_t* values,
                  const RunLimits& limits, std::size_t first, Record& record) noexcept {
  return insert_values_run<L>(view, kModeOf<Locks>, inputs, RunValues{values}, limits, first,
                              record);
}

template <class L, class Locks>
bool erase(const BlocksView& view, std::uint64_t hash, std::uint64_t value) noexcept {
  return layouts::Further<L>::erase(view, kModeOf<Locks>, home_of_key<L>(view.geometry, hash),
                                    value);
}

template <class L>
HWY_NOINLINE bool replace_at(const BlocksView& view, AnyMode mode, std::uint64_t hash,
                             std::uint64_t old_value, std::uint64_t new_value) noexcept {
  Table<L> table(view, AnyLocks(mode));
  return table.change_copy(table.home(hash), old_value, [&](Block& block, std::uint32_t slot) {
    L::set_value(block, slot, new_value);
  });
}
template <class L, class Locks>
bool replace(const BlocksView& view, std::uint64_t hash, std::uint64_t old_value,
             std::uint64_t new_value) noexcept {
  return replace_at<L>(view, kModeOf<Locks>, hash, old_value, new_value);
}

template <class L>
HWY_NOINLINE std::size_t values_at(const BlocksView& view, AnyMode mode, std::uint64_t hash,
                                   MapletOperations::Values values, Writers* writers) noexcept {
  const Table<L> table(view, AnyLocks(mode, writers));
  std::size_t found = 0;
  table.for_each_copy(
      table.home(hash), [&] { found = 0; },
      [&](const Block& block, std::uint32_t slot) { values[found++] = L::value(block, slot); });
  return found;
}
template <class L, class Locks>
std::size_t values(const BlocksView& view, std::uint64_t hash, MapletOperations::Values values,
                   Writers* writers) noexcept {
  return values_at<L>(view, kModeOf<Locks>, hash, values, writers);
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

}  // namespace maplet
namespace layouts {
template <class L>
struct EngineOf<Maplets, L> {
  static constexpr MapletEngine engine() {
    using namespace maplet;
#ifdef NESTLINE_BELOW
    MapletEngine engine = NESTLINE_FROM_BELOW(EngineOf)<Maplets, L>::engine();
#else
    MapletEngine engine{};
    engine.layout = L::kNumber;
    engine.block = block_kernels<L>();
    engine.operations.one_writer = operations<L, OneWriter>();
    engine.operations.many_writers = operations<L, BlockLocks>();
    engine.split = split_slots<L>;
    // A pair of build_kernels.h has 16 bits for a fingerprint.
    if constexpr (L::kBits <= 16) engine.build = &kBuild<L>;
#endif
    engine.target = HWY_TARGET;
    engine.values = {find<L>, find_set<L>, find_sets<L>, find_lists<L>};
    return engine;
  }
};
}  // namespace layouts

}}}  // namespace nestline::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

#if HWY_ONCE && !defined(NESTLINE_OLDER)
namespace nestline { inline namespace v0_3 {

const Engine& maplet_engine(int layout, Placement) {
  return best_engine<Maplets>(index_of_maplet(layout));
}

}}  // namespace nestline
#endif

#endif  // per-target include guard
