// Sections where there is no liburcu, for reclaim.h, which documents what they promise.
//
// A section adds one to a count that few threads share when it begins, and subtracts it when it
// ends: two atomic operations and a fence. A thread that waits looks at each count until it has
// been 0.
//
// That is enough. A section that had begun when the wait began is in a count until it ends. One of
// which the look does not see the beginning does its fence after that of the thread that waits
// (fences have one order), and so sees everything that was written before. Each end is a release,
// and what changes a count between the ends and the look adds or subtracts, so the look, an
// acquire, comes after all that the sections did.
//
// New sections would keep a count above 0. So there are two counts, and new sections take one while
// a thread waits for the other: those that were late take the old one, each thread once at most.
#ifndef NESTLINE_LIB_FILTERS_CONCURRENT_COUNTED_SECTIONS_H_
#define NESTLINE_LIB_FILTERS_CONCURRENT_COUNTED_SECTIONS_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>

#include "lib/engine/place/memory_order.h"
#include "lib/filters/concurrent/thread_number.h"

namespace nestline { inline namespace v0_3 {

struct alignas(64) SectionCounts {
  std::array<std::atomic<std::uint64_t>, 2> begun;
};
inline std::array<SectionCounts, 64> section_counts;
inline std::atomic<std::size_t> section_phase = 0;
// How many sections the calling thread is in.
NESTLINE_NEAR_TLS inline thread_local constinit unsigned sections_here = 0;

// Every section begins with a fence.
inline void stored_alone() noexcept {}
inline void show_all() noexcept { full_fence(); }

inline bool is_in_section() noexcept { return sections_here != 0; }

class ReadSection {
 public:
  ReadSection() noexcept
      : count_(section_counts[thread_number() % section_counts.size()]
                   .begun[section_phase.load(std::memory_order_relaxed)]) {
    ++sections_here;
    count_.fetch_add(1, std::memory_order_relaxed);
    full_fence();
  }
  ~ReadSection() {
    count_.fetch_sub(1, std::memory_order_release);
    --sections_here;
  }
  ReadSection& operator=(ReadSection&&) = delete;

  [[nodiscard]] static bool is_known() { return true; }

 private:
  std::atomic<std::uint64_t>& count_;
};

using WriteSection = ReadSection;

// A section needs no memory.
inline void register_reader() noexcept {}

inline void wait_for_readers() {
  refuse_in_section();
  static std::mutex& waiting = *new std::mutex;  // for the whole process
  const std::lock_guard lock(waiting);
  for (int i = 0; i < 2; ++i) {
    const std::size_t before = section_phase.load(std::memory_order_relaxed);
    section_phase.store(1 - before, std::memory_order_relaxed);
    full_fence();
    for (const SectionCounts& counts : section_counts) {
      while (counts.begun[before].load(std::memory_order_acquire) != 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    }
  }
  full_fence();
}

}}  // namespace nestline

#endif  // NESTLINE_LIB_FILTERS_CONCURRENT_COUNTED_SECTIONS_H_
