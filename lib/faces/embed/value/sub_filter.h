// One nestline filter of a value, with what its plan allows it.
//
// Its keys are the 64-bit hashes of the value's items, mixed once more under the value's seed plus
// a number. Sub-filters with the same number, width and first blocks are a family: filters of one
// lineage (lib/faces/embed/lineage.h), which can be united without the items and answer together as
// one. Items that look the same in one family do not in another: so an erase finds them (ledger.h).
//
// Its filter is a Filter or, when other threads are to look up in it, a SharedFilter, whose thread
// goes on without ever waiting for them. To change it as a whole, by growing, pouring and loading,
// take_back() returns to the first. The same operations leave the same bytes in both.
#ifndef NESTLINE_LIB_FACES_EMBED_VALUE_SUB_FILTER_H_
#define NESTLINE_LIB_FACES_EMBED_VALUE_SUB_FILTER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/faces/embed/lineage.h"
#include "lib/faces/embed/value/sub_filter_plan.h"

namespace nestline { inline namespace v0_3 { namespace redis {

/// What a value reports to threads with a View of it, written by its own thread alone. Each number
/// is advanced, by a release, before what it announces can be seen.
struct Notices {
  /// Odd while an erase is under way that may choose between sub_filters.
  std::atomic<std::uint64_t> erases{0};
  /// Advanced when a sub_filter comes or has no longer the same filter.
  std::atomic<std::uint64_t> lists{0};

  static void advance(std::atomic<std::uint64_t>& number) noexcept {
    number.store(number.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
};

// The filter of a sub_filter while other threads may look up in it, and its holders.
//
//   SubFilter --- SharedFilter::Owner ----+
//                                          +--> SharedFilter (counts its holders) --> Notices
//   View, View, ... - SharedFilter::Reader +
//
// The owner's thread alone changes the filter and makes readers' handles. So once it finds itself
// the only holder, it stays that. Any thread may drop readers' handles; the last frees the filter.
struct SharedFilter {
  SharedFilter(Filter&& from, std::shared_ptr<Notices> to)
      : keys(from.size()), filter(make_concurrent(std::move(from))), notices(std::move(to)) {}
  // Release and acquire: what each holder did happens before the last one frees the filter.
  void let_go() noexcept {
    if (holders.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  std::atomic<std::uint64_t> holders{1};
  std::uint64_t keys;  // the owner's count: it reads it more often than the filter is read
  ConcurrentFilter filter;
  const std::shared_ptr<Notices> notices;

  struct EndOfOwner {
    void operator()(SharedFilter* shared) const noexcept {
      Notices::advance(shared->notices->lists);
      shared->let_go();
    }
  };
  struct EndOfReader {
    void operator()(SharedFilter* shared) const noexcept { shared->let_go(); }
  };
  using Owner = std::unique_ptr<SharedFilter, EndOfOwner>;
  using Reader = std::unique_ptr<SharedFilter, EndOfReader>;
};

/// What an image has of a sub_filter, to make it again, empty. Above a plan's, most_growth is cut.
struct GenerationShape {
  int bits = 0;
  unsigned growth = 0;
  unsigned most_growth = 0;
  std::uint64_t base_blocks = 0;
  std::uint64_t capacity = 0;
  std::uint32_t number = 0;
  Placement placement = Placement::anywhere;  // follows from Settings::turns_over
  friend bool operator==(const GenerationShape&, const GenerationShape&) = default;
};

/// Whether a filter of this shape with this many keys can exist.
bool is_valid(const GenerationShape& shape, std::uint64_t keys);

class SubFilter {
 public:
  /// Empty. `seed` is the value's; `memory` as Options::memory. Throws std::bad_alloc.
  SubFilter(const SubFilterPlan& plan, std::uint64_t seed, std::uint32_t number,
            std::pmr::memory_resource* memory);
  /// Empty, of this shape. Throws std::invalid_argument when none can be, std::bad_alloc.
  SubFilter(const GenerationShape& shape, std::uint64_t seed, std::pmr::memory_resource* memory);
  /// The number of its family; higher for families that were opened later.
  [[nodiscard]] std::uint32_t number() const noexcept { return number_; }
  [[nodiscard]] bool is_related(const SubFilter& other) const noexcept {
    return are_related(filter_shape_, other.filter_shape_);
  }
  /// Its room, as a multiple of the room of a member of its family that has never doubled.
  [[nodiscard]] std::uint64_t units() const noexcept { return std::uint64_t{1} << growth(); }
  [[nodiscard]] unsigned most_growth() const noexcept { return most_growth_; }
  [[nodiscard]] int bits() const noexcept { return filter_shape_.bits; }
  [[nodiscard]] unsigned growth() const noexcept { return filter_shape_.geometry.growth; }
  [[nodiscard]] std::uint64_t capacity() const noexcept { return filter_shape_.capacity; }
  [[nodiscard]] std::uint64_t size() const noexcept {
    return shared_ ? shared_->keys : filter_.size();
  }
  [[nodiscard]] bool has_room() const noexcept { return size() < capacity(); }
  [[nodiscard]] double expected_fpr() const noexcept {
    return with_filter([](const auto& filter) { return filter.expected_fpr(); });
  }
  [[nodiscard]] std::size_t block_bytes() const noexcept { return filter_shape_.stored_bytes(); }
  /// Bytes that it takes besides this object.
  [[nodiscard]] std::size_t memory_bytes() const noexcept;
  [[nodiscard]] GenerationShape shape() const noexcept;

  // As those of a Filter.
  [[nodiscard]] bool may_contain(std::uint64_t hash) const noexcept {
    return shared_ ? shared_->filter.may_contain(hash) : filter_.may_contain(hash);
  }
  void may_contain(std::span<const std::uint64_t> hashes, std::span<std::uint8_t> out) const {
    with_filter([&](const auto& filter) { filter.may_contain(hashes, out); });
  }
  void may_contain_bits(std::span<const std::uint64_t> hashes,
                        std::span<std::uint64_t> bitmap) const {
    with_filter([&](const auto& filter) { filter.may_contain_bits(hashes, bitmap); });
  }
  [[nodiscard]] unsigned count(std::uint64_t hash) const noexcept {
    if (!may_contain(hash)) return 0;
    return with_filter([&](const auto& filter) { return filter.count(hash); });
  }
  [[nodiscard]] MatchConfidence standing(std::uint64_t hash) const noexcept {
    return match_confidence_of(blocks(), hash);
  }
  /// Whether an insert would search for room beside many copies of the item
  /// (lib/faces/embed/lineage.h).
  [[nodiscard]] bool is_crowded(std::uint64_t hash) const noexcept {
    return nestline::is_crowded(blocks(), hash);
  }
  /// Prefetches the memory that a lookup of the item reads.
  void prefetch(std::uint64_t hash) const noexcept { prefetch_home(blocks(), hash); }
  Outcome insert(std::uint64_t hash) noexcept;
  /// The same for an empty one that is not shared, much faster; refuses more among many copies than
  /// an insert. At most capacity() hashes. Throws std::bad_alloc; do not use it then.
  void fill(std::span<const std::uint64_t> hashes, std::span<Outcome> outcomes);
  bool erase(std::uint64_t hash) noexcept;
  std::size_t erase(std::span<const std::uint64_t> hashes, std::span<std::uint8_t> erased);
  /// Takes everything out. Where it is shared, others may meanwhile find some and miss other items.
  void clear() noexcept;
  /// Whether its plan and its size allow it to double once more.
  [[nodiscard]] bool may_grow() const noexcept;
  /// Doubles; false when it cannot. Not while it is shared. Throws std::bad_alloc.
  bool grow();
  /// Moves a share of its content to `to`, another member of its family. Neither may be shared.
  void migrate(SubFilter& to, Quota& share) noexcept;
  /// A copy that is not shared, in memory from the same resource. Throws std::bad_alloc. O(memory).
  [[nodiscard]] SubFilter copy() const;

  /// So many bytes of the blocks from byte `offset` on, both multiples of 64 and inside. They may
  /// lie in `copy`, or stay until the sub_filter grows or moves. Throws std::bad_alloc.
  [[nodiscard]] std::span<const std::byte> bytes(std::uint64_t offset, std::size_t length,
                                                 std::vector<std::byte>& copy) const;
  /// Overwrites the blocks from byte `offset` on and adjusts the size; it is then not shared.
  /// `offset` and the length must be multiples of 64. Returns false and changes nothing when the
  /// bytes lie outside or cannot be blocks of a filter of this shape. Throws std::bad_alloc.
  bool load(std::uint64_t offset, std::span<const std::byte> blocks);
  /// A handle for other threads to look up in it, which is then shared: only the calling thread may
  /// change it. `notices` is always the same. Throws std::bad_alloc, nothing being changed.
  SharedFilter::Reader reader(const std::shared_ptr<Notices>& notices);
  /// Makes it one that is not shared. Others go on looking at what it was. Throws std::bad_alloc,
  /// nothing being changed. O(memory), and copies the blocks only if others still hold them.
  void take_back();

 private:
  SubFilter(Filter filter, unsigned most_growth, std::uint32_t number) noexcept;
  template <typename Use>
  std::invoke_result_t<Use, const Filter&> with_filter(const Use& use) const {
    return shared_ ? use(std::as_const(shared_->filter)) : use(filter_);
  }

  [[nodiscard]] const internal::Blocks& blocks() const noexcept {
    return with_filter([](const auto& filter) -> const auto& { return blocks_of(filter); });
  }

  Filter filter_;  // moved from while it is shared
  SharedFilter::Owner shared_;
  Shape filter_shape_;
  unsigned most_growth_;
  std::uint32_t number_;
};

}}}  // namespace nestline::redis

#endif  // NESTLINE_LIB_FACES_EMBED_VALUE_SUB_FILTER_H_
