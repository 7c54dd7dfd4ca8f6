// What loads and widths cost: two filters of the same memory take turns, one of a lower load beside
// one of 95 %, and one of more bits beside one of 8.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/support/benchmarks.h"
#include "bench/support/ceiling.h"
#include "bench/support/workload.h"

namespace nestline::bench {
namespace {

constexpr int kLowerLoads[] = {50, 60, 70, 80, 90};

struct Shape {
  int bits;
  double load;
  auto operator<=>(const Shape&) const = default;
};

Options options_of(const Shape& shape, std::size_t bytes) {
  return {.capacity = keys_at(shape.load, shape.bits, bytes),
          .bits = shape.bits,
          .load = shape.load,
          .seed = 1};
}

// A filter that holds the keys below its capacity. Those of one size are kept.
const Filter& full_filter(const Shape& shape, std::size_t bytes) {
  static std::size_t kept_bytes = 0;
  static std::map<Shape, std::unique_ptr<const Filter>> kept;
  if (kept_bytes != bytes) kept.clear();
  kept_bytes = bytes;
  std::unique_ptr<const Filter>& filter = kept[shape];
  if (filter == nullptr) {
    const Options options = options_of(shape, bytes);
    Filter made(options);
    fill(made, options.capacity);
    filter = std::make_unique<const Filter>(std::move(made));
  }
  return *filter;
}

template <typename Work>
void time(Side& side, std::size_t operations, Work&& work) {
  const double start = now();
  benchmark::DoNotOptimize(work());
  side.add(operations, now() - start);
}

// The filters that take turns.
struct InTurn {
  const char* ratio;  // the counter's name
  Shape shape;
  Shape other;
  std::size_t bytes;

  // work(side, shape) adds what it times to the side.
  template <typename Work>
  void run(benchmark::State& state, Work&& work) const {
    Side of_shape;
    Side of_other;
    for (auto _ : state) {
      work(of_other, other);
      const double before = of_shape.seconds();
      work(of_shape, shape);
      state.SetIterationTime(of_shape.seconds() - before);
    }
    report(state, ratio, of_shape.rate(), of_other.rate());
  }
};

void insert_from_empty(benchmark::State& state, const InTurn& turns) {
  turns.run(state, [&](Side& side, const Shape& shape) {
    Filter filter = full_filter(shape, turns.bytes).snapshot();
    const std::vector<std::uint64_t> keys = counter_keys(filter.size());
    filter.clear();
    time(side, keys.size(), [&] { return filter.insert(keys); });
    if (filter.size() != keys.size()) state.SkipWithError("not every key was stored");
  });
}

// A twentieth of the keys of a full filter, erased or, when they were, put back.
void change(benchmark::State& state, const InTurn& turns, bool erases, Form form) {
  turns.run(state, [&](Side& side, const Shape& shape) {
    Filter filter = full_filter(shape, turns.bytes).snapshot();
    const std::uint64_t full = filter.size();
    const auto keys = counter_keys(std::min<std::uint64_t>(full / 20, std::uint64_t{1} << 22));
    std::size_t changed = 0;
    const auto erase = [&] {
      if (form == Form::batch) return changed = filter.erase(keys);
      for (const std::uint64_t key : keys) changed += filter.erase(key);
      return changed;
    };
    const auto insert = [&] {
      if (form == Form::batch) return changed = filter.insert(keys);
      for (const std::uint64_t key : keys) changed += filter.insert(key) ? 1 : 0;
      return changed;
    };
    if (erases) {
      time(side, keys.size(), erase);
    } else {
      (void)filter.erase(keys);
      time(side, keys.size(), insert);
    }
    if (changed != keys.size()) state.SkipWithError("not every key was changed");
  });
}

void build(benchmark::State& state, const InTurn& turns) {
  turns.run(state, [&](Side& side, const Shape& shape) {
    const Options options = options_of(shape, turns.bytes);
    const std::vector<std::uint64_t> keys = counter_keys(options.capacity);
    time(side, keys.size(), [&] { return Filter::build(options, keys).size(); });
  });
}

void ask(benchmark::State& state, const InTurn& turns, Form form, int hit_rate) {
  const Filter& measured = full_filter(turns.shape, turns.bytes);
  double hits = 0;
  turns.run(state, [&](Side& side, const Shape& shape) {
    const Filter& filter = full_filter(shape, turns.bytes);
    const auto keys = lookup_keys(turns.bytes, filter.size(), hit_rate);
    std::vector<std::uint8_t> answers(keys.size());
    const auto look_up = [&] {
      if (form == Form::batch) return filter.may_contain(keys, answers);
      std::size_t found = 0;
      for (const std::uint64_t key : keys) found += filter.may_contain(key);
      return found;
    };
    // Once untimed: the other filter has used the cache meanwhile.
    if (is_cached(turns.bytes)) benchmark::DoNotOptimize(look_up());
    time(side, keys.size(), [&] {
      hits = static_cast<double>(look_up());
      return hits;
    });
    hits /= static_cast<double>(keys.size());
  });
  if (hit_rate == 0) state.counters["fpr"] = hits;
  state.counters["bits_per_key"] =
      static_cast<double>(measured.memory_bytes()) * 8 / static_cast<double>(measured.size());
}

void add_widths(const InTurn& turns) {
  const std::string end = "/" + suffix(turns.shape.bits, turns.bytes);
  const auto add_one = [&](const std::string& name, int iterations, auto&& body, auto... form) {
    add_timed("of_8_bits/" + name + end, turns.bytes > 16 * kMib ? 5 : iterations,
              [=](benchmark::State& state) { body(state, turns, form...); });
  };
  const bool is_small = turns.bytes < kMib;
  for (const Form form : {Form::batch, Form::single}) {
    const std::string name = form == Form::batch ? "batch" : "single";
    for (const int rate : kNoneAndAll) {
      add_one("may_contain/" + name + "/hits:" + std::to_string(rate), is_small ? 200 : 20, ask,
              form, rate);
    }
    add_one("erase/" + name, is_small ? 400 : 10, change, true, form);
    add_one("insert/" + name + "/erased", is_small ? 200 : 10, change, false, form);
  }
  add_one("build", is_small ? 50 : 4, build);
  add_one("insert/batch/from_empty", is_small ? 50 : 4, insert_from_empty);
}

}  // namespace

void add_loads_and_widths() {
  for (const std::size_t bytes : sizes()) {
    for (const int bits : kFilterWidths) {
      const Shape full{bits, kLoad};
      if (bits != 8) add_widths({"of_8_bits", full, {8, kLoad}, bytes});
      if (!is_cached(bytes)) continue;  // many minutes, and the ratios of 16 MiB
      for (const int percent : kLowerLoads) {
        const InTurn turns{"of_full_load", {bits, percent / 100.0}, full, bytes};
        const std::string end = "load:" + std::to_string(percent) + "/" + suffix(bits, bytes);
        add_timed("insert/batch/" + end, bytes > kMib ? 4 : 50,
                  [=](benchmark::State& state) { insert_from_empty(state, turns); });
        add_timed("may_contain/of_full_load/" + end, bytes > kMib ? 20 : 200,
                  [=](benchmark::State& state) { ask(state, turns, Form::batch, 0); });
      }
    }
  }
}

}  // namespace nestline::bench
