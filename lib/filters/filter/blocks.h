// What filters of every kind are made of: blocks, their numbers, and the engine that works on them.
#ifndef NESTLINE_LIB_FILTERS_FILTER_BLOCKS_H_
#define NESTLINE_LIB_FILTERS_FILTER_BLOCKS_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <memory_resource>
#include <optional>
#include <utility>

#include "lib/engine/engine.h"
#include "lib/engine/place/shape.h"
#include "lib/filters/filter/storage.h"
#include "nestline/filter.h"

namespace nestline { inline namespace v0_3 {

// How long a filter that could not grow waits before it requests memory again.
//
// That is a system call, for which all writers of a ConcurrentFilter wait. After a failure the
// filter takes kKeys more keys that need growth before it tries again, unless grow() is called.
// Keys need growth that have no room, or for which the filter is due to grow; each counts once,
// stored or refused. In a batch those with too many copies count too.
class GrowthPatience {
 public:
  static constexpr std::uint64_t kKeys = std::uint64_t{1} << 16;
  // Growing has failed.
  void begin() noexcept { left_ = kKeys; }
  [[nodiscard]] bool is_waiting() const noexcept { return left_ != 0; }
  // How many keys it still counts.
  [[nodiscard]] std::uint64_t left() const noexcept { return left_; }

  // Counts keys that need growth. False: it is time to try again. Calls of several threads at once
  // may miss some keys: the wait is a little longer.
  bool waits(std::uint64_t keys) noexcept {
    const std::uint64_t left = left_;
    if (left == 0) return false;
    left_ = left - std::min(left, keys);
    return true;
  }

 private:
  std::atomic<std::uint64_t> left_{0};
};

namespace internal {

struct Blocks {
  // What begins at `offset` of the storage.
  Blocks(const Shape& shape, Storage storage_, std::size_t offset)
      : view{reinterpret_cast<const Block*>(storage_.bytes().data() + offset), shape.geometry,
             derive_secrets(shape.seed), shape.bits, bucket_table(shape.bits)},
        engine(&shape.engine()),
        kind(shape.kind),
        bits(shape.bits),
        seed(shape.seed),
        capacity(shape.capacity),
        max_capacity(shape.max_capacity),
        key_kinds(shape.key_kinds),
        storage(std::move(storage_)) {}

  // Without what time adds to it.
  [[nodiscard]] Shape shape() const {
    return {.bits = bits,
            .geometry = view.geometry,
            .seed = seed,
            .capacity = capacity,
            .max_capacity = max_capacity,
            .key_kinds = key_kinds,
            .kind = kind};
  }
  // Only for a filter that is not a read-only mapping.
  Block* blocks() const { return const_cast<Block*>(view.blocks); }
  [[nodiscard]] KeyHasher hasher() const { return {seed, view.secrets}; }

  // Whether it still grows automatically, and whether it has to grow before the next key.
  [[nodiscard]] bool grows_by_itself() const {
    return max_capacity > capacity && view.geometry.growth < max_growth(bits);
  }
  [[nodiscard]] bool is_due_to_grow() const { return size >= capacity && grows_by_itself(); }
  // Of an empty or new filter; see Options.
  void set_shrink_below(double load) {
    shrink_below = load;
    if (view.geometry.growth == 0) return;
    shrinking_size = static_cast<std::uint64_t>(load * static_cast<double>(shape().slots()));
  }
  BlocksView view;  // what every lookup needs, at the beginning (load_table relies on it)
  const Engine* engine;
  const KindOfFilter* kind;
  int bits;
  std::uint64_t seed;
  std::uint64_t size = 0;      // keys; a ConcurrentFilter counts them elsewhere (KeyCount)
  std::uint64_t capacity;      // promised
  std::uint64_t max_capacity;  // how far it grows automatically
  std::uint32_t key_kinds;     // that it names
  double shrink_below = 0;     // Options::shrink_below
  // With fewer keys it shrinks. Atomic for a ConcurrentFilter's writers.
  mutable std::atomic<std::uint64_t> shrinking_size{0};
  mutable GrowthPatience patience;  // begins when growing fails
  Storage storage;
  std::filesystem::path path;  // of a mapped file
};

}  // namespace internal

using internal::Blocks;
using OwnedBlocks = internal::OwnedState<Blocks>;

// Empty, in memory as Options::memory requires. Throws std::bad_alloc.
OwnedBlocks make_blocks(const Shape& shape, std::pmr::memory_resource* memory);
// Keys / slots, and the expected false-positive rate, for `keys` keys.
double load_factor(const Blocks& state, std::uint64_t keys);
double expected_fpr(const Blocks& state, std::uint64_t keys);
// The share of absent keys that need a second block, by the marks (of 4096 blocks at most).
double second_probes_of(const Blocks& state);

// Access to a filter's blocks for other rooms.
struct FilterAccess {
  static const Blocks& blocks(const Filter& filter) { return *filter.state_; }
  static Blocks& blocks(Filter& filter) { return *filter.state_; }
  // Moved only when the caller does.
  static OwnedBlocks&& take(Filter&& filter) { return std::move(filter.state_); }
  static Filter make(OwnedBlocks blocks) { return Filter(std::move(blocks)); }
};

}}  // namespace nestline

#endif  // NESTLINE_LIB_FILTERS_FILTER_BLOCKS_H_
