// Per-target: the operations on blocks, without counters: placing, finding, erasing. Compiled once
// for each layout, of filters for each width: lock policy (locking.h) and placement are values
// here. What most calls need comes before it (first_looks-inl.h).
//
// Invariants, cited by number elsewhere:
//   I1  A stored key is in its bucket at home, or in its bucket in the alternate block and then its
//       eviction rank is below home's mark.
//   I2  A mark never falls, except when everything is cleared, in an expiring filter (aging.h) and
//       with guest lanes (homecoming-inl.h).
//   I3  A fingerprint on the move is readable in at least one place at every instant.
//   I4  An insert that fails leaves every byte as it was. (Beside other threads it may have moved
//       other fingerprints before it was overtaken.)
//   I5  No operation loses another key: there is no victim slot and no random loss.
//   I6  Every outcome is a function of the blocks and the operation: no random numbers. So all
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
// erased for each other. A pair whose value is replaced stays where it is. Of pairs that became the
// highest value, `anywhere`, the callers do not know, and may erase them: then one of y is taken
// for x's. y must find x's `anywhere` instead. It looks where x does if both have one home, and if
// its mark covers the rank; that is so where a > 0, as above. Else it finds only what is in B: so
// where a pair of B is taken and `anywhere` is in A, B's mark is raised.
//
// An insert looks at its home twice: for a free slot, or a displacement (paths.h) to one; and where
// there is none, as the first block of an eviction (eviction-inl.h), whose last step places it.
#if defined(NESTLINE_LIB_ENGINE_TABLE_TABLE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_ENGINE_TABLE_TABLE_INL_H_
#undef NESTLINE_LIB_ENGINE_TABLE_TABLE_INL_H_
#else
#define NESTLINE_LIB_ENGINE_TABLE_TABLE_INL_H_
#endif

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "lib/engine/engine.h"
#include "lib/engine/kernels/home-inl.h"
#include "lib/engine/kernels/match-inl.h"
#include "lib/engine/kernels/paths-inl.h"
#include "lib/engine/kernels/residents-inl.h"
#include "lib/engine/place/aging.h"
#include "lib/engine/place/locking.h"
#include "lib/engine/table/eviction-inl.h"
#include "lib/engine/table/first_looks-inl.h"
#include "lib/engine/table/homecoming-inl.h"
#include "nestline/outcome.h"

HWY_BEFORE_NAMESPACE();
namespace nestline { inline namespace v0_3 { namespace HWY_NAMESPACE {

// insert_unique has found its key absent, then makes room. That raises home's mark, and so may
// bring to light a key that looks the same in the alternate, whose home that is. To this call it
// stays unseen, as if it had looked only once: as long as nobody else has changed the alternate,
// and it has moved none from home there itself, since only then can the key not have come there.
// (In doubt, what others make visible is there: it is from then on, for every lookup.) Without
// other writers an insert ends with its eviction and asks no more; update does ask, of its old key.
struct AbsenceSnapshot {
  std::optional<Place> home;  // none before the key was seen to be absent
  std::uint32_t header = 0;   // the alternate's; the same version while only this call changes it
};

// Beside no other thread: one writer at a time and no const member meanwhile; const members alone
// from any number of threads. Beside one writer: const members from any thread that has given the
// policy the filter's Writers, the others from one. Beside many: everything from any thread.
template <class L>
class Table : public FirstLooks<L, AnyLocks> {
  using First = FirstLooks<L, AnyLocks>;

 public:
  using Value = typename L::Value;
  using BlockLock = AnyLocks::BlockLock;
  using BlockRead = AnyLocks::BlockRead;

  HWY_INLINE Table(const BlocksView& view, const AnyLocks& locks) : First(view, locks) {}

  // Outcome::stored, full or copies.
  HWY_INLINE Result insert(const Place& home, Value value = {}) {
    if (this->has_stored_at_home(home, value)) return Outcome::stored;
    return evict_for(home, value);
  }
  // Makes room by moves to other blocks and stores. For a key that has no way at home.
  HWY_INLINE Result evict_for(const Place& home, Value value) {
    return evict_under(locks_, home, value);
  }
  // Under the policy, or under NoLocks in its place, which takes 3 % less of an insert.
  template <class Locks>
  HWY_INLINE Result evict_under(const Locks& locks, const Place& home, Value value) {
    if constexpr (kPlansApart) {
      if (!has_lanes()) return evict_by<EvictionPlan<PlainLayout<L>, Locks> >(locks, home, value);
    }
    return evict_by<EvictionPlan<L, Locks> >(locks, home, value);
  }
  template <class Plan, class Locks>
  HWY_NOINLINE Result evict_by(const Locks& locks, const Place& home, Value value) {
    for (std::uint32_t tries = 0; tries < locks.max_tries(); ++tries) {
      NESTLINE_TEST_POINT(NESTLINE_POINT_UNLOCKED);
      const Versions before = versions_of(home);
      Plan plan(view_, locks);
      const bool finds_room = plan.search(home);
      NESTLINE_TEST_POINT(NESTLINE_POINT_UNLOCKED);
      if (finds_room) {
        const bool done = plan.execute(value);
        emptied_ += plan.emptied();
        if (done) return Outcome::stored;
      } else if (const Result why = refusal(home, before)) {
        return why;
      }
      if (this->has_stored_at_home(home, value)) return Outcome::stored;
    }
    return std::nullopt;
  }

  // Also present.
  HWY_NOINLINE Result insert_unique(const Place& home) {
    AbsenceSnapshot absence;
    for (std::uint32_t tries = 0; tries < locks_.max_tries(); ++tries) {
      if (const auto placed = place_if_absent(home, absence)) return placed;
      if (locks_.blocks_are_stable()) return evict_for(home, {});
      NESTLINE_TEST_POINT(NESTLINE_POINT_UNLOCKED);
      const Versions before = versions_of(home);
      if (!makes_room(home, absence, room_)) {
        if (const Result why = refusal(home, before, &absence)) return why;
      }
    }
    return std::nullopt;
  }

  HWY_NOINLINE Result update(const Place& old_home, const Place& new_home, bool& replaced) {
    Room room;
    AbsenceSnapshot absence;  // of the old key
    for (std::uint32_t tries = 0; tries < locks_.max_tries(); ++tries) {
      const auto old = find_now<Which::own>(old_home, absence);
      const Place target = room.is_away ? moved(view_.geometry, new_home) : new_home;
      {
        BlockLock hold(locks_, view_.blocks, target.block);
        if (old) hold.add(old->block);
        // A copy may be taken from the alternate only while there is none at home.
        if (!still(old, old_home, absence, hold)) continue;
        const EvictionPath path = find_path_to_free<L>(
            view_.blocks[target.block], target, as(Residence::native), this->classes_of(target));
        if (path) {
          if (old) {
            const Residence was =
                old->block == old_home.block ? as(Residence::native) : as(Residence::guest);
            L::set(hold.change(old->block), first_slot(own_copies(*old, was)), 0);
          }
          NESTLINE_TEST_POINT(NESTLINE_POINT_BETWEEN_STEPS);
          apply<L>(hold.change(target.block), path, target.fingerprint);
          replaced = old.has_value();
          return Outcome::stored;
        }
      }
      if (std::exchange(room.is_away, false)) continue;
      if (!old && !absence.home) {
        const AbsenceSnapshot before = absence_of(old_home);
        if (find_now<Which::own>(old_home, absence)) continue;
        absence = before;
      }
      NESTLINE_TEST_POINT(NESTLINE_POINT_UNLOCKED);
      const Versions before = versions_of(new_home);
      // Marks fall: only with the lock of its home, a third one, would the new key be safe away.
      if (!makes_room(new_home, absence, room, !has_lanes())) {
        if (const Result why = refusal(new_home, before)) return why;
      }
    }
    return std::nullopt;
  }

  // Calls work(block, slot) for a copy with this value, while its block is held; false if there is
  // none.
  template <typename Work>
  HWY_INLINE bool change_copy(const Place& home, Value value, const Work& work) {
    BlockLock hold(locks_, view_.blocks, home.block);
    for (;;) {
      const Block& block = view_.blocks[home.block];
      const std::uint64_t here = own_copies(home, as(Residence::native), value);
      std::uint64_t there = 0;
      Place away = home;
      if ((here == 0 || is_unknown(block, home)) && may_be_away(block, home, away)) {
        if (!hold.add(away.block)) continue;
        there = own_copies(away, as(Residence::guest), value);
        if (here != 0 && !are_surely_own(away)) there = 0;
      }
      if ((here | there) == 0) return false;
      const std::uint64_t number = there != 0 ? away.block : home.block;
      work(hold.change(number), first_slot(there != 0 ? there : here));
      if constexpr (L::kHasValues && L::kNumber != kMapletBits) {
        if (there != 0 && own_copies(home, Residence::native, L::kValueMask) != 0) {
          hold.change(number).raise_overflow_mark(eviction_rank(home.fingerprint));
        }
      }
      if (has_lanes() && there != 0) {
        lower_guest_level<L>(hold, view_.blocks, view_.geometry, away.block);
      }
      return true;
    }
  }
  HWY_NOINLINE bool erase(const Place& home, Value value = {}) {
    const bool done =
        change_copy(home, value, [](Block& block, std::uint32_t slot) { L::set(block, slot, 0); });
    if (done) lower_mark<L>(view_, locks_, home.block);
    return done;
  }

  // Where home has neither room nor two free slots, prefetches the alternates of the residents that
  // an eviction would try first.
  HWY_NOINLINE void prefetch_candidates(const Place& home) const {
    const std::uint64_t free = free_slots<L>(view_.blocks[home.block]);
    if ((free & home.bucket) != 0 || (free & (free - 1)) != 0) return;
    Block copy;
    const Block& there = view_.blocks[home.block];
    const Block& block = locks_.blocks_are_stable() ? there : copy_of(there, copy);
    EvictionOrder order;
    rank<PlainLayout<L> >(block, order);
    for (std::uint64_t rest = order.covered | order.next; rest != 0; rest &= rest - 1) {
      const std::uint32_t slot = first_slot(rest);
      const Place resident = {home.block, 0, L::get(block, slot),
                              order.template bucket_offset<L>(slot)};
      prefetch_block(view_.blocks[alternate_of(view_.geometry, resident)]);
    }
  }

  // Calls take(block, slot) for each copy, live ones where keys expire, as the blocks stood at one
  // instant, after begin(). Calls both again when it has to look again.
  template <typename Begin, typename Take>
  HWY_INLINE void for_each_copy(const Place& home, const Begin& begin, const Take& take) const {
    read(home, [&](BlockRead& read) HWY_ATTR {
      begin();
      Copies all;
      find_copies(read, home, all);
      for (std::uint32_t i = 0; i < all.blocks; ++i) {
        for (std::uint64_t rest = all.slots[i]; rest != 0; rest &= rest - 1) {
          take(*all.block[i], first_slot(rest));
        }
      }
      return true;
    });
  }
  [[nodiscard]] HWY_NOINLINE unsigned count(const Place& home) const {
    return read(home, [&](BlockRead& read) HWY_ATTR {
      Copies all;
      find_copies(read, home, all);
      int found = std::popcount(all.slots[0]);
      if (all.blocks == 2) found += std::popcount(all.slots[1]);
      return static_cast<unsigned>(found);
    });
  }
  // Whether there is a copy. LookupOperations::contains is faster while no writer is near.
  [[nodiscard]] bool contains(const Place& home) const { return find_now(home, {}).has_value(); }

 protected:  // for expiring_table-inl.h
  // The search is most of an insert into a full filter: a filter without guest lanes has its own,
  // which takes 8 % less of all inserts up to 95 %.
  static constexpr bool kPlansApart = L::kHasGuestLanes && !NESTLINE_ANY_PLACEMENT;

  // Where an eviction has made room for a newcomer: at home or in its alternate; and its path
  // there, if that is known.
  struct Room {
    bool is_away = false;
    EvictionPath path;
  };
  // Makes room by moves to other blocks for a newcomer whose caller stores it, after another look:
  // `absence` stays true through these moves. False: there is no room.
  HWY_INLINE bool makes_room(const Place& newcomer, AbsenceSnapshot& absence, Room& room,
                             bool may_leave = true) {
    if constexpr (kPlansApart) {
      using Plan = EvictionPlan<PlainLayout<L>, AnyLocks>;
      if (!has_lanes()) return makes_room_by<Plan>(newcomer, absence, room, may_leave);
    }
    return makes_room_by<EvictionPlan<L, AnyLocks> >(newcomer, absence, room, may_leave);
  }
  template <class Plan>
  HWY_NOINLINE bool makes_room_by(const Place& newcomer, AbsenceSnapshot& absence, Room& room,
                                  bool may_leave) {
    Plan plan(view_, locks_);
    const bool finds_room = plan.search(newcomer, may_leave);
    NESTLINE_TEST_POINT(NESTLINE_POINT_UNLOCKED);
    if (!finds_room) return false;
    // Others may have stored the key at home since.
    if (absence.home && !locks_.blocks_are_stable() && plan.moves(*absence.home)) absence = {};
    if (absence.home) plan.watch(moved(view_.geometry, *absence.home).block);
    const bool made = plan.execute();
    emptied_ += plan.emptied();
    absence.header += plan.changes() * kHeaderVersion;
    room = {made && plan.newcomer_leaves(), made ? plan.newcomer_path() : EvictionPath()};
    return true;
  }

  // The versions of a key's two blocks.
  struct Versions {
    std::uint32_t home;
    std::uint32_t alternate;
  };
  [[nodiscard]] Versions versions_of(const Place& home) const {
    if (locks_.blocks_are_stable()) return {};
    const Block& alternate = view_.blocks[moved(view_.geometry, home).block];
    return {view_.blocks[home.block].header(), alternate.header()};
  }

  // Why a search found nothing; `before`: the versions before it. Nothing where it is full, but one
  // of these blocks has changed since: the search may have found copies in all slots of the key,
  // which have gone in between.
  // `absence`: for insert_unique, when others may have stored the key since.
  HWY_NOINLINE Result refusal(const Place& home, const Versions& before,
                              const AbsenceSnapshot* absence = nullptr) {
    if (const Result why = most_copies(home, absence)) return why;
    const Versions now = versions_of(home);
    const std::uint32_t changed = (now.home ^ before.home) | (now.alternate ^ before.alternate);
    if (!locks_.blocks_are_stable() && changed >= kHeaderVersion) return std::nullopt;
    return Outcome::full;
  }
  // Whether copies have all slots of the bucket in both blocks, or with guest lanes as many as all
  // of one block: they cannot make room for each other, so every search fails then. With lanes
  // those away that home's mark does not cover are keys of that block: then home has all slots but
  // one.
  Result most_copies(const Place& home, const AbsenceSnapshot* absence) {
    BlockLock hold(locks_, view_.blocks, home.block);
    const Place away = moved(view_.geometry, home);
    const bool is_alone = away.block == home.block;
    if (!is_alone) hold.add(away.block);
    const int here = std::popcount(copies(home));
    const int all = here + (is_alone ? 0 : std::popcount(copies(away)));
    const int slots = std::popcount(home.bucket);
    if (all < (has_lanes() ? slots - is_alone : is_alone ? slots : 2 * slots)) return std::nullopt;
    Place there;
    const bool both = may_be_away(view_.blocks[home.block], home, there);
    if (has_lanes() && !both && here < slots - 1) return std::nullopt;
    const bool is_there = absence != nullptr && is_present(home, both ? &there : nullptr, *absence);
    return is_there ? Outcome::present : Outcome::too_many_copies;
  }
  // Whether a copy is seen in blocks that are held: at home or, if it may be there, away.
  [[nodiscard]] HWY_NOINLINE bool is_present(const Place& home, const Place* away,
                                             const AbsenceSnapshot& absence) const {
    return copies(home) != 0 ||
           (away != nullptr && copies(*away) != 0 && !is_exposed_by_us(absence, *away));
  }

  // insert_unique's check and store, at one instant; nothing when there is no room, noted in
  // `absence`.
  Result place_if_absent(const Place& home, AbsenceSnapshot& absence) {
    BlockLock hold(locks_, view_.blocks, home.block);
    Place away;
    bool both = may_be_away(view_.blocks[home.block], home, away);
    // Where home was released meanwhile, its mark may have fallen.
    if (both && !hold.add(away.block)) both = may_be_away(view_.blocks[home.block], home, away);
    if (is_present(home, both ? &away : nullptr, absence)) return Outcome::present;
    // Home's mark was raised for it, but may have fallen since.
    if (room_.is_away && both &&
        store_by_path<L>(locks_, hold, view_.geometry, away, as(Residence::guest), {},
                         room_.path)) {
      return Outcome::stored;
    }
    const EvictionPath path = room_.is_away ? EvictionPath() : room_.path;
    if (path ? store_by_path<L>(locks_, hold, view_.geometry, home, as(Residence::native), {}, path)
             : store_as_insert(hold, home)) {  // I6
      return Outcome::stored;
    }
    if (!locks_.blocks_are_stable()) absence = absence_of(home);
    return std::nullopt;
  }

  // Stores without a value in a held block, as insert does.
  HWY_INLINE bool store_as_insert(BlockLock& hold, const Place& home) {
    if constexpr (kPlansApart) {
      using Plain = FirstLooks<PlainLayout<L>, AnyLocks>;
      if (!has_lanes()) return Plain(view_, locks_).store(hold, home, {});
    }
    return this->store(hold, home, {});
  }

  // Of a key that is absent at this instant.
  [[nodiscard]] AbsenceSnapshot absence_of(const Place& home) const {
    if (locks_.blocks_are_stable()) return {home};
    return {home, view_.blocks[moved(view_.geometry, home).block].header()};
  }
  // Whether what seems to be this key in a block that is not its home was uncovered by this call.
  [[nodiscard]] bool is_exposed_by_us(const AbsenceSnapshot& absence, const Place& away) const {
    if (!absence.home) return false;
    return locks_.blocks_are_stable() ||
           (view_.blocks[away.block].header() ^ absence.header) < kHeaderVersion;
  }

  // Calls work(read) on the home, or both blocks, of a key as they stood at one instant.
  template <typename Work>
  HWY_INLINE auto read(const Place& home, const Work& work) const {
    do {
      Backoff backoff;
      for (std::uint32_t tries = 0; tries < locks_.read_tries(); ++tries) {
        BlockRead read(locks_, view_.blocks);
        auto result = work(read);
        if (read.valid()) return result;
        if (NESTLINE_LOCK_AT_ONCE) break;
        backoff.pause();
      }
    } while (!locks_.readers_may_lock());
    const AnyMode many = {Sharing::many_writers};
    BlockLock hold(many, view_.blocks, home.block);
    for (;;) {
      BlockRead read(many, view_.blocks, &hold, true);
      auto result = work(read);
      if (read.valid()) return result;
    }
  }

  // The copies of a key in one block, or in both.
  struct Copies {
    std::uint32_t blocks = 1;
    const Block* block[2];
    std::uint64_t slots[2];
  };
  HWY_NOINLINE void find_copies(BlockRead& read, const Place& home, Copies& all) const {
    const Block& block = read.at(home.block);
    all.block[0] = &block;
    all.slots[0] = copies(block, home);
    Place away;
    if (!may_be_away(block, home, away)) return;
    all.block[1] = &read.at(away.block);
    all.slots[1] = copies(*all.block[1], away);
    all.blocks = 2;
  }

  // Where a copy of the key is, if anywhere, as `read` shows it: what lookups take for one, or one
  // that may be cleared for it.
  enum class Which : std::uint8_t { alike, own };
  template <Which kWhich>
  [[nodiscard]] HWY_NOINLINE std::optional<Place> find(BlockRead& read, const Place& home,
                                                       const AbsenceSnapshot& absence) const {
    const bool exact = kWhich == Which::own && has_lanes();
    const Block& block = read.at(home.block);
    std::uint64_t here = copies(block, home);
    if (exact) here &= this->lanes_of(block, home).of_native(home.fingerprint);
    if (here != 0 && !(exact && is_unknown(block, home))) return home;
    Place away;
    if (!may_be_away(block, home, away)) return here == 0 ? std::nullopt : std::optional(home);
    const bool exposed = is_exposed_by_us(absence, away);  // before it is looked at
    const Block& other = read.at(away.block);
    std::uint64_t there = copies(other, away);
    if (exact) there &= this->lanes_of(other, away).of_guests_now(home.fingerprint);
    if (here != 0 && (there == 0 || exposed || !are_surely_own(other, away))) {
      return home;
    }
    if (there == 0 || exposed) return std::nullopt;
    return away;
  }
  template <Which kWhich = Which::alike>
  [[nodiscard]] HWY_NOINLINE std::optional<Place> find_now(const Place& home,
                                                           const AbsenceSnapshot& absence) const {
    return read(home, [&](BlockRead& read) HWY_ATTR { return find<kWhich>(read, home, absence); });
  }
  // Whether find_now would return the same under `hold`; false too if that cannot be decided now.
  [[nodiscard]] bool still(const std::optional<Place>& found, const Place& home,
                           const AbsenceSnapshot& absence, BlockLock& hold) const {
    BlockRead read(locks_, view_.blocks, &hold);
    const std::optional<Place> now = find<Which::own>(read, home, absence);
    const bool same = now.has_value() == found.has_value() && (!now || now->block == found->block);
    return same && read.valid();
  }

  // Whether own copies in this alternate cannot be natives of it. Then they are cleared first where
  // home is open for them: those there may be another key's, which looks the same and has only
  // them.
  [[nodiscard]] HWY_INLINE bool are_surely_own(const Block& alternate, const Place& away) const {
    return this->lanes_of(alternate, away).of_guest(away.fingerprint) != GuestLanes<L>::kEverywhere;
  }
  [[nodiscard]] HWY_INLINE bool are_surely_own(const Place& away) const {
    return are_surely_own(view_.blocks[away.block], away);
  }
  [[nodiscard]] HWY_INLINE bool may_be_away(const Block& block, const Place& home,
                                            Place& away) const {
    return nestline::may_be_away(view_.geometry, block.overflow_mark(), home, away);
  }

  using First::as;
  using First::copies;
  using First::has_lanes;
  using First::is_unknown;
  using First::locks_;
  using First::own_copies;
  using First::view_;
  std::uint32_t emptied_ = 0;  // slots, of the dead
  Room room_;                  // for insert_unique's key
};

}}}  // namespace nestline::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
