// The engines of expiring filters, made once for each target. See engine.h.
#include <bit>
#include <cstddef>
#include <cstdint>

#include "lib/engine/engines.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/engine/expiring_filters.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "lib/engine/kernels/dead-inl.h"
#include "lib/engine/operations-inl.h"
#include "lib/engine/table/expiring_table-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nestline { inline namespace v0_3 { namespace HWY_NAMESPACE {

template <class L, class Locks>
Result renew_one(const BlocksView& view, std::uint64_t hash, std::uint32_t life,
                 std::uint32_t& emptied) noexcept {
  return renew<L, Locks>(view, home_of_key<L>(view.geometry, hash), life, emptied);
}

template <class L, class Locks>
std::uint32_t ticks_left_of(const BlocksView& view, const Place& home, Writers* writers) noexcept {
  return ExpiringTable<L, Locks>(view, writers).left(home);
}

template <class L, class Locks>
std::size_t renew_run(const BlocksView& view, const Inputs& inputs, std::uint32_t life,
                      std::size_t first, Record& record, std::uint32_t& emptied) noexcept {
  const bool is_large = view.geometry.blocks() >= kLargeBlocks;
  std::size_t taken = 0;
  const ExpiringTable<L, Locks> table(view);
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

template <class L, class Locks>
void ticks_left_run(const BlocksView& view, const Inputs& inputs, std::uint8_t* out,
                    Writers* writers) noexcept {
  using AnyTable = ExpiringTable<L, Locks>;
  const AnyTable table(view, writers);
  for (PlaceGroups<L, Fetch::home> groups(view, inputs); groups.next();) {
    for (std::size_t i = 0; i < groups.size(); ++i) {
      out[groups.first() + i] = static_cast<std::uint8_t>(table.left(groups.visit(i)));
    }
  }
}

template <class L, class Locks>
std::size_t sweep(const BlocksView& view, std::uint64_t first, std::uint64_t count,
                  std::uint64_t tick, bool exchanges) noexcept {
  if (exchanges) {
    ExpiringTable<L, Locks> table(view);
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
    typename Locks::BlockLock hold(blocks, i);
    if constexpr (!Locks::kBlocksAreStable) {
      dead = without_dead<L>(readable_block(hold.at(i), copy), tick, cleaned);
    }
    if (dead == 0) continue;
    store_slots(hold.change(i).bytes.data(), cleaned.bytes.data());
    emptied += static_cast<std::size_t>(std::popcount(dead));
  }
  return emptied;
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

template <class L>
constexpr Engine expiring_engine() {
  Engine engine{};
  engine.target = HWY_TARGET;
  engine.layout = L::kNumber;
  engine.block = block_kernels<L>();
  engine.block.dead = dead<L>;
  engine.expiring.one_writer = expiring_operations<L, OneWriter>();
#if NESTLINE_SMALL
  engine.expiring.one_writer.contains = nullptr;
  engine.lookups = {contains_beside_none<L>, contains_batch_beside_none<L>, bits_to_bytes, nullptr,
                    nullptr};
#else
  engine.lookups = lookup_operations<L>();
  engine.expiring.many_writers = expiring_operations<L, BlockLocks>();
#endif
  return engine;
}

const Engines<2>* expiring_engines() {
  static constexpr Engines<2> kAll = {
      HWY_TARGET, {expiring_engine<ExpiringLayout<8> >(), expiring_engine<ExpiringLayout<12> >()}};
  return &kAll;
}

}}}  // namespace nestline::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nestline { inline namespace v0_3 {

const Engine& expiring_engine(int layout) {
  static constexpr const Engines<2>* (*kTargets[])() = {
#if HWY_ARCH_X86 || HWY_ARCH_ARM
    HWY_CHOOSE_TARGET_LIST(expiring_engines),
#endif
    HWY_CHOOSE_FALLBACK(expiring_engines),
  };
  return best_of(kTargets).of[fingerprint_bits(layout) == 8 ? 0 : 1];
}

}}  // namespace nestline
#endif
