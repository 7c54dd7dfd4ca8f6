// Brings many cold records into the page cache, so that a batch waits for the disk once.
// readahead() starts all reads, pread() waits for each; io_uring is no faster. Failures do no harm.
// To find out whether a page is there costs a system call, as much as several lookups in memory. So
// a batch does it for a few of its records only (looks_cold). All of it is for every thread.
#ifndef NESTLINE_LIB_STORE_COLD_READS_H_
#define NESTLINE_LIB_STORE_COLD_READS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace nestline { inline namespace v0_3 {

class ColdReads {
 public:
  struct Range {
    int descriptor;
    std::uint64_t offset;
    std::uint32_t bytes;
  };

  static void read_ahead(std::span<const Range> ranges) noexcept;  // returns when they were, or not

  // Whether some of `count` ranges are not in memory: range_of(i) gives the i-th. Looks at 4, or at
  // 32 when some were cold the last time: finds one cold in ten with a probability of one in three.
  [[nodiscard]] bool looks_cold(std::size_t count, auto&& range_of) const {
    const std::size_t most = cold_lately_.load(std::memory_order_relaxed) ? 32 : 4;
    const std::size_t samples = count < most ? count : most;
    bool cold = false;
    for (std::size_t i = 0; i < samples && !cold; ++i) {
      cold = is_cold(range_of(i * count / samples));
    }
    // Written only when it changes, so that readers do not take the line from each other.
    if (cold != (most > 4)) cold_lately_.store(cold, std::memory_order_relaxed);
    return cold;
  }

  // Whether the first byte of the range must come from the disk; its reading may then have begun.
  [[nodiscard]] static bool is_cold(const Range& range) noexcept;

 private:
  mutable std::atomic<bool> cold_lately_{false};
};

}}  // namespace nestline

#endif  // NESTLINE_LIB_STORE_COLD_READS_H_
