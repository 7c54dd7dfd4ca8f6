// Reference: a blocked Bloom filter (Putze, Sanders, Singler: "Cache-, Hash- and Space-Efficient
// Bloom Filters", 2007). All bits of a key lie in one block of 32 or 64 bytes. It cannot erase and
// it cannot count.
//
// A key has either one bit in each of the eight 32-bit words of a block of 32 bytes, by eight odd
// multipliers, as Impala's and Parquet's filters do: the fastest form, which is compared in speed.
// Or it has so many bits anywhere in the block: the form with the fewest false positives, which is
// compared in memory.
//
// Written for speed: it uses Highway's vectors for the best target of the machine, and a batch
// prefetches blocks two groups of keys ahead.
#ifndef NESTLINE_BENCH_FILTERS_OTHERS_BLOCKED_BLOOM_H_
#define NESTLINE_BENCH_FILTERS_OTHERS_BLOCKED_BLOOM_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bench/support/huge_pages.h"

namespace nestline::bench {

class BlockedBloom {
 public:
  static constexpr std::size_t kMostBits = 16;

  struct Shape {
    std::size_t block_bytes = 32;  // or 64
    std::size_t bits = 0;          // of a key, at most kMostBits; 0: one in each word of 32 bytes
  };

  explicit BlockedBloom(std::size_t bytes) : BlockedBloom(bytes, Shape()) {}
  BlockedBloom(std::size_t bytes, Shape shape);

  bool insert(std::uint64_t key) { return insert(std::span(&key, 1)) != 0; }
  [[nodiscard]] bool may_contain(std::uint64_t key) const {
    return kernels_->may_contain_one(words_.data(), blocks_, shape_.bits, key);
  }
  std::size_t insert(std::span<const std::uint64_t> keys) {
    kernels_->insert(words_.data(), blocks_, shape_.bits, keys);
    return keys.size();
  }
  std::size_t may_contain(std::span<const std::uint64_t> keys, std::span<std::uint8_t> out) const {
    return kernels_->may_contain(words_.data(), blocks_, shape_.bits, keys, out.data());
  }
  // Whether a key may be in both, of filters of one bit in each word and of one size: some block
  // has common bits in each of its words.
  [[nodiscard]] bool may_share(const BlockedBloom& other) const {
    for (std::size_t block = 0; block < words_.size(); block += 8) {
      bool all = true;
      for (std::size_t i = block; i < block + 8; ++i) all &= (words_[i] & other.words_[i]) != 0;
      if (all) return true;
    }
    return false;
  }
  void clear() { std::ranges::fill(words_, 0u); }
  // Which of the keys are in one of the filters, all of one shape and size; returns how many.
  // count_in_any: key by key, in the order of the filters, as a program's loop with all of it
  // inlined does it.
  static std::size_t may_contain_any(std::span<const BlockedBloom* const> filters,
                                     std::span<const std::uint64_t> keys,
                                     std::span<std::uint8_t> out);
  static std::size_t count_in_any(std::span<const BlockedBloom* const> filters,
                                  std::span<const std::uint64_t> keys);

  [[nodiscard]] std::size_t memory_bytes() const { return words_.size() * sizeof(words_[0]); }

  // The vector code of one target and shape: words, blocks, bits, keys.
  struct Kernels {
    bool (*may_contain_one)(const std::uint32_t*, std::uint64_t, std::size_t, std::uint64_t);
    std::size_t (*may_contain)(const std::uint32_t*, std::uint64_t, std::size_t,
                               std::span<const std::uint64_t>, std::uint8_t*);
    std::size_t (*may_contain_any)(std::span<const std::uint32_t* const>, std::uint64_t,
                                   std::size_t, std::span<const std::uint64_t>, std::uint8_t*);
    std::size_t (*count_in_any)(std::span<const std::uint32_t* const>, std::uint64_t, std::size_t,
                                std::span<const std::uint64_t>);
    void (*insert)(std::uint32_t*, std::uint64_t, std::size_t, std::span<const std::uint64_t>);
  };

 private:
  static std::vector<const std::uint32_t*> words_of(std::span<const BlockedBloom* const> filters);

  Shape shape_;
  std::uint64_t blocks_;
  std::vector<std::uint32_t, HugePages<std::uint32_t>> words_;
  const Kernels* kernels_;
};

}  // namespace nestline::bench

#endif  // NESTLINE_BENCH_FILTERS_OTHERS_BLOCKED_BLOOM_H_
