// Folding: a filter halved without its keys, the opposite of growth. Block i of growth g - 1 takes
// what is in blocks 2i and 2i + 1 of growth g, or of more halvings at once in 2^times blocks that
// follow each other: the child's number is in the fingerprints, and bases and alternates stay.
//
//   F1  A block's mark is the highest of those that it is made of, so it covers what is away in
//       any of them: I1 of table-inl.h holds. With guest lanes so is its guest level, and it is
//       mixed if one of them is (lanes.h).
//   F2  A resident keeps its slot where that is free, and in a block with guest lanes where it does
//       not look like a guest there (G2). After a doubling that nothing has followed, all do.
//   F3  The others are placed as in a build in bulk (fold_in_bulk) or, in a maplet or a filter with
//       guest lanes, by single inserts. They can fail where there are many copies of a key; keys
//       that look the same have equal fingerprints and so come from one child: folding adds none.
//   F4  The result is made in new memory: a filter that cannot be folded stays as it was.
#ifndef NESTLINE_LIB_FILTERS_FILTER_FOLDING_H_
#define NESTLINE_LIB_FILTERS_FILTER_FOLDING_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "lib/filters/filter/blocks.h"

namespace nestline { inline namespace v0_3 {

// How often the filter can be halved so that `keys` keys are within its capacity, and that
// capacity.
struct Folding {
  std::uint32_t times = 0;
  std::uint64_t capacity = 0;
};
Folding most_folding(const Shape& shape, std::uint64_t keys, std::uint32_t most = ~0u);

// The filter halved `times` times, at most as often as it has doubled; null if a key finds no room.
// Reads a filter that no thread may write meanwhile; the new state has lock and version bytes 0.
// Throws std::bad_alloc.
OwnedBlocks folded(const Blocks& state, const Folding& folding);
// folded by the most_folding that finds room, up to `most` halvings; null when there is none.
OwnedBlocks fitted(const Blocks& state, std::uint32_t most = ~0u);

// Two filters; the one that has doubled more often as often as the other, in `folded`, if `keys`
// keys are then within its capacity and the two have all else in common that can_merge asks for.
// Throws std::bad_alloc, and std::length_error where copies leave no room for that.
struct Alike {
  const Blocks* one;
  const Blocks* other;
  OwnedBlocks folded;
};
Alike folded_alike(const Blocks& one, const Blocks& other, std::uint64_t keys);

// As can_merge and merged of growth.h, of two filters that are folded_alike for all their keys.
bool can_merge_folded(Shape into, std::uint64_t into_keys, Shape other, std::uint64_t other_keys,
                      std::string* why);
OwnedBlocks merged_folded(const Blocks& into, const Blocks& other, Copies copies,
                          std::uint64_t& left_out);

// The filter halved once, because erasing has left it fewer keys than it is to have. Null if it
// stays as it is: for want of room or memory, then until it has half as many keys.
OwnedBlocks shrunk_if_possible(const Blocks& state) noexcept;

// Makes the mark and the guest level of `to` those of `from` at least (F1).
inline void raise_header(const Block& from, Block& to) {
  to.set_overflow_mark(std::max(to.overflow_mark(), from.overflow_mark()));
  to.set_guest_level(std::max(to.guest_level(), from.guest_level()));
}

// The slots of a block that a reader may lock meanwhile: it, or `copy`.
inline const Block& block_to_fold(const Block& block, Block& copy) {
#if NESTLINE_TSAN  // as readable_block of the kernels
  copy_shared<kBlockBytes>(block.bytes.data(), copy.bytes.data());
  return copy;
#else
  static_cast<void>(copy);
  return block;
#endif
}

// Stores the residents of these slots of `from` in those slots of `to` that are free (F2), and
// calls left(slot) for the others.
template <class L, typename Left>
void lay_over(const Block& from, std::uint64_t residents, Block& to, std::uint64_t& free,
              const Left& left) {
  std::uint64_t slots = residents & ~free;
  free &= ~residents;
  const auto add = [&to](const Block& block) {
    for (std::size_t byte = 0; byte < kBlockBytes - 8; byte += 8) {
      set_word_at(to, byte, word_at(to, byte) | word_at(block, byte));
    }
    for (std::size_t byte = kBlockBytes - 8; byte < kOverflowMarkByte; ++byte) {
      to.bytes[byte] |= block.bytes[byte];
    }
  };
  if (slots == 0) return add(from);
  Block some = from;
  for (; slots != 0; slots &= slots - 1) {
    left(first_slot(slots));
    L::set(some, first_slot(slots), 0);
  }
  add(some);
}

}}  // namespace nestline

#endif  // NESTLINE_LIB_FILTERS_FILTER_FOLDING_H_
