// The parts of a lookup and of an insert, in processor cycles per key. Each measurement includes
// one part more than the one before.
//
// A cycle is the time of one addition in a chain of dependent additions. The chain is timed beside
// each measurement.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/support/benchmarks.h"
#include "bench/support/beside_ceiling.h"
#include "bench/support/workload.h"
#include "lib/filters/filter/blocks.h"

namespace nestline::bench {
namespace {

double seconds_of_a_cycle() {
  constexpr std::uint64_t kAdditions = std::uint64_t{1} << 20;
  const double start = now();
  std::uint64_t sum = 1;
  for (std::uint64_t i = 0; i < kAdditions; ++i) {
    sum += i;
    asm volatile("" : "+r"(sum));  // one addition after the other, in a register
  }
  return (now() - start) / static_cast<double>(kAdditions);
}

// Times work(), which handles `keys` keys. The best round counts, for the chain as well, since
// every disturbance adds time.
class Stage {
 public:
  template <typename Work>
  double time(std::size_t keys, Work&& work) {
    cycle_ = std::min(cycle_, seconds_of_a_cycle());
    const double start = now();
    work();
    const double taken = now() - start;
    best_ = std::min(best_, taken / static_cast<double>(keys));
    return taken;
  }
  [[nodiscard]] double cycles() const { return best_ / cycle_; }

 private:
  static inline double cycle_ = 1;
  double best_ = 1;
};

// located: hashes and places of the keys. at_half_load: a whole batch of absent keys, with no mark
// that asks for a second probe. at_full_load: the same with second probes, absent and present.
void lookups(benchmark::State& state, int bits, std::size_t bytes) {
  const Filter half = filled_filter(bits, bytes, 0.5);
  const Filter full = filled_filter(bits, bytes, kLoad);
  const std::vector<std::uint64_t> absent = lookup_keys(bytes, full.size(), 0);
  const std::vector<std::uint64_t> present = lookup_keys(bytes, full.size(), 100);
  const Blocks& inside = FilterAccess::blocks(full);
  std::vector<std::uint8_t> answers(absent.size());
  std::array<Place, kMaxLocated> places;
  Stage located;
  Stage at_half;
  Stage at_full;
  Stage at_full_present;
  Stage single;
  const auto ask = [&](const Filter& filter, const auto& keys, Stage& stage) {
    if (is_cached(bytes)) benchmark::DoNotOptimize(filter.may_contain(keys, answers));
    return stage.time(keys.size(),
                      [&] { benchmark::DoNotOptimize(filter.may_contain(keys, answers)); });
  };
  for (auto _ : state) {
    located.time(absent.size(), [&] {
      for (std::size_t at = 0; at < absent.size(); at += kMaxLocated) {
        inside.engine->lookups.locate(
            inside.view, {absent.data() + at, kMaxLocated, InputKind::integers}, places.data());
        benchmark::DoNotOptimize(places);
      }
    });
    ask(half, absent, at_half);
    state.SetIterationTime(ask(full, absent, at_full));
    ask(full, present, at_full_present);
    single.time(absent.size(), [&] {
      std::size_t hits = 0;
      for (const std::uint64_t key : absent) hits += full.may_contain(key);
      benchmark::DoNotOptimize(hits);
    });
  }
  state.counters["located"] = located.cycles();
  state.counters["at_half_load"] = at_half.cycles();
  state.counters["at_full_load"] = at_full.cycles();
  state.counters["at_full_load_present"] = at_full_present.cycles();
  state.counters["single"] = single.cycles();
}

// Batches that fill a filter to each of these loads from the one before, the first from empty.
void inserts(benchmark::State& state, int bits, std::size_t bytes) {
  constexpr std::array<int, 7> kUpTo = {50, 70, 80, 85, 90, 93, 95};
  std::array<Stage, kUpTo.size()> stages;
  Filter filter(options_of(bits, bytes));
  for (auto _ : state) {
    filter.clear();
    double taken = 0;
    for (std::size_t i = 0; i < kUpTo.size(); ++i) {
      const std::uint64_t first = filter.size();
      const auto keys = counter_keys(keys_at(kUpTo[i] / 100.0, bits, bytes) - first, first);
      taken += stages[i].time(keys.size(), [&] { benchmark::DoNotOptimize(filter.insert(keys)); });
    }
    state.SetIterationTime(taken);
  }
  for (std::size_t i = 0; i < kUpTo.size(); ++i) {
    state.counters["up_to_" + std::to_string(kUpTo[i])] = stages[i].cycles();
  }
}

}  // namespace

void add_kernel_cycles() {
  for (const int bits : kFilterWidths) {
    for (const std::size_t bytes : sizes()) {
      const std::string end = "/" + suffix(bits, bytes);
      const int several = bytes < kMib ? 200 : bytes <= 16 * kMib ? 5 : 1;
      add("cycles/lookup" + end, [=](benchmark::State& state) {
        lookups(state, bits, bytes);
      })->Iterations(5 * several);
      add("cycles/insert" + end, [=](benchmark::State& state) {
        inserts(state, bits, bytes);
      })->Iterations(several);
    }
  }
}

}  // namespace nestline::bench
