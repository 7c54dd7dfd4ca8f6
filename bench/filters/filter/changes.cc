// Changes by one thread, in batches and one by one: inserts into an empty and into a nearly full
// filter, erases, and both in turn.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/support/benchmarks.h"
#include "bench/support/beside_ceiling.h"
#include "bench/support/workload.h"
#include "nestline/concurrent_filter.h"

namespace nestline::bench {
namespace {

void insert_from_empty(benchmark::State& state, int bits, std::size_t bytes) {
  Filter filter(options_of(bits, bytes));
  const std::vector<std::uint64_t> keys = counter_keys(filter.capacity());
  // Touch the memory first: the system's time for that does not count.
  filter.clear();
  BesideCeiling beside(state, bytes);
  for (auto _ : state) {
    filter.clear();
    beside.changing(keys, [&](auto piece) { benchmark::DoNotOptimize(filter.insert(piece)); });
  }
  beside.report();
  if (filter.size() != keys.size()) state.SkipWithError("not every key was stored");
}

// From 90 to 95 %.
template <typename Insert>
void insert_last(benchmark::State& state, int bits, std::size_t bytes, Insert&& insert) {
  const ConcurrentFilter& start = kept_filter(0.90, bits, bytes);
  const std::uint64_t first = start.size();
  const std::vector<std::uint64_t> keys = counter_keys(keys_at(kLoad, bits, bytes) - first, first);
  BesideCeiling beside(state, bytes);
  for (auto _ : state) {
    Filter filter = start.snapshot();
    beside.changing(keys, [&](auto piece) { insert(filter, piece); });
    if (filter.size() != first + keys.size()) state.SkipWithError("not every key was stored");
  }
  beside.report();
}

// Erases from a full filter, 5 % of the filter or a million keys at a time.
void erase(benchmark::State& state, int bits, std::size_t bytes) {
  const ConcurrentFilter& start = kept_filter(kLoad, bits, bytes);
  const std::vector<std::uint64_t> keys =
      counter_keys(std::min<std::uint64_t>(start.size() / 20, std::uint64_t{1} << 22));
  BesideCeiling beside(state, bytes);
  for (auto _ : state) {
    Filter filter = start.snapshot();
    beside.changing(keys, [&](auto piece) { filter.erase(piece); });
    if (filter.size() != start.size() - keys.size()) state.SkipWithError("a key was not erased");
  }
  beside.report();
}

// Erases a batch of the oldest keys and inserts a batch of new ones, again and again. Counts both.
void churn(benchmark::State& state, int bits, std::size_t bytes) {
  constexpr std::size_t kBatch = 4096;
  Filter filter = kept_filter(kLoad, bits, bytes).snapshot();
  std::uint64_t oldest = 0;
  std::uint64_t newest = filter.size();
  const std::vector<std::uint64_t> rounds(std::size_t{1} << 20);
  BesideCeiling beside(state, bytes);
  std::size_t failed = 0;
  for (auto _ : state) {
    beside.changing(rounds, [&](auto piece) {
      for (std::size_t at = 0; at < piece.size(); at += 2 * kBatch) {
        failed += kBatch - filter.erase(counter_keys(kBatch, oldest));
        failed += kBatch - filter.insert(counter_keys(kBatch, newest));
        oldest += kBatch;
        newest += kBatch;
      }
    });
  }
  beside.report();
  // Without growth, a few keys may find no room at full load; more than that is an error.
  if (failed > newest / 10000) state.SkipWithError("many changes failed");
}

}  // namespace

void add_changes() {
  for (const int bits : kFilterWidths) {
    for (const std::size_t bytes : sizes()) {
      const std::string end = "/" + suffix(bits, bytes);
      add("insert/batch/from_empty" + end,
          [=](benchmark::State& state) { insert_from_empty(state, bits, bytes); });
      add("insert/batch/last_5_percent" + end, [=](benchmark::State& state) {
        insert_last(state, bits, bytes, [](Filter& filter, auto keys) {
          benchmark::DoNotOptimize(filter.insert(keys));
        });
      });
      add("insert/single/last_5_percent" + end, [=](benchmark::State& state) {
        insert_last(state, bits, bytes, [](Filter& filter, auto keys) {
          for (const std::uint64_t key : keys) benchmark::DoNotOptimize(filter.insert(key));
        });
      });
      add("erase/batch" + end, [=](benchmark::State& state) { erase(state, bits, bytes); });
      add("churn/batch" + end, [=](benchmark::State& state) { churn(state, bits, bytes); });
    }
  }
}

}  // namespace nestline::bench
