// For other formats, as filter_blocks.h: filters that one thread changes while others look up, and
// that thread never waits for the others.
//
// Such a filter is a ConcurrentFilter whose readers take no locks (Readers in
// lib/concurrent/concurrent_state.h). What is declared here is for the thread that changes it: it
// reads the blocks as they are, without a section of its own. A child process may do the same after
// a fork by that thread, whatever the other threads were doing.
//
// Never call what waits for readers: grow, merge, clear, snapshot. To do those, take the filter
// back: by freeze() when no reader is left, or else by copy_of.
#ifndef NESTLINE_LIB_FILE_SHARED_BLOCKS_H_
#define NESTLINE_LIB_FILE_SHARED_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/file/filter_blocks.h"
#include "nestline/concurrent_filter.h"
#include "nestline/filter.h"

namespace nestline {

// Takes over the filter's memory, in O(1). `filter` must not grow by itself. Throws std::bad_alloc;
// `filter` is then unchanged.
ConcurrentFilter share(Filter&& filter);

// A filter of the same shape with the same keys, in memory from the same source. Throws
// std::bad_alloc.
Filter copy_of(const ConcurrentFilter& shared);

// Copies the blocks from byte `offset` on, as those of a Filter: the bytes that serve the threads
// are 0. `offset` and the length of `out` must be multiples of 64 and lie inside.
void copy_block_bytes(const ConcurrentFilter& shared, std::uint64_t offset,
                      std::span<std::byte> out) noexcept;

// Takes all keys out, in place and block by block. Readers may meanwhile find some and miss others.
void empty(ConcurrentFilter& shared) noexcept;

// As for Filter.
Standing standing_of(const ConcurrentFilter& shared, std::uint64_t key) noexcept;
bool is_crowded(const ConcurrentFilter& shared, std::uint64_t key) noexcept;
void prefetch_home(const ConcurrentFilter& shared, std::uint64_t key) noexcept;

// Bytes that it takes beside its blocks and the ConcurrentFilter itself.
std::size_t bytes_beside_shared_blocks() noexcept;

}  // namespace nestline

#endif  // NESTLINE_LIB_FILE_SHARED_BLOCKS_H_
