// Reference: an age-partitioned Bloom filter (Shtul, Baquero, Almeida: "Age-Partitioned Bloom
// Filters", 2020, arXiv 2001.03147). k + l slices in a ring; an insert sets one bit in each of the
// newest k, and a lookup finds a key whose bits are set in k slices in a row. After each generation
// the oldest slice is emptied and becomes the newest. A key lives between l and l + 1 generations.
//
// The lookup is the paper's: it begins k slices from the oldest end and jumps over slices that
// cannot belong to a run any more. k = 7, l = 14 gives some 1.5 % false positives at half-full
// slices.
#ifndef NESTLINE_BENCH_FILTERS_OTHERS_AGE_PARTITIONED_BLOOM_H_
#define NESTLINE_BENCH_FILTERS_OTHERS_AGE_PARTITIONED_BLOOM_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bench/filters/others/prefetched.h"
#include "bench/support/huge_pages.h"

namespace nestline::bench {

class AgePartitionedBloom {
 public:
  static constexpr std::size_t kInserted = 7;  // k
  static constexpr std::size_t kKept = 14;     // l
  static constexpr std::size_t kSlices = kInserted + kKept;

  explicit AgePartitionedBloom(std::size_t bytes)
      : words_(bytes / sizeof(std::uint64_t) / kSlices), slices_(words_ * kSlices) {}

  // Keys that a generation takes: then a slice, which k generations fill, is half full.
  [[nodiscard]] std::uint64_t keys_a_generation() const {
    return static_cast<std::uint64_t>(0.693 * static_cast<double>(words_ * 64)) / kInserted;
  }
  void insert(std::uint64_t key) {
    const std::uint64_t hash = mixed(key);
    for (std::size_t age = 0; age < kInserted; ++age) {
      const std::size_t slice = slice_of(age);
      word(slice, bit_of(hash, slice)) |= std::uint64_t{1} << (bit_of(hash, slice) % 64);
    }
  }
  [[nodiscard]] bool may_contain(std::uint64_t key) const {
    const std::uint64_t hash = mixed(key);
    std::size_t run = 0;     // slices set, from where it began up to here
    std::size_t behind = 0;  // and of the run found before, which follows this one
    for (std::size_t age = kKept;;) {
      const std::size_t slice = slice_of(age);
      if ((word(slice, bit_of(hash, slice)) >> (bit_of(hash, slice) % 64) & 1) != 0) {
        if (++run + behind == kInserted) return true;
        ++age;
      } else {
        if (age < kInserted) return false;
        age -= kInserted;
        behind = run;
        run = 0;
      }
    }
  }
  void rotate() {
    newest_ = (newest_ + kSlices - 1) % kSlices;
    const auto first = slices_.begin() + static_cast<std::ptrdiff_t>(newest_ * words_);
    std::fill_n(first, words_, std::uint64_t{0});
  }

 private:
  [[nodiscard]] std::size_t slice_of(std::size_t age) const { return (newest_ + age) % kSlices; }
  [[nodiscard]] std::size_t bit_of(std::uint64_t hash, std::size_t slice) const {
    // Double hashing, as the paper has it.
    const std::uint64_t h = (hash >> 32) + slice * (hash & 0xffffffffu);
    return static_cast<std::size_t>((h & 0xffffffffu) * (words_ * 64) >> 32);
  }
  [[nodiscard]] std::uint64_t& word(std::size_t slice, std::size_t bit) {
    return slices_[slice * words_ + bit / 64];
  }
  [[nodiscard]] const std::uint64_t& word(std::size_t slice, std::size_t bit) const {
    return slices_[slice * words_ + bit / 64];
  }

  std::size_t words_;  // of a slice
  std::vector<std::uint64_t, HugePages<std::uint64_t>> slices_;
  std::size_t newest_ = 0;
};

}  // namespace nestline::bench

#endif  // NESTLINE_BENCH_FILTERS_OTHERS_AGE_PARTITIONED_BLOOM_H_
