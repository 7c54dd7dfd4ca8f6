// One nestline filter of a value, with what its plan allows it.
//
// Its keys are the 64-bit hashes of the value's items, mixed once more under a seed: the value's
// seed plus a number. Generations with the same number, the same width and equally many blocks at
// the start are a family: filters of one lineage (lib/filter/lineage.h), which can be united
// without the items and answer together as one filter would. Each family has its own number, so
// items that look the same in one family do not in another. This lets an erase find out where an
// item is (ledger.h).
//
// It has one of two modes. As a rule its filter is a Filter. When other threads are to look up in
// it, it becomes a shared one (shared_filter.h), which answers and changes alike, and its thread
// goes on without ever waiting for the others. What changes the filter as a whole, growing, pouring
// and loading, is for the first mode: take_back() returns to it. The same operations leave the same
// bytes in both.
#ifndef NESTLINE_LIB_REDIS_VALUE_GENERATION_H_
#define NESTLINE_LIB_REDIS_VALUE_GENERATION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/file/filter_blocks.h"
#include "lib/redis/value/generation_plan.h"
#include "lib/redis/value/shared_filter.h"
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

  /// The number of its family; higher for families that were opened later.
  [[nodiscard]] std::uint32_t number() const noexcept { return number_; }
  [[nodiscard]] bool is_related(const Generation& other) const noexcept {
    return filter_shape_.bits == other.filter_shape_.bits &&
           filter_shape_.seed == other.filter_shape_.seed &&
           filter_shape_.base_blocks == other.filter_shape_.base_blocks;
  }
  /// Its room, as a multiple of the room of a member of its family that has never doubled.
  [[nodiscard]] std::uint64_t units() const noexcept { return std::uint64_t{1} << growth(); }
  [[nodiscard]] unsigned most_growth() const noexcept { return most_growth_; }
  [[nodiscard]] int bits() const noexcept { return filter_shape_.bits; }
  [[nodiscard]] unsigned growth() const noexcept { return filter_shape_.growth; }
  [[nodiscard]] std::uint64_t capacity() const noexcept { return filter_shape_.capacity; }
  /// Fingerprints in it.
  [[nodiscard]] std::uint64_t size() const noexcept {
    return shared_ ? shared_.keys() : filter_.size();
  }
  [[nodiscard]] bool has_room() const noexcept { return size() < capacity(); }
  [[nodiscard]] double expected_fpr() const noexcept {
    return with_filter([](const auto& filter) { return filter.expected_fpr(); });
  }
  /// Bytes of its blocks.
  [[nodiscard]] std::size_t block_bytes() const noexcept { return filter_shape_.block_bytes(); }
  /// Bytes that it takes besides this object.
  [[nodiscard]] std::size_t memory_bytes() const noexcept;
  [[nodiscard]] GenerationShape shape() const noexcept;

  // As those of a Filter.

  [[nodiscard]] bool may_contain(std::uint64_t hash) const noexcept {
    return with_filter([&](const auto& filter) { return filter.may_contain(hash); });
  }
  void may_contain(std::span<const std::uint64_t> hashes, std::span<std::uint8_t> out) const {
    with_filter([&](const auto& filter) { filter.may_contain(hashes, out); });
  }
  /// Copies of the item.
  [[nodiscard]] unsigned count(std::uint64_t hash) const noexcept {
    if (!may_contain(hash)) return 0;
    return with_filter([&](const auto& filter) { return filter.count(hash); });
  }
  [[nodiscard]] Standing standing(std::uint64_t hash) const noexcept {
    return with_filter([&](const auto& filter) { return standing_of(filter, hash); });
  }
  /// Whether an insert would search for room beside many copies of the item (filter_blocks.h).
  [[nodiscard]] bool is_crowded(std::uint64_t hash) const noexcept {
    return with_filter([&](const auto& filter) { return nestline::is_crowded(filter, hash); });
  }
  /// Prefetches the memory that a lookup of the item reads.
  void prefetch(std::uint64_t hash) const noexcept {
    with_filter([&](const auto& filter) { prefetch_home(filter, hash); });
  }
  Outcome insert(std::uint64_t hash) noexcept;
  bool erase(std::uint64_t hash) noexcept;
  /// Takes everything out. Where it is shared, others may meanwhile find some and miss other items.
  void clear() noexcept;

  /// Whether its plan and its size allow it to double once more.
  [[nodiscard]] bool may_grow() const noexcept;
  /// Doubles; false when it cannot. Not while it is shared. Throws std::bad_alloc.
  bool grow();
  /// Moves a share of its content to `to`, another member of its family. Neither may be shared.
  void pour(Generation& to, Share& share) noexcept;

  /// A copy that is not shared, in memory from the same resource. Throws std::bad_alloc. O(memory).
  [[nodiscard]] Generation copy() const;

  /// So many bytes of the blocks from byte `offset` on, both multiples of 64 and inside. They may
  /// lie in `copy`, and otherwise stay where they are until the generation grows or moves. Throws
  /// std::bad_alloc.
  [[nodiscard]] std::span<const std::byte> bytes(std::uint64_t offset, std::size_t length,
                                                 std::vector<std::byte>& copy) const;
  /// Overwrites the blocks from byte `offset` on and adjusts the size; it is then not shared.
  /// `offset` and the length must be multiples of 64. Returns false and changes nothing when the
  /// bytes lie outside or cannot be blocks of a filter of this shape. Throws std::bad_alloc.
  bool load(std::uint64_t offset, std::span<const std::byte> blocks);

  /// A handle for other threads to look up in it; it is then shared. From the first call on, only
  /// the calling thread may change it. All calls need the same `notices`. Throws std::bad_alloc,
  /// nothing being changed. O(1).
  SharedFilter::Reader reader(const std::shared_ptr<Notices>& notices);
  /// Makes it one that is not shared. Others go on looking at what it was. Throws std::bad_alloc,
  /// nothing being changed. O(memory), and copies the blocks only if others still hold them.
  void take_back();

 private:
  Generation(Filter filter, unsigned most_growth, std::uint32_t number) noexcept;
  // Calls use(filter) with the filter of the present mode.
  template <typename Use>
  std::invoke_result_t<Use, const Filter&> with_filter(const Use& use) const {
    return shared_ ? use(std::as_const(shared_.filter())) : use(filter_);
  }

  Filter filter_;  // moved from while it is shared
  SharedFilter::Owner shared_;
  FilterShape filter_shape_;
  unsigned most_growth_;
  std::uint32_t number_;
};

}  // namespace nestline::redis

#endif  // NESTLINE_LIB_REDIS_VALUE_GENERATION_H_
