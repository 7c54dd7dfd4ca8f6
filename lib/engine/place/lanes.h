// Guest lanes: how a block knows which of its residents are keys of another block, so that they can
// come home and marks can fall. For filters under Placement::guest_lanes (hash version 3).
//
// A resident is a native of the block that is its home, and a guest in its alternate. A key's class
// is the low byte of its fingerprint. The alternate depends on the class alone (geometry.h), so all
// guests that a block has of one class come from one block: its partner for that class.
//   G1  A guest of a class up to kGuestClasses has the slot of its bucket in that class's guest
//       lane, and its class is not above the block's guest level. A lane is a segment of the block
//       (layout.h): that of the class modulo 4.
//   G2  A native of a class up to the block's guest level is not in the guest lane of its class.
//   G3  Where a block's mark is kMixed, the highest, G1 and G2 do not hold in it. A block becomes
//       mixed where nothing else makes room, as for more copies of a key than G2 has slots for, and
//       stays so until it is cleared.
// So a guest is known by its class and its slot. The level is in the block's header, in steps of
// kLevelClasses. It rises when a guest of a higher class comes, once the natives of the classes in
// between have left their guest lanes, and falls when the highest guests have gone: only natives of
// classes that the block may have guests of have one slot less.
//
// Higher classes seldom leave: they may have any slot of their buckets, at home and away. What
// their guests are is not known, nor who is a guest in a mixed block.
//
// Lookups probe all lanes, in files of any version. What places, moves or clears a fingerprint
// keeps G1 and G2. Under Placement::anywhere every block is as a mixed one.
#ifndef NESTLINE_LIB_ENGINE_PLACE_LANES_H_
#define NESTLINE_LIB_ENGINE_PLACE_LANES_H_

#include <array>
#include <cstdint>

#include "lib/engine/place/layout.h"

namespace nestline { inline namespace v0_3 {

inline constexpr std::uint32_t kLevels = 15;
inline constexpr std::uint32_t kMaxGuestLevel = 15;
inline constexpr std::uint32_t kGuestClasses = 255;
inline constexpr std::uint32_t kFirstClasses = 96;
inline constexpr std::uint32_t kOpen = kLevels;  // a level: of higher classes than kFirstClasses guests are unknown
// The highest class of each level.
inline constexpr std::array<std::uint8_t, kLevels + 1> kLevelTop = {
    0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 128, 160, 208, 255, kFirstClasses};
constexpr std::uint32_t top_of_level(std::uint32_t level) { return kLevelTop[level]; }
inline constexpr auto kLevelOf = [] {
  std::array<std::uint8_t, 256> level{};
  for (std::uint32_t of = 1; of < 256; ++of) {
    std::uint8_t l = 0;
    while (kLevelTop[l] < of) ++l;
    level[of] = l;
  }
  return level;
}();

// As what a fingerprint comes to a block, or that any slot of its bucket will do.
enum class Residence : std::uint8_t { anywhere, native, guest };

constexpr std::uint32_t class_of(std::uint32_t fingerprint) { return fingerprint & 0xff; }
// The guest level that a block needs for a guest; 0 for classes of which none is known.
constexpr std::uint32_t guest_level_for(std::uint32_t fingerprint) {
  return kLevelOf[class_of(fingerprint)];
}

// The first slot of the guest lane of a class; behind the last slot if it has none.
template <class L>
inline constexpr auto kGuestLanes = [] {
  std::array<std::uint8_t, 256> first{};
  first.fill(L::kSlots);
  for (std::uint32_t of = 1; of <= kGuestClasses; ++of) {
    first[of] = static_cast<std::uint8_t>(of % 4 * L::kSlotsPerSegment);
  }
  return first;
}();

// The slots that natives and guests may have in a block, whatever their buckets are.
template <class L>
class GuestLanes {
 public:
  static constexpr std::uint64_t kLane = (std::uint64_t{1} << L::kSlotsPerSegment) - 1;
  static constexpr std::uint64_t kEverywhere = ~std::uint64_t{0};

  NESTLINE_HERE GuestLanes(bool has_guest_lanes, const Block& block) {
    if (!L::kHasGuestLanes || !has_guest_lanes) return;
    has_ = true;
    const std::uint32_t header = Block::to_header(load_relaxed(block.header_word()));
    const std::uint32_t level = Block::guest_level_of(header);
    highest_ = top_of_level(level);
    is_open_ = level == kOpen;
  }

  // Whether the filter has guest lanes.
  [[nodiscard]] NESTLINE_HERE bool has() const { return L::kHasGuestLanes && has_; }
  [[nodiscard]] NESTLINE_HERE bool is_open() const { return is_open_; }
  // Where copies of a native may be.
  [[nodiscard]] NESTLINE_HERE std::uint64_t of_own_native(std::uint32_t fingerprint) const {
    return class_of(fingerprint) <= highest_ ? outside(fingerprint) : kEverywhere;
  }
  // The highest class of which the block may have a guest that is known.
  [[nodiscard]] NESTLINE_HERE std::uint32_t highest() const { return highest_; }
  // Where natives do not hinder any guest.
  [[nodiscard]] NESTLINE_HERE static std::uint64_t outside(std::uint32_t fingerprint) {
    return ~(kLane << kGuestLanes<L>[class_of(fingerprint)]);
  }
  // Where guests are, in a block that is not mixed.
  [[nodiscard]] NESTLINE_HERE static std::uint64_t inside(std::uint32_t fingerprint) {
    const std::uint32_t first = kGuestLanes<L>[class_of(fingerprint)];
    return first < L::kSlots ? kLane << first : kEverywhere;
  }
  [[nodiscard]] NESTLINE_HERE std::uint64_t of_native(std::uint32_t fingerprint) const {
    if (!L::kHasGuestLanes) return kEverywhere;
    return class_of(fingerprint) <= highest_ ? outside(fingerprint) : kEverywhere;
  }
  // Of these slots those that a native should take: where it hinders no guest, or if there are none
  // those that it may have.
  [[nodiscard]] NESTLINE_HERE std::uint64_t best_of_native(std::uint32_t fingerprint,
                                                           std::uint64_t slots) const {
    if (!has()) return slots;
    const std::uint64_t best = slots & outside(fingerprint);
    return best != 0 || class_of(fingerprint) <= highest_ ? best : slots;
  }
  // Once the level covers the class.
  [[nodiscard]] NESTLINE_HERE std::uint64_t of_guest(std::uint32_t fingerprint) const {
    return is_open_ && class_of(fingerprint) > highest_ ? kEverywhere : inside(fingerprint);
  }
  // Where guests of its class are now: nowhere above the level. Natives may be in their lane then.
  [[nodiscard]] NESTLINE_HERE std::uint64_t of_guests_now(std::uint32_t fingerprint) const {
    return are_too_low(fingerprint, Residence::guest) ? 0 : of_guest(fingerprint);
  }
  [[nodiscard]] NESTLINE_HERE std::uint64_t of(std::uint32_t fingerprint, Residence as) const {
    if (!L::kHasGuestLanes || as == Residence::anywhere) return kEverywhere;
    return as == Residence::native ? of_native(fingerprint) : of_guest(fingerprint);
  }
  // Whether the level has to rise before this comes.
  [[nodiscard]] NESTLINE_HERE bool are_too_low(std::uint32_t fingerprint, Residence as) const {
    const std::uint32_t of = class_of(fingerprint);
    return as == Residence::guest && of > highest_ && !is_open_;
  }
  // Whether the resident of a slot is known to be a guest.
  [[nodiscard]] NESTLINE_HERE bool is_guest(std::uint32_t fingerprint, std::uint32_t slot) const {
    return L::kHasGuestLanes && class_of(fingerprint) <= highest_ && is_in_lane(fingerprint, slot);
  }
  static constexpr bool is_in_lane(std::uint32_t fingerprint, std::uint32_t slot) {
    return slot - kGuestLanes<L>[class_of(fingerprint)] < L::kSlotsPerSegment;
  }
  // Where the resident of a slot may move inside the block.
  [[nodiscard]] NESTLINE_HERE std::uint64_t of_resident(std::uint32_t fingerprint,
                                                        std::uint32_t slot) const {
    return is_guest(fingerprint, slot) ? 0 : of_native(fingerprint);
  }

 private:
  bool has_ = false;
  bool is_open_ = false;
  std::uint32_t highest_ = 0;
};

}}  // namespace nestline

#endif  // NESTLINE_LIB_ENGINE_PLACE_LANES_H_
