// One block of a build in bulk: which of its keys leave, and slots for the others. bulk_build.h
// says how the blocks come together.
#ifndef NESTLINE_LIB_FILTER_BULK_BLOCK_H_
#define NESTLINE_LIB_FILTER_BULK_BLOCK_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lib/kernels/kernels.h"
#include "lib/place/geometry.h"
#include "lib/place/layout.h"

namespace nestline {

// Keys that blocks leave behind, located (kernels.h) where they are to go.
struct LeftBehind {
  std::vector<std::uint64_t> leavers;  // to their alternates
  std::vector<std::uint64_t> rest;     // for Table::insert
  std::vector<std::uint64_t> refused;  // further copies of a key that has the most
};

// Two bits above a pair, while its block is known otherwise.
inline constexpr std::uint32_t kHasLeft = 1u << 31;  // is among the leavers
inline constexpr std::uint32_t kDropped = 1u << 30;  // is with the rest, or refused

template <class L>
class BulkBlock {
 public:
  // A block whose keys, as last counted, are at most this many takes leavers of others.
  static constexpr std::uint32_t kRoomy = L::kSlots - 1;
  // With fewer keys a block seldom has too many: only when a slot is in nobody's bucket.
  static constexpr std::uint32_t kMayBeTooMany = L::kSlots - 3;

  // `counts`: how many keys each block has. `slots` is the thread's own.
  BulkBlock(const Kernels& kernels, const Geometry& geometry, const std::uint8_t* counts,
            UnpackedBlock& slots, LeftBehind& left, std::uint64_t block)
      : kernels_(kernels),
        geometry_(geometry),
        counts_(counts),
        slots_(slots),
        left_(left),
        block_(block) {}

  // Marks those of the block's own keys that do not stay: of the lowest classes, as many as there
  // are more keys than slots that they can be in.
  void choose_leavers(std::span<std::uint32_t> pairs) {
    if (pairs.size() > kSettleMost) pairs = thin_out(pairs);
    const std::size_t count = pairs.size();
    const std::uint64_t slots =
        kernels_.complete(pairs.data(), count, keys_.data(), buckets_.data());
    const auto most = static_cast<std::size_t>(std::popcount(slots));
    if (count <= most) return;
    std::size_t excess = count - most;
    const auto window = static_cast<std::uint32_t>((2 * excess + 2) * kSpillClasses / count + 1);
    by_class(keys_.data(), count, window, kHighest, [&](std::size_t i) {
      std::uint64_t alternate = 0;
      if (has_roomy_alternate(keys_[i], alternate)) {
        leave(keys_[i], alternate);
        pairs[i] |= kHasLeft;
        --excess;
      }
      return excess == 0;
    });
  }

  // Gives slots to the block's own keys that stay and to arrivals of others. `price`: how far the
  // mark may rise for an arrival; those that cost more go back.
  void fill(std::span<const std::uint32_t> pairs, std::span<const std::uint32_t> arrivals,
            std::uint32_t price, Block& block) {
    slots_.clear(L::kAllSlots);
    settle(keep(pairs), arrivals, price);
    kernels_.pack(slots_, mark_, block);
  }

  // Gives slots to arrivals of others in a block that has been filled.
  void add(std::span<const std::uint32_t> arrivals, std::uint32_t price, Block& block) {
    kernels_.unpack(block, slots_);
    mark_ = block.mark();
    settle(0, arrivals, price);
    kernels_.pack(slots_, mark_, block);
  }

 private:
  // Copies the pairs that are not marked to staying_, and returns how many. The mark covers those
  // that have left.
  std::size_t keep(std::span<const std::uint32_t> pairs) {
    if (pairs.size() < kMayBeTooMany) {
      std::copy(pairs.begin(), pairs.end(), staying_.begin());
      return pairs.size();
    }
    std::size_t stay = 0;
    for (const std::uint32_t pair : pairs) {
      if ((pair & (kHasLeft | kDropped)) == 0) {
        staying_[stay++] = pair;
      } else if ((pair & kHasLeft) != 0) {
        mark_ = std::max(mark_, spill_class(pair & 0xffff) + 1);
      }
    }
    return stay;
  }

  // The first `own` pairs in staying_ are the block's own.
  void settle(std::size_t own, std::span<const std::uint32_t> arrivals, std::uint32_t price) {
    const std::size_t count = std::min(own + arrivals.size(), kSettleMost);
    std::copy_n(arrivals.begin(), count - own, staying_.begin() + own);
    for (const std::uint32_t pair : arrivals.subspan(count - own)) to_rest(pair);
    kernels_.complete(staying_.data(), count, keys_.data(), buckets_.data());
    settle(0, own, [&](std::size_t i) { make_room_for_own(keys_[i], buckets_[i]); });
    settle(own, count, [&](std::size_t i) { make_room_for_arrival(keys_[i], buckets_[i], price); });
  }

  template <typename MakeRoom>
  void settle(std::size_t first, std::size_t end, const MakeRoom& make_room) {
    if (first == end) return;
    std::array<std::uint8_t, kSettleMost> late;
    const std::size_t failed = kernels_.settle(slots_, keys_.data() + first,
                                               buckets_.data() + first, end - first, late.data());
    for (std::size_t i = 0; i < failed; ++i) make_room(first + late[i]);
  }

  void make_room_for_own(Resident key, std::uint64_t bucket) {
    bool done = false;
    slots_.resident[L::kSlots] = key;
    by_class(slots_.resident, L::kSlots + 1, kWindow, kHighest, [&](std::size_t i) {
      std::uint64_t alternate = 0;
      if (i != L::kSlots) return done = replace(i, key, bucket);
      if (!has_roomy_alternate(key, alternate)) return false;
      leave(key, alternate);
      return done = true;
    });
    if (!done) to_rest(key);
  }

  void make_room_for_arrival(Resident key, std::uint64_t bucket, std::uint32_t price) {
    bool done = false;
    const std::uint32_t last = std::min(mark_ + price, kSpillClasses) - 1;
    by_class(slots_.resident, L::kSlots, kWindow, last,
             [&](std::size_t i) { return done = replace(i, key, bucket); });
    if (done) return;
    const std::uint64_t alternate = alternate_of_key(key);
    if (price == kSpillClasses || alternate == block_) return to_rest(key);
    left_.leavers.push_back(located(alternate, key & kPairMask));
  }

  // Lets the resident of a slot leave and stores `key`, if both are possible.
  bool replace(std::size_t slot, Resident key, std::uint64_t bucket) {
    if ((slots_.free >> slot & 1) != 0) return false;
    const Resident leaver = slots_.resident[slot];
    std::uint64_t alternate = 0;
    if (!has_roomy_alternate(leaver, alternate)) return false;
    if (!kernels_.settle_one(slots_, key, bucket, std::uint64_t{1} << slot)) return false;
    leave(leaver, alternate);
    return true;
  }

  [[nodiscard]] std::uint64_t alternate_of_key(Resident key) const {
    return alternate_of(geometry_, {block_, 0, fingerprint_of(key), phase_of(key)});
  }
  bool has_roomy_alternate(Resident key, std::uint64_t& alternate) const {
    alternate = alternate_of_key(key);
    return counts_[alternate] <= kRoomy && alternate != block_;
  }

  void leave(Resident key, std::uint64_t alternate) {
    left_.leavers.push_back(located(alternate, key & kPairMask));
    mark_ = std::max(mark_, class_of(key) + 1);
  }
  void to_rest(std::uint32_t pair) { left_.rest.push_back(located(block_, pair & kPairMask)); }

  // Goes through the keys by ascending class, and among equals by phase and fingerprint; calls
  // visit(i) for keys[i]. Stops when visit returns true, or after class `last`. Takes `window`
  // classes at a time, so that it sorts only about as many keys as will be visited. `keys` has room
  // for kSettleMost.
  template <typename Visit>
  void by_class(const Resident* keys, std::size_t count, std::uint32_t window, std::uint32_t last,
                Visit&& visit) {
    std::array<std::uint64_t, 2> done{};
    for (std::uint32_t high = window - 1;; high += window) {
      high = std::min(high, last);
      std::array<std::uint64_t, kSettleMost> ranks;
      std::size_t found = 0;
      for (std::size_t half = 0; half * 64 < count; ++half) {
        const std::uint64_t all =
            count - half * 64 < 64 ? (std::uint64_t{1} << count % 64) - 1 : ~std::uint64_t{0};
        std::uint64_t bits = kernels_.at_most(keys + half * 64, high) & all & ~done[half];
        done[half] |= bits;
        for (; bits != 0; bits &= bits - 1) {
          const std::size_t i = half * 64 + first_slot(bits);
          const std::uint64_t rank = std::uint64_t{keys[i]} << 8 | i;
          std::size_t at = found++;
          for (; at != 0 && ranks[at - 1] > rank; --at) ranks[at] = ranks[at - 1];
          ranks[at] = rank;
        }
      }
      for (std::size_t i = 0; i < found; ++i) {
        if (visit(ranks[i] & 0xff)) return;
      }
      if (high == last) return;
    }
  }
  static constexpr std::uint32_t kHighest = kSpillClasses - 1;
  static constexpr std::uint32_t kWindow = 12;

  // For a block with more keys than `settle` takes, which means that keys repeat or were chosen:
  // refuses those that cannot be stored because there are too many copies, and leaves others to the
  // rest. Returns those that remain, and puts the others, marked, behind them.
  std::span<std::uint32_t> thin_out(std::span<std::uint32_t> pairs) {
    for (std::uint32_t& pair : pairs) pair &= kPairMask;
    std::sort(pairs.begin(), pairs.end());
    const std::vector<std::uint32_t> all(pairs.begin(), pairs.end());
    std::size_t stay = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i >= L::kMaxCopies && all[i - L::kMaxCopies] == all[i]) {
        left_.refused.push_back(located(block_, all[i]));
      } else if (stay == kSettleMost) {
        to_rest(all[i]);
      } else {
        pairs[stay++] = all[i];
      }
    }
    for (std::uint32_t& pair : pairs.subspan(stay)) pair = kDropped;
    return pairs.first(stay);
  }

  // `complete` writes whole vectors.
  static constexpr std::size_t kSlack = 64;

  const Kernels& kernels_;
  const Geometry& geometry_;
  const std::uint8_t* counts_;
  UnpackedBlock& slots_;
  LeftBehind& left_;
  std::uint64_t block_;
  std::uint32_t mark_ = 0;
  alignas(64) std::array<std::uint64_t, kSettleMost + kSlack> buckets_;
  alignas(64) std::array<Resident, kSettleMost + kSlack> keys_;
  std::array<std::uint32_t, kSettleMost + kSlack> staying_;
};

}  // namespace nestline

#endif  // NESTLINE_LIB_FILTER_BULK_BLOCK_H_
