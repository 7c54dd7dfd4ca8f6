// A batch of keys as the 64-bit numbers that kernels take, in chunks for the first-level cache.
//
//   for (KeyChunks chunks(keys, seed); chunks.next();) { ... chunks.inputs() ... }
//
// 64-bit integers and hashes stay in place. Shorter integers are widened, strings hashed, and
// selections gathered in this object's buffer of 16 KiB. Restarting the kernels' pipeline for each
// chunk costs under one percent.
#ifndef NESTLINE_LIB_FILTERS_FILTER_KEY_CHUNKS_H_
#define NESTLINE_LIB_FILTERS_FILTER_KEY_CHUNKS_H_

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/engine/engine.h"
#include "nestline/filter.h"

namespace nestline { inline namespace v0_3 {

inline constexpr std::size_t kChunk = 2048;
static_assert(kChunk % kMaxLocated == 0, "chunks must be whole groups");

class KeyChunks {
 public:
  // All keys, or those at the positions of a selection, which must lie inside. A chunk's part of it
  // is not read again after next() has returned.
  KeyChunks(KeySpan keys, std::uint64_t seed, internal::Selection selection = {})
      : keys_(keys),
        seed_(seed),
        end_(selection ? selection->size() : keys.size()),
        selection_(selection) {}
  KeyChunks(const KeyChunks&) = delete;
  KeyChunks& operator=(const KeyChunks&) = delete;

  // Goes to the first or the next chunk; false at the end.
  bool next() {
    first_ += inputs_.count;
    if (first_ == end_) return false;
    const std::size_t count = std::min(kChunk, end_ - first_);
    inputs_ = keys_.visit([&](auto keys) {
      return selection_ ? gathered(keys, selection_->subspan(first_, count))
                        : passed_on(keys.subspan(first_, count));
    });
    return true;
  }

  // Where the chunk begins: its first key's number in the batch, or in the selection.
  [[nodiscard]] std::size_t first() const { return first_; }
  [[nodiscard]] const Inputs& inputs() const { return inputs_; }

 private:
  template <typename Key>
  static constexpr InputKind kKind = IntegerKey<Key> ? InputKind::integers : InputKind::hashes;

  template <typename Key>
  [[nodiscard]] std::uint64_t input_of(const Key& key) const {
    if constexpr (IntegerKey<Key>) {
      return static_cast<std::uint64_t>(key);
    } else if constexpr (std::same_as<Key, Hash>) {
      return key.value;
    } else {
      return hash_bytes(key, seed_);
    }
  }

  Inputs passed_on(KeySpan::Integers keys) {
    return {keys.data(), keys.size(), InputKind::integers};
  }
  Inputs passed_on(KeySpan::Hashes keys) {
    static_assert(sizeof(Hash) == sizeof(std::uint64_t));
    return {reinterpret_cast<const std::uint64_t*>(keys.data()), keys.size(), InputKind::hashes};
  }
  template <typename Key>
  Inputs passed_on(std::span<const Key> keys) {
    std::transform(keys.begin(), keys.end(), buffer_.begin(),
                   [&](const Key& key) { return input_of(key); });
    return {buffer_.data(), keys.size(), kKind<Key>};
  }
  template <typename Key>
  Inputs gathered(std::span<const Key> keys, std::span<const std::uint32_t> positions) {
    std::transform(positions.begin(), positions.end(), buffer_.begin(),
                   [&](std::uint32_t position) { return input_of(keys[position]); });
    return {buffer_.data(), positions.size(), kKind<Key>};
  }

  KeySpan keys_;
  std::uint64_t seed_;
  std::size_t end_;
  internal::Selection selection_;
  std::size_t first_ = 0;
  Inputs inputs_;
  std::array<std::uint64_t, kChunk> buffer_;
};

}}  // namespace nestline

#endif  // NESTLINE_LIB_FILTERS_FILTER_KEY_CHUNKS_H_
