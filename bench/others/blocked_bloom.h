// Reference: a blocked Bloom filter (Putze, Sanders, Singler: "Cache-, Hash- and Space-Efficient
// Bloom Filters", 2007) with blocks of 256 bits: a key sets one bit in each of eight 32-bit words,
// by eight odd multipliers, as Impala's and Parquet's do. It cannot erase and it cannot count.
//
// Written for speed alone: it uses Highway's vectors for the best target of the machine, hashes
// groups of keys in vectors, and prefetches their blocks two groups ahead.
#ifndef NESTLINE_BENCH_OTHERS_BLOCKED_BLOOM_H_
#define NESTLINE_BENCH_OTHERS_BLOCKED_BLOOM_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bench/support/huge_pages.h"

namespace nestline::bench {

class BlockedBloom {
 public:
  struct alignas(32) Block {
    std::array<std::uint32_t, 8> words;
  };

  explicit BlockedBloom(std::size_t bytes) : blocks_(bytes / sizeof(Block)) {}

  bool insert(std::uint64_t key) { return insert(std::span(&key, 1)) != 0; }
  [[nodiscard]] bool may_contain(std::uint64_t key) const;
  std::size_t insert(std::span<const std::uint64_t> keys);
  std::size_t may_contain(std::span<const std::uint64_t> keys, std::span<std::uint8_t> out) const;
  void clear() { std::ranges::fill(blocks_, Block{}); }
  // Which of the keys are in one of the filters, all of one size; returns how many. `each`: key by
  // key, in the order of the filters, as a program's loop with all of it inlined does it.
  static std::size_t may_contain_any(std::span<const BlockedBloom* const> filters,
                                     std::span<const std::uint64_t> keys,
                                     std::span<std::uint8_t> out);
  static std::size_t count_in_any(std::span<const BlockedBloom* const> filters,
                                  std::span<const std::uint64_t> keys);

  [[nodiscard]] std::size_t memory_bytes() const { return blocks_.size() * sizeof(Block); }

 private:
  static std::vector<const Block*> blocks_of(std::span<const BlockedBloom* const> filters);
  std::vector<Block, HugePages<Block>> blocks_;
};

}  // namespace nestline::bench

#endif  // NESTLINE_BENCH_OTHERS_BLOCKED_BLOOM_H_
