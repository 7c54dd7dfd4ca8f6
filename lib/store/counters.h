// Counts what readers do, without making them wait for each other or for memory. A thread that
// comes early enough owns a stripe, a line of numbers: it adds with plain load and store, as an
// atomic addition would finish its loads before the next lookup's. Others share.
#ifndef NESTLINE_LIB_STORE_COUNTERS_H_
#define NESTLINE_LIB_STORE_COUNTERS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lib/filters/concurrent/thread_number.h"
#include "nestline/internal/home.h"

namespace nestline { inline namespace v0_3 {

class Counters {
 public:
  struct Sums {
    std::uint64_t found = 0;
    std::uint64_t missing = 0;
    std::uint64_t false_reads = 0;
  };

  NESTLINE_INLINE void count(std::uint64_t found, std::uint64_t missing,
                             std::uint64_t false_reads) noexcept {
    const std::uint64_t thread = thread_number();
    Stripe& stripe = stripes_[thread % kStripes];
    const bool is_own = stripe.owner.load(std::memory_order_relaxed) == thread;
    if (!is_own && !claim(stripe, thread)) [[unlikely]] {
      shared_.found.fetch_add(found, std::memory_order_relaxed);
      shared_.missing.fetch_add(missing, std::memory_order_relaxed);
      shared_.false_reads.fetch_add(false_reads, std::memory_order_relaxed);
      return;
    }
    if (found != 0) add(stripe.found, found);
    if (missing != 0) add(stripe.missing, missing);
    if (false_reads != 0) [[unlikely]]
      add(stripe.false_reads, false_reads);
  }

  [[nodiscard]] Sums sums() const noexcept {
    Sums sums;
    sum_up(shared_, sums);
    for (const Stripe& stripe : stripes_) sum_up(stripe, sums);
    return sums;
  }

 private:
  static constexpr std::size_t kStripes = 64;
  using Count = std::atomic<std::uint64_t>;
  struct alignas(64) Stripe {
    Count owner{0};  // the number of a thread
    Count found{0};
    Count missing{0};
    Count false_reads{0};
  };

  static void add(Count& count, std::uint64_t more) noexcept {
    count.store(count.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }
  [[gnu::cold, gnu::noinline]] static bool claim(Stripe& stripe, std::uint64_t thread) noexcept {
    std::uint64_t nobody = 0;
    return stripe.owner.compare_exchange_strong(nobody, thread, std::memory_order_relaxed);
  }
  static void sum_up(const Stripe& stripe, Sums& sums) noexcept {
    sums.found += stripe.found.load(std::memory_order_relaxed);
    sums.missing += stripe.missing.load(std::memory_order_relaxed);
    sums.false_reads += stripe.false_reads.load(std::memory_order_relaxed);
  }

  std::array<Stripe, kStripes> stripes_;
  Stripe shared_;
};

}}  // namespace nestline

#endif  // NESTLINE_LIB_STORE_COUNTERS_H_
