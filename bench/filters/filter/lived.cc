// What becomes of a filter that erases and inserts all day: it and a fresh one of the same load
// take turns. Marks rise with each turnover (as many erases and inserts as there are keys), so more
// lookups read a second block; with Options::turns_over they fall again (lived_turns_over/).
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bench/filters/filter/blocks_a_lookup.h"
#include "bench/support/benchmarks.h"
#include "bench/support/ceiling.h"
#include "bench/support/workload.h"

namespace nestline::bench {
namespace {

constexpr int kLoads[] = {80, 90, 95};
constexpr std::size_t kBatch = 4096;

Options options_for(int bits, std::size_t bytes, bool turns_over) {
  Options options = options_of(bits, bytes);
  options.turns_over = turns_over;
  return options;
}

// 32 in a filter of a nearer cache, where more change little; in others a few, for the sake of
// time.
constexpr int turnovers_of(std::size_t bytes) { return bytes <= kMib ? 32 : 4; }

// A filter and the keys in it.
struct Lived {
  Filter filter;
  std::vector<std::uint64_t> keys;
  std::uint64_t next = keys.size();  // no key from here on has been in the filter
  std::size_t failed = 0;
  std::mt19937_64 random{7};

  Lived(int load, int bits, std::size_t bytes, bool turns_over)
      : filter(options_for(bits, bytes, turns_over)),
        keys(counter_keys(keys_at(load / 100.0, bits, bytes))) {
    fill(filter, keys.size());
  }
  // Erases keys at random and inserts new ones, as many as there are keys, or `count`.
  void turn_over(Form form, std::size_t count) {
    std::vector<std::uint64_t> old(kBatch);
    for (; count >= kBatch; count -= kBatch) {
      const std::uint64_t first = next;
      for (std::uint64_t& key : old) {
        std::size_t i = random() % keys.size();
        while (keys[i] >= first) i = random() % keys.size();  // it is not yet in the filter
        key = std::exchange(keys[i], next++);
      }
      const std::vector<std::uint64_t> fresh = counter_keys(kBatch, first);
      if (form == Form::batch) {
        failed += 2 * kBatch - filter.erase(old) - filter.insert(fresh);
        continue;
      }
      for (std::size_t i = 0; i < kBatch; ++i) {
        failed += !filter.erase(old[i]);
        failed += !filter.insert(fresh[i]);
      }
    }
  }
};

// The last one is kept: benchmarks of one filter follow each other.
Lived& lived_filter(int load, int bits, std::size_t bytes, bool turns_over) {
  static std::tuple<int, int, std::size_t, bool> kept;
  static std::unique_ptr<Lived> lived;
  if (lived == nullptr || kept != std::tuple(load, bits, bytes, turns_over)) {
    lived = std::make_unique<Lived>(load, bits, bytes, turns_over);
    kept = {load, bits, bytes, turns_over};
    for (int i = 0; i < turnovers_of(bytes); ++i) {
      lived->turn_over(Form::batch, lived->keys.size());
    }
  }
  return *lived;
}

void look_up(benchmark::State& state, Form form, int hit_rate, int load, int bits,
             std::size_t bytes, bool turns_over) {
  const Lived& lived = lived_filter(load, bits, bytes, turns_over);
  const Lived fresh(load, bits, bytes, turns_over);
  struct Turn {
    const Lived& of;
    std::vector<std::uint64_t> keys;
    Side side{};
    std::size_t hits = 0;
  };
  Turn turns[] = {{fresh, lookup_keys(bytes, 1, 0)}, {lived, lookup_keys(bytes, 1, 0)}};
  std::vector<std::uint8_t> answers(turns[0].keys.size());
  for (Turn& turn : turns) {
    std::mt19937_64 random(9);
    for (std::uint64_t& key : turn.keys) {
      if (hit_rate == 100) key = turn.of.keys[random() % turn.of.keys.size()];
    }
  }
  for (auto _ : state) {
    for (Turn& turn : turns) {
      const auto ask = [&] {
        if (form == Form::batch) return turn.of.filter.may_contain(turn.keys, answers);
        std::size_t found = 0;
        for (const std::uint64_t key : turn.keys) found += turn.of.filter.may_contain(key);
        return found;
      };
      benchmark::DoNotOptimize(ask());  // the other filter has used the cache meanwhile
      const double start = now();
      turn.hits = ask();
      const double seconds = now() - start;
      turn.side.add(turn.keys.size(), seconds);
      if (&turn == &turns[1]) state.SetIterationTime(seconds);
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(answers.size()));
  report(state, "of_fresh", turns[1].side.rate(), turns[0].side.rate());
  if (hit_rate != 0) {
    if (turns[1].hits != turns[1].keys.size()) state.SkipWithError("a key was not found");
    return;
  }
  const auto part = [&](std::size_t hits) {
    return static_cast<double>(hits) / static_cast<double>(answers.size());
  };
  state.counters["fpr"] = part(turns[1].hits);
  state.counters["fresh_fpr"] = part(turns[0].hits);
  state.counters["second_probes"] = blocks_a_lookup(lived.filter, turns[1].keys) - 1;
  state.counters["fresh_second_probes"] = blocks_a_lookup(fresh.filter, turns[0].keys) - 1;
}

// Pairs of an erase and an insert.
void turn_over(benchmark::State& state, Form form, int load, int bits, std::size_t bytes,
               bool turns_over) {
  Lived& lived = lived_filter(load, bits, bytes, turns_over);
  const std::size_t pairs = bytes <= kMib ? 16 * kBatch : 64 * kBatch;
  const std::size_t before = lived.failed;
  for (auto _ : state) {
    const double start = now();
    lived.turn_over(form, pairs);
    state.SetIterationTime(now() - start);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(pairs));
  if (lived.failed != before) state.counters["failed"] = static_cast<double>(lived.failed - before);
}

}  // namespace

void add_lived() {
  for (const bool turns_over : {false, true}) {
    const std::string begin = turns_over ? "lived_turns_over/" : "lived/";
    for (const std::size_t bytes : sizes()) {
      if (!is_cached(bytes)) continue;  // turnovers take minutes
      for (const int bits : kFilterWidths) {
        for (const int load : kLoads) {
          const std::string end = "/turnovers:" + std::to_string(turnovers_of(bytes)) +
                                  "/load:" + std::to_string(load) + "/" + suffix(bits, bytes);
          for (const Form form : {Form::batch, Form::single}) {
            const std::string name = form == Form::batch ? "batch" : "single";
            for (const int hit_rate : {0, 100}) {
              add_timed(begin + "may_contain/" + name + "/hits:" + std::to_string(hit_rate) + end,
                        bytes <= kMib ? 200 : 10, [=](benchmark::State& state) {
                          look_up(state, form, hit_rate, load, bits, bytes, turns_over);
                        });
            }
            add_timed(begin + "turnover/" + name + end, 4, [=](benchmark::State& state) {
              turn_over(state, form, load, bits, bytes, turns_over);
            });
          }
        }
      }
    }
  }
}

}  // namespace nestline::bench
