// Per-target: operations on blocks whose slots die (aging.h), by the tick under their locks.
//
// An insert looks for its key and renews or stores it while it holds home, and the alternate too if
// home's mark covers it. It empties dead slots where it needs room, before it evicts.
#if defined(NESTLINE_LIB_ENGINE_TABLE_EXPIRING_TABLE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_ENGINE_TABLE_EXPIRING_TABLE_INL_H_
#undef NESTLINE_LIB_ENGINE_TABLE_EXPIRING_TABLE_INL_H_
#else
#define NESTLINE_LIB_ENGINE_TABLE_EXPIRING_TABLE_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>

#include "lib/engine/kernels/dead-inl.h"
#include "lib/engine/table/further-inl.h"
#include "lib/engine/table/table-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nestline { inline namespace v0_3 { namespace HWY_NAMESPACE {

template <class L>
class ExpiringTable : public Table<L> {
 public:
  HWY_INLINE ExpiringTable(const BlocksView& view, const AnyLocks& locks) : Table<L>(view, locks) {}

  // What one look at home can do: the rest is renew_further's.
  HWY_NOINLINE Result renew(const Place& home, std::uint32_t life) {
    {
      BlockLock hold(locks_, view_.blocks, home.block);
      const Block& shared = hold.at(home.block);
      const std::uint64_t now = tick_of_holder(locks_, view_.blocks);
      const std::uint64_t copies = match_among<L>(shared, home.fingerprint, home.bucket);
      if (HWY_UNLIKELY(copies != 0) && renew_copy(hold, home.block, copies, now, life)) {
        return Outcome::present;
      }
      if (HWY_LIKELY(eviction_rank(home.fingerprint) >= shared.overflow_mark())) {
        if (HWY_UNLIKELY(copies != 0)) {  // in place of a dead one
          L::set_value(hold.change(home.block), first_slot(copies), death_after(now, life));
          ++emptied_;
          return Outcome::stored;
        }
        if (HWY_LIKELY(this->store(hold, home, death_after(now, life)))) return Outcome::stored;
      }
    }
    return renew_further(home, life);
  }

  // What a batch prefetches beside home: the alternate and the next mark of a key that home's mark
  // covers, and the alternates of those that would leave a full home.
  HWY_INLINE void prefetch_others(const Place& home) const {
    if (eviction_rank(home.fingerprint) < view_.blocks[home.block].overflow_mark()) {
      __builtin_prefetch(&next_overflow_mark(view_.blocks, view_.geometry, home.block), 1);
      prefetch_block(view_.blocks[alternate_of(view_.geometry, home)]);
    } else {
      this->prefetch_candidates(home);
    }
  }

  // Whole ticks that the key still lives after this one; 0 also where it is not there.
  [[nodiscard]] std::uint32_t left(const Place& home) const {
    std::uint32_t most = 0;
    this->for_each_copy(
        home, [&] { most = 0; },
        [&](const Block& block, std::uint32_t slot) {
          most = std::max(most, ticks_left(L::value(block, slot), tick(view_.blocks)));
        });
    return most == 0 ? 0 : most - 1;
  }

  // Empties the dead slots of a block, and makes its mark its next mark (M1).
  void sweep_and_exchange(std::uint64_t block) {
    BlockLock hold(locks_, view_.blocks, block);
    emptied_ += empty_dead<L>(hold, block, tick_of_holder(locks_, view_.blocks));
    std::uint8_t& next = next_overflow_mark(view_.blocks, view_.geometry, block);
    if (hold.at(block).overflow_mark() != next) hold.change(block).set_overflow_mark(next);
    store_shared(next, std::uint8_t{0});
  }

  // Slots that this object has emptied.
  [[nodiscard]] std::uint32_t emptied() const { return emptied_; }

 private:
  using typename Table<L>::BlockLock;
  using typename Table<L>::Room;
  using Table<L>::emptied_;
  using Table<L>::locks_;
  using Table<L>::view_;

  // Keys that home's mark covers, and those without a path at home. What is away, or stays for
  // longer, needs both of home's marks, which sweeps may have lowered.
  HWY_NOINLINE Result renew_further(const Place& home, std::uint32_t life) {
    AbsenceSnapshot absence;
    Room room;
    for (std::uint32_t tries = 0; tries < locks_.max_tries(); ++tries) {
      if (const auto done = renew_or_store(home, life, room, absence)) return done;
      NESTLINE_TEST_POINT(NESTLINE_POINT_UNLOCKED);
      if (!locks_.blocks_are_stable()) {
        if (!this->makes_room(home, absence, room)) return Outcome::full;
        continue;
      }
      EvictionPlan<L, AnyLocks> plan(view_, locks_);
      if (!plan.search(home)) return Outcome::full;
      // Nor does the tick move on.
      const bool done = plan.execute(death_after(tick_of_holder(locks_, view_.blocks), life));
      emptied_ += plan.emptied();
      if (done) return Outcome::stored;
    }
    return std::nullopt;
  }

  // Renews the key or stores it where there is room, at one instant; nothing when there is none,
  // noted in `absence`.
  Result renew_or_store(const Place& home, std::uint32_t life, const Room& room,
                        AbsenceSnapshot& absence) {
    BlockLock hold(locks_, view_.blocks, home.block);
    const Place away = moved(view_.geometry, home);
    const bool both =
        away.block != home.block &&
        (room.is_away || eviction_rank(home.fingerprint) < hold.at(home.block).overflow_mark());
    if (both) hold.add(away.block);
    const std::uint64_t now = tick_of_holder(locks_, view_.blocks);
    const auto renew_at = [&](const Place& place) HWY_ATTR {
      return renew_copy(hold, place.block,
                        match_among<L>(hold.at(place.block), place.fingerprint, place.bucket), now,
                        life);
    };
    const auto stays_away = [&] {
      raise_overflow_marks<L>(hold, view_.blocks, view_.geometry, home.block,
                              eviction_rank(home.fingerprint));
    };
    if (renew_at(home)) return Outcome::present;
    if (both && !this->is_exposed_by_us(absence, away) && renew_at(away)) {
      if (!NESTLINE_FORGET_YOUNG_MARKS) stays_away();
      return Outcome::present;
    }
    // Stores in a block without its dead slots, if the key finds room there then.
    const auto store_in = [&](const Place& place, const Emptied<L>& cleaned, EvictionPath known) {
      const GuestLanes<L> lanes({}, cleaned.block);
      if (!known || !still_valid<L>(cleaned.block, known, lanes, home.bucket)) known = cleaned.path;
      if (!known) return false;
      emptied_ += cleaned.apply(hold, place.block);
      apply<L>(hold.change(place.block), known, place.fingerprint, death_after(now, life));
      return true;
    };
    const auto store_away = [&](EvictionPath known) HWY_ATTR {
      const Emptied<L> cleaned(hold.at(away.block), now, home.bucket);
      if (!store_in(away, cleaned, known)) return false;
      stays_away();
      return true;
    };
    if (room.is_away && both && store_away(room.path)) return Outcome::stored;
    const Emptied<L> at_home(hold.at(home.block), now, home.bucket);
    if (store_in(home, at_home, room.is_away ? EvictionPath() : room.path)) return Outcome::stored;
    // One that the mark covers already may go without an eviction.
    if (both && !room.is_away && store_away(EvictionPath())) {
      emptied_ += at_home.apply(hold, home.block);
      return Outcome::stored;
    }
    // So that an eviction finds these slots free.
    emptied_ += at_home.apply(hold, home.block);
    if (both && !room.is_away) emptied_ += empty_dead<L>(hold, away.block, now);
    absence = this->absence_of(home);
    return std::nullopt;
  }

  // Lets the first live one of some copies live for `life` ticks at least; false if none is alive.
  static HWY_INLINE bool renew_copy(BlockLock& hold, std::uint64_t block, std::uint64_t copies,
                                    std::uint64_t now, std::uint32_t life) {
    for (; copies != 0; copies &= copies - 1) {
      const std::uint32_t s = first_slot(copies);
      const std::uint32_t left = ticks_left(L::value(hold.at(block), s), now);
      if (HWY_UNLIKELY(left == 0)) continue;
      if (left <= life) L::set_value(hold.change(block), s, death_after(now, life));
      return true;
    }
    return false;
  }
};

// The same, and what most inserts need first, with few registers: to renew the first copy at home,
// or to store in a free slot.
namespace layouts {
template <class L>
struct ExpiringFurther {
  static HWY_NOINLINE Result renew(const BlocksView& view, AnyMode mode, const Place& home,
                                   std::uint32_t life, std::uint32_t& emptied) noexcept {
    ExpiringTable<L> table(view, AnyLocks(mode));
    const Result result = table.renew(home, life);
    emptied += table.emptied();
    return result;
  }
};
}  // namespace layouts
template <class L, class Locks>
HWY_INLINE Result renew(const BlocksView& view, const Place& home, std::uint32_t life,
                        std::uint32_t& emptied) {
  {
    typename Locks::BlockLock hold(Locks(), view.blocks, home.block);
    const Block& shared = hold.at(home.block);
    const std::uint64_t now = tick_of_holder(Locks(), view.blocks);
    const std::uint64_t copies = match_among<L>(shared, home.fingerprint, home.bucket);
    if (copies != 0) {
      const std::uint32_t slot = first_slot(copies);
      const std::uint32_t left = ticks_left(L::value(shared, slot), now);
      if (HWY_LIKELY(left != 0)) {
        if (left <= life) L::set_value(hold.change(home.block), slot, death_after(now, life));
        return Outcome::present;
      }
    } else if (HWY_LIKELY(eviction_rank(home.fingerprint) >= shared.overflow_mark())) {
      BlockCopy copy;
      const std::uint64_t free =
          match_first_bytes<L>(readable_block(shared, copy), 0) & home.bucket;
      if (HWY_LIKELY(free != 0)) {
        L::set(hold.change(home.block), first_slot(free), home.fingerprint, death_after(now, life));
        return Outcome::stored;
      }
    }
  }
  return NESTLINE_FROM_BELOW(ExpiringFurther)<L>::renew(view, {Locks::sharing()}, home, life,
                                                        emptied);
}

}}}  // namespace nestline::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
