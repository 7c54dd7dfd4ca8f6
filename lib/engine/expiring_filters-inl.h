// Per-target: the engines of expiring filters. Included by expiring_filters.cc and, for older
// processors (match-inl.h), expiring_filters_older.cc.
#if defined(NESTLINE_LIB_ENGINE_EXPIRING_FILTERS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_ENGINE_EXPIRING_FILTERS_INL_H_
#undef NESTLINE_LIB_ENGINE_EXPIRING_FILTERS_INL_H_
#else
#define NESTLINE_LIB_ENGINE_EXPIRING_FILTERS_INL_H_
#endif

#include <bit>
#include <cstddef>
#include <cstdint>

#include "lib/engine/engines-inl.h"
#include "lib/engine/kernels/dead-inl.h"
#include "lib/engine/operations-inl.h"
#include "lib/engine/table/expiring_table-inl.h"

#if NESTLINE_IS_COMPILED_HERE

HWY_BEFORE_NAMESPACE();
namespace nestline { inline namespace v0_3 { namespace HWY_NAMESPACE {

template <class L, class Locks>
Result renew_one(const BlocksView& view, std::uint64_t hash, std::uint32_t life,
                 std::uint32_t& emptied) noexcept {
  return renew<L, Locks>(view, home_of_key<L>(view.geometry, hash), life, emptied);
}

template <class L>
HWY_NOINLINE std::uint32_t ticks_left_at(const BlocksView& view, AnyMode mode, const Place& home,
                                         Writers* writers) noexcept {
  return ExpiringTable<L>(view, AnyLocks(mode, writers)).left(home);
}
template <class L, class Locks>
std::uint32_t ticks_left_of(const BlocksView& view, const Place& home, Writers* writers) noexcept {
  return ticks_left_at<L>(view, kModeOf<Locks>, home, writers);
}

template <class L, class Locks>
std::size_t renew_run(const BlocksView& view, const Inputs& inputs, std::uint32_t life,
                      std::size_t first, Record& record, std::uint32_t& emptied) noexcept {
  const bool is_large = view.geometry.blocks() >= kLargeBlocks;
  std::size_t taken = 0;
  const ExpiringTable<L> table(view, AnyLocks(kModeOf<Locks>));
  for (PlaceGroups<L, Fetch::home> groups(view, inputs); groups.next();) {
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (is_large && i % kPiece == 0) {
        for (const Place& home : groups.ahead(i + kPiece, kPiece)) table.prefetch_others(home);
      }
      const Result outcome = renew<L, Locks>(view, groups.visit(i), life, emptied);
      if (HWY_UNLIKELY(!outcome)) return taken;
      record.add(first + taken++, *outcome);
    }
  }
  return taken;
}

template <class L>
HWY_NOINLINE void ticks_left_of_keys(const BlocksView& view, AnyMode mode, const Inputs& inputs,
                                     std::uint8_t* out, Writers* writers) noexcept {
  const ExpiringTable<L> table(view, AnyLocks(mode, writers));
  for (PlaceGroups<L, Fetch::home> groups(view, inputs); groups.next();) {
    for (std::size_t i = 0; i < groups.size(); ++i) {
      out[groups.first() + i] = static_cast<std::uint8_t>(table.left(groups.visit(i)));
    }
  }
}

template <class L, class Locks>
void ticks_left_run(const BlocksView& view, const Inputs& inputs, std::uint8_t* out,
                    Writers* writers) noexcept {
  ticks_left_of_keys<L>(view, kModeOf<Locks>, inputs, out, writers);
}

template <class L>
HWY_NOINLINE std::size_t sweep_blocks(const BlocksView& view, AnyMode mode, std::uint64_t first,
                                      std::uint64_t count, std::uint64_t tick,
                                      bool exchanges) noexcept {
  if (exchanges) {
    ExpiringTable<L> table(view, AnyLocks(mode));
    for (std::uint64_t i = first; i < first + count; ++i) table.sweep_and_exchange(i);
    return table.emptied();
  }
  const Block* const blocks = view.blocks;
  std::size_t emptied = 0;
  for (std::uint64_t i = first; i < first + count; ++i) {
    const std::uint32_t header = blocks[i].header();
    BlockCopy copy;
    Block cleaned;
    std::uint64_t dead = without_dead<L>(readable_block(blocks[i], copy), tick, cleaned);
    if (dead == 0 && changes(blocks[i], header) == 0) continue;
    AnyLocks::BlockLock hold(mode, blocks, i);
    if (mode.sharing() == Sharing::many_writers) {
      dead = without_dead<L>(readable_block(hold.at(i), copy), tick, cleaned);
    }
    if (dead == 0) continue;
    store_slots(hold.change(i).bytes.data(), cleaned.bytes.data());
    emptied += static_cast<std::size_t>(std::popcount(dead));
  }
  return emptied;
}

template <class L, class Locks>
std::size_t sweep(const BlocksView& view, std::uint64_t first, std::uint64_t count,
                  std::uint64_t tick, bool exchanges) noexcept {
  return sweep_blocks<L>(view, kModeOf<Locks>, first, count, tick, exchanges);
}

template <class L, class Locks>
constexpr ExpiringOperations expiring_operations() {
  return {renew_one<L, Locks>, contains_again<L, Locks>, ticks_left_of<L, Locks>,
          renew_run<L, Locks>, ticks_left_run<L, Locks>, sweep<L, Locks>};
}

#if NESTLINE_SMALL
// Lookups where no other thread writes.
template <class L>
bool contains_beside_none(const BlocksView& view, const LookupFallback&,
                          std::uint64_t hash) noexcept {
  return contains<L>(view, hash);
}
template <class L>
bool contains_batch_beside_none(const BlocksView& view, const Inputs& inputs, std::uint64_t* bitmap,
                                std::uint64_t*) noexcept {
  contains_batch<L>(view, inputs, bitmap);
  return false;
}
#endif

template <class L, class Locks>
constexpr void take_over(ExpiringOperations& operations) {
  operations.renew = renew_one<L, Locks>;
  operations.renew_run = renew_run<L, Locks>;
}

namespace layouts {
template <class L>
struct EngineOf<ExpiringFilters, L> {
  static constexpr ExpiringEngine engine() {
#ifdef NESTLINE_BELOW
    ExpiringEngine engine = NESTLINE_FROM_BELOW(EngineOf)<ExpiringFilters, L>::engine();
    take_over<L, OneWriter>(engine.operations.one_writer);
    take_over<L, BlockLocks>(engine.operations.many_writers);
#else
    ExpiringEngine engine{};
    engine.layout = L::kNumber;
    engine.block = block_kernels<L>();
    engine.block.dead = dead<L>;
    engine.operations.one_writer = expiring_operations<L, OneWriter>();
#if !NESTLINE_SMALL
    engine.operations.many_writers = expiring_operations<L, BlockLocks>();
#endif
#endif
    engine.target = HWY_TARGET;
#if NESTLINE_SMALL
    engine.operations.one_writer.contains = nullptr;
    engine.lookups = {contains_beside_none<L>, contains_batch_beside_none<L>, bits_to_bytes,
                      nullptr, nullptr};
#else
    engine.lookups = lookup_operations<L>();
#endif
    return engine;
  }
};
}  // namespace layouts

}}}  // namespace nestline::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

#if HWY_ONCE && !defined(NESTLINE_OLDER)
namespace nestline { inline namespace v0_3 {

const Engine& expiring_engine(int layout, Placement) {
  return best_engine<ExpiringFilters>(fingerprint_bits(layout) == 8 ? 0 : 1);
}

}}  // namespace nestline
#endif

#endif  // per-target include guard
