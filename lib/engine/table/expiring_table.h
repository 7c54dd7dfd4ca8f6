// Operations on blocks whose slots die (aging.h), by the tick under their locks. Table places.
#ifndef NESTLINE_LIB_ENGINE_TABLE_EXPIRING_TABLE_H_
#define NESTLINE_LIB_ENGINE_TABLE_EXPIRING_TABLE_H_

#include <cstdint>

#include "lib/engine/table/table.h"

namespace nestline { inline namespace v0_3 {

template <class L, class Locks>
class ExpiringTable : public Table<L, Locks> {
 public:
  using typename Table<L, Locks>::Result;
  using Table<L, Locks>::Table;
  // Makes the key live for `life` more ticks at least: renews the slot that is its own or of a key
  // that looks the same, else stores it. Outcome::stored, present or full.
  Result renew(const Place& home, std::uint32_t life);
  // Prefetches what renew may need besides home: the alternate and the next mark of a key that
  // home's mark covers, and the alternates of those that would leave a full home.
  void prefetch_others(const Place& home) const {
    if (eviction_rank(home.fingerprint) < this->blocks_[home.block].overflow_mark()) {
      __builtin_prefetch(&next_overflow_mark(this->blocks_, this->geometry_, home.block), 1);
      this->prefetch_away(home);
    } else {
      this->prefetch_leavers(home);
    }
  }
  // Whole ticks that the key still lives after this one; 0 also where it is not there.
  [[nodiscard]] std::uint32_t left(const Place& home) const;
  // Empties the dead slots of a block, and makes its mark its next mark (M1).
  void sweep_and_exchange(std::uint64_t block);
  // Slots that this object has emptied.
  [[nodiscard]] std::uint32_t emptied() const { return this->emptied_; }

 private:
  using typename Table<L, Locks>::AbsenceSnapshot;
  using typename Table<L, Locks>::BlockLock;
  using typename Table<L, Locks>::Room;
  // Empties the dead slots of a block that is held.
  void empty_dead(BlockLock& hold, std::uint64_t block);
  // Renews a live copy of this place's fingerprint in a held block; false if there is none.
  bool renew_at(BlockLock& hold, const Place& place, std::uint32_t life);
};

}}  // namespace nestline

#endif  // NESTLINE_LIB_ENGINE_TABLE_EXPIRING_TABLE_H_
