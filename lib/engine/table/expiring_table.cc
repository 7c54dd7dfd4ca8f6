#include "lib/engine/table/expiring_table.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>

namespace nestline { inline namespace v0_3 {

template <class L, class Locks>
void ExpiringTable<L, Locks>::empty_dead(BlockLock& hold, std::uint64_t block) {
  const auto now = tick_of_holder<Locks>(this->blocks_) + (NESTLINE_SWEEP_TOO_EARLY ? 1 : 0);
  std::uint64_t dead = this->kernels_.of_expiring().dead(hold.at(block), now);
  if (dead == 0) return;
  Block& changing = hold.change(block);
  this->emptied_ += static_cast<std::uint32_t>(std::popcount(dead));
  for (; dead != 0; dead &= dead - 1) L::set(changing, first_slot(dead), 0);
}

template <class L, class Locks>
bool ExpiringTable<L, Locks>::renew_at(BlockLock& hold, const Place& place, std::uint32_t life) {
  const auto now = tick_of_holder<Locks>(this->blocks_);
  const std::uint64_t found = this->copies(place);
  if (found == 0) return false;
  const std::uint32_t slot = first_slot(found);
  if (ticks_left(L::value(hold.at(place.block), slot), now) <= life) {
    L::set_value(hold.change(place.block), slot, death_after(now, life));
  }
  return true;
}

// What is away, or stays for longer, needs both of home's marks, which sweeps may have lowered.
template <class L, class Locks>
auto ExpiringTable<L, Locks>::renew(const Place& home, std::uint32_t life) -> Result {
  Room room;
  AbsenceSnapshot absence;
  for (std::uint32_t tries = 0; tries < Locks::kMaxTries; ++tries) {
    {
      BlockLock hold(this->blocks_, home.block);
      const Place away = moved(this->geometry_, home);
      const bool both =
          away.block != home.block && (room.away || eviction_rank(home.fingerprint) <
                                                        this->blocks_[home.block].overflow_mark());
      if (both) hold.add(away.block);
      if (renew_at(hold, home, life)) return Outcome::present;
      const auto stays_away = [&] {
        raise_overflow_marks<L>(hold, this->blocks_, this->geometry_, home.block,
                                eviction_rank(home.fingerprint));
      };
      if (both && !this->is_exposed_by_us(absence, away) && renew_at(hold, away, life)) {
        if (!NESTLINE_FORGET_YOUNG_MARKS) stays_away();
        return Outcome::present;
      }
      const auto store_in = [&](const Place& place, EvictionPath path) {
        empty_dead(hold, place.block);
        return this->store(hold, place, death_after(tick_of_holder<Locks>(this->blocks_), life),
                           path);
      };
      if (room.away && store_in(away, room.path)) {
        stays_away();
        return Outcome::stored;
      }
      if (store_in(home, room.away ? EvictionPath() : room.path)) return Outcome::stored;
      // One that the mark covers already may go without a search for others that could.
      if (both && !room.away && store_in(away, EvictionPath())) {
        stays_away();
        return Outcome::stored;
      }
      absence = this->absence_of(home);
    }
    if (this->spill_for(home, room, &absence)) return Outcome::full;
  }
  return std::nullopt;
}

template <class L, class Locks>
std::uint32_t ExpiringTable<L, Locks>::left(const Place& home) const {
  return this->read(home, [&](auto& view) {
    std::uint32_t most = 0;
    const auto look = [&](const Block& block, const Place& place) {
      const std::uint64_t now = tick(this->blocks_);
      for (std::uint64_t rest = this->kernels_.copies(block, place); rest != 0; rest &= rest - 1) {
        most = std::max(most, ticks_left(L::value(block, first_slot(rest)), now));
      }
    };
    const Block& block = view.at(home.block);
    look(block, home);
    Place away;
    if (this->may_be_away(block, home, away)) look(view.at(away.block), away);
    return most == 0 ? 0 : most - 1;
  });
}

template <class L, class Locks>
void ExpiringTable<L, Locks>::sweep_and_exchange(std::uint64_t block) {
  BlockLock hold(this->blocks_, block);
  empty_dead(hold, block);
  std::uint8_t& young = next_overflow_mark(this->blocks_, this->geometry_, block);
  if (hold.at(block).overflow_mark() != young) hold.change(block).set_overflow_mark(young);
  store_shared(young, std::uint8_t{0});
}

template class ExpiringTable<ExpiringLayout<8>, OneWriter>;
template class ExpiringTable<ExpiringLayout<8>, BlockLocks>;
template class ExpiringTable<ExpiringLayout<12>, OneWriter>;
template class ExpiringTable<ExpiringLayout<12>, BlockLocks>;

}}  // namespace nestline
