// For other formats, as lib/file/filter_blocks.h: what a program that stores expiring filters in
// its own format needs beyond the public headers.
//
// An expiring filter is its shape and its bytes: the blocks, and after them the young marks
// (lib/place/aging.h). Both may be hostile: shapes and bytes that no filter can have are refused,
// and then nothing is changed. All functions are for the only thread that uses the filter; those
// that only read also for a child process that was forked by that thread. None waits or copies more
// than it is asked for.
#ifndef NESTLINE_LIB_EXPIRING_EXPIRING_BLOCKS_H_
#define NESTLINE_LIB_EXPIRING_EXPIRING_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>

#include "nestline/expiring_filter.h"

namespace nestline {

struct ExpiringShape {
  int bits = 0;  // of a fingerprint
  std::uint64_t blocks = 0;
  std::uint64_t seed = 0;
  std::uint64_t capacity = 0;
  unsigned life = 0;
  std::uint64_t tick = 0;
  std::uint64_t exchanged = 0;  // the tick whose sweep exchanged marks last
  std::uint64_t swept = 0;      // blocks that the sweep of this tick has passed
  std::uint32_t waiting = 0;    // inserts since the last slice of it

  // Bytes of the blocks and the young marks; does not overflow if such a filter can exist.
  [[nodiscard]] std::uint64_t stored_bytes() const;
};

// Whether a filter of this shape can hold this many keys.
bool can_exist(const ExpiringShape& shape, std::uint64_t keys);

ExpiringShape shape_of(const ExpiringFilter& filter);

// An empty filter. `memory` as in ExpiringOptions. Throws std::invalid_argument when it cannot
// exist, std::bad_alloc.
ExpiringFilter make_empty(const ExpiringShape& shape, std::pmr::memory_resource* memory);

// Copies the bytes from byte `offset` on. `offset` and the length of `out` must be multiples of 64
// and lie inside.
void copy_stored_bytes(const ExpiringFilter& filter, std::uint64_t offset,
                       std::span<std::byte> out) noexcept;

// Overwrites the bytes from byte `offset` on and adjusts size(). False, and nothing is changed,
// when offset or length is not a multiple of 64, the range lies outside, or no filter that stands
// where this one does can have these bytes there. Throws std::bad_alloc.
bool replace_stored_bytes(ExpiringFilter& filter, std::uint64_t offset,
                          std::span<const std::byte> bytes);

// Bytes that a filter takes beside its blocks, its young marks and the ExpiringFilter itself.
std::size_t bytes_beside_stored() noexcept;

}  // namespace nestline

#endif  // NESTLINE_LIB_EXPIRING_EXPIRING_BLOCKS_H_
