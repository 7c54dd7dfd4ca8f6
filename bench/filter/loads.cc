// Options::load: filters that are less full at their capacity, against one of the same memory at
// 95 %. Filling each of them in one batch, and looking up absent keys when they are full.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bench/support/benchmarks.h"
#include "bench/support/ceiling.h"
#include "bench/support/workload.h"

namespace nestline::bench {
namespace {

constexpr int kLowerLoads[] = {50, 60, 70, 80, 90};

// A filter of `bytes` that holds as many keys as its capacity.
Filter full_filter(double load, int bits, std::size_t bytes) {
  Filter filter({.capacity = keys_at(load, bits, bytes), .bits = bits, .load = load, .seed = 1});
  fill(filter, filter.capacity());
  return filter;
}

void fill_beside_full(benchmark::State& state, double load, int bits, std::size_t bytes) {
  Filter lower = full_filter(load, bits, bytes);
  Filter full = full_filter(kLoad, bits, bytes);
  const std::vector<std::uint64_t> all_keys = counter_keys(full.capacity());
  const auto refill = [&](Filter& filter, Side& side) {
    const auto keys = std::span(all_keys).first(filter.capacity());
    filter.clear();
    const double start = now();
    benchmark::DoNotOptimize(filter.insert(keys));
    const double taken = now() - start;
    side.add(keys.size(), taken);
    if (filter.size() != keys.size()) state.SkipWithError("not every key was stored");
    return taken;
  };
  Side of_lower;
  Side of_full;
  for (auto _ : state) {
    refill(full, of_full);
    state.SetIterationTime(refill(lower, of_lower));
  }
  report(state, "of_full_load", of_lower.rate(), of_full.rate());
}

void ask_beside_full(benchmark::State& state, double load, int bits, std::size_t bytes) {
  const Filter lower = full_filter(load, bits, bytes);
  const Filter full = full_filter(kLoad, bits, bytes);
  const std::vector<std::uint64_t> keys = lookup_keys(bytes, full.size(), 0);
  std::vector<std::uint8_t> answers(keys.size());
  double hits = 0;
  const auto ask = [&](const Filter& filter, Side& side) {
    // Once untimed: the other filter has used the cache meanwhile.
    if (is_cached(bytes)) filter.may_contain(keys, answers);
    const double start = now();
    hits = static_cast<double>(filter.may_contain(keys, answers));
    const double taken = now() - start;
    side.add(keys.size(), taken);
    return taken;
  };
  Side of_lower;
  Side of_full;
  for (auto _ : state) {
    ask(full, of_full);
    state.SetIterationTime(ask(lower, of_lower));
  }
  report(state, "of_full_load", of_lower.rate(), of_full.rate());
  state.counters["fpr"] = hits / static_cast<double>(keys.size());
  state.counters["bits_per_key"] =
      static_cast<double>(lower.memory_bytes()) * 8 / static_cast<double>(lower.size());
}

}  // namespace

void add_loads() {
  for (const int bits : kWidths) {
    for (const std::size_t bytes : sizes()) {
      if (!is_cached(bytes)) continue;  // many minutes, and the ratios of 16 MiB
      const int fills = bytes > kMib ? 4 : 50;
      for (const int percent : kLowerLoads) {
        const double load = percent / 100.0;
        const std::string end = "load:" + std::to_string(percent) + "/" + suffix(bits, bytes);
        add_timed("insert/batch/" + end, fills,
                  [=](benchmark::State& state) { fill_beside_full(state, load, bits, bytes); });
        add_timed("may_contain/of_full_load/" + end, bytes > kMib ? 20 : 200,
                  [=](benchmark::State& state) { ask_beside_full(state, load, bits, bytes); });
      }
    }
  }
}

}  // namespace nestline::bench
