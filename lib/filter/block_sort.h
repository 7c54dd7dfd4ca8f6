// Located keys (kernels.h) sorted by the range of blocks that they belong to, for bulk_build.cc.
//
// A counting sort writes the keys of a chunk side by side, those of range 0 first: one run for each
// range. One thread sorts a chunk, independently of all others. All keys of a range are in its
// runs, one in each chunk, and in their old order. A sorted key takes 32 bits, its block's number
// within the range and its pair, since the range says the rest.
#ifndef NESTLINE_LIB_FILTER_BLOCK_SORT_H_
#define NESTLINE_LIB_FILTER_BLOCK_SORT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lib/filter/storage.h"
#include "lib/kernels/kernels.h"

namespace nestline {

class BlockSort {
 public:
  // For a filter of `blocks` blocks, in ranges of 2^shift blocks.
  BlockSort(std::uint64_t blocks, std::uint32_t shift)
      : shift_(shift), ranges_(static_cast<std::size_t>((blocks - 1) >> shift) + 1) {}
  static constexpr std::uint32_t kMostShift = 12;  // with the 20 bits of a pair: 32 bits

  [[nodiscard]] std::size_t ranges() const { return ranges_; }
  // Tells the block of a sorted key, from the range's first one on. Used from a local copy: then
  // the compiler knows that stores do not change it.
  struct BlockInRange {
    std::uint32_t mask;
    std::uint32_t operator()(std::uint32_t key) const { return key >> 20 & mask; }
  };
  [[nodiscard]] BlockInRange block_in_range() const { return {(1u << shift_) - 1}; }

  // Forgets the old keys and makes room for chunks of so many keys each. Throws std::bad_alloc.
  void begin(std::span<const std::size_t> chunks) {
    firsts_.assign(1, 0);
    for (const std::size_t keys : chunks) firsts_.push_back(firsts_.back() + keys);
    starts_.resize(chunks.size() * (ranges_ + 1));
    const std::size_t blocks = firsts_.back() / kKeysABlock + 1;
    if (storage_.bytes().size() < blocks * kBlockBytes) {
      storage_ = {};
      storage_ = Storage::allocate(blocks);
    }
    keys_ = reinterpret_cast<std::uint32_t*>(storage_.bytes().data());
  }

  // Sorts a chunk in two steps, the keys being given piece by piece to the first and all at once to
  // the second. Any thread, each chunk once. `next` is the thread's own. Throws std::bad_alloc.
  void begin_chunk(std::vector<std::uint32_t>& next) const { next.assign(ranges_ + 1, 0); }
  void count(std::span<const std::uint64_t> piece, std::vector<std::uint32_t>& next) const {
    std::uint32_t* const counts = next.data();
    const std::uint32_t shift = shift_ + 20;  // a copy: the compiler knows that no store changes it
    for (const std::uint64_t key : piece) ++counts[key >> shift];
  }
  void sort_chunk(std::size_t chunk, std::span<const std::uint64_t> keys,
                  std::vector<std::uint32_t>& next) {
    std::uint32_t* const at = next.data();
    std::uint32_t* const starts = &starts_[chunk * (ranges_ + 1)];
    std::uint32_t sum = 0;
    for (std::size_t range = 0; range <= ranges_; ++range) {
      starts[range] = sum;
      sum += at[range];
      at[range] = starts[range];
    }
    std::uint32_t* const to = keys_ + firsts_[chunk];
    const std::uint32_t shift = shift_ + 20;
    for (const std::uint64_t key : keys) to[at[key >> shift]++] = static_cast<std::uint32_t>(key);
  }

  // Calls visit(run) for the runs of a range, in order, to read or to overwrite them. All chunks
  // must be sorted.
  template <typename Visit>
  void for_each_run(std::size_t range, Visit&& visit) const {
    const std::size_t chunks = firsts_.size() - 1;
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
      // The runs lie far apart, where the processor does not expect them.
      if (chunk + 2 < chunks) __builtin_prefetch(run(chunk + 2, range));
      std::uint32_t* const begin = run(chunk, range);
      std::uint32_t* const end = run(chunk, range + 1);
      visit(std::span<std::uint32_t>(begin, end));
    }
  }

 private:
  static constexpr std::size_t kKeysABlock = kBlockBytes / sizeof(std::uint32_t);

  // Where a run begins; the run of range ranges_ is the end of the chunk.
  [[nodiscard]] std::uint32_t* run(std::size_t chunk, std::size_t range) const {
    return keys_ + firsts_[chunk] + starts_[chunk * (ranges_ + 1) + range];
  }

  std::uint32_t shift_;
  std::size_t ranges_;
  Storage storage_;
  std::uint32_t* keys_ = nullptr;
  std::vector<std::size_t> firsts_;    // the first key of each chunk, and the end
  std::vector<std::uint32_t> starts_;  // of the runs, in their chunk; ranges_ + 1 a chunk
};

}  // namespace nestline

#endif  // NESTLINE_LIB_FILTER_BLOCK_SORT_H_
