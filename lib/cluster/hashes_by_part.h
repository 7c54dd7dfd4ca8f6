// The hashes of all keys of an upload, sorted by the part that each belongs to as they come: a part
// is built of all its keys at once. They take 8 bytes a key, and none moves when more come.
#ifndef NESTLINE_LIB_CLUSTER_HASHES_BY_PART_H_
#define NESTLINE_LIB_CLUSTER_HASHES_BY_PART_H_

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "nestline/keys.h"

namespace nestline::cluster {

/// Thread safety: const members may run together; nothing else.
class HashesByPart {
 public:
  HashesByPart(std::uint64_t seed, std::uint32_t parts) : seed_(seed), hashes_(parts) {}

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

  std::uint64_t seed_;
  std::uint64_t size_ = 0;
  std::vector<std::deque<std::uint64_t>> hashes_;  // of each part
};

}  // namespace nestline::cluster

#endif  // NESTLINE_LIB_CLUSTER_HASHES_BY_PART_H_
