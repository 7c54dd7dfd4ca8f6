// One block of a build in bulk (bulk_build.h): which keys leave, and slots for the others.
#ifndef NESTLINE_LIB_FILTERS_FILTER_BULK_BLOCK_H_
#define NESTLINE_LIB_FILTERS_FILTER_BULK_BLOCK_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lib/engine/kernels/build_kernels.h"
#include "lib/filters/filter/block_sort.h"

namespace nestline { inline namespace v0_3 {

// Keys of a range of blocks.
template <typename Number>
class KeyList {
 public:
  // Takes room for as many as there usually are.
  void make_room(std::size_t usual, ScratchMemory& memory) {
    room_ = {reinterpret_cast<Number*>(memory.take(usual * sizeof(Number))), usual};
  }
  void push(Number key) {
    if (size_ < room_.size()) {
      room_[size_++] = key;
    } else {
      more_.push_back(key);
    }
  }
  void clear() {
    size_ = 0;
    more_.clear();
  }
  [[nodiscard]] std::size_t size() const { return size_ + more_.size(); }
  // Calls visit(keys) for the parts of the list, in order.
  template <typename Visit>
  void for_each_part(Visit&& visit) const {
    visit(std::span<const Number>(room_.first(size_)));
    visit(std::span<const Number>(more_));
  }

 private:
  std::span<Number> room_;
  std::size_t size_ = 0;
  std::vector<Number> more_;
};

// Keys that blocks have no slot for, located where they are to go.
struct Evicted {
  KeyList<std::uint64_t> evicted;        // to their alternates
  std::vector<std::uint64_t> remainder;  // for Table::insert
  std::vector<std::uint64_t> refused;    // further copies of a key that has the most
};

class BulkBlock {
 public:
  // `counts`: how many keys each block has. `placement` is the thread's own.
  BulkBlock(const BuildKernels& kernels, const Geometry& geometry, BlockClasses classes,
            const std::uint8_t* counts, BulkPlacement& placement, Evicted& departed,
            std::uint64_t block)
      : kernels_(kernels),
        geometry_(geometry),
        classes_(classes),
        counts_(counts),
        placement_(placement),
        slots_(placement.block),
        departed_(departed),
        block_(block) {}

  // Gives slots to the deferred keys, whose home this block is. If they are more than the free
  // slots, keys of the lowest ranks leave, deferred or resident. For each key that then still finds
  // no slot, another key leaves, or the key itself. `free` becomes the block's free slots.
  void place_own(std::span<std::uint32_t> deferred, Block& block, std::uint64_t& free) {
    if (deferred.size() > kMaxBulkPlaced) deferred = thin_out(deferred);
    mark_ = block.overflow_mark();  // of a block that was folded, as its guest level
    level_ = block.guest_level();
    kernels_.unpack(block, classes_, slots_);
    receive(deferred, Residence::native);
    if (level_ != 0) keep_out_of_lanes();
    let_own_leave();
    kernels_.place_bulk(placement_);
    for_each_unplaced([&](Resident key, std::uint64_t bucket) { make_room_for_own(key, bucket); });
    kernels_.pack(slots_, header(), block);
    free = slots_.free;
  }

  // Gives slots to arrivals, keys evicted from other blocks, in a block that has been filled. If
  // they are more than its free slots, residents of the lowest ranks leave first, as long as the
  // mark rises by no more than `max_mark_increase`; the other arrivals go back to their homes, with
  // guest lanes to be inserted there one by one.
  // `free_slots` becomes the block's.
  void add(std::span<std::uint32_t> arrivals, std::uint32_t max_mark_increase, Block& block,
           std::uint64_t& free_slots) {
    mark_ = block.overflow_mark();
    max_mark_increase_ = max_mark_increase;
    const std::size_t taken =
        has_lanes() ? admit(arrivals, block) : std::min(arrivals.size(), kMaxBulkPlaced);
    kernels_.unpack(block, classes_, slots_);
    for (const std::uint32_t pair : arrivals.subspan(taken)) {
      if (has_lanes()) {
        return_home(pair);
      } else {
        to_remainder(pair);
      }
    }
    receive(arrivals.first(taken), Residence::guest);
    const auto free = static_cast<std::size_t>(std::popcount(slots_.free));
    bool others_leave = true;
    if (taken > free) {
      const std::size_t most = free + let_residents_leave(taken - free);
      others_leave = most == taken;
      while (placement_.count > most) go_back(placement_.newcomer[--placement_.count]);
    }
    kernels_.place_bulk(placement_);
    for_each_unplaced([&](Resident key, std::uint64_t bucket) {
      if (!others_leave || !replace_lowest(key, bucket)) go_back(key);
    });
    kernels_.pack(slots_, header(), block);
    free_slots = slots_.free;
  }

 private:
  // As bits: which of the residents, and which of the newcomers.
  using Which = std::array<std::uint64_t, 2>;
  static std::uint64_t first_bits(std::size_t count) {
    return count < 64 ? (std::uint64_t{1} << count) - 1 : ~std::uint64_t{0};
  }

  [[nodiscard]] bool has_lanes() const { return classes_.have_lanes(); }
  // Guests do not leave: they would have to go home.
  [[nodiscard]] bool may_leave(Resident resident, std::size_t slot) const {
    if (!has_lanes()) return true;
    if (class_of(resident) > classes_.highest_at(level_)) return !is_open_level(level_);
    return !kernels_.is_in_guest_lane(resident, slot);
  }
  // Raises the block's guest level for the arrivals, as far as that is possible, and puts those
  // that it covers, at most kMaxBulkPlaced, first. Returns how many they are.
  std::size_t admit(std::span<std::uint32_t> arrivals, Block& block) {
    std::uint32_t wanted = 0;
    for (const std::uint32_t pair : arrivals)
      wanted = std::max(wanted, classes_.guest_level_for(pair));
    while (wanted > block.guest_level() && !kernels_.raise_guest_level(block, classes_, wanted))
      --wanted;
    level_ = block.guest_level();
    const auto end = std::stable_partition(
        arrivals.begin(), arrivals.end(),
        [&](std::uint32_t pair) { return classes_.guest_level_for(pair) <= level_; });
    return std::min(static_cast<std::size_t>(end - arrivals.begin()), kMaxBulkPlaced);
  }
  [[nodiscard]] std::uint32_t header() const { return Block::header_of(mark_, level_); }
  void receive(std::span<const std::uint32_t> pairs, Residence as) {
    placement_.count = pairs.size();
    kernels_.complete(pairs.data(), pairs.size(), as, placement_.newcomer, placement_.bucket);
  }

  // Of the natives that come, those of classes that the block may have guests of (G2).
  void keep_out_of_lanes() {
    for (std::size_t i = 0; i < placement_.count; ++i) {
      const Resident key = placement_.newcomer[i];
      if (class_of(key) > classes_.highest_at(level_)) continue;
      for (std::uint64_t bits = placement_.bucket[i]; bits != 0; bits &= bits - 1) {
        const std::uint32_t slot = first_slot(bits);
        if (kernels_.is_in_guest_lane(key, slot)) placement_.bucket[i] ^= std::uint64_t{1} << slot;
      }
    }
  }

  // Calls visit(key, bucket) for the newcomers that found no slot.
  template <typename Visit>
  void for_each_unplaced(const Visit& visit) {
    for (std::size_t n = 0; n < placement_.unplaced_count; ++n) {
      const std::size_t i = placement_.unplaced[n];
      visit(placement_.newcomer[i], placement_.bucket[i]);
    }
  }

  // Evicts residents and newcomers, if enough of them can leave, until the others have slots.
  void let_own_leave() {
    const auto free = static_cast<std::size_t>(std::popcount(slots_.free));
    if (placement_.count <= free) return;
    std::array<Resident, 2 * kMaxBulkPlaced> all;
    std::copy_n(slots_.resident, kMaxBulkPlaced, all.begin());
    std::copy_n(placement_.newcomer, kMaxBulkPlaced, all.begin() + kMaxBulkPlaced);
    const Which departed = let_leave(
        all.data(), {first_bits(kernels_.slots) & ~slots_.free, first_bits(placement_.count)},
        kernels_.slots - free + placement_.count, placement_.count - free, kMaxRank);
    slots_.release(departed[0]);
    for (std::uint64_t bits = departed[1]; bits != 0;) {
      const auto highest = static_cast<std::size_t>(std::bit_width(bits)) - 1;
      bits ^= std::uint64_t{1} << highest;
      --placement_.count;
      placement_.newcomer[highest] = placement_.newcomer[placement_.count];
      placement_.bucket[highest] = placement_.bucket[placement_.count];
    }
  }

  // Evicts up to `wanted` residents, as far as max_mark_increase_ allows. Returns how many.
  std::size_t let_residents_leave(std::size_t wanted) {
    const std::uint64_t departed =
        let_leave(slots_.resident, {first_bits(kernels_.slots) & ~slots_.free, 0}, kernels_.slots,
                  wanted, last_rank())[0];
    slots_.release(departed);
    return static_cast<std::size_t>(std::popcount(departed));
  }

  // How many ranks, from the lowest on, hold about `wanted` of `count` keys. For a small `wanted`
  // twice as many and more, so that one pass over them is usually enough.
  static std::uint32_t window(std::size_t wanted, std::size_t count) {
    const std::size_t keys = wanted > 3 ? wanted : 2 * wanted + 2;
    return static_cast<std::uint32_t>(keys * kEvictionRanks / count + 1);
  }
  static constexpr std::uint32_t kMaxRank = kEvictionRanks - 1;
  // The highest rank that may leave for an arrival.
  [[nodiscard]] std::uint32_t last_rank() const {
    return std::min(mark_ + max_mark_increase_ - 1, kMaxRank);
  }

  // Evicts up to `wanted` of these keys and returns which: those of the lowest ranks, at most
  // `last`, whose alternates have room. Branches that depend on a key would be mispredicted.
  Which let_leave(const Resident* keys, Which among, std::size_t count, std::size_t wanted,
                  std::uint32_t last) {
    Which departed{};
    std::uint32_t high = 0;
    while (wanted != 0) {
      high += window(wanted, count);
      const bool is_last = high > last;
      if (is_last) high = last + 1;
      std::array<std::uint64_t, 2 * kMaxBulkPlaced + 1> rank;
      std::array<std::uint64_t, 2 * kMaxBulkPlaced + 1> alternate;
      std::size_t found = 0;
      for (std::size_t half = 0; half < among.size() && among[half] != 0; ++half) {
        std::uint64_t bits = kernels_.at_most(keys + half * 64, high - 1) & among[half];
        among[half] ^= bits;
        for (; bits != 0; bits &= bits - 1) {
          const std::size_t i = half * 64 + first_slot(bits);
          rank[found] = std::uint64_t{keys[i]} << 8 | i;
          found += has_roomy_alternate(keys[i], alternate[found]) &&
                   (half != 0 || may_leave(keys[i], i));
        }
      }
      std::array<std::uint8_t, 2 * kMaxBulkPlaced + 1> evictee;
      std::size_t evicted = 0;
      for (std::size_t n = 0; n < found; ++n) {
        std::size_t lower = 0;
        if (found > wanted) {
          for (std::size_t m = 0; m < found; ++m) lower += rank[m] < rank[n];
        }
        evictee[evicted] = static_cast<std::uint8_t>(n);
        evicted += lower < wanted;
      }
      for (std::size_t n = 0; n < evicted; ++n) {
        const std::size_t i = rank[evictee[n]] & 0xff;
        departed[i / 64] |= std::uint64_t{1} << i % 64;
        leave(keys[i], alternate[evictee[n]]);
      }
      wanted -= evicted;
      if (is_last) break;
    }
    return departed;
  }

  void make_room_for_own(Resident key, std::uint64_t bucket) {
    bool done = false;
    slots_.resident[kernels_.slots] = key;
    by_rank(slots_.resident, kernels_.slots + 1, kWindow, kMaxRank, [&](std::size_t i) {
      std::uint64_t alternate = 0;
      if (i != kernels_.slots) return done = replace(i, key, bucket);
      if (!has_roomy_alternate(key, alternate)) return false;
      leave(key, alternate);
      return done = true;
    });
    if (!done) to_remainder(key);
  }

  // Stores an arrival in place of the resident of the lowest rank that can leave, if there is one.
  bool replace_lowest(Resident key, std::uint64_t bucket) {
    bool done = false;
    by_rank(slots_.resident, kernels_.slots, kWindow, last_rank(),
            [&](std::size_t i) { return done = replace(i, key, bucket); });
    return done;
  }

  void go_back(Resident key) {
    if (has_lanes()) return return_home(key & kPairMask);
    const std::uint64_t alternate = alternate_of_key(key);
    if (max_mark_increase_ == kEvictionRanks || alternate == block_) return to_remainder(key);
    departed_.evicted.push(located(alternate, key & kPairMask));
  }

  // Evicts the resident of a slot and stores `key`, if both are possible.
  bool replace(std::size_t slot, Resident key, std::uint64_t bucket) {
    if ((slots_.free >> slot & 1) != 0) return false;
    const Resident evictee = slots_.resident[slot];
    std::uint64_t alternate = 0;
    if (!may_leave(evictee, slot) || !has_roomy_alternate(evictee, alternate)) return false;
    if (!kernels_.place_by_search(slots_, key, bucket, std::uint64_t{1} << slot)) return false;
    leave(evictee, alternate);
    return true;
  }

  [[nodiscard]] std::uint64_t alternate_of_key(Resident key) const {
    return alternate_of(geometry_, {block_, 0, fingerprint_of(key), bucket_offset_of(key)});
  }
  bool has_roomy_alternate(Resident key, std::uint64_t& alternate) const {
    alternate = alternate_of_key(key);
    // Evicted keys may go to a block that had a free slot when its keys were last counted.
    return counts_[alternate] < kernels_.slots && alternate != block_;
  }

  void leave(Resident key, std::uint64_t alternate) {
    departed_.evicted.push(located(alternate, key & kPairMask));
    mark_ = std::max(mark_, rank_of_resident(key) + 1);
  }
  void to_remainder(std::uint32_t pair) {
    departed_.remainder.push_back(located(block_, pair & kPairMask));
  }
  void return_home(std::uint32_t pair) {
    pair &= kPairMask;
    departed_.remainder.push_back(located(alternate_of_key(pair), pair));
  }

  // Visits keys[i] by ascending rank, bucket offset and fingerprint; stops when visit(i) returns
  // true, or after rank `last`. Takes `window` ranks at a time, to sort about as many keys as it
  // visits. `keys` has room for kMaxBulkPlaced.
  template <typename Visit>
  void by_rank(const Resident* keys, std::size_t count, std::uint32_t window, std::uint32_t last,
               Visit&& visit) {
    std::uint64_t done = 0;
    for (std::uint32_t high = window - 1;; high += window) {
      high = std::min(high, last);
      std::array<std::uint64_t, kMaxBulkPlaced> ranks;
      std::size_t found = 0;
      std::uint64_t bits = kernels_.at_most(keys, high) & first_bits(count) & ~done;
      done |= bits;
      for (; bits != 0; bits &= bits - 1) {
        const std::size_t i = first_slot(bits);
        const std::uint64_t rank = std::uint64_t{keys[i]} << 8 | i;
        std::size_t at = found++;
        for (; at != 0 && ranks[at - 1] > rank; --at) ranks[at] = ranks[at - 1];
        ranks[at] = rank;
      }
      for (std::size_t i = 0; i < found; ++i) {
        if (visit(ranks[i] & 0xff)) return;
      }
      if (high == last) return;
    }
  }
  static constexpr std::uint32_t kWindow = 12;

  // For more keys than `place_bulk` takes: copies of few keys, or keys that were chosen. Refuses
  // copies beyond the most that a key can have. Returns as many of the others as place_bulk takes;
  // the rest goes to the remainder.
  std::span<std::uint32_t> thin_out(std::span<std::uint32_t> pairs) {
    for (std::uint32_t& pair : pairs) pair &= kPairMask;
    std::sort(pairs.begin(), pairs.end());
    const std::vector<std::uint32_t> all(pairs.begin(), pairs.end());
    std::size_t stay = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i >= kernels_.max_copies && all[i - kernels_.max_copies] == all[i]) {
        departed_.refused.push_back(located(block_, all[i]));
      } else if (stay == kMaxBulkPlaced) {
        to_remainder(all[i]);
      } else {
        pairs[stay++] = all[i];
      }
    }
    return pairs.first(stay);
  }

  const BuildKernels& kernels_;
  const Geometry& geometry_;
  const BlockClasses classes_;
  const std::uint8_t* counts_;
  BulkPlacement& placement_;
  UnpackedBlock& slots_;
  Evicted& departed_;
  std::uint64_t block_;
  std::uint32_t mark_ = 0;
  std::uint32_t level_ = 0;  // of guests
  std::uint32_t max_mark_increase_ = 0;
};

}}  // namespace nestline

#endif  // NESTLINE_LIB_FILTERS_FILTER_BULK_BLOCK_H_
