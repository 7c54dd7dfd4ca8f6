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
#include <cstdio>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ceiling.h"
#include "nestline/filter.h"

namespace nestline::bench {
namespace {

constexpr double kLoad = 0.95;
constexpr std::uint64_t kAbsent = std::uint64_t{1} << 50;
constexpr std::size_t kKib = 1024;
constexpr std::size_t kMib = 1024 * kKib;

std::uint64_t slots_of(int bits, std::size_t bytes) {
  return bytes / 64 * (bits == 8 ? 60 : bits == 12 ? 40 : 30);
}

Filter empty_filter(int bits, std::size_t bytes) {
  const auto capacity =
      static_cast<std::uint64_t>(kLoad * static_cast<double>(slots_of(bits, bytes)));
  return Filter({.capacity = capacity, .bits = bits, .seed = 1});
}

// Keys 0, 1, 2, ...: the filter hashes them.
std::vector<std::uint64_t> counter_keys(std::uint64_t count, std::uint64_t first = 0) {
  std::vector<std::uint64_t> keys(count);
  std::iota(keys.begin(), keys.end(), first);
  return keys;
}

// Filled filters and ceilings are made once and kept for the next benchmark of the same size.
const Filter& full_filter(int bits, std::size_t bytes) {
  static std::pair<int, std::size_t> kept;
  static std::unique_ptr<Filter> filter;
  if (!filter || kept != std::pair(bits, bytes)) {
    filter.reset();
    filter = std::make_unique<Filter>(empty_filter(bits, bytes));
    filter->insert(counter_keys(filter->capacity()));
    kept = {bits, bytes};
  }
  return *filter;
}

const Ceiling& ceiling_of(std::size_t bytes) {
  static std::map<std::size_t, std::unique_ptr<Ceiling>> ceilings;
  auto& ceiling = ceilings[bytes];
  if (!ceiling) ceiling = std::make_unique<Ceiling>(bytes);
  return *ceiling;
}

// Well mixed numbers for the ceiling, which does not hash.
const std::vector<std::uint64_t>& random_numbers() {
  static const std::vector<std::uint64_t> numbers = [] {
    std::mt19937_64 random(7);
    std::vector<std::uint64_t> made(std::size_t{1} << 20);
    std::generate(made.begin(), made.end(), std::ref(random));
    return made;
  }();
  return numbers;
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
    const std::span<const std::uint64_t> numbers(random_numbers());
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

enum class Keys { absent, present };

// A million keys; fewer for a filter in the second-level cache, which they would push out of it.
std::vector<std::uint64_t> questions(const Filter& filter, Keys kind) {
  std::vector<std::uint64_t> keys(std::size_t{1} << (filter.memory_bytes() < kMib ? 16 : 20));
  std::mt19937_64 random(3);
  for (std::uint64_t& key : keys) {
    key = kind == Keys::absent ? kAbsent + random() % kAbsent : random() % filter.capacity();
  }
  return keys;
}

void lookup_batch(benchmark::State& state, int bits, std::size_t bytes, Keys kind) {
  const Filter& filter = full_filter(bits, bytes);
  const std::vector<std::uint64_t> keys = questions(filter, kind);
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
  const std::vector<std::uint64_t> keys = questions(filter, kind);
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
  Filter filter = empty_filter(bits, bytes);
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
  Filter filter = empty_filter(bits, bytes);
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

struct Size {
  std::size_t bytes;
  const char* name;
};
constexpr Size kSizes[] = {{256 * kKib, "256KiB"}, {16 * kMib, "16MiB"}, {256 * kMib, "256MiB"}};

void add_benchmarks() {
  const auto add = [](const std::string& name, auto body) {
    benchmark::RegisterBenchmark(name.c_str(), body)
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
  };
  for (const int bits : {8, 12, 16}) {
    for (const Size& size : kSizes) {
      const std::string suffix = "/bits:" + std::to_string(bits) + "/" + size.name;
      const std::size_t bytes = size.bytes;
      for (const auto& [kind, kind_name] :
           {std::pair(Keys::absent, "absent"), std::pair(Keys::present, "present")}) {
        const Keys k = kind;
        add(std::string("may_contain/batch/") + kind_name + suffix,
            [=](benchmark::State& state) { lookup_batch(state, bits, bytes, k); });
        add(std::string("may_contain/single/") + kind_name + suffix,
            [=](benchmark::State& state) { lookup_single(state, bits, bytes, k); });
      }
      add("insert/batch/empty_to_95" + suffix,
          [=](benchmark::State& state) { insert_batch(state, bits, bytes); });
      add("erase/batch" + suffix,
          [=](benchmark::State& state) { erase_batch(state, bits, bytes); });
    }
  }
}

}  // namespace
}  // namespace nestline::bench

int main(int argc, char** argv) {
#ifndef NDEBUG
  std::fprintf(stderr, "nestline_bench: built with assertions; measure a Release build\n");
  return 2;
#endif
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  nestline::bench::add_benchmarks();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
