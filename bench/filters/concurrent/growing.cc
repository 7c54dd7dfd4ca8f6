// Growth of full filters, and folding of filters that were filled after two doublings, against
// copying as many bytes; and how long a lookup takes while a filter grows or shrinks.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "bench/support/benchmarks.h"
#include "bench/support/ceiling.h"
#include "bench/support/huge_pages.h"
#include "bench/support/pinned_threads.h"
#include "bench/support/workload.h"
#include "nestline/concurrent_filter.h"

namespace nestline::bench {
namespace {

// Copies `from` twice, because a growing filter writes two blocks for each one. Copies a part at a
// time, so that the second copy finds it in the cache and reads no more memory than growth does.
void copy_twice(const std::uint8_t* from, std::size_t bytes, std::uint8_t* to) {
  constexpr std::size_t kPart = std::size_t{64} << 10;
  for (std::size_t at = 0; at < bytes; at += kPart) {
    const std::size_t size = std::min(kPart, bytes - at);
    std::memcpy(to + 2 * at, from + at, size);
    std::memcpy(to + 2 * at + size, from + at, size);
  }
  benchmark::DoNotOptimize(*to);
  benchmark::ClobberMemory();
}

// Bytes per second, read and written. The new memory is fresh, as the filter's is, so the time in
// which the system clears it counts on both sides. of_memcpy_touched compares with a copy into
// memory that the system has cleared before.
template <typename AnyFilter>
void growing(benchmark::State& state, int bits, std::size_t bytes) {
  const std::size_t moved = 3 * bytes;
  const ConcurrentFilter& full = kept_filter(kLoad, bits, bytes);
  const FreshMemory from(bytes);
  const FreshMemory touched(2 * bytes);
  std::memset(from.data(), 1, bytes);
  std::memset(touched.data(), 1, 2 * bytes);
  Side grown;
  Side copied;
  Side copied_touched;
  for (auto _ : state) {
    double start = now();
    {
      const FreshMemory fresh(2 * bytes);
      copy_twice(from.data(), bytes, fresh.data());
      copied.add(moved, now() - start);
    }
    AnyFilter filter(full.snapshot());
    start = now();
    const bool done = filter.grow();
    const double taken = now() - start;
    grown.add(moved, taken);
    state.SetIterationTime(taken);
    if (!done || filter.memory_bytes() != 2 * bytes) state.SkipWithError("it did not grow");
    start = now();
    copy_twice(from.data(), bytes, touched.data());
    copied_touched.add(moved, now() - start);
  }
  report(state, "of_memcpy", grown.rate(), copied.rate());
  state.counters["of_memcpy_touched"] = grown.rate() / copied_touched.rate();
  state.counters["touched_rate"] = copied_touched.rate();
}

// A filter of `bytes` to a quarter, which then has this load, against copies of it (snapshot): both
// in bytes of it per second. So at of_copy 0.5 it takes as long as two copies.
void folding(benchmark::State& state, int bits, std::size_t bytes, double load) {
  Filter begun(options_of(bits, bytes / 4));
  begun.grow();
  begun.grow();
  const auto keys = counter_keys(std::min(keys_at(load, bits, bytes / 4), begun.capacity() / 4));
  if (begun.insert(keys) != keys.size()) state.SkipWithError("not every key was stored");
  Side folded;
  Side copied;
  for (auto _ : state) {
    double start = now();
    Filter filter = begun.snapshot();
    copied.add(begun.memory_bytes(), now() - start);
    start = now();
    const unsigned times = filter.fit();
    const double taken = now() - start;
    folded.add(begun.memory_bytes(), taken);
    state.SetIterationTime(taken);
    if (times != 2) state.SkipWithError("it was not folded");
  }
  report(state, "of_copy", folded.rate(), copied.rate());
}

// Seconds that single lookups took, for percentiles. Reserves its memory beforehand, so that it
// allocates none while measuring.
class Latencies {
 public:
  explicit Latencies(std::size_t most) : nanoseconds_(most) {}

  void add(std::uint64_t nanoseconds) {
    if (count_ < nanoseconds_.size()) {
      nanoseconds_[count_++] = static_cast<std::uint32_t>(
          std::min<std::uint64_t>(nanoseconds, std::numeric_limits<std::uint32_t>::max()));
    }
  }
  [[nodiscard]] std::size_t count() const { return count_; }
  // In microseconds; `share` 1 is the longest.
  [[nodiscard]] double percentile(double share) {
    if (count_ == 0) return 0;
    const auto rank = static_cast<std::ptrdiff_t>(share * static_cast<double>(count_ - 1));
    const auto begin = nanoseconds_.begin();
    std::nth_element(begin, begin + rank, begin + static_cast<std::ptrdiff_t>(count_));
    return begin[rank] / 1e3;
  }

 private:
  std::vector<std::uint32_t> nanoseconds_;
  std::size_t count_ = 0;
};

std::uint64_t nanoseconds_now() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

// One thread looks up keys from before the change until after it: a full filter grows, or one that
// has grown shrinks again. Each lookup is timed, including the reading of the clock. Lookups that
// began or ended meanwhile are `during`.
void lookups_meanwhile(benchmark::State& state, int bits, std::size_t bytes, bool shrinks) {
  enum Phase { before, during, after };
  constexpr std::chrono::milliseconds kQuiet(100);
  constexpr std::size_t kMax = std::size_t{1} << 25;
  const ConcurrentFilter& full = kept_filter(kLoad, bits, bytes);
  std::vector<std::uint64_t> keys = lookup_keys(bytes, full.size(), 100);
  const std::vector<std::uint64_t> absent = lookup_keys(bytes, full.size(), 0);
  // Every other key is absent.
  for (std::size_t i = 0; i < keys.size(); i += 2) keys[i] = absent[i];
  Latencies during_growth(kMax);
  Latencies quiet(kMax);
  double growth_seconds = 0;
  std::size_t missed = 0;
  bool grown = true;
  for (auto _ : state) {
    ConcurrentFilter filter(full.snapshot());
    if (shrinks) filter.grow();
    std::atomic<Phase> phase = before;
    std::atomic<bool> over = false;
    all_cores().run(0, 2, [&](unsigned m) {
      if (m == 1) {
        std::this_thread::sleep_for(kQuiet);
        const double start = now();
        phase = during;
        grown = grown && (shrinks ? filter.shrink() : filter.grow());
        phase = after;
        growth_seconds += now() - start;
        std::this_thread::sleep_for(kQuiet);
        over = true;
        return;
      }
      for (std::size_t i = 0; !over.load(std::memory_order_relaxed); ++i) {
        const std::size_t at = i % keys.size();
        const Phase first = phase.load();
        const std::uint64_t start = nanoseconds_now();
        const bool hit = filter.may_contain(keys[at]);
        const std::uint64_t end = nanoseconds_now();
        missed += at % 2 != 0 && !hit;
        (first == during || phase.load() == during ? during_growth : quiet).add(end - start);
      }
    });
    state.SetIterationTime(growth_seconds);
  }
  state.counters["p999_us"] = during_growth.percentile(0.999);
  state.counters["max_us"] = during_growth.percentile(1);
  state.counters["p50_us"] = during_growth.percentile(0.5);
  state.counters["quiet_p999_us"] = quiet.percentile(0.999);
  state.counters["quiet_max_us"] = quiet.percentile(1);
  state.counters["quiet_p50_us"] = quiet.percentile(0.5);
  state.counters["growth_ms"] = growth_seconds * 1e3 / static_cast<double>(state.iterations());
  state.counters["lookups"] = static_cast<double>(during_growth.count());
  if (!grown) state.SkipWithError("it did not change");
  if (missed != 0) state.SkipWithError("a key that was stored was not found");
}

}  // namespace

void add_growing() {
  for (const int bits : kFilterWidths) {
    for (const std::size_t bytes : sizes()) {
      if (bytes < kMib) continue;  // too fast for the clock
      const std::string end = "/" + suffix(bits, bytes);
      const int iterations = bytes > 16 * kMib ? 3 : 20;
      add_timed("grow/filter" + end, iterations,
                [=](benchmark::State& state) { growing<Filter>(state, bits, bytes); });
      add_timed("grow/concurrent" + end, iterations,
                [=](benchmark::State& state) { growing<ConcurrentFilter>(state, bits, bytes); });
      for (const int load : {50, 95}) {
        add_timed("fold/load:" + std::to_string(load) + end, iterations,
                  [=](benchmark::State& state) { folding(state, bits, bytes, load / 100.0); });
      }
      if (all_cores().size() > 1) {
        add_timed("grow/lookups_meanwhile" + end, 1,
                  [=](benchmark::State& state) { lookups_meanwhile(state, bits, bytes, false); });
        add_timed("shrink/lookups_meanwhile" + end, 1,
                  [=](benchmark::State& state) { lookups_meanwhile(state, bits, bytes, true); });
      }
    }
  }
}

}  // namespace nestline::bench
