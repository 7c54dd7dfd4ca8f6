// For other formats: what a program that stores filters in its own format needs beyond the public
// headers. Of the library's internals, lib/redis uses only this and shared_blocks.h, and lib/sqlite
// only this and blob_filter.h.
//
// A filter is its shape and its blocks. The shape is a few numbers from which make_empty makes the
// filter again; the blocks are bytes that can be read and replaced in ranges, so that large filters
// can be copied piece by piece. Both may be hostile: shapes and blocks that no filter can have are
// refused, and then nothing is changed.
//
// Filters of one lineage can also be united without their keys: lib/filter/lineage.h says what that
// is, and how to choose the one of them that a key is erased from.
//
// Some headers are included on purpose: one for Storage, zeroed memory from a resource; one for get
// and put, so that the numbers beside the blocks have one byte order everywhere; and one for Share
// and Standing, of lineages.
#ifndef NESTLINE_LIB_FILE_FILTER_BLOCKS_H_
#define NESTLINE_LIB_FILE_FILTER_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>

#include "lib/filter/lineage.h"
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

// Whether a filter of this shape can hold this many keys. If so, block_bytes() does not overflow.
bool can_exist(const FilterShape& shape, std::uint64_t keys);

FilterShape shape_of(const Filter& filter);

// An empty filter, which does not grow automatically. `memory` as in Options. Throws
// std::invalid_argument when it cannot exist, std::bad_alloc.
Filter make_empty(const FilterShape& shape, std::pmr::memory_resource* memory);

// All blocks; they stay in place until the filter grows, merges, moves or is destroyed.
std::span<const std::byte> block_bytes(const Filter& filter);

// Overwrites the blocks from byte `offset` on and adjusts size(). Returns false and changes nothing
// when offset or length is not a multiple of kBlockBytes, or the range lies outside the blocks, or
// no filter of this shape can have these bytes there. Throws std::bad_alloc.
bool replace_blocks(Filter& filter, std::uint64_t offset, std::span<const std::byte> blocks);

// Whether the two are of one lineage.
bool are_related(const Filter& a, const Filter& b) noexcept;

// How a filter shows a key: of several related ones that show it, a key is erased from one with the
// highest.
Standing standing_of(const Filter& filter, std::uint64_t key) noexcept;

// Whether an insert of the key would have to search for room although there are as many copies of
// it as its bucket has slots, or one less. Takes much less time than such a search.
bool is_crowded(const Filter& filter, std::uint64_t key) noexcept;

// Moves a share of the fingerprints of `from` to `to`, another filter of its lineage. Those that
// find no room there stay. One pass over both.
void pour(Filter& from, Filter& to, Share& share, Surplus surplus = Surplus::stays) noexcept;

// Asks for the memory that a question of the key looks at first.
void prefetch_home(const Filter& filter, std::uint64_t key) noexcept;

// Bytes that a filter takes beside its blocks and the Filter itself.
std::size_t bytes_beside_blocks() noexcept;

// The false-positive rate of a filter that inserts have filled to 95 % after each of its doublings.
double fpr_when_full(int bits, unsigned growth);

// Items that a filter of so many blocks in the beginning has room for after so many doublings.
std::uint64_t capacity_of(int bits, std::uint64_t base_blocks, unsigned growth);

// The version of hash_key and of what follows from a hash (docs/FORMAT.md).
std::uint32_t hash_version() noexcept;

// XXH3-64, the checksum of all our formats.
std::uint64_t checksum(std::span<const std::byte> bytes) noexcept;

}  // namespace nestline

#endif  // NESTLINE_LIB_FILE_FILTER_BLOCKS_H_
