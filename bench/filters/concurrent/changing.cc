// Inserts by several threads against one, and a mix of all operations against libcuckoo's map.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "bench/filters/others/cuckoo_map.h"
#include "bench/support/benchmarks.h"
#include "bench/support/ceiling.h"
#include "bench/support/huge_pages.h"
#include "bench/support/pinned_threads.h"
#include "bench/support/workload.h"
#include "nestline/concurrent_filter.h"

namespace nestline::bench {
namespace {

// The upper bits of a key say which thread it belongs to.
constexpr std::uint64_t kOwner = std::uint64_t{1} << 40;

// An empty filter. The system has already provided its memory.
ConcurrentFilter touched_filter(int bits, std::size_t bytes) {
  Filter filter(options_of(bits, bytes));
  filter.clear();
  return ConcurrentFilter(std::move(filter));
}

// Single-key inserts from empty to 90 %. Two filters get the same keys, a small part at a time. All
// threads fill one of them, each with its own keys; one thread fills the other, in turn with them.
void insert_threads(benchmark::State& state, int bits, std::size_t bytes, unsigned threads) {
  constexpr std::uint64_t kParts = 512;
  const std::uint64_t each = keys_at(0.90, bits, bytes) / threads / kParts;
  PinnedThreads& pinned = all_cores();
  Side together;
  Side alone;
  for (auto _ : state) {
    ConcurrentFilter many = touched_filter(bits, bytes);
    ConcurrentFilter one = touched_filter(bits, bytes);
    std::vector<std::uint64_t> failed(std::size_t{threads} * 8);
    const auto insert = [&](ConcurrentFilter& filter, std::uint64_t part, unsigned m, unsigned by) {
      std::uint64_t stored = 0;
      const std::uint64_t first = m * kOwner + part * each;
      for (std::uint64_t key = first; key < first + each; ++key) {
        stored += static_cast<bool>(filter.insert(key));
      }
      failed[std::size_t{by} * 8] += each - stored;
    };
    const double before = together.seconds();
    for (std::uint64_t part = 0; part < kParts; ++part) {
      const double shared = pinned.run(0, threads, [&](unsigned m) { insert(many, part, m, m); });
      together.add(each * threads, shared);
      const double single = pinned.run(static_cast<unsigned>(part % threads), 1, [&](unsigned by) {
        for (unsigned m = 0; m < threads; ++m) insert(one, part, m, by);
      });
      alone.add(each * threads, single);
    }
    state.SetIterationTime(together.seconds() - before);
    if (std::accumulate(failed.begin(), failed.end(), std::uint64_t{0}) != 0) {
      state.SkipWithError("a key was not stored");
    }
    if (many.size() != one.size()) state.SkipWithError("the sizes differ");
  }
  report(state, "of_one_thread", together.mean_rate(), alone.mean_rate());
  state.counters["rate_per_thread"] = together.mean_rate() / threads;
}

class FilterSet {
 public:
  FilterSet(std::uint64_t keys, int bits) : filter_({.capacity = keys, .bits = bits, .seed = 1}) {}
  bool contains(std::uint64_t key) const { return filter_.may_contain(key); }
  bool insert(std::uint64_t key) { return static_cast<bool>(filter_.insert(key)); }
  bool erase(std::uint64_t key) { return filter_.erase(key); }
  [[nodiscard]] double load() const { return filter_.load_factor(); }

 private:
  ConcurrentFilter filter_;
};

// What a thread does, again and again: 90 % lookups, half of them for stored keys, 5 % inserts and
// 5 % erases, in random order. The number in the low half picks the key.
enum Deed : std::uint64_t { ask_absent, ask_present, insert_newest, erase_oldest };

std::vector<std::uint64_t> make_script(std::uint64_t seed) {
  constexpr std::size_t kLength = 200'000;
  std::vector<std::uint64_t> script(kLength);
  for (std::size_t i = 0; i < kLength; ++i) {
    const std::size_t percent = i * 100 / kLength;
    script[i] = percent < 5    ? insert_newest
                : percent < 10 ? erase_oldest
                : percent < 55 ? ask_present
                               : ask_absent;
  }
  std::mt19937_64 random(seed);
  std::shuffle(script.begin(), script.end(), random);
  for (std::uint64_t& step : script) step = step << 32 | random() >> 32;
  return script;
}

// One thread's part of a set: its keys are those of [low, high), a window that moves on.
struct alignas(64) Actor {
  std::uint64_t low;
  std::uint64_t high;
  std::size_t at = 0;
  std::uint64_t wrong = 0;

  template <typename Set>
  std::size_t act(Set& set, const std::vector<std::uint64_t>& script) {
    constexpr std::size_t kPiece = 4096;
    for (std::size_t i = 0; i < kPiece; ++i) {
      const std::uint64_t step = script[at];
      if (++at == script.size()) at = 0;
      const std::uint64_t number = step & 0xffffffffu;
      const std::uint64_t deed = step >> 32;
      if (deed == insert_newest) {
        wrong += !set.insert(high++);
      } else if (deed == erase_oldest) {
        wrong += !set.erase(low++);
      } else {
        // The same code for both, without a branch, so that the processor cannot predict the
        // answer.
        const std::uint64_t absent = kAbsent + number;
        const std::uint64_t present = low + ((high - low) * number >> 32);
        const bool hit = set.contains(absent ^ ((absent ^ present) & (0 - deed)));
        wrong += static_cast<std::uint64_t>(!hit) & deed;  // a false positive is not an error
      }
    }
    return kPiece;
  }
};

template <typename Set>
struct Stage {
  Set set;
  std::vector<Actor> actors;

  template <typename... Arguments>
  Stage(std::uint64_t keys, unsigned threads, const Arguments&... arguments)
      : set(keys, arguments...) {
    const std::uint64_t each = keys / threads;
    for (unsigned m = 0; m < threads; ++m) actors.push_back({m * kOwner, m * kOwner + each});
    all_cores().run(0, threads, [&](unsigned m) {
      for (std::uint64_t i = 0; i < each; ++i) actors[m].wrong += !set.insert(m * kOwner + i);
    });
  }
  [[nodiscard]] bool wrong() const {
    return std::any_of(actors.begin(), actors.end(), [](const Actor& a) { return a.wrong != 0; });
  }
};

constexpr std::uint64_t kMixKeys = 16'000'000;

template <class Map>
void mix(benchmark::State& state, int bits, unsigned threads) {
  constexpr double kPhase = 0.02;
  // They take seconds to fill, so they are kept.
  static std::unique_ptr<Stage<Map>> map;
  static std::pair<int, std::unique_ptr<Stage<FilterSet>>> kept;
  if (!map) map = std::make_unique<Stage<Map>>(kMixKeys, threads);
  if (kept.first != bits) {
    kept.second.reset();
    kept = {bits, std::make_unique<Stage<FilterSet>>(kMixKeys, threads, bits)};
  }
  Stage<FilterSet>& filter = *kept.second;
  std::vector<std::vector<std::uint64_t>> scripts;
  for (unsigned m = 0; m < threads; ++m) scripts.push_back(make_script(m));
  PinnedThreads& pinned = all_cores();
  Side ours;
  Side theirs;
  const auto perform = [&](auto& stage, Side& side) {
    const double rate = pinned.rate(
        0, threads, kPhase, [&](unsigned m) { return stage.actors[m].act(stage.set, scripts[m]); });
    side.add(static_cast<std::size_t>(rate * kPhase), kPhase);
  };
  for (auto _ : state) {
    perform(filter, ours);
    perform(*map, theirs);
    state.SetIterationTime(kPhase);
  }
  report(state, "of_libcuckoo", ours.rate(), theirs.rate());
  state.counters["rate_per_thread"] = ours.rate() / threads;
  state.counters["load"] = filter.set.load();
  state.counters["other_load"] = map->set.load();
  if (filter.wrong() || map->wrong()) state.SkipWithError("a key of a thread's own was missed");
}

}  // namespace

void add_changing() {
  const unsigned cores = all_cores().size();
  for (const int bits : kFilterWidths) {
    for (const std::size_t bytes : sizes()) {
      for (unsigned threads = 2; threads <= cores; ++threads) {
        add_timed("insert/threads:" + std::to_string(threads) + "/" + suffix(bits, bytes),
                  bytes < 16 * kMib ? 8 : 1,
                  [=](benchmark::State& state) { insert_threads(state, bits, bytes, threads); });
      }
    }
  }
  if (cores < 2) return;
  for (const int bits : kFilterWidths) {
    const std::string end = "/threads:2/bits:" + std::to_string(bits);
    const auto add = [&]<class Map>(const char* name, std::type_identity<Map>) {
      add_timed(name + end, 40, [=](benchmark::State& state) { mix<Map>(state, bits, 2); });
    };
    add("mix", std::type_identity<CuckooMap<std::allocator, 1>>{});
    add("mix/map_half_full", std::type_identity<CuckooMap<std::allocator, 2>>{});
    add("mix/map_on_huge_pages_half_full", std::type_identity<CuckooMap<HugePages, 2>>{});
  }
}

}  // namespace nestline::bench
