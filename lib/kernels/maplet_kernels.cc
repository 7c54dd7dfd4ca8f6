// The table of a maplet's kernels, made once per target. See maplet_kernels.h.
#include "lib/kernels/maplet_kernels.h"

#include <cstdint>
#include <iterator>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/kernels/maplet_kernels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "lib/kernels/maplet-inl.h"
#include "lib/kernels/match-inl.h"
#include "lib/kernels/targets.h"

HWY_BEFORE_NAMESPACE();
namespace nestline {
namespace HWY_NAMESPACE {

constexpr MapletKernels make_maplet_kernels() {
  MapletKernels kernels{};
  kernels.table.target = HWY_TARGET;
  kernels.table.match = match<maplet::L>;
  kernels.table.free_slots = free_slots<maplet::L>;
  kernels.table.rank = maplet::rank;
  kernels.table.of_classes = maplet::of_classes;
  kernels.table.find_way = maplet::find_way;
  kernels.table.find_free_way = maplet::find_free_way;
  kernels.table.leavers = maplet::leavers;
  kernels.table.split = maplet::split;
  kernels.find = maplet::find;
  kernels.locate = maplet::locate;
  kernels.find_batch = maplet::find_batch;
  kernels.store_beside_readers = maplet::store_first<OneWriter>;
  kernels.store_beside_writers = maplet::store_first<BlockLocks>;
  return kernels;
}

const MapletKernels* maplet_table() {
  static constexpr MapletKernels kTable = make_maplet_kernels();
  return &kTable;
}

}  // namespace HWY_NAMESPACE
}  // namespace nestline
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nestline {

namespace {

// As kTables in kernels.cc.
constexpr const MapletKernels* (*kMapletTables[])() = {
#if HWY_ARCH_X86 || HWY_ARCH_ARM
    HWY_CHOOSE_TARGET_LIST(maplet_table),
#endif
    HWY_CHOOSE_FALLBACK(maplet_table),
};

}  // namespace

const MapletKernels& maplet_kernels() {
  const std::int64_t supported = supported_targets();
  for (const auto table : kMapletTables) {
    if (table != nullptr && (table()->table.target & supported) != 0) return *table();
  }
  return *std::end(kMapletTables)[-1]();
}

}  // namespace nestline
#endif
