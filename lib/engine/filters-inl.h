// Per-target: the engines of filters, of each width plain and with guest lanes. Included by
// filters_narrow.cc and filters_wide.cc, which are compiled for each target and take two cores
// about as long: a source for each width takes 3 s more, which is what Highway's headers take. On
// x86 the targets before AVX2 are for processors from before 2013 and for virtual machines without
// AVX2: all their widths are in filters_older.cc, compiled for size.
#if defined(NESTLINE_LIB_ENGINE_FILTERS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_ENGINE_FILTERS_INL_H_
#undef NESTLINE_LIB_ENGINE_FILTERS_INL_H_
#else
#define NESTLINE_LIB_ENGINE_FILTERS_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "lib/engine/engines-inl.h"
#include "lib/engine/kernels/build_kernels.h"
#include "lib/engine/kernels/bulk_place-inl.h"
#include "lib/engine/kernels/fold-inl.h"
#include "lib/engine/kernels/overlap-inl.h"
#include "lib/engine/kernels/split-inl.h"
#include "lib/engine/operations-inl.h"

#if NESTLINE_IS_COMPILED_HERE

HWY_BEFORE_NAMESPACE();
namespace nestline { inline namespace v0_3 { namespace HWY_NAMESPACE {

#if NESTLINE_ANY_PLACEMENT
template <class L>
HWY_NOINLINE Result insert_at_once(const BlocksView& view, const AnyLocks& locks,
                                   std::uint64_t hash) noexcept {
  return insert_value<L>(view, locks, hash, {});
}
#endif
template <class L, class Locks>
Result insert(const BlocksView& view, std::uint64_t hash) noexcept {
#if NESTLINE_ANY_PLACEMENT
  return insert_at_once<Compiled<L> >(view, first_locks<Locks>(), hash);
#else
  return insert_value<L>(view, Locks(), hash, {});
#endif
}

template <class L>
HWY_NOINLINE Result insert_unique_at(const BlocksView& view, AnyMode mode,
                                     std::uint64_t hash) noexcept {
  Table<L> table(view, AnyLocks(mode));
  return table.insert_unique(table.home(hash));
}
template <class L, class Locks>
Result insert_unique(const BlocksView& view, std::uint64_t hash) noexcept {
  return insert_unique_at<Shared<L> >(view, kModeOf<Locks>, hash);
}

template <class L, class Locks>
Result insert_at(const BlocksView& view, const Place& home) noexcept {
  return insert_further<Compiled<L> >(view, first_locks<Locks>(), home.block, home.bucket,
                                      home.fingerprint, home.bucket_offset, {});
}

template <class L>
HWY_NOINLINE Result update_at(const BlocksView& view, AnyMode mode, std::uint64_t old_hash,
                              std::uint64_t new_hash, bool& replaced) noexcept {
  Table<L> table(view, AnyLocks(mode));
  const Place old_home = table.home(old_hash);
  const Result result = table.update(old_home, table.home(new_hash), replaced);
  if (replaced && has_lanes_in<L>(view) && may_lower(view.blocks[old_home.block].overflow_mark())) {
    layouts::Further<L>::let_guests_come_home(view, mode, old_home.block);
  }
  return result;
}
template <class L, class Locks>
Result update(const BlocksView& view, std::uint64_t old_hash, std::uint64_t new_hash,
              bool& replaced) noexcept {
  return update_at<Shared<L> >(view, kModeOf<Locks>, old_hash, new_hash, replaced);
}

template <class L, class Locks>
HWY_INLINE bool erase_key(const BlocksView& view, const Locks& locks, std::uint64_t hash) {
  const Place place = home_of_key<L>(view.geometry, hash);
  bool erased = false;
  {
    typename Locks::BlockLock hold(locks, view.blocks, place.block);
    const Block& home = hold.at(place.block);
    std::uint64_t copies = match_among<L>(home, place.fingerprint, place.bucket);
    if (has_lanes_in<L, Locks>(view)) {
      const GuestLanes<L> lanes(block_classes<L>(view.geometry, place.block), home);
      copies &= lanes.of_native(place.fingerprint);
      // Of those it depends on the alternate which one is cleared.
      if (HWY_UNLIKELY(lanes.is_unknown(place.fingerprint))) copies = 0;
    }
    if (HWY_LIKELY(copies != 0)) {
      L::set(hold.change(place.block), first_slot(copies), 0);
      if (!has_lanes_in<L, Locks>(view)) return true;
      erased = true;
    }
  }
  if (erased) {
    if (may_lower(view.blocks[place.block].overflow_mark())) {
      NESTLINE_FROM_BELOW(Further)<Shared<L> >::let_guests_come_home(view, {locks.sharing()},
                                                                     place.block);
    }
    return true;
  }
  return NESTLINE_FROM_BELOW(Further)<Shared<L> >::erase(view, {locks.sharing()}, place, {});
}
#if NESTLINE_ANY_PLACEMENT
template <class L>
HWY_NOINLINE bool erase_at_once(const BlocksView& view, const AnyLocks& locks,
                                std::uint64_t hash) noexcept {
  return erase_key<L>(view, locks, hash);
}
#endif
template <class L, class Locks>
bool erase(const BlocksView& view, std::uint64_t hash) noexcept {
#if NESTLINE_ANY_PLACEMENT
  return erase_at_once<Compiled<L> >(view, first_locks<Locks>(), hash);
#else
  return erase_key<L>(view, Locks(), hash);
#endif
}

template <class L, class Locks>
constexpr FilterOperations filter_operations() {
  using Plain = PlainLayout<L>;
  return {insert<L, Locks>,    insert_unique<L, Locks>, insert_at<L, Locks>,
          update<L, Locks>,    erase<L, Locks>,         contains_again<Plain, Locks>,
          count<Plain, Locks>, insert_run<L, Locks>,    insert_unique_run<L, Locks>,
          erase_run<L, Locks>, count_run<Plain, Locks>};
}
// What a target has better than the one below. AVX-512 inserts batches 2 to 8 % faster than AVX2
// and erases them 10 to 15 % faster (Zen 4); one by one only 16 bits are inserted and erased
// faster, by 3 to 5 % (Zen 5).
template <class L, class Locks>
constexpr void take_over(FilterOperations& operations) {
  operations.insert_run = insert_run<L, Locks>;
  constexpr bool kHasMore = L::kBits == 16 || !HWY_ARCH_X86 || NESTLINE_IS_OLDER;
  if constexpr (kHasMore || !L::kHasGuestLanes) operations.erase_run = erase_run<L, Locks>;
  if constexpr (kHasMore) {
    operations.insert = insert<L, Locks>;
    operations.erase = erase<L, Locks>;
  }
}

// BuildKernels::settle.
template <class L>
void settle_block(const BlocksView& view, std::uint64_t number, std::uint32_t class_) noexcept {
  const Block& block = view.blocks[number];
  for (std::uint32_t before = 0, mark = block.overflow_mark(); mark > class_ && mark != before;
       before = std::exchange(mark, block.overflow_mark())) {
    layouts::Further<L>::let_guests_come_home(view, kModeOf<NoLocks>, number);
  }
  if (is_open_level(block.guest_level())) {
    AnyLocks::BlockLock hold(kModeOf<NoLocks>, view.blocks, number);
    lower_guest_level<L>(hold, view.blocks, view.geometry, number);
  }
}

template <class L>
inline constexpr BuildKernels kBuild = [] {
  BuildKernels kernels = build_kernels<L>();
  kernels.is_in_guest_lane = is_in_guest_lane<Shared<L> >;
  kernels.raise_guest_level = raise_guest_level<Shared<L> >;
  kernels.open = open_surely<Shared<L> >;
  kernels.settle = settle_block<Shared<L> >;
  kernels.take_over_version_3 = take_over_version_3<Shared<L> >;
  kernels.fold_block = fold_block<Shared<L> >;
  return kernels;
}();

namespace layouts {
template <int kBits, class L>
struct EngineOf<Filters<kBits>, L> {
  static constexpr FilterEngine engine() {
    using Plain = PlainLayout<L>;
#ifdef NESTLINE_BELOW
    FilterEngine engine = NESTLINE_FROM_BELOW(EngineOf)<Filters<kBits>, L>::engine();
    engine.lookups = lookup_operations<Plain>();
    take_over<L, NoLocks>(engine.operations.alone);
    take_over<L, OneWriter>(engine.operations.one_writer);
    take_over<L, BlockLocks>(engine.operations.many_writers);
#else
    FilterEngine engine{};
    engine.layout = L::kNumber;
    engine.split = split<Plain>;
#if NESTLINE_SMALL
    engine.block = block_kernels<Plain>();
    engine.lookups.bits_to_bytes = bits_to_bytes;
    if constexpr (!L::kHasGuestLanes) engine.operations.alone = filter_operations<L, NoLocks>();
    engine.operations.alone.update = nullptr;
    engine.operations.alone.contains = nullptr;
    engine.operations.alone.count = count<Plain, NoLocks>;
    engine.operations.alone.count_run = count_run<Plain, NoLocks>;
#else
    engine.block = block_kernels<Shared<L> >();
    engine.lookups = lookup_operations<Plain>();
    engine.operations = {filter_operations<L, NoLocks>(), filter_operations<L, OneWriter>(),
                         filter_operations<L, BlockLocks>()};
    engine.count_common = count_common<Plain>;
    engine.build = &kBuild<L>;
#endif
#endif
    engine.target = HWY_TARGET;
    engine.lookups_alone = {contains<Plain>, contains_away<Plain>, contains_batch<Plain>};
    return engine;
  }
};
}  // namespace layouts

}}}  // namespace nestline::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

#if HWY_ONCE && !defined(NESTLINE_FILTERS_OF)
// For the end of a source: the choice among the engines of a width.
#define NESTLINE_FILTERS_OF(bits)                                                 \
  template <>                                                                     \
  const FilterEngine& filter_engine_of<bits>(Placement placement) {               \
    return best_engine<Filters<bits> >(placement == Placement::anywhere ? 0 : 1); \
  }
#endif

#endif  // per-target include guard
