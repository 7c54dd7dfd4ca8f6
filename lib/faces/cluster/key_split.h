// Keys as hashes, by the part that each belongs to, in the order of the keys within a part.
#ifndef NESTLINE_LIB_FACES_CLUSTER_KEY_SPLIT_H_
#define NESTLINE_LIB_FACES_CLUSTER_KEY_SPLIT_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "nestline/keys.h"

namespace nestline { inline namespace v0_3 { namespace cluster {

inline constexpr std::size_t kKeysAtOnce = std::size_t{1} << 22;  ///< with positions: some 90 MiB
/// Throws std::invalid_argument unless there is room for an answer to each key.
void require_answers(KeySpan keys, std::span<const std::uint8_t> out);

/// A batch, whose hashes lie side by side as they are sent: 8 bytes, lowest first.
class KeySplit {
 public:
  /// At most kKeysAtOnce keys. O(keys + parts). Throws std::bad_alloc.
  void assign(KeySpan keys, std::uint64_t seed, std::uint32_t parts);

  /// The hashes of a part as numbers of this machine.
  [[nodiscard]] std::span<const std::uint64_t> hashes_of(std::uint32_t part) const {
    return {hashes_.data() + begins_[part], begins_[part + 1] - begins_[part]};
  }
  /// Where in the batch they come from.
  [[nodiscard]] std::span<const std::uint32_t> positions_of(std::uint32_t part) const {
    return {positions_.data() + begins_[part], begins_[part + 1] - begins_[part]};
  }
  void make_bytes();  ///< from numbers to the bytes that are sent, which are little-endian

 private:
  std::vector<std::uint64_t> unsorted_;
  std::vector<std::uint16_t> parts_of_;
  std::vector<std::size_t> begins_;  // of each part, and the end
  std::vector<std::size_t> next_;
  std::vector<std::uint64_t> hashes_;
  std::vector<std::uint32_t> positions_;
};

/// All keys of an upload as they come: a part is built of all its keys at once. They take 8 bytes a
/// key, and none moves when more come. Thread safety: const members may run together; nothing else.
class HashesByPart {
 public:
  HashesByPart(std::uint64_t seed, std::uint32_t parts) : seed_(seed), hashes_(parts) {}
  void append(KeySpan keys);  ///< O(keys). Throws std::bad_alloc.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  /// Those of a part. Throws std::bad_alloc.
  [[nodiscard]] std::vector<std::uint64_t> of(std::uint32_t part) const {
    return {hashes_[part].begin(), hashes_[part].end()};
  }

 private:
  std::uint64_t seed_;
  std::uint64_t size_ = 0;
  std::vector<std::deque<std::uint64_t>> hashes_;  // of each part
};

}}}  // namespace nestline::cluster

#endif  // NESTLINE_LIB_FACES_CLUSTER_KEY_SPLIT_H_
