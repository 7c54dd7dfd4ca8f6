// Reference: four blocked Bloom filters that take turns, as krakend, bitchat and others do it for
// keys that expire. Inserts go to the newest; a lookup looks into each, the newest first, until one
// has the key; when a generation is over, the oldest is emptied and becomes the newest. A key lives
// between three and four generations.
#ifndef NESTLINE_BENCH_OTHERS_ROTATING_BLOOM_H_
#define NESTLINE_BENCH_OTHERS_ROTATING_BLOOM_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bench/others/blocked_bloom.h"

namespace nestline::bench {

class RotatingBloom {
 public:
  static constexpr std::size_t kGenerations = 4;

  explicit RotatingBloom(std::size_t bytes)
      : filters_{BlockedBloom(bytes / kGenerations), BlockedBloom(bytes / kGenerations),
                 BlockedBloom(bytes / kGenerations), BlockedBloom(bytes / kGenerations)} {}

  void insert(std::span<const std::uint64_t> keys) { filters_[newest_].insert(keys); }
  // Each generation is asked for what the newer ones do not have.
  std::size_t may_contain(std::span<const std::uint64_t> keys, std::span<std::uint8_t> out) const {
    std::size_t found = filters_[newest_].may_contain(keys, out);
    std::vector<std::uint64_t>& rest = rest_;
    std::vector<std::size_t>& place = place_;
    rest.clear();
    place.clear();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (out[i] != 0) continue;
      rest.push_back(keys[i]);
      place.push_back(i);
    }
    for (std::size_t age = 1; age < kGenerations && !rest.empty(); ++age) {
      const BlockedBloom& filter = filters_[(newest_ + kGenerations - age) % kGenerations];
      answers_.resize(rest.size());
      found += filter.may_contain(rest, answers_);
      std::size_t left = 0;
      for (std::size_t i = 0; i < rest.size(); ++i) {
        out[place[i]] = answers_[i];
        rest[left] = rest[i];
        place[left] = place[i];
        left += answers_[i] == 0;
      }
      rest.resize(left);
      place.resize(left);
    }
    return found;
  }
  void rotate() {
    newest_ = (newest_ + 1) % kGenerations;
    filters_[newest_] = BlockedBloom(filters_[newest_].memory_bytes());
  }
  [[nodiscard]] std::size_t memory_bytes() const {
    return kGenerations * filters_[0].memory_bytes();
  }

 private:
  std::array<BlockedBloom, kGenerations> filters_;
  std::size_t newest_ = 0;
  mutable std::vector<std::uint64_t> rest_;
  mutable std::vector<std::size_t> place_;
  mutable std::vector<std::uint8_t> answers_;
};

}  // namespace nestline::bench

#endif  // NESTLINE_BENCH_OTHERS_ROTATING_BLOOM_H_
