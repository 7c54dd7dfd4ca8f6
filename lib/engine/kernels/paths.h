// What kernels find in one block: paths, who leaves first, and where those who leave would go.
#ifndef NESTLINE_LIB_ENGINE_KERNELS_PATHS_H_
#define NESTLINE_LIB_ENGINE_KERNELS_PATHS_H_

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "lib/engine/place/geometry.h"

namespace nestline { inline namespace v0_3 {

// Ways inside one block: how a newcomer whose bucket is full gets a slot by moving others.
//
//   newcomer -> step 0, its resident -> step 1, ... its resident -> the last step, which is free
//
// A way is found first and walked later, from its end, so that a fingerprint on the move is always
// readable (I3 in lib/engine/table/table-inl.h). In one word: the number of slots in the lowest 4
// bits, then 6 bits for each. Where only a longer path would do, there is none.
class EvictionPath {
 public:
  static constexpr std::uint32_t kMaxSteps = 10;
  constexpr EvictionPath() = default;  // no path
  NESTLINE_INLINE explicit constexpr EvictionPath(std::uint32_t slot)
      : word_(1 | std::uint64_t{slot} << kCountBits) {}

  [[nodiscard]] NESTLINE_INLINE constexpr std::uint32_t steps() const {
    return static_cast<std::uint32_t>(word_) & ((1u << kCountBits) - 1);
  }
  NESTLINE_INLINE constexpr explicit operator bool() const { return word_ != 0; }
  // The slot of a step, from 0 to steps() - 1.
  [[nodiscard]] NESTLINE_INLINE constexpr std::uint32_t step(std::uint32_t i) const {
    return static_cast<std::uint32_t>(word_ >> (kCountBits + kSlotBits * i)) &
           ((1u << kSlotBits) - 1);
  }
  // The same way with one more step at its end; the path must have fewer than kMaxSteps.
  [[nodiscard]] NESTLINE_INLINE constexpr EvictionPath then(std::uint32_t slot) const {
    EvictionPath longer;
    longer.word_ = (word_ + 1) | std::uint64_t{slot} << (kCountBits + kSlotBits * steps());
    return longer;
  }

 private:
  static constexpr std::uint32_t kCountBits = 4;
  static constexpr std::uint32_t kSlotBits = 6;
  std::uint64_t word_ = 0;
};

// The bucket of the fingerprint in a slot, and the part of it that the resident may move to.
template <class L>
NESTLINE_INLINE std::uint64_t bucket_at(const Block& block, std::uint32_t slot) {
  const std::uint32_t fingerprint = L::get(block, slot);
  return L::bucket(fingerprint, L::bucket_offset_at(fingerprint, slot));
}
template <class L>
NESTLINE_INLINE std::uint64_t moves_from(const Block& block, const GuestLanes<L>& lanes,
                                         std::uint32_t slot) {
  return bucket_at<L>(block, slot) & lanes.of_resident(L::get(block, slot), slot);
}

// Whether each step is still possible: other threads may have changed the block. `allowed`: the
// slots that the newcomer may have.
template <class L>
bool still_valid(const Block& block, EvictionPath path, const GuestLanes<L>& lanes,
                 std::uint64_t allowed) {
  if (!path || (allowed >> path.step(0) & 1) == 0) return false;
  const std::uint32_t last = path.steps() - 1;
  for (std::uint32_t i = 0; i < last; ++i) {
    const std::uint32_t slot = path.step(i);
    if (L::get(block, slot) == 0) return false;
    if ((moves_from<L>(block, lanes, slot) >> path.step(i + 1) & 1) == 0) return false;
  }
  return L::get(block, path.step(last)) == 0;
}

// Moves each fingerprint on the path one step, from the path's end back, and stores `fingerprint`,
// with `value` if the layout has values, at its start. It moves what is there now, not what was
// there when the path was found: update may have cleared a slot since.
template <class L>
NESTLINE_INLINE void apply(Block& block, EvictionPath path, std::uint32_t fingerprint,
                           typename L::Value value = {}) {
  std::uint32_t to = path.step(path.steps() - 1);
  for (std::uint32_t i = path.steps() - 1; i > 0; --i) {
    const std::uint32_t from = path.step(i - 1);
    L::set(block, to, L::get(block, from), L::value(block, from));
    to = from;
  }
  L::set(block, to, fingerprint, value);
}

// The residents of a block in the order in which they would leave it: by eviction rank, then by
// slot.
struct alignas(64) EvictionOrder {
  static constexpr std::uint32_t kNumberBits = 6;

  // `number` is the slot's plus 1: a rank with 0 is before all others of its class.
  static constexpr std::uint32_t rank_of(std::uint32_t eviction_rank, std::uint32_t number) {
    return eviction_rank << kNumberBits | number;
  }
  // The slot, or kNobody where the number is 0.
  static constexpr std::uint32_t slot_of(std::uint32_t rank) { return (rank - 1) & kNobody; }
  static constexpr std::uint32_t kNobody = (1u << kNumberBits) - 1;
  // A range of ranks that has two residents of a full block on average.
  template <class L>
  static constexpr std::uint32_t kStep = 2 * kEvictionRanks / L::kSlots;
  // Slots: free; of ranks that the mark covers; of the next ranks, which are below `below`; and of
  // those that are known to be guests, who are not among the others.
  std::uint64_t free;
  std::uint64_t covered;
  std::uint64_t next;
  std::uint64_t guests;
  std::uint32_t below;
  BlockClasses classes;  // the block's; set before the residents are ranked
  // As wide as vectors of the block's fingerprints need them. Those of free slots mean nothing.
  template <class L>
  using BucketOffset = std::conditional_t<L::kForm == Form::halfwords, std::uint16_t, std::uint8_t>;
  template <class L>
  [[nodiscard]] std::uint32_t bucket_offset(std::uint32_t slot) const {
    BucketOffset<L> bucket_offset;
    std::memcpy(&bucket_offset, bucket_offsets + slot * sizeof(bucket_offset),
                sizeof(bucket_offset));
    return bucket_offset;
  }
  // As what the resident of a slot comes to its other block; kNobody: the newcomer, from home.
  [[nodiscard]] Residence residence_after(std::uint32_t slot) const {
    if (!classes.have_lanes()) return Residence::anywhere;
    return (guests >> slot & 1) != 0 ? Residence::native : Residence::guest;
  }
  alignas(64) std::uint8_t bucket_offsets[64];
};

// A block whose residents may leave. Beside writers `block` may be a copy of it.
struct EvictionContext {
  const Block* blocks;
  const Geometry& geometry;
  const Block& block;
  std::uint64_t number;
  const EvictionOrder& order;
};

// Candidates for leaving a block, and where they would go.
struct EvictionCandidates {
  // As bits: residents by their slots, and bit EvictionOrder::kNobody for a newcomer.
  std::uint64_t all = 0;
  std::uint64_t away;      // those that have another block
  std::uint64_t open;      // those of them for whom there may be room there
  std::uint64_t direct;    // those of them of whose slots there one is free
  std::uint64_t free[64];  // the free slots there
  Place target[64];        // the bucket only where there are free slots
};

}}  // namespace nestline

#endif  // NESTLINE_LIB_ENGINE_KERNELS_PATHS_H_
