// Reference: Bloom's filter (Bloom: "Space/Time Trade-offs in Hash Coding with Allowable Errors",
// CACM 1970). Its k bits lie anywhere in the memory; two hashes give their places, as in Kirsch and
// Mitzenmacher ("Less Hashing, Same Performance", 2006).
//
// k is the best for the number of keys, or a given one. A single lookup stops at the first bit that
// is 0. A batch prefetches all k lines two groups ahead.
#ifndef NESTLINE_BENCH_FILTERS_OTHERS_CLASSIC_BLOOM_H_
#define NESTLINE_BENCH_FILTERS_OTHERS_CLASSIC_BLOOM_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bench/filters/others/prefetched.h"
#include "bench/support/huge_pages.h"

namespace nestline::bench {

class ClassicBloom {
 public:
  // A filter for this many keys in this many bytes; `k` 0: the best.
  ClassicBloom(std::size_t bytes, std::uint64_t keys, std::size_t k = 0)
      : words_(bytes / sizeof(std::uint64_t)),
        bits_(words_.size() * 64),
        k_(static_cast<std::uint32_t>(k != 0 ? k : best_k(bits_, keys))) {}

  static std::size_t best_k(std::uint64_t bits, std::uint64_t keys) {
    const double each = static_cast<double>(bits) / static_cast<double>(keys);
    return static_cast<std::size_t>(std::max(1.0, std::round(each * std::log(2.0))));
  }

  bool insert(std::uint64_t key) { return insert_at(place_of(key)); }
  [[nodiscard]] bool may_contain(std::uint64_t key) const { return contains_at(place_of(key)); }

  std::size_t insert(std::span<const std::uint64_t> keys) {
    return each(keys, [&](std::size_t, const Place& place) { return insert_at(place); });
  }
  std::size_t may_contain(std::span<const std::uint64_t> keys, std::span<std::uint8_t> out) const {
    return each(keys, [&](std::size_t i, const Place& place) {
      const bool found = contains_at(place);
      out[i] = found;
      return found;
    });
  }

  [[nodiscard]] std::size_t memory_bytes() const { return words_.size() * sizeof(words_[0]); }

 private:
  struct Place {
    std::uint64_t first;
    std::uint64_t step;
  };

  static Place place_of(std::uint64_t key) {
    const std::uint64_t hash = mixed(key);
    return {hash, (hash << 32 | hash >> 32) | 1};
  }
  // Bit i of a key: the high half of a 64-bit number scaled onto the bits.
  [[nodiscard]] std::uint64_t bit(const Place& place, std::uint32_t i) const {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>(Wide{place.first + i * place.step} * bits_ >> 64);
  }
  [[nodiscard]] bool contains_at(const Place& place) const {
    for (std::uint32_t i = 0; i < k_; ++i) {
      const std::uint64_t at = bit(place, i);
      if ((words_[at / 64] >> at % 64 & 1) == 0) return false;
    }
    return true;
  }
  bool insert_at(const Place& place) {
    for (std::uint32_t i = 0; i < k_; ++i) {
      const std::uint64_t at = bit(place, i);
      words_[at / 64] |= std::uint64_t{1} << at % 64;
    }
    return true;
  }
  template <typename Visit>
  std::size_t each(std::span<const std::uint64_t> keys, Visit&& visit) const {
    return for_each_prefetched<Place>(
        keys, place_of,
        [&](const Place& place) {
          for (std::uint32_t i = 0; i < k_; ++i) __builtin_prefetch(&words_[bit(place, i) / 64]);
        },
        visit);
  }

  std::vector<std::uint64_t, HugePages<std::uint64_t>> words_;
  std::uint64_t bits_;
  std::uint32_t k_;
};

}  // namespace nestline::bench

#endif  // NESTLINE_BENCH_FILTERS_OTHERS_CLASSIC_BLOOM_H_
