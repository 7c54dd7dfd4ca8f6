// What the benchmark programs share: the sizes that are measured, how filters are filled and which
// keys are asked for, and the main function.
//
// Keys that are stored are 0, 1, 2, ...: the filter hashes them. Keys from kAbsent on are not.
#ifndef NESTLINE_BENCH_WORKLOAD_H_
#define NESTLINE_BENCH_WORKLOAD_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "nestline/filter.h"

namespace nestline::bench {

inline constexpr double kLoad = 0.95;
inline constexpr std::uint64_t kAbsent = std::uint64_t{1} << 50;
inline constexpr std::size_t kKib = 1024;
inline constexpr std::size_t kMib = 1024 * kKib;

inline constexpr int kWidths[] = {8, 12, 16};

// In the second-level cache, in the third, in memory.
struct Size {
  std::size_t bytes;
  const char* name;
};
inline constexpr Size kSizes[] = {
    {256 * kKib, "256KiB"}, {16 * kMib, "16MiB"}, {256 * kMib, "256MiB"}};

// "/bits:8/16MiB", the end of a benchmark's name.
std::string suffix(int bits, const Size& size);

std::uint64_t slots_of(int bits, std::size_t bytes);

// So many keys make a filter of `bytes` full to `load`.
std::uint64_t keys_at(double load, int bits, std::size_t bytes);

// For a filter of `bytes` whose capacity is kLoad.
Options options_of(int bits, std::size_t bytes);

// `count` keys from `first` on, in ascending order.
std::vector<std::uint64_t> counter_keys(std::uint64_t count, std::uint64_t first = 0);

// A filter of `bytes` that holds the keys below keys_at(load, bits, bytes).
Filter filled_filter(int bits, std::size_t bytes, double load);

enum class Keys { absent, present };
inline constexpr Keys kKinds[] = {Keys::absent, Keys::present};
const char* name_of(Keys kind);

// Random keys to ask for in a filter of `bytes` that holds the keys below `stored`: a million;
// fewer for a filter in the second-level cache, which they would push out of it.
std::vector<std::uint64_t> questions(std::size_t bytes, std::uint64_t stored, Keys kind,
                                     std::uint64_t seed = 3);

// The main function of a benchmark program: refuses to run with assertions on, takes Google
// Benchmark's arguments after `defaults`, calls `add` and runs what it registered.
int run_program(std::vector<std::string> defaults, int argc, char** argv,
                const std::function<void()>& add);

}  // namespace nestline::bench

#endif  // NESTLINE_BENCH_WORKLOAD_H_
