// What builds in bulk work in: memory for a while, and keys sorted by their ranges of blocks.
#ifndef NESTLINE_LIB_FILTERS_FILTER_BLOCK_SORT_H_
#define NESTLINE_LIB_FILTERS_FILTER_BLOCK_SORT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/engine/engine.h"
#include "lib/filters/filter/storage.h"

namespace nestline { inline namespace v0_3 {

// Memory for a while, cut into arrays and given back all at once: straight from the system, in huge
// pages or, if all is small, in small ones in one call: page faults would take longer than the
// build.
class ScratchMemory {
 public:
  // `usual`: how many bytes are taken in all if nothing is unusual.
  explicit ScratchMemory(std::size_t usual)
      : unit_(usual < kSmall ? round_up(usual + 1, kBlockBytes) : kHugePage) {}

  // Memory for `bytes` bytes, aligned for a block. Any thread. Throws std::bad_alloc.
  std::byte* take(std::size_t bytes) {
    const std::lock_guard<std::mutex> guard(mutex_);
    bytes = round_up(bytes, kBlockBytes);
    if (bytes > left_.size()) {
      Storage fresh = Storage::allocate(round_up(bytes, unit_) / kBlockBytes);
      fresh.populate();
      // The rest of this one, or of the one before: whichever is larger.
      const std::span<std::byte> all = fresh.bytes();
      all_.push_back(std::move(fresh));
      if (all.size() - bytes > left_.size()) left_ = all.subspan(bytes);
      return all.data();
    }
    std::byte* const taken = left_.data();
    left_ = left_.subspan(bytes);
    return taken;
  }

 private:
  static constexpr std::size_t kHugePage = std::size_t{2} << 20;
  static constexpr std::size_t kSmall = kHugePage / 2;  // takes longer in one huge page
  static std::size_t round_up(std::size_t bytes, std::size_t unit) {
    return (bytes + unit - 1) / unit * unit;
  }

  std::size_t unit_;
  std::mutex mutex_;
  std::vector<Storage> all_;
  std::span<std::byte> left_;
};

// An array of numbers whose content is lost when it grows.
template <typename Number>
class ScratchArray {
  static_assert(std::is_trivially_copyable_v<Number>);

 public:
  // Room for so many numbers. Throws std::bad_alloc.
  Number* at_least(std::size_t count, ScratchMemory& memory) {
    if (count > size_) {
      size_ = count;
      data_ = reinterpret_cast<Number*>(memory.take(count * sizeof(Number)));
    }
    return data_;
  }

 private:
  Number* data_ = nullptr;
  std::size_t size_ = 0;
};

// Located keys (engine.h) sorted by their ranges of blocks.
//
// One thread distributes a chunk of keys to pages of one range each; a range has a chain of pages
// in each chunk, with its keys in their old order. So no key is counted before it is written, nor
// read again. A key takes 32 bits: its block's number within the range and its pair.
class BlockSort {
  // The pages of a range in a chunk: the first one, and where the next key is to go, from the
  // chunk's first key on. At the end of a page, and where there is none, a new page is needed.
  struct Chain {
    std::uint32_t first = 0;
    std::uint32_t end = 0;
  };

 public:
  // Keys of a page. A chain ends in one that is half full on average, so a chunk should have many
  // pages a range.
  static constexpr std::size_t kPageKeys = 256;
  // For a filter of `blocks` blocks, in ranges of 2^shift blocks.
  BlockSort(std::uint64_t blocks, std::uint32_t shift, ScratchMemory& memory)
      : memory_(memory),
        shift_(shift),
        ranges_(static_cast<std::size_t>((blocks - 1) >> shift) + 1) {}
  static constexpr std::uint32_t kMaxShift = 12;  // with the 20 bits of a pair: 32 bits

  [[nodiscard]] std::size_t ranges() const { return ranges_; }
  // Tells the block of a sorted key, from the range's first one on. Used from a local copy: then
  // the compiler knows that stores do not change it.
  struct BlockInRange {
    std::uint32_t mask;
    std::uint32_t operator()(std::uint32_t key) const { return key >> 20 & mask; }
  };
  [[nodiscard]] BlockInRange block_in_range() const { return {(1u << shift_) - 1}; }

  // Forgets the old keys; makes room for chunks of fewer than 2^31 keys. Throws std::bad_alloc.
  void begin(std::span<const std::size_t> chunks) {
    first_pages_.assign(1, 0);
    for (const std::size_t keys : chunks) {
      first_pages_.push_back(first_pages_.back() + std::min(keys, keys / kPageKeys + ranges_));
    }
    const std::size_t pages = first_pages_.back();
    const std::size_t chains = chunks.size() * ranges_;
    chains_ = chains_room_.at_least(chains, memory_);
    std::fill_n(chains_, chains, Chain{});
    next_ = next_room_.at_least(pages, memory_);
    keys_ = keys_room_.at_least(pages * kPageKeys, memory_);
  }

  // Distributes the keys of one chunk, which are given piece by piece. Any thread, each chunk once.
  class Chunk {
   public:
    Chunk(BlockSort& sort, std::size_t chunk)
        : shift_(sort.shift_ + 20),
          keys_(sort.keys_ + sort.first_pages_[chunk] * kPageKeys),
          next_(sort.next_ + sort.first_pages_[chunk]),
          chains_(sort.chains_ + chunk * sort.ranges_) {}

    void add(std::span<const std::uint64_t> keys) {
      // Copies: the compiler knows that no store changes them.
      const std::uint32_t shift = shift_;
      std::uint32_t* const to = keys_;
      Chain* const chains = chains_;
      for (const std::uint64_t key : keys) {
        Chain& chain = chains[key >> shift];
        std::uint32_t at = chain.end;
        if (at % kPageKeys == 0) [[unlikely]]
          at = next_page(chain);
        to[at] = static_cast<std::uint32_t>(key);
        chain.end = at + 1;
      }
    }

   private:
    std::uint32_t next_page(Chain& chain) {
      if (chain.end == 0) {
        chain.first = pages_;
      } else {
        next_[chain.end / kPageKeys - 1] = pages_;
      }
      return pages_++ * static_cast<std::uint32_t>(kPageKeys);
    }

    std::uint32_t shift_;
    std::uint32_t* keys_;
    std::uint32_t* next_;
    Chain* chains_;
    std::uint32_t pages_ = 0;
  };

  // Calls visit(keys) for the pages of a range, in order. All chunks must be distributed.
  template <typename Visit>
  void for_each_page(std::size_t range, Visit&& visit) const {
    const std::size_t chunks = first_pages_.size() - 1;
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
      const Chain& chain = chains_[chunk * ranges_ + range];
      if (chain.end == 0) continue;
      const std::uint32_t* const keys = keys_ + first_pages_[chunk] * kPageKeys;
      const std::uint32_t* const next = next_ + first_pages_[chunk];
      const std::size_t last = (chain.end - 1) / kPageKeys;
      for (std::size_t page = chain.first; page != last; page = next[page]) {
        prefetch(keys + next[page] * kPageKeys);
        visit(std::span(keys + page * kPageKeys, kPageKeys));
      }
      if (chunk + 1 < chunks) {
        prefetch(keys_ + (first_pages_[chunk + 1] + chains_[(chunk + 1) * ranges_ + range].first) *
                             kPageKeys);
      }
      visit(std::span(keys + last * kPageKeys, chain.end - last * kPageKeys));
    }
  }

 private:
  // The pages lie far apart, where the processor does not expect them.
  static void prefetch(const std::uint32_t* page) {
    prefetch_bytes(page, kPageKeys * sizeof(*page));
  }

  ScratchMemory& memory_;
  std::uint32_t shift_;
  std::size_t ranges_;
  std::vector<std::size_t> first_pages_;  // of each chunk, and the end
  ScratchArray<std::uint32_t> keys_room_;
  ScratchArray<std::uint32_t> next_room_;
  ScratchArray<Chain> chains_room_;
  std::uint32_t* keys_ = nullptr;
  std::uint32_t* next_ = nullptr;  // for each page, from the chunk's first page on
  Chain* chains_ = nullptr;        // ranges_ for each chunk
};

}}  // namespace nestline

#endif  // NESTLINE_LIB_FILTERS_FILTER_BLOCK_SORT_H_
