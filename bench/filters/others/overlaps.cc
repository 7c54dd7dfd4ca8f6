// Whether two filters have a common key, told without the keys: how fast, and how often pairs of
// filters without one say no, beside pairs of split-block Bloom filters of equal bytes.
//
//   overlap/count/...    slots a second of one of two filters that count_common compares, without
//                        a common key; by width, size and load
//   overlap/no/...       of 400 pairs of filters of n keys, those that say no, in 100: of one
//                        filter a side (no), of two or six with a seed each, and of two Bloom
//                        filters that have the bytes of two (bloom2)
#include <benchmark/benchmark.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/filters/others/blocked_bloom.h"
#include "bench/support/benchmarks.h"
#include "bench/support/ceiling.h"
#include "bench/support/workload.h"
#include "lib/engine/place/layout.h"

namespace nestline::bench {
namespace {

void count(benchmark::State& state, int bits, std::size_t bytes, double load) {
  const Filter one = filled_filter(bits, bytes, load);
  Filter other(options_of(bits, bytes));
  fill_from(other, kAbsent, kAbsent + one.size());
  for (auto _ : state) {
    const double start = now();
    benchmark::DoNotOptimize(one.count_common(other));
    state.SetIterationTime(now() - start);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(one.slots()));
}

// `ask` tells of pair i and seed j whether it may overlap.
double no_of_100(std::size_t seeds, auto&& ask) {
  constexpr std::size_t kPairs = 400;
  std::size_t no = 0;
  for (std::size_t i = 0; i < kPairs; ++i) {
    bool may = true;
    for (std::size_t seed = 1; seed <= seeds && may; ++seed) may = ask(i, seed);
    no += may ? 0 : 1;
  }
  return 100.0 * static_cast<double>(no) / kPairs;
}

void no(benchmark::State& state, std::uint64_t keys) {
  const auto filter = [&](std::size_t number, std::uint64_t seed) {
    Filter made({.capacity = keys, .bits = 16, .seed = seed});
    benchmark::DoNotOptimize(made.insert(counter_keys(keys, number << 32)));
    return made;
  };
  const auto filters = [&](std::size_t i, std::size_t seed) {
    return filter(2 * i, seed).may_overlap(filter(2 * i + 1, seed));
  };
  // By their own hash; the keys are other ones for each seed.
  const auto blooms = [&](std::size_t i, std::size_t seed) {
    std::array<BlockedBloom, 2> both{BlockedBloom(filter(0, 0).memory_bytes()),
                                     BlockedBloom(filter(0, 0).memory_bytes())};
    for (std::size_t side : {0, 1}) {
      both.at(side).insert(counter_keys(keys, ((8 * i + seed) * 2 + side) << 32));
    }
    return both[0].may_share(both[1]);
  };
  for (auto _ : state) {
    state.counters["no"] = no_of_100(1, filters);
    state.counters["no2"] = no_of_100(2, filters);
    state.counters["no6"] = no_of_100(6, filters);
    state.counters["bloom2"] = no_of_100(2, blooms);
    state.SetIterationTime(1);
  }
}

}  // namespace

void add_overlaps() {
  for (const int bits : kFilterWidths) {
    for (const std::size_t bytes : sizes()) {
      for (const double load : {0.5, 0.8, 0.95}) {
        add("overlap/count/" + suffix(bits, bytes) + "/" +
                std::to_string(static_cast<int>(100 * load)),
            [=](benchmark::State& state) { count(state, bits, bytes, load); });
      }
    }
  }
  for (const std::uint64_t keys : {1000, 8192}) {
    add("overlap/no/" + std::to_string(keys), [=](benchmark::State& state) {
      no(state, keys);
    })->Iterations(1);
  }
}

}  // namespace nestline::bench
