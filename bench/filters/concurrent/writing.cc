// What a writer of a ConcurrentFilter pays for the others: inserts and erases against Filter's, by
// a thread that writes alone and by one of many (lib/engine/place/locking.h, W8).
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/support/benchmarks.h"
#include "bench/support/pinned_threads.h"
#include "bench/support/workload.h"
#include "nestline/concurrent_filter.h"
#include "nestline/filter.h"

namespace nestline::bench {
namespace {

struct Case {
  bool erases;   // from 95 % load to empty, else inserts the other way
  bool batches;  // else key by key
  bool many;     // another thread has written too
};

template <class AnyFilter>
std::size_t work(const Case& what, AnyFilter& filter, std::span<const std::uint64_t> keys) {
  if (what.batches) return what.erases ? filter.erase(keys) : filter.insert(keys);
  std::size_t done = 0;
  for (const std::uint64_t key : keys) {
    done += what.erases ? filter.erase(key) : static_cast<bool>(filter.insert(key));
  }
  return done;
}

// Two filters get the same keys, a small part at a time and in turn.
void write_beside_filter(benchmark::State& state, int bits, std::size_t bytes, const Case& what) {
  constexpr std::size_t kPart = 4096;
  std::vector<std::uint64_t> keys(keys_at(0.95, bits, bytes) / kPart * kPart);
  std::iota(keys.begin(), keys.end(), std::uint64_t{0});
  PinnedThreads& pinned = all_cores();
  Side concurrent;
  Side plain;
  for (auto _ : state) {
    Filter filter(options_of(bits, bytes));
    filter.clear();  // the system provides the memory
    ConcurrentFilter shared(filter.snapshot());
    if (what.many) {
      for (const unsigned by : {0u, pinned.size() - 1}) {
        pinned.run(by, 1, [&](unsigned) { (void)shared.erase(kAbsent); });
      }
    }
    if (what.erases) {
      pinned.run(0, 1, [&](unsigned) { (void)(filter.insert(keys) + shared.insert(keys)); });
    }
    const double before = concurrent.seconds();
    std::size_t done = 0;
    for (std::size_t first = 0; first < keys.size(); first += kPart) {
      const auto part = std::span(keys).subspan(first, kPart);
      concurrent.add(kPart, pinned.run(0, 1, [&](unsigned) { done += work(what, shared, part); }));
      plain.add(kPart, pinned.run(0, 1, [&](unsigned) { done += work(what, filter, part); }));
    }
    state.SetIterationTime(concurrent.seconds() - before);
    if (done != 2 * keys.size()) state.SkipWithError("a key was not done");
  }
  report(state, "of_filter", concurrent.mean_rate(), plain.mean_rate());
}

}  // namespace

void add_writing() {
  for (const int bits : kFilterWidths) {
    for (const std::size_t bytes : sizes()) {
      for (const bool many : {false, true}) {
        if (many && all_cores().size() < 2) continue;
        for (const bool erases : {false, true}) {
          for (const bool batches : {true, false}) {
            const std::string name = std::string("write/") + (erases ? "erase" : "insert") +
                                     (batches ? "/batch" : "/single") +
                                     (many ? "/writers:2/" : "/writers:1/");
            add_timed(name + suffix(bits, bytes), bytes < 16 * kMib ? 8 : 1,
                      [=](benchmark::State& state) {
                        write_beside_filter(state, bits, bytes, {erases, batches, many});
                      });
          }
        }
      }
    }
  }
}

}  // namespace nestline::bench
