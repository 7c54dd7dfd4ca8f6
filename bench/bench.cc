// Speed of the filter, one thread: batch and single lookups, inserts, erases, at three widths and
// three sizes: in the second-level cache, in the third, in memory.
//
// How to read it: `items_per_second` is keys a second. `of_ceiling` is the rate as a share of the
// ceiling (ceiling.h) of memory as large as the filter; the two are measured in turn, piece by
// piece, so that a shared machine slows both. `fpr` is what was measured on the way.
// Absolute rates hold for the machine they were measured on; compare ratios of one run.
//
// Filters are 95 % full unless the name says otherwise. Run a Release build; the program refuses to
// run with assertions on. Arguments are Google Benchmark's.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ceiling.h"
#include "nestline/filter.h"
#include "workload.h"

namespace nestline::bench {
namespace {

// A filled filter is kept for the next benchmark of the same size.
const Filter& full_filter(int bits, std::size_t bytes) {
  static std::pair<int, std::size_t> kept;
  static std::unique_ptr<Filter> filter;
  if (!filter || kept != std::pair(bits, bytes)) {
    filter.reset();
    filter = std::make_unique<Filter>(filled_filter(bits, bytes, kLoad));
    kept = {bits, bytes};
  }
  return *filter;
}

// Adds up the time of the work and of the ceiling beside it.
class BesideCeiling {
 public:
  BesideCeiling(benchmark::State& state, std::size_t bytes)
      : state_(state), ceiling_(ceiling_of(bytes)) {}

  // One iteration: work(piece) on the keys in pieces of at most a million, after each the ceiling
  // on as many.
  template <typename Work>
  void iteration(std::span<const std::uint64_t> keys, Work&& work) {
    const std::span<const std::uint64_t> numbers = random_numbers();
    double taken = 0;
    for (std::size_t at = 0; at < keys.size(); at += numbers.size()) {
      const auto piece = keys.subspan(at, std::min(numbers.size(), keys.size() - at));
      const double start = now();
      work(piece);
      taken += now() - start;
      ceiling_seconds_ += ceiling_.seconds(numbers.first(piece.size()));
    }
    state_.SetIterationTime(taken);
    work_seconds_ += taken;
    keys_ += keys.size();
  }

  void report() {
    state_.SetItemsProcessed(static_cast<std::int64_t>(keys_));
    state_.counters["of_ceiling"] = ceiling_seconds_ / work_seconds_;
  }

 private:
  benchmark::State& state_;
  const Ceiling& ceiling_;
  double work_seconds_ = 0;
  double ceiling_seconds_ = 0;
  std::size_t keys_ = 0;
};

void lookup_batch(benchmark::State& state, int bits, std::size_t bytes, Keys kind) {
  const Filter& filter = full_filter(bits, bytes);
  const std::vector<std::uint64_t> keys = questions(bytes, filter.size(), kind);
  std::vector<std::uint8_t> answers(keys.size());
  BesideCeiling beside(state, bytes);
  std::size_t hits = 0;
  for (auto _ : state) {
    beside.iteration(keys, [&](auto piece) { hits = filter.may_contain(piece, answers); });
  }
  beside.report();
  state.counters[kind == Keys::absent ? "fpr" : "hits"] =
      static_cast<double>(hits) / static_cast<double>(keys.size());
  state.counters["bits_per_key"] =
      static_cast<double>(filter.memory_bytes()) * 8 / static_cast<double>(filter.size());
}

void lookup_single(benchmark::State& state, int bits, std::size_t bytes, Keys kind) {
  const Filter& filter = full_filter(bits, bytes);
  const std::vector<std::uint64_t> keys = questions(bytes, filter.size(), kind);
  std::vector<std::uint8_t> answers(keys.size());
  // Beside the batch form on the same keys, not beside the ceiling.
  double single_seconds = 0;
  double batch_seconds = 0;
  for (auto _ : state) {
    const double start = now();
    std::size_t hits = 0;
    for (const std::uint64_t key : keys) hits += filter.may_contain(key);
    benchmark::DoNotOptimize(hits);
    const double middle = now();
    benchmark::DoNotOptimize(filter.may_contain(keys, answers));
    batch_seconds += now() - middle;
    single_seconds += middle - start;
    state.SetIterationTime(middle - start);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(keys.size()));
  state.counters["of_batch"] = batch_seconds / single_seconds;
}

void insert_batch(benchmark::State& state, int bits, std::size_t bytes) {
  Filter filter(options_of(bits, bytes));
  const std::vector<std::uint64_t> keys = counter_keys(filter.capacity());
  // The first touch of the memory is the system's time.
  filter.insert(std::span(keys).first(keys.size() / 2));
  BesideCeiling beside(state, bytes);
  for (auto _ : state) {
    filter.clear();
    beside.iteration(keys, [&](auto piece) { filter.insert(piece); });
  }
  beside.report();
  if (filter.size() != keys.size()) state.SkipWithError("not every key was stored");
}

void erase_batch(benchmark::State& state, int bits, std::size_t bytes) {
  Filter filter(options_of(bits, bytes));
  const std::vector<std::uint64_t> keys = counter_keys(filter.capacity());
  const std::span<const std::uint64_t> some =
      std::span(keys).first(std::min<std::size_t>(keys.size(), std::size_t{1} << 20));
  filter.insert(keys);
  BesideCeiling beside(state, bytes);
  for (auto _ : state) {
    beside.iteration(some, [&](auto piece) { filter.erase(piece); });
    filter.insert(some);
  }
  beside.report();
}

void add_benchmarks() {
  const auto add = [](const std::string& name, auto body) {
    benchmark::RegisterBenchmark(name.c_str(), body)
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
  };
  for (const int bits : kWidths) {
    for (const Size& size : kSizes) {
      const std::string end = suffix(bits, size);
      const std::size_t bytes = size.bytes;
      for (const Keys kind : kKinds) {
        add(std::string("may_contain/batch/") + name_of(kind) + end,
            [=](benchmark::State& state) { lookup_batch(state, bits, bytes, kind); });
        add(std::string("may_contain/single/") + name_of(kind) + end,
            [=](benchmark::State& state) { lookup_single(state, bits, bytes, kind); });
      }
      add("insert/batch/empty_to_95" + end,
          [=](benchmark::State& state) { insert_batch(state, bits, bytes); });
      add("erase/batch" + end, [=](benchmark::State& state) { erase_batch(state, bits, bytes); });
    }
  }
}

}  // namespace
}  // namespace nestline::bench

int main(int argc, char** argv) {
  return nestline::bench::run_program({}, argc, argv, nestline::bench::add_benchmarks);
}
