// The engine of maplets, made once for each target. See engine.h.
#include <cstddef>
#include <cstdint>

#include "lib/engine/engines.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/engine/maplets.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "lib/engine/kernels/maplet-inl.h"
#include "lib/engine/kernels/split-inl.h"
#include "lib/engine/operations-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nestline { inline namespace v0_3 { namespace HWY_NAMESPACE { namespace maplet {

template <class Locks>
Result insert(const BlocksView& view, std::uint64_t hash, std::uint64_t value) noexcept {
  return insert_value<L, Locks>(view, hash, value);
}

template <class Locks>
bool erase(const BlocksView& view, std::uint64_t hash, std::uint64_t value) noexcept {
  Table<L, Locks> table(view);
  return table.erase(table.home(hash), value);
}

template <class Locks>
bool replace(const BlocksView& view, std::uint64_t hash, std::uint64_t old_value,
             std::uint64_t new_value) noexcept {
  Table<L, Locks> table(view);
  return table.change_copy(table.home(hash), old_value, [&](Block& block, std::uint32_t slot) {
    L::set_value(block, slot, new_value);
  });
}

template <class Locks>
std::size_t values(const BlocksView& view, std::uint64_t hash, MapletOperations::Values values,
                   Writers* writers) noexcept {
  const Table<L, Locks> table(view, writers);
  std::size_t found = 0;
  table.for_each_copy(
      table.home(hash), [&] { found = 0; },
      [&](const Block& block, std::uint32_t slot) { values[found++] = L::value(block, slot); });
  return found;
}

template <class Locks>
constexpr MapletOperations operations() {
  return {insert<Locks>, erase<Locks>, replace<Locks>, values<Locks>};
}

constexpr Engine engine() {
  Engine engine{};
  engine.target = HWY_TARGET;
  engine.layout = L::kNumber;
  engine.block = block_kernels<L>();
  engine.maplet_lookups = {find, locate, find_batch};
  engine.maplet.one_writer = operations<OneWriter>();
  engine.maplet.many_writers = operations<BlockLocks>();
  engine.split = split_slots<L>;
  return engine;
}

const Engines<1>* engines() {
  static constexpr Engines<1> kAll = {HWY_TARGET, {engine()}};
  return &kAll;
}

}}}}  // namespace nestline::HWY_NAMESPACE::maplet
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nestline { inline namespace v0_3 {

const Engine& maplet_engine() {
  static constexpr const Engines<1>* (*kTargets[])() = {
#if HWY_ARCH_X86 || HWY_ARCH_ARM
    HWY_CHOOSE_TARGET_LIST(maplet::engines),
#endif
    HWY_CHOOSE_FALLBACK(maplet::engines),
  };
  return best_of(kTargets).of[0];
}

}}  // namespace nestline
#endif
