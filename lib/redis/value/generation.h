// One nestline filter of a value, with what its plan allows it.
//
// Its keys are the 64-bit hashes of the value's items, mixed once more under a seed: the value's
// seed plus a number. Generations with the same number, width and blocks in the beginning are a
// family: filters of one lineage (lib/filter/lineage.h), which can be united without the items and
// answer together as one filter would. A family has a number of its own, so items that look the
// same in one family do not in another, which lets an erase find out where an item is (ledger.h).
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

/// What an image says of a generation: enough to make it again, empty. Where most_growth is more
/// than any plan has, it counts as that much.
struct GenerationShape {
  int bits = 0;
  unsigned growth = 0;
  unsigned most_growth = 0;
  std::uint64_t base_blocks = 0;
  std::uint64_t capacity = 0;
  std::uint32_t number = 0;

  friend bool operator==(const GenerationShape&, const GenerationShape&) = default;
};

/// Whether there can be such a filter, with so many keys.
bool is_valid(const GenerationShape& shape, std::uint64_t keys);

/// See the head of this file.
class Generation {
 public:
  /// Empty; `seed` is the value's, the blocks come from `memory` as Options::memory says. Throws
  /// std::bad_alloc.
  Generation(const GenerationPlan& plan, std::uint64_t seed, std::uint32_t number,
             std::pmr::memory_resource* memory);
  /// Empty, of this shape. Throws std::invalid_argument when there is no such filter (an image may
  /// be hostile), std::bad_alloc.
  Generation(const GenerationShape& shape, std::uint64_t seed, std::pmr::memory_resource* memory);

  [[nodiscard]] Filter& filter() noexcept { return filter_; }
  [[nodiscard]] const Filter& filter() const noexcept { return filter_; }
  /// Of its family; higher for those that were opened later.
  [[nodiscard]] std::uint32_t number() const noexcept { return number_; }
  [[nodiscard]] bool is_related(const Generation& other) const noexcept;
  /// Its room, in multiples of what one of its family has that has never doubled.
  [[nodiscard]] std::uint64_t units() const noexcept {
    return std::uint64_t{1} << filter_.growth();
  }
  [[nodiscard]] unsigned most_growth() const noexcept { return most_growth_; }
  [[nodiscard]] bool has_room() const noexcept { return filter_.size() < filter_.capacity(); }
  /// Whether it may double once more, by its plan and its size.
  [[nodiscard]] bool may_grow() const noexcept;

  /// Copies of the item.
  [[nodiscard]] unsigned count(std::uint64_t hash) const noexcept {
    return filter_.may_contain(hash) ? filter_.count(hash) : 0;
  }
  [[nodiscard]] Standing standing(std::uint64_t hash) const noexcept;
  /// Asks for the memory that a question of the item looks at.
  void prefetch(std::uint64_t hash) const noexcept;
  /// Moves a share of what is in it to `to`, another of its family.
  void pour(Generation& to, Share& share) noexcept;

  /// Bytes of it besides this object.
  [[nodiscard]] std::size_t memory_bytes() const noexcept;

  [[nodiscard]] GenerationShape shape() const noexcept;
  /// From the same memory. Throws std::bad_alloc. O(memory).
  [[nodiscard]] Generation copy() const;

  /// All blocks as bytes; they move with every growth.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept;
  /// Overwrites the blocks from byte `offset` on, which must be a multiple of 64 as the length. The
  /// size follows. False, nothing being changed, when they lie outside or are not what a filter of
  /// this shape can have there. Throws std::bad_alloc.
  bool load(std::uint64_t offset, std::span<const std::byte> blocks);

 private:
  Generation(Filter filter, unsigned most_growth, std::uint32_t number) noexcept;

  Filter filter_;
  unsigned most_growth_;
  std::uint32_t number_;
};

}  // namespace nestline::redis

#endif  // NESTLINE_LIB_REDIS_VALUE_GENERATION_H_
