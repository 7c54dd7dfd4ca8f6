// The parts of the program nestline_bench; bench.cc says what it measures.
#ifndef NESTLINE_BENCH_SUPPORT_BENCHMARKS_H_
#define NESTLINE_BENCH_SUPPORT_BENCHMARKS_H_

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace nestline::bench {

// Each function registers its benchmarks.
void add_lookups();  // one thread: widths, loads, sizes, hit rates, lengths of batches, strings
void add_changes();  // one thread: inserts, erases, both in turn
void add_loads_and_widths();  // one thread: lower loads beside 95 %, widths beside 8 bits
void add_lived();          // one thread: filters after many erases and inserts, beside fresh ones
void add_kernel_cycles();  // one thread: cycles of the parts of a lookup and an insert
void add_files();          // save, load, map
void add_references();     // the same on other filters and sets, beside nestline
void add_spaces();         // bits a key and false positives, beside Bloom filters
void add_overlaps();       // two filters: their common keys, beside Bloom filters
void add_reading();        // lookups: against Filter, with more threads, beside a writer
void add_writing();        // what a writer of a ConcurrentFilter pays for the others
void add_changing();       // inserts with more threads; a mix of everything against libcuckoo
void add_building();       // parallel::build
void add_growing();        // growth, and lookups meanwhile
void add_expiring();       // ExpiringFilter beside other filters, and moving time on

// One call for a batch of keys, or one call for each key.
enum class Form { batch, single };

// One side of a comparison: the pieces of work that it did and the time they took.
class Side {
 public:
  void add(std::size_t operations, double seconds) {
    rates_.push_back(static_cast<double>(operations) / seconds);
    operations_ += static_cast<double>(operations);
    seconds_ += seconds;
  }
  [[nodiscard]] double seconds() const { return seconds_; }
  // Operations per second over all pieces. Use it when each piece is a different stage of one task.
  [[nodiscard]] double mean_rate() const { return operations_ / seconds_; }
  // The median of the pieces. Use it when all pieces are alike and some may have been disturbed.
  [[nodiscard]] double rate() const {
    if (rates_.empty()) return 0;
    std::vector<double> sorted = rates_;
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    return *middle;
  }

 private:
  std::vector<double> rates_;
  double operations_ = 0;
  double seconds_ = 0;
};

// Registers a benchmark whose body measures the time itself.
template <typename Body>
benchmark::internal::Benchmark* add(const std::string& name, Body&& body) {
  return benchmark::RegisterBenchmark(name.c_str(), std::forward<Body>(body))
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

// Registers a benchmark whose body measures the time itself and runs `iterations` times for each
// repetition. Adds the extremes of the repetitions to Google Benchmark's own statistics.
template <typename Body>
benchmark::internal::Benchmark* add_timed(const std::string& name, int iterations, Body&& body) {
  return add(name, std::forward<Body>(body))
      ->Iterations(iterations)
      ->ComputeStatistics(
          "min", [](const std::vector<double>& v) { return *std::min_element(v.begin(), v.end()); })
      ->ComputeStatistics("max", [](const std::vector<double>& v) {
        return *std::max_element(v.begin(), v.end());
      });
}

// What a benchmark of this program reports: the two rates and, under `name`, their ratio.
inline void report(benchmark::State& state, const std::string& name, double rate, double other) {
  state.counters[name] = rate / other;
  state.counters["rate"] = rate;
  state.counters["other_rate"] = other;
}

}  // namespace nestline::bench

#endif  // NESTLINE_BENCH_SUPPORT_BENCHMARKS_H_
