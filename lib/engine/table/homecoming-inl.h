// Per-target: guests come home, and marks fall (lanes.h). What erases a key looks at the classes
// that home's mark covers, from the highest on. Each has one partner, the block where all of it is
// that is away. A guest there comes home if it finds room; where none is left, the mark no longer
// covers the class.
//
// Why no mark is too low. Let A be the block, held by this thread from the look at the partner B
// until the mark is lowered. Every move of a key of A to B, and every newcomer that A sends there,
// needs A's lock. So who is away in B when B is read is away until then, and nobody else. B is read
// whole at one instant (R3), held by nobody else. A key of A in B is a guest: if B is not open for
// the class, it is in the class's guest lane (G1); if it is, it is anywhere in B. There is no
// resident of the class in that lane, or in all of B: so there is no such key.
//
// Why no other key comes to A. Who is in the guest lane of a block that is not open for the class
// is a guest of its partner for the class (G1), which is A.
#if defined(NESTLINE_LIB_ENGINE_TABLE_HOMECOMING_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_ENGINE_TABLE_HOMECOMING_INL_H_
#undef NESTLINE_LIB_ENGINE_TABLE_HOMECOMING_INL_H_
#else
#define NESTLINE_LIB_ENGINE_TABLE_HOMECOMING_INL_H_
#endif

#include <bit>
#include <cstdint>

#include "lib/engine/engine.h"
#include "lib/engine/kernels/match-inl.h"
#include "lib/engine/kernels/paths-inl.h"
#include "lib/engine/kernels/residents-inl.h"
#include "lib/engine/place/locking.h"

HWY_BEFORE_NAMESPACE();
namespace nestline { inline namespace v0_3 { namespace HWY_NAMESPACE {

// Classes looked at, and guests brought home, at a time.
inline constexpr std::uint32_t kHomecomingSteps = 12;
// Free slots that home needs for a guest to come: where there are fewer, the next newcomer would
// make another leave. With 4 in place of 1 at 8 bits and 90 % load a third less leaves, and marks
// are as low. One more spares 23 % of a change at 12 bits and 95 % load, 13 % at 16, and marks rise
// by a tenth; at 8 bits, where the mark is above kHighMark, as in full filters, it spares 8 % and
// they rise by a twentieth.
inline constexpr std::uint32_t kHighMark = 24;
template <class L>
constexpr int homecoming_room(std::uint32_t mark) {
  return static_cast<int>(L::kSlots / 15) + (L::kBits > 8 || mark > kHighMark ? 1 : 0);
}

// Whether a block has a mark that may fall.
inline bool may_lower(std::uint32_t mark) { return mark != 0; }

template <class L>
class Homecoming {
 public:
  Homecoming(const BlocksView& view, AnyMode mode, std::uint64_t block)
      : view_(view),
        mode_(mode),
        block_(block),
        classes_(block_classes<L>(view.geometry, block)),
        hold_(mode, view.blocks, block) {}

  HWY_INLINE void run() {
    mark_ = home().overflow_mark();
    const std::uint32_t first = classes_.first();
    for (std::uint32_t step = 0; step < kHomecomingSteps && may_lower(mark_) && mark_ >= first;
         ++step) {
      if (!look()) break;
    }
    if (mark_ < first) mark_ = 0;  // it covers nobody
    set_mark();
  }

 private:
  [[nodiscard]] const Block& home() const { return hold_.at(block_); }
  static HWY_INLINE std::uint64_t of_class(const Block& block, std::uint32_t of) {
    if constexpr (L::kForm == Form::halfwords) return of_ranks<L>(block, of - 1, of);
    return match_first_bytes<L>(block, of) & L::kAllSlots;
  }
  void set_mark() {
    if (home().overflow_mark() != mark_) hold_.change(block_).set_overflow_mark(mark_);
  }

  // Looks at the highest class that the mark covers. False: it stays so.
  HWY_INLINE bool look() {
    const std::uint32_t rank = mark_ - 1;
    const std::uint64_t partner = alternate_of(view_.geometry, {block_, 0, rank + 1, 0});
    if (partner != block_) {
      AnyLocks::BlockRead read(mode_, view_.blocks, &hold_);
      const Block& other = read.at(partner);
      const GuestLanes<L> lanes(classes_, other);
      std::uint64_t guests = lanes.of_guests_now(rank + 1);
      if (guests != 0) guests &= of_class(other, rank + 1);
      if (NESTLINE_TRUST_PARTNERS) {
        NESTLINE_TEST_POINT(NESTLINE_POINT_HOME_READ);
        AnyLocks::BlockRead later(mode_, view_.blocks, &hold_);
        const std::uint64_t first_half = (std::uint64_t{1} << L::kSlots / 2) - 1;
        guests = (guests & first_half) | (of_class(later.at(partner), rank + 1) & ~first_half);
      } else if (!read.valid()) {
        return false;
      }
      if (guests != 0) {
        if (NESTLINE_LOWER_MARKS_EARLY) --mark_;
        const bool goes_on =
            !lanes.is_unknown(rank + 1) && come_home(partner, rank, first_slot(guests));
        hold_.keep(block_);  // the next class may have another partner
        return goes_on;
      }
    }
    --mark_;
    return true;
  }

  // Brings the guest in this slot home, if there is room.
  bool come_home(std::uint64_t partner, std::uint32_t rank, std::uint32_t slot) {
    const std::uint64_t free = free_slots<L>(home());
    if (std::popcount(free) < homecoming_room<L>(mark_)) return false;
    set_mark();
    if (!hold_.add(partner)) {  // home was released meanwhile
      mark_ = home().overflow_mark();
      return true;
    }
    const Block& from = hold_.at(partner);
    const std::uint32_t fingerprint = L::get(from, slot);
    if (eviction_rank(fingerprint) != rank ||
        !GuestLanes<L>(classes_, from).is_guest(fingerprint, slot)) {
      return true;  // another guest may be there
    }
    const Place arrival = {block_, 0, fingerprint, L::bucket_offset_at(fingerprint, slot)};
    const EvictionPath path = find_path_to_free<L>(home(), arrival, Residence::native, classes_);
    if (!path) return false;
    if (NESTLINE_CLEAR_GUESTS_FIRST) {
      L::set(hold_.change(partner), slot, 0);
      hold_.keep(block_);
      NESTLINE_TEST_POINT(NESTLINE_POINT_BETWEEN_STEPS);
      apply<L>(hold_.change(block_), path, fingerprint);
      return true;
    }
    apply<L>(hold_.change(block_), path, fingerprint);
    NESTLINE_TEST_POINT(NESTLINE_POINT_BETWEEN_STEPS);
    L::set(hold_.change(partner), slot, 0);
    lower_guest_level<L>(hold_, view_.blocks, view_.geometry, partner);
    return true;
  }

  const BlocksView& view_;
  const AnyMode mode_;
  const std::uint64_t block_;
  const BlockClasses classes_;  // its partners' too
  AnyLocks::BlockLock hold_;
  std::uint32_t mark_ = 0;
};

// Lets guests of a block come home, and its mark fall, where a slot has become free.
template <class L>
HWY_INLINE void lower_mark(const BlocksView& view, AnyMode mode, std::uint64_t block) {
  if constexpr (L::kHasGuestLanes) {
    if (has_lanes_in<L>(view) && may_lower(view.blocks[block].overflow_mark()))
      Homecoming<L>(view, mode, block).run();
  }
}

}}}  // namespace nestline::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
