// What the memory allows: visits random blocks of equally large memory, prefetches them some
// distance ahead, and reads one byte of each. No filter that looks at one block per key can be
// faster, so rates are given as shares of this one, measured in the same run.
#ifndef NESTLINE_BENCH_SUPPORT_CEILING_H_
#define NESTLINE_BENCH_SUPPORT_CEILING_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "bench/support/huge_pages.h"

namespace nestline::bench {

// Memory for the loop, on huge pages if the system gives them, as for the filter.
class Ceiling {
 public:
  explicit Ceiling(std::size_t bytes);

  [[nodiscard]] std::size_t bytes() const { return blocks_ * 64; }

  // Seconds to visit one block per key. The keys are well-mixed 64-bit numbers. The prefetch
  // distance is the best of 64, 128 and 256, found when the memory was made.
  [[nodiscard]] double seconds(std::span<const std::uint64_t> keys) const;

 private:
  template <std::size_t kAhead>
  [[nodiscard]] double visit(std::span<const std::uint64_t> keys) const;
  [[nodiscard]] double visit_at(std::size_t ahead, std::span<const std::uint64_t> keys) const;

  std::uint64_t blocks_;
  FreshMemory memory_;
  std::size_t ahead_ = 64;
};

// Made once for each size and kept.
const Ceiling& ceiling_of(std::size_t bytes);

// A million well-mixed numbers for the ceiling, which does not hash.
std::span<const std::uint64_t> random_numbers();

// Seconds since a fixed moment.
double now();

}  // namespace nestline::bench

#endif  // NESTLINE_BENCH_SUPPORT_CEILING_H_
