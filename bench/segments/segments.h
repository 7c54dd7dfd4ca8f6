// The parts of the program segments_bench; segments_bench.cc says what it measures.
#ifndef NESTLINE_BENCH_SEGMENTS_SEGMENTS_H_
#define NESTLINE_BENCH_SEGMENTS_SEGMENTS_H_

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bench/support/benchmarks.h"
#include "bench/support/ceiling.h"
#include "nestline/maplet.h"

namespace nestline::bench {

struct SegmentsSettings {
  std::vector<std::uint64_t> keys = {std::uint64_t{1} << 20, std::uint64_t{1} << 24};
  std::uint64_t records = 2'000'000;  // written to the small LSM
  std::filesystem::path folder = "segments_bench.data";
};

// Each function registers its benchmarks.
void add_floors(const SegmentsSettings& settings);     // a maplet beside N filters, in memory
void add_small_lsm(const SegmentsSettings& settings);  // both before sorted runs in files

// Fingerprint and value of a maplet, and what asks for them.
struct MapletKind {
  const char* name;
  int value_bits;
  double fpr;

  [[nodiscard]] MapletOptions options(std::uint64_t capacity) const {
    return {.capacity = capacity, .seed = 1, .value_bits = value_bits, .fpr = fpr};
  }
};
inline constexpr MapletKind kMapletKinds[] = {
    {"8+4", 4, 0}, {"12+4", 4, 0.005}, {"8+8", 8, 0}, {"12+8", 8, 0.005}};

// Sides that do the same work in turn, the maplet first. Each does it once untimed just before it
// is timed, so that it finds its own memory in the caches.
class Contest {
 public:
  // work() returns how many operations it did. Of sides with one name the fastest counts.
  void add(const std::string& name, std::function<std::size_t()> work) {
    works_.push_back({name, std::move(work), Side()});
  }
  void round(benchmark::State& state) {
    for (Work& work : works_) {
      benchmark::DoNotOptimize(work.work());
      const double start = now();
      const std::size_t done = work.work();
      const double taken = now() - start;
      work.side.add(done, taken);
      if (&work == works_.data()) state.SetIterationTime(taken);
    }
  }
  // `rate` is the maplet's, of_NAME its rate as a multiple of NAME's.
  void report(benchmark::State& state) const {
    const double rate = works_.front().side.rate();
    state.counters["rate"] = rate;
    for (const Work& work : works_) {
      if (&work == works_.data()) continue;
      benchmark::Counter& of = state.counters["of_" + work.name];
      const double ratio = rate / work.side.rate();
      if (of.value == 0 || ratio < of.value) of = ratio;
    }
  }

 private:
  struct Work {
    std::string name;
    std::function<std::size_t()> work;
    Side side;
  };
  std::vector<Work> works_;
};

}  // namespace nestline::bench

#endif  // NESTLINE_BENCH_SEGMENTS_SEGMENTS_H_
