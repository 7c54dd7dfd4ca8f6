// The hashes of all keys of an upload, sorted by the part that each belongs to as they come: a part
// is built of all its keys at once. A part's hashes are in a chain of small arrays, so that no hash
// moves when more come. They take 8 bytes a key, in huge pages: a page fault for each 4 KiB would
// take longer than the hashing.
#ifndef NESTLINE_LIB_CLUSTER_HASHES_BY_PART_H_
#define NESTLINE_LIB_CLUSTER_HASHES_BY_PART_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory_resource>
#include <vector>

#include "nestline/keys.h"
#include "nestline/memory.h"

namespace nestline::cluster {

/// Thread safety: const members may run together; nothing else.
class HashesByPart {
 public:
  HashesByPart(std::uint64_t seed, std::uint32_t parts) : seed_(seed) {
    for (std::uint32_t part = 0; part < parts; ++part) hashes_.emplace_back(&memory_);
  }

  /// O(keys). Throws std::bad_alloc.
  void append(KeySpan keys);

  /// Of all parts.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  /// Those of a part, in the order of the keys. Throws std::bad_alloc.
  [[nodiscard]] std::vector<std::uint64_t> of(std::uint32_t part) const {
    return {hashes_[part].begin(), hashes_[part].end()};
  }

 private:
  template <typename OneKey>
  void append_all(std::span<const OneKey> keys);

  static constexpr std::size_t kFirstBytes = std::size_t{1} << 20;  // more each time

  std::uint64_t seed_;
  std::uint64_t size_ = 0;
  std::pmr::monotonic_buffer_resource memory_{kFirstBytes, &mapped_memory()};
  std::vector<std::pmr::deque<std::uint64_t>> hashes_;
};

}  // namespace nestline::cluster

#endif  // NESTLINE_LIB_CLUSTER_HASHES_BY_PART_H_
