// Builds in bulk: Filter::build against Filter's batch insert, and parallel::build on several
// threads against it. Each side goes from Options to the full filter, so the time in which the
// system provides memory counts.
#include <benchmark/benchmark.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/support/benchmarks.h"
#include "bench/support/ceiling.h"
#include "bench/support/pinned_threads.h"
#include "bench/support/workload.h"
#include "nestline/parallel.h"

namespace nestline::bench {
namespace {

// Kept for the next benchmark that needs equally many.
std::span<const std::uint64_t> kept_keys(std::uint64_t count) {
  static std::vector<std::uint64_t> keys;
  if (keys.size() != count) {
    keys = {};
    keys = counter_keys(count);
  }
  return keys;
}

void build(benchmark::State& state, int bits, std::size_t bytes, unsigned threads) {
  const Options options = options_of(bits, bytes);
  const std::span<const std::uint64_t> keys = kept_keys(options.capacity);
  const auto measure = [&](Side& side, auto&& make) {
    const double start = now();
    const Filter filter = make();
    const double taken = now() - start;
    side.add(keys.size(), taken);
    if (filter.size() != keys.size()) state.SkipWithError("not every key was stored");
    return taken;
  };
  const auto build_on = [&](unsigned most) {
    if (most == 1) return Filter::build(options, keys);
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, most);
    return parallel::build(options, keys);
  };
  const auto insert_all = [&] {
    Filter filter(options);
    (void)filter.insert(keys);
    return filter;
  };
  Side inserted;
  Side one;
  Side many;
  for (auto _ : state) {
    measure(inserted, insert_all);
    const double taken = measure(one, [&] { return build_on(1); });
    if (threads > 1) measure(many, [&] { return build_on(threads); });
    state.SetIterationTime(taken);
  }
  report(state, "of_batch_insert", one.rate(), inserted.rate());
  if (threads > 1) {
    state.counters["of_one_thread"] = many.rate() / one.rate();
    state.counters["threads_rate"] = many.rate();
    state.counters["rate_per_thread"] = many.rate() / threads;
  }
}

}  // namespace

void add_building() {
  const unsigned cores = all_cores().size();
  for (const int bits : kFilterWidths) {
    for (const std::size_t bytes : sizes()) {
      const int iterations = bytes > 16 * kMib ? 1 : bytes > kMib ? 4 : 100;
      for (unsigned threads = std::min(2u, cores); threads <= cores; ++threads) {
        add_timed("build/threads:" + std::to_string(threads) + "/" + suffix(bits, bytes),
                  iterations, [=](benchmark::State& state) { build(state, bits, bytes, threads); });
      }
    }
  }
}

}  // namespace nestline::bench
