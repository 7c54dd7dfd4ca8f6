// What the benchmarks share: which sizes are measured, how filters are filled, and which keys are
// looked up.
//
// The stored keys are 0, 1, 2, ...: the filter hashes them. Keys from kAbsent on are not stored.
#ifndef NESTLINE_BENCH_SUPPORT_WORKLOAD_H_
#define NESTLINE_BENCH_SUPPORT_WORKLOAD_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/engine/place/layout.h"
#include "nestline/concurrent_filter.h"
#include "nestline/filter.h"

namespace nestline::bench {

inline constexpr double kLoad = 0.95;
inline constexpr std::uint64_t kAbsent = std::uint64_t{1} << 50;
inline constexpr std::size_t kKib = 1024;
inline constexpr std::size_t kMib = 1024 * kKib;

// The sizes of the filters in bytes, ascending. By default one fits into the second-level cache,
// one into the third, and one only into memory; an argument of the program can set others.
const std::vector<std::size_t>& sizes();
// Sets the sizes from a list such as "256KiB,1GiB". False when the text is no such list.
bool choose_sizes(const std::string& list);

// Whether filters of this size stay in a cache of the machine: of the smaller two sizes.
inline bool is_cached(std::size_t bytes) { return bytes <= 16 * kMib; }

// "bits:8/bytes:16MiB", the end of a benchmark's name.
std::string suffix(int bits, std::size_t bytes);
std::string suffix(std::size_t bytes);

std::uint64_t slots_of(int bits, std::size_t bytes);

// The number of keys that fill a filter of `bytes` to `load`.
std::uint64_t keys_at(double load, int bits, std::size_t bytes);

// Options for a filter of `bytes` whose capacity is reached at kLoad.
Options options_of(int bits, std::size_t bytes);

// `count` keys from `first` on, in ascending order.
std::vector<std::uint64_t> counter_keys(std::uint64_t count, std::uint64_t first = 0);

// Inserts the keys from `first` on and below `count`, a million at a time.
template <class AnyFilter>
void fill_from(AnyFilter& filter, std::uint64_t first, std::uint64_t count) {
  constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;
  for (std::uint64_t at = first; at < count; at += kPiece) {
    (void)filter.insert(counter_keys(std::min(kPiece, count - at), at));
  }
}
// The same for a filter that holds the keys below its size.
void fill(Filter& filter, std::uint64_t count);

// A filter of `bytes` that holds the keys below keys_at(load, bits, bytes).
Filter filled_filter(int bits, std::size_t bytes, double load);

// The same as a filter that many threads may read, kept for the next benchmark that needs it.
// Benchmarks change only copies of it.
const ConcurrentFilter& kept_filter(double load, int bits, std::size_t bytes);

// How many of a hundred lookups are for stored keys.
inline constexpr int kHitRates[] = {0, 10, 50, 100};
inline constexpr int kNoneAndAll[] = {0, 100};

// Random keys to look up in a filter of `bytes` that holds the keys below `stored`: a million, or
// fewer for a filter in the second-level cache, since more would push it out of the cache.
std::vector<std::uint64_t> lookup_keys(std::size_t bytes, std::uint64_t stored, int hits,
                                       std::uint64_t seed = 3);

}  // namespace nestline::bench

#endif  // NESTLINE_BENCH_SUPPORT_WORKLOAD_H_
