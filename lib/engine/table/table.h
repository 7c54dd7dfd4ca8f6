// The operations on blocks, without keys and without counters: placing, finding, erasing. The
// layout and the lock policy (locking.h) are parameters.
//
// Invariants, cited by number elsewhere:
//   I1  A stored key is in its bucket at home, or in its bucket in the alternate block and then its
//       eviction rank is below home's mark.
//   I2  A mark never falls, except when everything is cleared.
//   I3  A fingerprint on the move is readable in at least one place at every instant.
//   I4  An insert that fails leaves every byte as it was. (Beside other threads it may have moved
//       other fingerprints before it was overtaken.)
//   I5  No operation loses another key: there is no victim slot and no random loss.
//   I6  Every outcome is a function of the blocks and the operation: no random numbers. So both
//       policies leave the same blocks when one thread works.
//
// Why erasing by fingerprint keeps I1 although two keys x and y may have equal (f, p) and be each
// other's home and alternate (home of x: A, of y: B): their copies are interchangeable. Let a and b
// be the copies in A and B, and let x and y also stand for how many keys of each are stored. I1
// says: a + b = x + y; if A's mark does not cover the rank then a >= x, and likewise b >= y.
// Erasing an x takes from A when it can: then a and x both fall by one and b >= y is untouched. It
// takes from B only when a = 0, so only when A's mark covers the rank (else a >= x > 0); then b =
// x + y before, so b >= y after. Where slots carry values, pairs of a fingerprint and a value take
// the place of fingerprints here: only pairs that are equal are interchangeable, and only they are
// erased for each other. A pair whose value is replaced stays where it is.
#ifndef NESTLINE_LIB_ENGINE_TABLE_TABLE_H_
#define NESTLINE_LIB_ENGINE_TABLE_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "lib/engine/kernels/kernels.h"
#include "lib/engine/place/aging.h"
#include "nestline/filter.h"

namespace nestline { inline namespace v0_3 {

// Does not own the blocks. With NoLocks: one writer at a time and no const member meanwhile; const
// members alone from any number of threads. With OneWriter: const members from any thread that has
// given it the filter's Writers, the others from one. With BlockLocks: everything from any thread.
template <class L, class Locks>
class Table {
 protected:
  struct AbsenceSnapshot;

 public:
  // The outcome of an insert or update; empty when other writers overtook it too often and it was
  // not done (never with NoLocks).
  using Result = std::optional<Outcome>;
  Table(Block* blocks, const Geometry& geometry, const TableKernels& kernels, Locks locks = Locks())
      : blocks_(blocks), geometry_(geometry), kernels_(kernels), locks_(locks) {}

  using Policy = Locks;
  // What a slot carries beside a fingerprint: in filters nothing, an empty class.
  using Value = typename L::Value;
  [[nodiscard]] Place home(std::uint64_t hash) const { return home_of<L>(geometry_, hash); }
  // Outcome::stored, full or copies; if `unique` also present: it checks and stores at one instant.
  Result insert(const Place& home, Value value = {}, bool unique = false);
  // The same for a newcomer that a first try at home found no path for.
  Result insert_by_spill(const Place& home, Value value = {}, AbsenceSnapshot* unique = nullptr);

  // For layouts without values.

  // Clears a copy of the old key and stores the new one, at one instant. `replaced`: whether there
  // was an old one; without it the new key is stored all the same.
  Result update(const Place& old_home, const Place& new_home,
                bool& replaced) requires(!L::kHasValues);
  // Clears one copy; false if there is no copy. `hint`: slots of home's bucket that lately held
  // copies.
  bool erase(const Place& home, std::uint64_t hint = 0) requires(!L::kHasValues);

  // For maplets.

  // Clears one copy that has this value, or gives it another; false if there is none.
  bool erase_value(const Place& home, Value value) requires(L::kHasValues && !L::kExpires);
  bool replace_value(const Place& home, Value old_value,
                     Value new_value) requires(L::kHasValues && !L::kExpires);
  // The values of all copies, at home and in the alternate, into the front of `values`. Returns how
  // many there are. The kernel is faster while no writer is near.
  std::size_t values(const Place& home, std::span<Value, L::kMaxCopies> values) const
      requires(L::kHasValues && !L::kExpires);

  // For both.

  // Prefetches the alternate of a key without a copy at home, if erase or count would look there.
  void prefetch_away(const Place& home) const;
  // Where home has neither room nor two free slots, prefetches the alternates of the next to leave.
  void prefetch_leavers(const Place& home) const;
  // Copies at home and in the alternate, at most L::kMaxCopies.
  [[nodiscard]] unsigned count(const Place& home) const;
  // Whether there is a copy. LookupKernels::contains_concurrent is faster while no writer is near.
  [[nodiscard]] bool contains(const Place& home) const;

 protected:  // for expiring_table.h
  using BlockLock = typename Locks::BlockLock;
  using OptimisticRead = typename Locks::OptimisticRead;
  // Calls work(block, slot) for a copy with this value, while its block is held; false if there is
  // none. Not inlined: erase with a hint would have to save registers for it.
  template <typename Work>
  [[gnu::noinline]] bool change_copy(const Place& home, Value value, Work&& work);

  // Where a newcomer goes. At first that is home, and no path is known.
  struct Room {
    bool away = false;  // to its alternate, and home's mark covers it
    EvictionPath path;  // there, if known
  };
  // When a key was seen to be absent, by a call that then makes room. Its moves raise marks, and so
  // may bring to light a key in the alternate that looks the same and was stored there as its home:
  // to the call that key stays unseen, as if it had looked only once. It does so as long as nobody
  // else has changed the alternate, since only then can the key itself not have come there. (In
  // doubt, what others make visible is there: it is from then on, for every lookup.) Its own moves
  // bring no such key to the alternate, as they would have to bring it from home.
  struct AbsenceSnapshot {
    std::optional<std::uint64_t> alternate;  // its block; none before the key was seen to be absent
    std::uint32_t header = 0;  // its version is the block's while only this call changes it
  };
  // Of a key that is absent at this instant.
  [[nodiscard]] AbsenceSnapshot absence_of(const Place& home) const {
    const std::uint64_t alternate = moved(geometry_, home).block;
    return {alternate, Locks::kBlocksAreStable ? 0 : blocks_[alternate].header()};
  }
  // Whether a key that seems to be in this block, which is not its home, is unseen there.
  [[nodiscard]] bool is_exposed_by_us(const AbsenceSnapshot& absence, const Place& away) const {
    if (!absence.alternate) return false;
    return Locks::kBlocksAreStable ||
           (blocks_[away.block].header() ^ absence.header) < kHeaderVersion;
  }
  // Stores a newcomer or finds no room. `unique`, unless null: if it is absent, noted there.
  std::optional<Outcome> try_to_place(const Place& home, Value value, const Room& room,
                                      AbsenceSnapshot* unique);
  // Stores in this held block if there is a path to a free slot: the known one if it is open.
  bool store(BlockLock& hold, const Place& place, Value value, EvictionPath path);
  // Makes room for a newcomer, or returns why it cannot. Holds no lock before or after.
  std::optional<Outcome> spill_for(const Place& home, Room& room,
                                   AbsenceSnapshot* absence = nullptr);
  // Whether find() would return the same under `hold`; false too if that cannot be decided now.
  [[nodiscard]] bool still(const std::optional<Place>& found, const Place& home,
                           const AbsenceSnapshot& absence, const BlockLock& hold) const;

  // Calls work(view) on the home, or both blocks, of a key as they stood at one instant.
  template <typename Work>
  auto read(const Place& home, Work&& work) const;
  // Where a copy of the key is, if anywhere, as the view shows it.
  template <class AnyRead>
  [[nodiscard]] std::optional<Place> find(AnyRead& view, const Place& home,
                                          const AbsenceSnapshot& absence = {}) const;

  [[nodiscard]] std::uint64_t copies(const Block& block, const Place& place) const {
    std::uint64_t found = kernels_.copies(block, place);
    if constexpr (L::kExpires) {  // those that are dead are none
      for (std::uint64_t rest = found; rest != 0; rest &= rest - 1) {
        const std::uint32_t slot = first_slot(rest);
        if (ticks_left(L::value(block, slot), tick(blocks_)) == 0) {
          found ^= std::uint64_t{1} << slot;
        }
      }
    }
    return found;
  }
  [[nodiscard]] std::uint64_t copies(const Place& place) const {
    return copies(blocks_[place.block], place);
  }
  // Those that have this value.
  [[nodiscard]] std::uint64_t copies(const Place& place, Value value) const {
    std::uint64_t found = copies(place);
    if constexpr (L::kHasValues) {
      for (std::uint64_t rest = found; rest != 0; rest &= rest - 1) {
        const std::uint32_t slot = first_slot(rest);
        if (L::value(blocks_[place.block], slot) != value) found ^= std::uint64_t{1} << slot;
      }
    }
    return found;
  }
  [[nodiscard]] bool may_be_away(const Block& block, const Place& home, Place& away) const {
    return nestline::may_be_away(geometry_, block.overflow_mark(), home, away);
  }

  const Block* blocks_;  // changed through BlockLock
  Geometry geometry_;
  const TableKernels& kernels_;
  [[no_unique_address]] Locks locks_;
  std::uint32_t emptied_ = 0;  // slots, of the dead
};

template <class L, class Locks>
template <typename Work>
auto Table<L, Locks>::read(const Place& home, Work&& work) const {
  do {
    Backoff backoff;
    for (std::uint32_t tries = 0; tries < Locks::kReadTries; ++tries) {
      OptimisticRead view(blocks_);
      auto result = work(view);
      if (view.valid()) return result;
      if (NESTLINE_LOCK_AT_ONCE) break;
      backoff.pause();
    }
  } while (!locks_.readers_may_lock());
  typename Locks::ReaderLock hold(blocks_, home.block);
  for (;;) {
    LockedRead view(hold);
    auto result = work(view);
    if (view.valid()) return result;
  }
}

}}  // namespace nestline

#endif  // NESTLINE_LIB_ENGINE_TABLE_TABLE_H_
