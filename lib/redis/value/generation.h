// One nestline filter of a value, with what its plan allows it.
//
// Its keys are the 64-bit hashes of the value's items, mixed once more under a seed: the value's
// seed plus a number. Generations with the same number, the same width and equally many blocks at
// the start are a family: filters of one lineage (lib/filter/lineage.h), which can be united
// without the items and answer together as one filter would. Each family has its own number, so
// items that look the same in one family do not in another. This lets an erase find out where an
// item is (ledger.h).
#ifndef NESTLINE_LIB_REDIS_VALUE_GENERATION_H_
#define NESTLINE_LIB_REDIS_VALUE_GENERATION_H_

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>

#include "lib/file/filter_blocks.h"
#include "lib/redis/value/generation_plan.h"
#include "nestline/filter.h"

namespace nestline::redis {

/// What an image says about a generation: enough to make it again, empty. If most_growth is more
/// than any plan has, it counts as the most that a plan has.
struct GenerationShape {
  int bits = 0;
  unsigned growth = 0;
  unsigned most_growth = 0;
  std::uint64_t base_blocks = 0;
  std::uint64_t capacity = 0;
  std::uint32_t number = 0;

  friend bool operator==(const GenerationShape&, const GenerationShape&) = default;
};

/// Whether a filter of this shape with this many keys can exist.
bool is_valid(const GenerationShape& shape, std::uint64_t keys);

/// See the head of this file.
class Generation {
 public:
  /// Empty. `seed` is the value's; the blocks come from `memory` as Options::memory says. Throws
  /// std::bad_alloc.
  Generation(const GenerationPlan& plan, std::uint64_t seed, std::uint32_t number,
             std::pmr::memory_resource* memory);
  /// Empty, of this shape. Throws std::invalid_argument when such a filter cannot exist (an image
  /// may be hostile), std::bad_alloc.
  Generation(const GenerationShape& shape, std::uint64_t seed, std::pmr::memory_resource* memory);

  [[nodiscard]] Filter& filter() noexcept { return filter_; }
  [[nodiscard]] const Filter& filter() const noexcept { return filter_; }
  /// The number of its family; higher for families that were opened later.
  [[nodiscard]] std::uint32_t number() const noexcept { return number_; }
  [[nodiscard]] bool is_related(const Generation& other) const noexcept;
  /// Its room, as a multiple of the room of a member of its family that has never doubled.
  [[nodiscard]] std::uint64_t units() const noexcept {
    return std::uint64_t{1} << filter_.growth();
  }
  [[nodiscard]] unsigned most_growth() const noexcept { return most_growth_; }
  [[nodiscard]] bool has_room() const noexcept { return filter_.size() < filter_.capacity(); }
  /// Whether its plan and its size allow it to double once more.
  [[nodiscard]] bool may_grow() const noexcept;

  /// Copies of the item.
  [[nodiscard]] unsigned count(std::uint64_t hash) const noexcept {
    return filter_.may_contain(hash) ? filter_.count(hash) : 0;
  }
  [[nodiscard]] Standing standing(std::uint64_t hash) const noexcept;
  /// Prefetches the memory that a lookup of the item reads.
  void prefetch(std::uint64_t hash) const noexcept;
  /// Moves a share of its content to `to`, another member of its family.
  void pour(Generation& to, Share& share) noexcept;

  /// Bytes that it takes besides this object.
  [[nodiscard]] std::size_t memory_bytes() const noexcept;

  [[nodiscard]] GenerationShape shape() const noexcept;
  /// A copy, in memory from the same resource. Throws std::bad_alloc. O(memory).
  [[nodiscard]] Generation copy() const;

  /// All blocks as bytes. Each growth moves them to other memory.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept;
  /// Overwrites the blocks from byte `offset` on and adjusts the size. `offset` and the length must
  /// be multiples of 64. Returns false and changes nothing when the bytes lie outside or cannot be
  /// blocks of a filter of this shape. Throws std::bad_alloc.
  bool load(std::uint64_t offset, std::span<const std::byte> blocks);

 private:
  Generation(Filter filter, unsigned most_growth, std::uint32_t number) noexcept;

  Filter filter_;
  unsigned most_growth_;
  std::uint32_t number_;
};

}  // namespace nestline::redis

#endif  // NESTLINE_LIB_REDIS_VALUE_GENERATION_H_
