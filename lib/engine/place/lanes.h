// Guest lanes: how a block knows which of its residents are keys of another block, so that they can
// come home and marks can fall. For filters under Placement::guest_lanes (hash version 3).
//
// A resident is a native of the block that is its home, and a guest in its alternate. A key's class
// is the low byte of its fingerprint. The alternate depends on the class
// alone (geometry.h), so all guests that a block has of one class come from one block: its partner
// for that class.
//   G1  A guest of a class up to kGuestClasses has the slot of its bucket in that class's guest
//       lane, and a native of such a class never has it. A lane is a segment of the block
//       (layout.h): that of the class modulo the number of segments.
//   G2  Where a block's mark is kMixed, the highest, G1 does not hold in it. A block becomes mixed
//       where nothing else makes room, as for more copies of a key than G1 has slots for, and stays
//       so until it is cleared.
// Higher classes seldom leave: they may have any slot of their buckets, at home and away. What
// their guests are is not known, nor who is a guest in a mixed block.
//
// Lookups probe all lanes, in files of any version. What places, moves or clears a fingerprint
// keeps G1. Under Placement::anywhere every block is as a mixed one.
//
// More guest classes cost natives slots, since their buckets have one lane less: marks of fresh
// filters rise. Fewer make keys of higher classes leave, whose marks seldom fall. At 8 and 12 bits
// and 95 % load that costs least at 96 of 255 (64: 0.2 % to 0.8 % of inserts let a higher class
// leave; 96: 0.01 to 0.1 %; 128: none).
#ifndef NESTLINE_LIB_ENGINE_PLACE_LANES_H_
#define NESTLINE_LIB_ENGINE_PLACE_LANES_H_

#include <array>
#include <cstdint>

#include "lib/engine/place/layout.h"

namespace nestline { inline namespace v0_3 {

inline constexpr std::uint32_t kGuestClasses = 96;
inline constexpr std::uint32_t kMixed = kEvictionRanks;  // a mark

template <class L>
inline constexpr bool kMayHaveGuestLanes = !L::kHasValues;

// As what a fingerprint comes to a block, or that any slot of its bucket will do.
enum class Residence : std::uint8_t { anywhere, native, guest };

// The first slot of the guest lane of a class; behind the last slot if it has none.
template <class L>
inline constexpr auto kGuestLanes = [] {
  std::array<std::uint8_t, 256> first{};
  first.fill(L::kSlots);
  for (std::uint32_t low_byte = 1; low_byte <= kGuestClasses; ++low_byte) {
    first[low_byte] = static_cast<std::uint8_t>(low_byte % L::kChoices * L::kSlotsPerSegment);
  }
  return first;
}();

// The slots that natives and guests may have in a block, whatever their buckets are.
template <class L>
class GuestLanes {
 public:
  static constexpr std::uint64_t kLane = (std::uint64_t{1} << L::kSlotsPerSegment) - 1;
  static constexpr std::uint64_t kEverywhere = ~std::uint64_t{0};

  NESTLINE_HERE GuestLanes(bool has_guest_lanes, std::uint32_t mark)
      : apply_(kMayHaveGuestLanes<L> && has_guest_lanes && mark != kMixed) {}
  NESTLINE_HERE GuestLanes(bool has_guest_lanes, const Block& block)
      : GuestLanes(has_guest_lanes, block.overflow_mark()) {}

  [[nodiscard]] NESTLINE_HERE bool apply() const { return apply_; }
  // Of a block that is not mixed, without asking it.
  [[nodiscard]] NESTLINE_HERE static std::uint64_t natives_anywhere_of(std::uint32_t fingerprint) {
    return ~(kLane << kGuestLanes<L>[fingerprint & 0xff]);
  }
  [[nodiscard]] NESTLINE_HERE std::uint64_t of_native(std::uint32_t fingerprint) const {
    return apply_ ? natives_anywhere_of(fingerprint) : kEverywhere;
  }
  [[nodiscard]] NESTLINE_HERE std::uint64_t of_guest(std::uint32_t fingerprint) const {
    const std::uint32_t first = kGuestLanes<L>[fingerprint & 0xff];
    return apply_ && first < L::kSlots ? kLane << first : kEverywhere;
  }
  [[nodiscard]] NESTLINE_HERE std::uint64_t of(std::uint32_t fingerprint, Residence as) const {
    if (as == Residence::anywhere) return kEverywhere;
    return as == Residence::native ? of_native(fingerprint) : of_guest(fingerprint);
  }
  // Whether the resident of a slot is known to be a guest.
  [[nodiscard]] NESTLINE_HERE bool is_guest(std::uint32_t fingerprint, std::uint32_t slot) const {
    return apply_ && slot - kGuestLanes<L>[fingerprint & 0xff] < L::kSlotsPerSegment;
  }
  // Where the resident of a slot may move inside the block.
  [[nodiscard]] NESTLINE_HERE std::uint64_t of_resident(std::uint32_t fingerprint,
                                                        std::uint32_t slot) const {
    return is_guest(fingerprint, slot) ? 0 : of_native(fingerprint);
  }

 private:
  bool apply_;
};

}}  // namespace nestline

#endif  // NESTLINE_LIB_ENGINE_PLACE_LANES_H_
