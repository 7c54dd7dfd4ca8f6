// Guest lanes: how a block knows which of its residents are keys of another block, so that they can
// come home and marks can fall. For filters under Placement::guest_lanes (hash version 4).
//
// A resident is a native of the block that is its home, and a guest in its alternate. A key's class
// is the low byte of its fingerprint. The alternate depends on the class alone (geometry.h), so all
// guests that a block has of one class come from one block: its partner for that class. A block has
// a guest level, in its header, and a level has a highest class (kLevelTop). Where doublings have
// taken bits of the low byte, a block has the classes that begin with its own: of 2^shift times as
// many a level then covers the same part (ClassRange).
//   G1  A guest has the slot of its bucket in its class's guest lane, and its class is not above
//       the block's highest. A lane is a segment of the block (layout.h): that of the class
//       modulo 4.
//   G2  A native of a class up to the highest is not in the guest lane of its class.
//   G3  In an open block, one of the last two levels, G1 and G2 hold for classes up to the highest.
//       A resident above it has any slot of its bucket. If the mark of its other block covers it,
//       it may be a guest, and does not leave; else it is a native. A block is opened where
//       otherwise a key would find no room.
//   G4  It is closed when all residents above its highest class are natives.
// So a guest is known by its class and its slot. The level rises when a guest of a higher class
// comes, once the natives of the classes in between have left their guest lanes, and falls when the
// highest guests have gone: only natives of classes that the block may have guests of have one slot
// less. At 95 % load one block in a hundred has guests above class 96.
//
// Lookups probe all lanes, in files of any version. What places, moves or clears a fingerprint
// keeps G1 and G2. Under Placement::anywhere every block is as one that is open for all classes.
#ifndef NESTLINE_LIB_ENGINE_PLACE_LANES_H_
#define NESTLINE_LIB_ENGINE_PLACE_LANES_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "lib/engine/place/layout.h"

namespace nestline { inline namespace v0_3 {

// The highest class of each guest level. The last two are those of open blocks; the very last is
// for what cannot be opened otherwise, as in files of hash version 3, and hardly ever closed. The
// others, and one more, are closed under doubling and taking 128 off: a split finds each child's.
inline constexpr std::array<std::uint8_t, 16> kLevelTop = {0,  7,  15,  23,  31,  39,  47, 63,
                                                           79, 95, 127, 159, 191, 255, 95, 0};
// The highest class of lanes in files of hash version 3, whose levels end at each eighth class.
inline constexpr std::uint32_t kOlderLanesTop = 96;
inline constexpr std::uint32_t kClosedLevels = 14;
inline constexpr std::uint32_t kOpenLevel = 14;
inline constexpr std::uint32_t kOpenToAllLevel = 15;
constexpr bool is_open_level(std::uint32_t level) { return level >= kClosedLevels; }

// As what a fingerprint comes to a block, or that any slot of its bucket will do.
enum class Residence : std::uint8_t { anywhere, native, guest };

constexpr std::uint32_t class_of(std::uint32_t fingerprint) { return fingerprint & 0xff; }
// The least closed level that covers a class, where classes are not shifted.
inline constexpr auto kLevelOfClass = [] {
  std::array<std::uint8_t, 256> level{};
  for (std::uint32_t of = 1; of < level.size(); ++of) {
    level[of] = level[of - 1];
    if (kLevelTop[level[of]] < of) ++level[of];
  }
  return level;
}();
// The guest level of a child of a block of this level, by the upper half of its classes or the
// lower one.
constexpr std::uint32_t level_of_child(std::uint32_t level, bool is_upper) {
  if (is_open_level(level)) return is_upper ? kOpenToAllLevel : level;
  const std::uint32_t end = level == 0 ? 0 : kLevelTop[level] + 1u;
  if (is_upper) return end <= 128 ? 0 : kLevelOfClass[2 * (end - 128) - 1];
  return end == 0 ? 0 : kLevelOfClass[std::min(2 * end, 256u) - 1];
}

// The classes of a block's keys, 2^(8 - shift) from `first` on; and the highest of them that each
// level covers, below `first` if there is none.
struct ClassRange {
  std::array<std::uint8_t, 16> highest{};
  std::uint8_t shift = 0;
  std::uint8_t first = 0;
};
// Of all shifts, and of each of their 2^shift children: range 2^shift - 1 + child.
inline constexpr std::uint32_t kMaxShift = 4;
inline constexpr auto kClassRanges = [] {
  std::array<ClassRange, (2u << kMaxShift) - 1> all{};
  for (std::uint32_t shift = 0; shift <= kMaxShift; ++shift) {
    for (std::uint32_t child = 0; child < 1u << shift; ++child) {
      ClassRange& range = all[(1u << shift) - 1 + child];
      range.shift = static_cast<std::uint8_t>(shift);
      range.first = static_cast<std::uint8_t>(child << (8 - shift));
      for (std::size_t level = 0; level < kLevelTop.size(); ++level) {
        const std::uint32_t end = range.first + ((kLevelTop[level] + 1u) >> shift);
        range.highest[level] = static_cast<std::uint8_t>(end == 0 ? 0 : end - 1);
      }
    }
  }
  return all;
}();

// What residents a block has.
struct BlockClasses {
  const ClassRange* range = nullptr;  // null: the filter has no guest lanes

  [[nodiscard]] bool have_lanes() const { return range != nullptr; }
  [[nodiscard]] std::uint32_t shift() const { return have_lanes() ? range->shift : 0; }
  [[nodiscard]] std::uint32_t first() const { return have_lanes() ? range->first : 0; }
  [[nodiscard]] std::uint32_t highest_at(std::uint32_t level) const {
    return range->highest[level];
  }
  // The guest level that a block needs for a guest.
  [[nodiscard]] std::uint32_t guest_level_for(std::uint32_t fingerprint) const {
    const std::uint32_t of = class_of(fingerprint) - range->first;
    return kLevelOfClass[(((of + 1) << range->shift) - 1) & 0xff];
  }
  // Whether a resident may be a native or a guest in a block of this level (G3).
  [[nodiscard]] bool is_unknown_at(std::uint32_t level, std::uint32_t fingerprint) const {
    return is_open_level(level) && class_of(fingerprint) > highest_at(level);
  }
  // Higher classes leave where these cannot: few blocks have room for the level of such a guest.
  [[nodiscard]] std::uint32_t often_away() const { return highest_at(kOpenLevel); }
};

// The first slot of the guest lane of a class.
template <class L>
inline constexpr auto kGuestLanes = [] {
  std::array<std::uint8_t, 256> first{};
  for (std::uint32_t of = 0; of < first.size(); ++of) {
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

  NESTLINE_HERE GuestLanes(BlockClasses classes, const Block& block) {
    if (!L::kHasGuestLanes || !classes.have_lanes()) return;
    has_ = true;
    const std::uint32_t header = Block::to_header(load_relaxed(block.header_word()));
    const std::uint32_t level = Block::guest_level_of(header);
    highest_ = classes.highest_at(level);
    is_open_ = is_open_level(level);
  }

  // Of a block that had this level, and so this highest class.
  NESTLINE_HERE GuestLanes(std::uint32_t level, std::uint32_t highest)
      : has_(true), is_open_(is_open_level(level)), highest_(highest) {}

  // Whether the filter has guest lanes.
  [[nodiscard]] NESTLINE_HERE bool has() const { return L::kHasGuestLanes && has_; }
  [[nodiscard]] NESTLINE_HERE bool is_open() const { return is_open_; }
  // Whether residents like this may be natives or guests (G3).
  [[nodiscard]] NESTLINE_HERE bool is_unknown(std::uint32_t fingerprint) const {
    return is_open_ && class_of(fingerprint) > highest_;
  }
  // The highest class of which the block may have a guest that is known.
  [[nodiscard]] NESTLINE_HERE std::uint32_t highest() const { return highest_; }
  // Where natives do not hinder any guest.
  [[nodiscard]] NESTLINE_HERE static std::uint64_t outside(std::uint32_t fingerprint) {
    return ~(kLane << kGuestLanes<L>[class_of(fingerprint)]);
  }
  // Where known guests are.
  [[nodiscard]] NESTLINE_HERE static std::uint64_t inside(std::uint32_t fingerprint) {
    return kLane << kGuestLanes<L>[class_of(fingerprint)];
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
    return is_unknown(fingerprint) ? kEverywhere : inside(fingerprint);
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
    return as == Residence::guest && !is_open_ && class_of(fingerprint) > highest_;
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
  bool is_open_ = true;
  std::uint32_t highest_ = 0;
};

}}  // namespace nestline

#endif  // NESTLINE_LIB_ENGINE_PLACE_LANES_H_
