// What a program that keeps filters in a format of its own needs beyond the public headers.
// scripts/lint lists which rooms use this one, and what else of the internals.
//
// A filter is its shape, from which it is made again, empty, and its bytes, read and replaced in
// ranges: the blocks and, of an expiring filter, the next marks (lib/engine/place/aging.h). Shapes
// and bytes that no filter can have are refused, and then nothing is changed.
//
// All functions are for the only thread that changes the filter. Beside threads that look up in it
// they never wait and have no section. Those that only read also serve a child process that this
// thread has forked, whatever the others were doing.
//
// sizing.h, storage.h and little_endian.h are included for users of this one.
#ifndef NESTLINE_LIB_FACES_EMBED_BYTES_H_
#define NESTLINE_LIB_FACES_EMBED_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <span>

#include "lib/engine/place/little_endian.h"
#include "lib/engine/place/shape.h"
#include "lib/filters/filter/sizing.h"
#include "lib/filters/filter/storage.h"
#include "nestline/expiring_filter.h"

namespace nestline { inline namespace v0_3 {

// Whether a filter of this kind and shape can hold this many keys.
bool can_exist(Kind kind, const Shape& shape, std::uint64_t keys);
Shape shape_of(const Filter& filter);
Shape shape_of(const ExpiringFilter& filter);
// An empty filter, which does not grow automatically. `memory` as in Options. Throws
// std::invalid_argument when it cannot exist, std::bad_alloc.
Filter make_empty(const Shape& shape, std::pmr::memory_resource* memory);
ExpiringFilter make_empty_expiring(const Shape& shape, std::pmr::memory_resource* memory);
// Fills an empty filter: see fill_in_bulk in bulk_build.h.
void fill(Filter& filter, KeySpan keys, std::span<Outcome> outcomes);
// What the functions below, and those of lineage.h, look at.
const internal::Blocks& blocks_of(const Filter& filter) noexcept;
const internal::Blocks& blocks_of(const ConcurrentFilter& filter) noexcept;
const internal::Blocks& blocks_of(const ExpiringFilter& filter) noexcept;
// All blocks; they stay in place until the filter grows, merges, moves or is destroyed.
std::span<const std::byte> block_bytes(const Filter& filter);
// Writes the filter's small head (docs/FORMAT.md), and zeros up to the end of `to`.
void put_small_head(const Filter& filter, std::span<std::byte> to);
// Copies the bytes from byte `offset` on: those that serve the threads are 0. `offset` and the
// length of `out` must be multiples of kBlockBytes and lie inside.
void copy_bytes(const internal::Blocks& blocks, std::uint64_t offset,
                std::span<std::byte> out) noexcept;
// Overwrites the bytes from byte `offset` on and adjusts size(). False, and nothing is changed,
// when offset or length is not a multiple of kBlockBytes, the range lies outside, or no filter that
// stands where this one does can have these bytes there. Throws std::bad_alloc.
bool replace_bytes(Filter& filter, std::uint64_t offset, std::span<const std::byte> bytes);
bool replace_bytes(ExpiringFilter& filter, std::uint64_t offset, std::span<const std::byte> bytes);
// The same for blocks of any kind, but for the count of keys: how many more there are then, or
// nothing where the bytes are refused. `shape` has the filter's time, if it has one.
std::optional<std::int64_t> replace(const internal::Blocks& blocks, const Shape& shape,
                                    std::uint64_t offset, std::span<const std::byte> bytes);
// Asks for the memory that a lookup of the key reads first.
void prefetch_home(const internal::Blocks& blocks, std::uint64_t key) noexcept;
// Bytes that it takes beside its bytes and itself.
std::size_t bytes_beside(const Filter& filter) noexcept;
std::size_t bytes_beside(const ConcurrentFilter& filter) noexcept;
std::size_t bytes_beside(const ExpiringFilter& filter) noexcept;

// Filters that one thread changes while others look up, and that thread never waits for the others:
// a ConcurrentFilter whose readers take no locks (Readers in
// lib/filters/concurrent/concurrent_state.h). Never call what waits for readers: grow, merge,
// clear, snapshot. To do those, take the filter back: by freeze() when no reader is left, or else
// by copy_of.

// As ConcurrentFilter(filter), which must not grow by itself.
ConcurrentFilter make_concurrent(Filter&& filter);
// The same shape and keys in memory from the same source. Throws std::bad_alloc.
Filter copy_of(const ConcurrentFilter& shared);
// Takes all keys out, in place and block by block. Readers may meanwhile find some and miss others.
void empty(ConcurrentFilter& shared) noexcept;
// The false-positive rate of a filter that inserts have filled to 95 % after each of its doublings;
// `turns_over`: of one with guest lanes, after many turnovers.
double fpr_when_full(int bits, unsigned growth, bool turns_over = false);
// Items that a filter of so many blocks in the beginning has room for after so many doublings.
std::uint64_t capacity_of(int bits, std::uint64_t base_blocks, unsigned growth);
// The version of hash_key and of what follows from a hash (docs/FORMAT.md).
std::uint32_t hash_version() noexcept;
// XXH3-64, the checksum of all our formats.
std::uint64_t checksum(std::span<const std::byte> bytes) noexcept;

}}  // namespace nestline

#endif  // NESTLINE_LIB_FACES_EMBED_BYTES_H_
