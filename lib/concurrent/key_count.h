// How many keys a ConcurrentFilter holds, counted by many threads without waiting for each other.
//
// Each thread adds to one of kStripes numbers, each in a cache line of its own; the sum is exact
// while no thread adds. For a filter that grows by itself the sum must be compared with the
// capacity before each insert. To save most of these comparisons, each sum gives a stripe a share
// of the room that is left, and the stripe needs the next sum only when it has used up its share.
// So one thread grows the filter at exactly the same key as Filter does, and several threads close
// to it.
#ifndef NESTLINE_LIB_CONCURRENT_KEY_COUNT_H_
#define NESTLINE_LIB_CONCURRENT_KEY_COUNT_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "lib/concurrent/thread_number.h"
#include "lib/place/locking.h"

namespace nestline {

class KeyCount {
 public:
  explicit KeyCount(std::uint64_t keys) { stripes_[0].keys = static_cast<std::int64_t>(keys); }

  // Also makes everything stored before visible to all threads (locking.h, W7), unless the calling
  // thread is the only writer.
  template <class Locks>
  void add(std::int64_t keys) noexcept {
    std::atomic<std::int64_t>& sum = mine().keys;
    if constexpr (std::is_same_v<Locks, OneWriter>) {
      sum.store(sum.load(std::memory_order_relaxed) + keys, std::memory_order_relaxed);
    } else {
      sum += keys;
    }
  }

  // A thread may erase a key and subtract it here before the inserting thread has added it.
  [[nodiscard]] std::uint64_t total() const noexcept {
    std::int64_t sum = 0;
    for (const Stripe& stripe : stripes_) sum += stripe.keys;
    return static_cast<std::uint64_t>(std::max<std::int64_t>(sum, 0));
  }

  // Keys this thread may insert before it has to call allow() again. Not exact when threads share a
  // stripe.
  [[nodiscard]] std::int64_t allowed() noexcept {
    Stripe& stripe = mine();
    return stripe.look_at - stripe.keys;
  }
  // Allows this thread its share, at least one key, of `room` keys.
  void allow(std::uint64_t room) noexcept {
    Stripe& stripe = mine();
    stripe.look_at = stripe.keys + static_cast<std::int64_t>(share(room));
  }
  static std::uint64_t share(std::uint64_t room) noexcept {
    return std::max<std::uint64_t>(1, room / kShares);
  }

  // Sets the sum and cancels what was allowed. No thread may add meanwhile.
  void reset(std::uint64_t keys) noexcept {
    std::int64_t sum = 0;
    for (const Stripe& stripe : stripes_) sum += stripe.keys;
    mine().keys += static_cast<std::int64_t>(keys) - sum;
    for (Stripe& stripe : stripes_) stripe.look_at = stripe.keys.load();
  }

 private:
  static constexpr std::size_t kStripes = 32;
  // So all stripes together never hold more than an eighth of the room.
  static constexpr std::size_t kShares = 8 * kStripes;
  struct alignas(64) Stripe {
    std::atomic<std::int64_t> keys{0};
    std::atomic<std::int64_t> look_at{0};  // the value of `keys` at which the share is used up
  };

  Stripe& mine() noexcept { return stripes_[thread_number() % kStripes]; }

  std::array<Stripe, kStripes> stripes_;
};

}  // namespace nestline

#endif  // NESTLINE_LIB_CONCURRENT_KEY_COUNT_H_
