#include "lib/engine/table/table.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "lib/engine/table/eviction.h"

namespace nestline { inline namespace v0_3 {

template <class L, class Locks>
bool Table<L, Locks>::store(BlockLock& hold, const Place& place, Value value, EvictionPath path) {
  const Block& block = hold.at(place.block);
  // Of an expiring filter, dead slots on the path may have been emptied since.
  if (!path || ((!Locks::kBlocksAreStable || L::kExpires) && !is_open<L>(block, path)))
    path = kernels_.find_path_to_free(block, place);
  if (!path) return false;
  walk<L>(hold.change(place.block), path, place.fingerprint, value);
  return true;
}

template <class L, class Locks>
std::optional<Outcome> Table<L, Locks>::try_to_place(const Place& home, Value value,
                                                     const Room& room, AbsenceSnapshot* unique) {
  BlockLock hold(blocks_, home.block);
  if (unique != nullptr) {
    Place away;
    const bool both = may_be_away(blocks_[home.block], home, away);
    if (both) hold.add(away.block);
    if (copies(home) != 0 || (both && copies(away) != 0 && !is_exposed_by_us(*unique, away))) {
      return Outcome::present;
    }
  }
  if (room.away) {
    // Home's mark covers the rank by now, so no harm is done if home changes while add() waits.
    const Place away = moved(geometry_, home);
    hold.add(away.block);
    if (store(hold, away, value, room.path)) return Outcome::stored;
  }
  if (store(hold, home, value, room.away ? EvictionPath() : room.path)) return Outcome::stored;
  if (unique != nullptr) *unique = absence_of(home);
  return std::nullopt;
}

template <class L, class Locks>
auto Table<L, Locks>::insert(const Place& home, Value value, bool unique) -> Result {
  AbsenceSnapshot absence;
  AbsenceSnapshot* const check = unique ? &absence : nullptr;
  if (const auto placed = try_to_place(home, value, Room(), check)) return placed;
  return insert_by_spill(home, value, check);
}

template <class L, class Locks>
auto Table<L, Locks>::insert_by_spill(const Place& home, Value value, AbsenceSnapshot* unique)
    -> Result {
  Room room;
  for (std::uint32_t tries = 0; tries < Locks::kMaxTries; ++tries) {
    if (const auto failed = spill_for(home, room, unique)) {
      // Copies that others have stored since.
      return unique != nullptr && failed == Outcome::too_many_copies ? Outcome::present : failed;
    }
    if (const auto placed = try_to_place(home, value, room, unique)) return placed;
  }
  return std::nullopt;
}

template <class L, class Locks>
std::optional<Outcome> Table<L, Locks>::spill_for(const Place& home, Room& room,
                                                  AbsenceSnapshot* absence) {
  NESTLINE_TEST_POINT(NESTLINE_POINT_UNLOCKED);
  {
    // Copies of one fingerprint cannot make room for each other; return before searching. Most of
    // the time one slot shows that not all are copies.
    BlockLock hold(blocks_, home.block);
    if (L::get(blocks_[home.block], first_slot(home.bucket)) == home.fingerprint &&
        copies(home) == home.bucket) {
      const Place away = moved(geometry_, home);
      hold.add(away.block);
      if (copies(home) == home.bucket && copies(away) == away.bucket)
        return Outcome::too_many_copies;
    }
  }
  EvictionPlan<L, Locks> plan(blocks_, geometry_, kernels_);
  if (!plan.search(home)) return Outcome::full;
  NESTLINE_TEST_POINT(NESTLINE_POINT_UNLOCKED);
  const bool watches = !Locks::kBlocksAreStable && absence != nullptr && absence->alternate;
  if (watches) plan.watch(*absence->alternate);
  const bool made = plan.carry_out();
  if (watches) absence->header += plan.changes() * kHeaderVersion;
  if constexpr (L::kExpires) emptied_ += plan.emptied();
  room.away = made && plan.newcomer_leaves();
  room.path = made ? plan.newcomer_path() : EvictionPath();
  return std::nullopt;
}

template <class L, class Locks>
auto Table<L, Locks>::update(const Place& old_home, const Place& new_home, bool& replaced) -> Result
    requires(!L::kHasValues) {
  Room room;
  AbsenceSnapshot absence;  // of the old key
  const auto find_old = [&] {
    return read(old_home, [&](auto& view) { return find(view, old_home, absence); });
  };
  for (std::uint32_t tries = 0; tries < Locks::kMaxTries; ++tries) {
    const auto old = find_old();
    const Place target = room.away ? moved(geometry_, new_home) : new_home;
    {
      BlockLock hold(blocks_, target.block);
      if (old) hold.add(old->block);
      // A copy may be taken from the alternate only while there is none at home (table.h).
      if (!still(old, old_home, absence, hold)) continue;
      const EvictionPath path = kernels_.find_path_to_free(blocks_[target.block], target);
      if (path) {
        if (old) L::set(hold.change(old->block), first_slot(copies(*old)), 0);
        NESTLINE_TEST_POINT(NESTLINE_POINT_BETWEEN_STEPS);
        walk<L>(hold.change(target.block), path, target.fingerprint);
        replaced = old.has_value();
        return Outcome::stored;
      }
    }
    if (std::exchange(room.away, false)) continue;
    if (!old && !absence.alternate) {
      const AbsenceSnapshot before = absence_of(old_home);
      if (find_old()) continue;
      absence = before;
    }
    if (const auto failed = spill_for(new_home, room, &absence)) return failed;
  }
  return std::nullopt;
}

template <class L, class Locks>
bool Table<L, Locks>::still(const std::optional<Place>& found, const Place& home,
                            const AbsenceSnapshot& absence, const BlockLock& hold) const {
  OptimisticRead view(blocks_, &hold);
  const std::optional<Place> now = find(view, home, absence);
  const bool same = now.has_value() == found.has_value() && (!now || now->block == found->block);
  return same && view.valid();
}

template <class L, class Locks>
void Table<L, Locks>::prefetch_away(const Place& home) const {
  Place away;
  if (!may_be_away(blocks_[home.block], home, away)) return;
  prefetch_block(blocks_[away.block]);
}

template <class L, class Locks>
void Table<L, Locks>::prefetch_leavers(const Place& home) const {
  const std::uint64_t free = kernels_.free_slots(blocks_[home.block]);
  if ((free & home.bucket) != 0 || (free & (free - 1)) != 0) return;
  Block copy;
  const Block& block = Locks::copy_of(blocks_[home.block], copy);
  EvictionOrder ranks;
  kernels_.rank(block, ranks);
  for (std::uint64_t rest = ranks.covered | ranks.next; rest != 0; rest &= rest - 1) {
    const std::uint32_t slot = first_slot(rest);
    const Place candidate = {home.block, 0, L::get(block, slot),
                             ranks.template bucket_offset<L>(slot)};
    prefetch_block(blocks_[alternate_of(geometry_, candidate)]);
  }
}

template <class L, class Locks>
bool Table<L, Locks>::erase(const Place& home, std::uint64_t hint) requires(!L::kHasValues) {
  if (hint != 0) {
    BlockLock hold(blocks_, home.block);
    if (L::get(blocks_[home.block], first_slot(hint)) == home.fingerprint) [[likely]] {
      L::set(hold.change(home.block), first_slot(hint), 0);
      return true;
    }
  }
  return change_copy(home, {}, [](Block& block, std::uint32_t slot) { L::set(block, slot, 0); });
}

template <class L, class Locks>
template <typename Work>
bool Table<L, Locks>::change_copy(const Place& home, Value value, Work&& work) {
  BlockLock hold(blocks_, home.block);
  Place place = home;
  std::uint64_t found = copies(home, value);
  if (found == 0 && may_be_away(blocks_[home.block], home, place)) {
    if (!hold.add(place.block)) found = copies(home, value);
    if (found == 0) {
      found = copies(place, value);
    } else {
      place = home;
    }
  }
  if (found == 0) return false;
  work(hold.change(place.block), first_slot(found));
  return true;
}

template <class L, class Locks>
bool Table<L, Locks>::erase_value(const Place& home,
                                  Value value) requires(L::kHasValues && !L::kExpires) {
  return change_copy(home, value, [](Block& block, std::uint32_t slot) { L::set(block, slot, 0); });
}

template <class L, class Locks>
bool Table<L, Locks>::replace_value(const Place& home, Value old_value,
                                    Value new_value) requires(L::kHasValues && !L::kExpires) {
  return change_copy(home, old_value, [&](Block& block, std::uint32_t slot) {
    L::set_value(block, slot, new_value);
  });
}

template <class L, class Locks>
std::size_t Table<L, Locks>::values(const Place& home, std::span<Value, L::kMaxCopies> values) const
    requires(L::kHasValues && !L::kExpires) {
  return read(home, [&](auto& view) {
    std::size_t count = 0;
    const auto take = [&](const Block& block, const Place& place) {
      for (std::uint64_t rest = copies(block, place); rest != 0; rest &= rest - 1) {
        values[count++] = L::value(block, first_slot(rest));
      }
    };
    const Block& block = view.at(home.block);
    take(block, home);
    Place away;
    if (may_be_away(block, home, away)) take(view.at(away.block), away);
    return count;
  });
}

template <class L, class Locks>
template <class AnyRead>
std::optional<Place> Table<L, Locks>::find(AnyRead& view, const Place& home,
                                           const AbsenceSnapshot& absence) const {
  const Block& block = view.at(home.block);
  if (copies(block, home) != 0) return home;
  Place away;
  if (!may_be_away(block, home, away)) return std::nullopt;
  const bool unseen = is_exposed_by_us(absence, away);  // before it is looked at
  if (copies(view.at(away.block), away) == 0 || unseen) return std::nullopt;
  return away;
}

template <class L, class Locks>
unsigned Table<L, Locks>::count(const Place& home) const {
  return read(home, [&](auto& view) {
    return count_copies(kernels_, geometry_, home, false,
                        [&](std::uint64_t block) -> const Block& { return view.at(block); });
  });
}

template <class L, class Locks>
bool Table<L, Locks>::contains(const Place& home) const {
  return read(home, [&](auto& view) { return find(view, home).has_value(); });
}

template class Table<FilterLayout<8>, NoLocks>;
template class Table<FilterLayout<9>, NoLocks>;
template class Table<FilterLayout<10>, NoLocks>;
template class Table<FilterLayout<12>, NoLocks>;
template class Table<FilterLayout<16>, NoLocks>;
template class Table<FilterLayout<8>, OneWriter>;
template class Table<FilterLayout<9>, OneWriter>;
template class Table<FilterLayout<10>, OneWriter>;
template class Table<FilterLayout<12>, OneWriter>;
template class Table<FilterLayout<16>, OneWriter>;
template class Table<FilterLayout<8>, BlockLocks>;
template class Table<FilterLayout<9>, BlockLocks>;
template class Table<FilterLayout<10>, BlockLocks>;
template class Table<FilterLayout<12>, BlockLocks>;
template class Table<FilterLayout<16>, BlockLocks>;
template class Table<MapletLayout, NoLocks>;
template class Table<MapletLayout, OneWriter>;
template class Table<MapletLayout, BlockLocks>;
template class Table<ExpiringLayout<8>, OneWriter>;
template class Table<ExpiringLayout<8>, BlockLocks>;
template class Table<ExpiringLayout<12>, OneWriter>;
template class Table<ExpiringLayout<12>, BlockLocks>;

}}  // namespace nestline
