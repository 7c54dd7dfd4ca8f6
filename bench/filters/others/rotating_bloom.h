// Reference: four blocked Bloom filters that take turns, as krakend, bitchat and others do it for
// keys that expire. Inserts go to the newest; a lookup looks into each, the newest first, until one
// has the key; when a generation is over, the oldest is emptied and becomes the newest. A key lives
// between three and four generations.
#ifndef NESTLINE_BENCH_FILTERS_OTHERS_ROTATING_BLOOM_H_
#define NESTLINE_BENCH_FILTERS_OTHERS_ROTATING_BLOOM_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "bench/filters/others/blocked_bloom.h"

namespace nestline::bench {

class RotatingBloom {
 public:
  static constexpr std::size_t kGenerations = 4;

  explicit RotatingBloom(std::size_t bytes)
      : filters_{BlockedBloom(bytes / kGenerations), BlockedBloom(bytes / kGenerations),
                 BlockedBloom(bytes / kGenerations), BlockedBloom(bytes / kGenerations)} {}

  void insert(std::span<const std::uint64_t> keys) { filters_[newest_].insert(keys); }
  // One block of each generation is fetched; the newest is asked first.
  std::size_t may_contain(std::span<const std::uint64_t> keys, std::span<std::uint8_t> out) const {
    return BlockedBloom::may_contain_any(newest_first(), keys, out);
  }
  // How many of the keys it has, key by key.
  [[nodiscard]] std::size_t may_contain_each(std::span<const std::uint64_t> keys) const {
    return BlockedBloom::count_in_any(newest_first(), keys);
  }
  void rotate() {
    newest_ = (newest_ + 1) % kGenerations;
    filters_[newest_].clear();
  }
  [[nodiscard]] std::size_t memory_bytes() const {
    return kGenerations * filters_[0].memory_bytes();
  }

 private:
  [[nodiscard]] std::array<const BlockedBloom*, kGenerations> newest_first() const {
    std::array<const BlockedBloom*, kGenerations> all;
    for (std::size_t age = 0; age < kGenerations; ++age) {
      all[age] = &filters_[(newest_ + kGenerations - age) % kGenerations];
    }
    return all;
  }
  std::array<BlockedBloom, kGenerations> filters_;
  std::size_t newest_ = 0;
};

}  // namespace nestline::bench

#endif  // NESTLINE_BENCH_FILTERS_OTHERS_ROTATING_BLOOM_H_
