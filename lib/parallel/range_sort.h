// Hashes sorted by the range of blocks that they belong to: the first phase of parallel_build.cc.
//
// A counting sort writes the hashes of a chunk of keys side by side, those of range 0 first: one
// run for each range. One thread sorts a chunk, independently of all others. All hashes of a range
// are in its runs, one in each chunk.
#ifndef NESTLINE_LIB_PARALLEL_RANGE_SORT_H_
#define NESTLINE_LIB_PARALLEL_RANGE_SORT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lib/filter/filter_state.h"
#include "lib/filter/storage.h"
#include "lib/place/geometry.h"
#include "nestline/keys.h"

namespace nestline {

class RangeSort {
 public:
  static constexpr std::size_t kChunkKeys = std::size_t{1} << 16;

  // What a thread needs while it sorts a chunk; reused for the next.
  struct Scratch {
    std::vector<std::uint64_t> hashes;
    std::vector<std::uint32_t> next;
  };

  // For up to `most_keys` keys at a time. Throws std::bad_alloc.
  explicit RangeSort(std::size_t most_keys)
      : storage_(Storage::allocate(most_keys / kHashesABlock + 1)),
        hashes_(reinterpret_cast<std::uint64_t*>(storage_.bytes().data())) {}

  // Forgets the old hashes and makes room for the hashes of `keys` in the filter.
  void begin(const Filter::State& state, KeySpan keys);

  [[nodiscard]] std::size_t chunks() const { return chunks_; }
  [[nodiscard]] std::size_t ranges() const { return ranges_; }
  // The first block of a range, or of what follows the last one.
  [[nodiscard]] std::uint64_t first_block(std::size_t range) const {
    return std::min(std::uint64_t{range} << shift_, bases_) << growth_;
  }

  // Sorts one chunk. Any thread, each chunk once.
  void sort_chunk(std::size_t chunk, Scratch& scratch);

  // Goes through the hashes of a range, to read or to overwrite them. All chunks must be sorted.
  class Cursor {
   public:
    Cursor(const RangeSort& sort, std::size_t range) : sort_(sort), range_(range) {}

    // Copies at most `most` of the next hashes; returns how many.
    std::size_t read(std::uint64_t* to, std::size_t most) {
      std::size_t count = 0;
      while (count < most && find_run()) {
        const auto part = std::min(most - count, static_cast<std::size_t>(end_ - at_));
        std::copy_n(at_, part, to + count);
        at_ += part;
        count += part;
      }
      return count;
    }
    // Overwrites the next hash, which must exist.
    void write(std::uint64_t hash) {
      find_run();
      *at_++ = hash;
    }

   private:
    // Goes to the next run when this one is at its end; false after the last.
    bool find_run() {
      for (; at_ == end_; ++chunk_) {
        if (chunk_ == sort_.chunks_) return false;
        at_ = sort_.run(chunk_, range_);
        end_ = sort_.run(chunk_, range_ + 1);
        // The next run lies somewhere else, where the processor does not expect it.
        if (chunk_ + 1 < sort_.chunks_) {
          const std::uint64_t* const next = sort_.run(chunk_ + 1, range_);
          __builtin_prefetch(next);
          __builtin_prefetch(next + kHashesABlock);
        }
      }
      return true;
    }

    const RangeSort& sort_;
    std::size_t range_;
    std::size_t chunk_ = 0;
    std::uint64_t* at_ = nullptr;
    std::uint64_t* end_ = nullptr;
  };

 private:
  static constexpr std::size_t kHashesABlock = kBlockBytes / sizeof(std::uint64_t);
  // A range is 4096 blocks, 256 KiB, so that one fits the second-level cache of a core; larger
  // filters have larger ranges, at most kMostRanges of them, since sorting writes to that many
  // places at once.
  static constexpr std::uint32_t kRangeShift = 12;
  static constexpr std::uint64_t kMostRanges = 2048;

  // Calls visit(i, hash) for every key.
  template <typename Key, typename Visit>
  static void for_each_hash(const Filter::State& state, std::span<const Key> keys, Visit&& visit) {
    const MixSecrets secrets = state.view.secrets;
    for (std::size_t i = 0; i < keys.size(); ++i) visit(i, hash_key(keys[i], secrets, state.seed));
  }

  // Where a run begins; the run of range ranges_ is the end of the chunk.
  [[nodiscard]] std::uint64_t* run(std::size_t chunk, std::size_t range) const {
    return hashes_ + chunk * kChunkKeys + starts_[chunk * (ranges_ + 1) + range];
  }

  Storage storage_;
  std::uint64_t* hashes_;
  const Filter::State* state_ = nullptr;
  KeySpan keys_ = KeySpan::Hashes();
  std::uint64_t bases_ = 1;
  std::uint32_t growth_ = 0;
  std::uint32_t shift_ = 0;  // from a base to its range
  std::size_t chunks_ = 0;
  std::size_t ranges_ = 1;
  std::vector<std::uint32_t> starts_;  // of the runs, in their chunk; ranges_ + 1 a chunk
};

inline void RangeSort::begin(const Filter::State& state, KeySpan keys) {
  const Geometry& geometry = state.view.geometry;
  state_ = &state;
  keys_ = keys;
  bases_ = geometry.base_blocks;
  growth_ = geometry.growth;
  shift_ = kRangeShift - std::min(kRangeShift, geometry.growth);
  while ((bases_ - 1) >> shift_ >= kMostRanges) ++shift_;
  ranges_ = static_cast<std::size_t>((bases_ - 1) >> shift_) + 1;
  chunks_ = (keys.size() + kChunkKeys - 1) / kChunkKeys;
  starts_.resize(chunks_ * (ranges_ + 1));
}

inline void RangeSort::sort_chunk(std::size_t chunk, Scratch& scratch) {
  const std::size_t first = chunk * kChunkKeys;
  const std::size_t count = std::min(kChunkKeys, keys_.size() - first);
  scratch.hashes.resize(std::max(scratch.hashes.size(), count));
  scratch.next.assign(ranges_ + 1, 0);
  std::uint64_t* const hashes = scratch.hashes.data();
  std::uint32_t* const next = scratch.next.data();
  // Captured copies: the compiler knows that no store below changes them.
  const auto range_of = [bases = bases_, shift = shift_](std::uint64_t hash) {
    return static_cast<std::size_t>(multiply_high(hash, bases) >> shift);
  };

  keys_.subspan(first, count).visit([&](auto keys) {
    for_each_hash(*state_, keys, [&, hashes, next](std::size_t i, std::uint64_t hash) {
      hashes[i] = hash;
      ++next[range_of(hash)];
    });
  });
  std::uint32_t* const starts = &starts_[chunk * (ranges_ + 1)];
  std::uint32_t at = 0;
  for (std::size_t range = 0; range <= ranges_; ++range) {
    starts[range] = at;
    at += next[range];
    next[range] = starts[range];
  }
  std::uint64_t* const to = hashes_ + first;
  for (std::size_t i = 0; i < count; ++i) to[next[range_of(hashes[i])]++] = hashes[i];
}

}  // namespace nestline

#endif  // NESTLINE_LIB_PARALLEL_RANGE_SORT_H_
