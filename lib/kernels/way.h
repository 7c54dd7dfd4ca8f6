// Ways inside one block: how a newcomer whose bucket is full gets a slot by moving others to slots
// of their own buckets in the same block.
//
//   newcomer -> step 0, its resident -> step 1, ... its resident -> the last step, which is free
//
// A way is found first and walked later, from its end, so that a fingerprint on the move is always
// readable (I3 in lib/table/table.h). A way of one step leads to a free slot: nobody has to move.
// ways-inl.h finds ways; chains of moves between blocks are in lib/table/spill.h.
#ifndef NESTLINE_LIB_KERNELS_WAY_H_
#define NESTLINE_LIB_KERNELS_WAY_H_

#include <cstdint>

#include "lib/place/hash.h"
#include "lib/place/layout.h"

namespace nestline {

// The slots of a way, in one word: their number in the lowest 4 bits, then 6 bits for each. Where
// only a longer way would do, there is none.
class Way {
 public:
  static constexpr std::uint32_t kMostSteps = 10;

  constexpr Way() = default;  // no way
  NESTLINE_INLINE explicit constexpr Way(std::uint32_t slot)
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
  // The same way with one more step at its end; the way must have fewer than kMostSteps.
  [[nodiscard]] NESTLINE_INLINE constexpr Way then(std::uint32_t slot) const {
    Way longer;
    longer.word_ = (word_ + 1) | std::uint64_t{slot} << (kCountBits + kSlotBits * steps());
    return longer;
  }

 private:
  static constexpr std::uint32_t kCountBits = 4;
  static constexpr std::uint32_t kSlotBits = 6;
  std::uint64_t word_ = 0;
};

// The bucket of the fingerprint in a slot.
template <class L>
NESTLINE_INLINE std::uint64_t bucket_at(const Block& block, std::uint32_t slot) {
  const std::uint32_t fingerprint = L::get(block, slot);
  return L::bucket(fingerprint, L::phase_at(fingerprint, slot));
}

// Whether the block's residents can still make each step, and the last one is free. (A way may be
// gone when other threads have changed the block since it was found.)
template <class L>
bool is_open(const Block& block, Way way) {
  if (!way) return false;
  const std::uint32_t last = way.steps() - 1;
  for (std::uint32_t i = 0; i < last; ++i) {
    const std::uint32_t slot = way.step(i);
    if (L::get(block, slot) == 0) return false;
    if ((bucket_at<L>(block, slot) >> way.step(i + 1) & 1) == 0) return false;
  }
  return L::get(block, way.step(last)) == 0;
}

// Moves each fingerprint on the way one step, from the way's end back, and stores `fingerprint`,
// with `value` if the layout has values, at its start. It moves what is there now, not what was
// there when the way was found: update may have cleared a slot since.
template <class L>
NESTLINE_INLINE void walk(Block& block, Way way, std::uint32_t fingerprint,
                          typename L::Value value = {}) {
  std::uint32_t to = way.step(way.steps() - 1);
  for (std::uint32_t i = way.steps() - 1; i > 0; --i) {
    const std::uint32_t from = way.step(i - 1);
    L::set(block, to, L::get(block, from), L::value(block, from));
    to = from;
  }
  L::set(block, to, fingerprint, value);
}

}  // namespace nestline

#endif  // NESTLINE_LIB_KERNELS_WAY_H_
