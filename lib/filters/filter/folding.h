// Folding: a filter halved without its keys, the opposite of growth. Block i of growth g - 1 takes
// what is in blocks 2i and 2i + 1 of growth g, or of more halvings at once in 2^times blocks that
// follow each other: the child's number is in the fingerprints, and bases and alternates stay.
//
//   F1  A block's mark is the highest of those that it is made of, so it covers what is away in
//       any of them: I1 of table-inl.h holds. With guest lanes that is so for classes that are
//       often away, as of its guest level. Guests of higher ones go home: a few of them would leave
//       high marks everywhere. Above, a mark covers who then leaves, and who may be a guest of an
//       open block (lanes.h, G3): the block that such a one comes to is open too.
//   F2  A resident keeps its slot where that is free, and a native where it does not look like a
//       guest (G2). After a doubling that nothing has followed all do but those who go home.
//   F3  The others are placed as in a build in bulk (fold_in_bulk), or in a maplet by single
//       inserts. With guest lanes the last ones open blocks, as in a union (growth.h). They can
//       fail where there are many copies of a key; keys that look the same have equal fingerprints
//       and so come from one child: folding adds none.
//   F4  The result is made in new memory: a filter that cannot be folded stays as it was.
#ifndef NESTLINE_LIB_FILTERS_FILTER_FOLDING_H_
#define NESTLINE_LIB_FILTERS_FILTER_FOLDING_H_

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

// Two filters; the one that has doubled more often as often as the other, in `made`, if `keys`
// keys are then within its capacity, copies leave room for that, and the two have all else in
// common that can_merge asks for. Throws std::bad_alloc.
struct Alike {
  const Blocks* one;
  const Blocks* other;
  OwnedBlocks made;
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

}}  // namespace nestline

#endif  // NESTLINE_LIB_FILTERS_FILTER_FOLDING_H_
