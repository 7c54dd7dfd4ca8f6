// Lookups of one thread: widths, loads, sizes and hit rates, in batches and one by one; lengths of
// batches; strings.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "bench/filters/filter/blocks_a_lookup.h"
#include "bench/support/benchmarks.h"
#include "bench/support/beside_ceiling.h"
#include "bench/support/workload.h"

namespace nestline::bench {
namespace {

constexpr int kLoads[] = {50, 75, 90, 95};

// A filter that holds the keys below keys_at(load, ...), kept for the next benchmark of the same
// size. Call it with ascending loads: then it only adds the missing keys.
const Filter& filter_at(int load, int bits, std::size_t bytes) {
  static std::tuple<int, std::size_t> kept;
  static std::optional<Filter> filter;
  const std::uint64_t count = keys_at(load / 100.0, bits, bytes);
  if (!filter || kept != std::tuple(bits, bytes) || filter->size() > count) {
    filter.reset();
    filter.emplace(options_of(bits, bytes));
    kept = {bits, bytes};
  }
  fill(*filter, count);
  return *filter;
}

// Reports the filter's properties beside its speed.
void report_filter(benchmark::State& state, const Filter& filter,
                   std::span<const std::uint64_t> keys, int hit_rate, std::size_t hits) {
  if (hit_rate == 0) {
    state.counters["fpr"] = static_cast<double>(hits) / static_cast<double>(keys.size());
  }
  state.counters["bits_per_key"] =
      static_cast<double>(filter.memory_bytes()) * 8 / static_cast<double>(filter.size());
  state.counters["bytes_touched"] = 64 * blocks_a_lookup(filter, keys);
}

void batch(benchmark::State& state, int load, int bits, std::size_t bytes, int hit_rate) {
  const Filter& filter = filter_at(load, bits, bytes);
  const std::vector<std::uint64_t> keys = lookup_keys(bytes, filter.size(), hit_rate);
  std::vector<std::uint8_t> answers(keys.size());
  BesideCeiling beside(state, bytes);
  std::size_t hits = 0;
  for (auto _ : state) {
    beside.repeatable(keys, [&](auto piece) { hits = filter.may_contain(piece, answers); });
  }
  beside.report();
  report_filter(state, filter, keys, hit_rate, hits);
}

// How single keys are looked up: by Filter, by a Reader, or by one that hashes and fetches each key
// 16 keys before.
enum class Single { filter, reader, prepared };

constexpr std::pair<const char*, Single> kSingles[] = {
    {"single", Single::filter}, {"reader", Single::reader}, {"prepared", Single::prepared}};

std::size_t look_up_each(const Filter& filter, std::span<const std::uint64_t> keys, Single form) {
  std::size_t hits = 0;
  if (form == Single::filter) {
    for (const std::uint64_t key : keys) hits += filter.may_contain(key);
    return hits;
  }
  const Reader reader = filter.reader();
  if (form == Single::reader) {
    for (const std::uint64_t key : keys) hits += reader.may_contain(key);
    return hits;
  }
  constexpr std::size_t kAhead = 16;
  std::array<Hash, kAhead> ahead{};
  for (std::size_t i = 0; i < keys.size() + kAhead; ++i) {
    Hash& slot = ahead[i % kAhead];
    if (i >= kAhead) hits += reader.may_contain(slot);
    if (i < keys.size()) slot = reader.prepare(keys[i]);
  }
  return hits;
}

void single(benchmark::State& state, Single form, int load, int bits, std::size_t bytes,
            int hit_rate) {
  const Filter& filter = filter_at(load, bits, bytes);
  const std::vector<std::uint64_t> keys = lookup_keys(bytes, filter.size(), hit_rate);
  BesideCeiling beside(state, bytes);
  std::size_t hits = 0;
  for (auto _ : state) {
    beside.repeatable(keys, [&](auto piece) {
      hits = look_up_each(filter, piece, form);
      benchmark::DoNotOptimize(hits);
    });
  }
  beside.report();
  report_filter(state, filter, keys, hit_rate, hits);
}

// Makes many calls with `length` keys each.
void batches_of(benchmark::State& state, std::size_t length, int bits, std::size_t bytes) {
  const Filter& filter = filter_at(95, bits, bytes);
  const std::vector<std::uint64_t> keys = lookup_keys(bytes, filter.size(), 0);
  std::vector<std::uint8_t> answers(length);
  BesideCeiling beside(state, bytes);
  for (auto _ : state) {
    beside.repeatable(keys, [&](auto piece) {
      for (std::size_t at = 0; at < piece.size(); at += length) {
        const auto part = piece.subspan(at, std::min(length, piece.size() - at));
        benchmark::DoNotOptimize(filter.may_contain(part, std::span(answers).first(part.size())));
      }
    });
  }
  beside.report();
}

// The text of `length` characters for a number.
std::string text_of(std::uint64_t number, std::size_t length) {
  std::string text = std::to_string(number);
  text.insert(0, length - std::min(length, text.size()), '.');
  return text;
}

// Looks up strings, in a filter that holds integers and the strings with numbers below kAbsent.
void strings(benchmark::State& state, std::size_t length, int bits, std::size_t bytes,
             int hit_rate) {
  const std::vector<std::uint64_t> numbers = lookup_keys(bytes, kAbsent, hit_rate);
  std::vector<std::string> texts;
  for (const std::uint64_t number : numbers) texts.push_back(text_of(number, length));
  const std::vector<std::string_view> keys(texts.begin(), texts.end());
  Filter filter(options_of(bits, bytes));
  fill(filter, filter.capacity() - keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (numbers[i] < kAbsent) (void)filter.insert(keys[i]);
  }
  std::vector<std::uint8_t> answers(keys.size());
  std::size_t asked = 0;
  for (auto _ : state) {
    const double start = now();
    benchmark::DoNotOptimize(filter.may_contain(keys, answers));
    state.SetIterationTime(now() - start);
    asked += keys.size();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(asked));
}

}  // namespace

void add_lookups() {
  const auto hits = [](int rate) { return "/hits:" + std::to_string(rate); };
  for (const int bits : kFilterWidths) {
    for (const std::size_t bytes : sizes()) {
      const std::string end = "/" + suffix(bits, bytes);
      for (const int load : kLoads) {
        const std::string middle = "/load:" + std::to_string(load) + end;
        for (const int rate : kHitRates) {
          add("may_contain/batch" + hits(rate) + middle,
              [=](benchmark::State& state) { batch(state, load, bits, bytes, rate); });
          for (const auto& [name, form] : kSingles) {
            add("may_contain/" + std::string(name) + hits(rate) + middle,
                [=, form = form](benchmark::State& state) {
                  single(state, form, load, bits, bytes, rate);
                });
          }
        }
      }
      for (const std::size_t length : {16u, 64u, 256u, 1024u, 16384u, 262144u, 1048576u}) {
        add("may_contain/length:" + std::to_string(length) + end,
            [=](benchmark::State& state) { batches_of(state, length, bits, bytes); });
      }
    }
  }
  for (const int bits : kFilterWidths) {
    for (const std::size_t bytes : sizes()) {
      for (const std::size_t length : {16u, 100u}) {
        for (const int rate : kNoneAndAll) {
          add("may_contain/strings:" + std::to_string(length) + hits(rate) + "/" +
                  suffix(bits, bytes),
              [=](benchmark::State& state) { strings(state, length, bits, bytes, rate); });
        }
      }
    }
  }
}

}  // namespace nestline::bench
