// For formats of others: what a program needs that keeps filters in bytes of its own making, beyond
// the public headers. It is all that lib/redis takes of the library's inside.
//
// A filter is its shape and its blocks. The shape is a few numbers, from which make_empty makes the
// filter again; the blocks are bytes that can be read and replaced in ranges, so that large filters
// go piece by piece. Both come from hostile hands: shapes and blocks that no filter can have are
// refused, and nothing is changed then.
//
// Two headers come along on purpose: Storage, zeroed memory from a resource, and get and put, so
// that the numbers beside the blocks have one byte order everywhere.
#ifndef NESTLINE_LIB_FILE_FILTER_BLOCKS_H_
#define NESTLINE_LIB_FILE_FILTER_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>

#include "lib/filter/storage.h"
#include "lib/place/layout.h"
#include "lib/place/little_endian.h"
#include "nestline/filter.h"

namespace nestline {

struct FilterShape {
  int bits = 0;                   // of a fingerprint
  std::uint64_t base_blocks = 0;  // before the first doubling
  unsigned growth = 0;            // doublings
  std::uint64_t seed = 0;
  std::uint64_t capacity = 0;

  [[nodiscard]] std::uint64_t block_bytes() const { return (base_blocks << growth) * kBlockBytes; }
};

// Whether there can be a filter of this shape with so many keys. block_bytes() does not overflow
// then.
bool can_exist(const FilterShape& shape, std::uint64_t keys);

FilterShape shape_of(const Filter& filter);

// An empty filter, which does not grow by itself. `memory` as in Options. Throws
// std::invalid_argument when it cannot exist, std::bad_alloc.
Filter make_empty(const FilterShape& shape, std::pmr::memory_resource* memory);

// Another filter with the same content, in memory of the same source. Throws std::bad_alloc.
Filter copy_of(const Filter& filter);

// All blocks; they stay where they are until the filter grows, merges, moves or ends.
std::span<const std::byte> block_bytes(const Filter& filter);

// Overwrites the blocks from byte `offset` on; size() follows. False, nothing being changed, when
// offset or length is not a multiple of kBlockBytes, the bytes lie outside, or they are not what a
// filter of this shape can have there. Throws std::bad_alloc.
bool replace_blocks(Filter& filter, std::uint64_t offset, std::span<const std::byte> blocks);

// Bytes that a filter takes besides its blocks and the Filter itself.
std::size_t bytes_beside_blocks() noexcept;

// The false-positive rate of a filter that inserts have filled to 95 % after each of its doublings.
double fpr_when_full(int bits, unsigned growth);

// XXH3-64, which all formats of ours have for a checksum.
std::uint64_t checksum(std::span<const std::byte> bytes) noexcept;

}  // namespace nestline

#endif  // NESTLINE_LIB_FILE_FILTER_BLOCKS_H_
