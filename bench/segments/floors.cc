// Which of N segments has this key: one maplet beside N Bloom filters, in memory.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "bench/filters/others/prefetched.h"
#include "bench/segments/rivals.h"
#include "bench/segments/segments.h"
#include "bench/support/benchmarks.h"
#include "bench/support/ceiling.h"
#include "bench/support/huge_pages.h"
#include "bench/support/workload.h"
#include "nestline/concurrent_filter.h"
#include "nestline/filter.h"
#include "nestline/maplet.h"

namespace nestline::bench {
namespace {

// The bits a key that stores give their filters.
constexpr std::uint64_t kUsualBits = 10;

struct Size {
  std::uint64_t keys;
  std::size_t segments;
  MapletKind kind;

  [[nodiscard]] std::string name() const {
    const std::uint64_t mi = std::uint64_t{1} << 20;
    const std::string count =
        keys % mi == 0 ? std::to_string(keys / mi) + "Mi" : std::to_string(keys);
    return "keys:" + count + "/segments:" + std::to_string(segments) + "/maplet:" + kind.name + "/";
  }
};

// A rival: its filters, made by `make`.
struct Rival {
  std::string name;
  std::function<std::unique_ptr<SegmentFilters>()> make;
  std::unique_ptr<SegmentFilters> filters = nullptr;
};

// Keys as if drawn at random: multiples of a number are too regular for some hashes.
std::vector<std::uint64_t> keys_of(std::vector<std::uint64_t> numbers) {
  for (std::uint64_t& number : numbers) number = mixed(number);
  return numbers;
}

// Key i is in segment i % segments.
struct Scene {
  Size size;
  std::vector<std::uint64_t> keys;
  std::vector<std::uint64_t> segments;
  std::vector<std::vector<std::uint64_t>> keys_in;  // each segment
  Maplet maplet;
  std::vector<Rival> rivals;

  explicit Scene(const Size& of)
      : size(of),
        keys(keys_of(counter_keys(of.keys))),
        segments(keys.size()),
        keys_in(of.segments),
        maplet(of.kind.options(of.keys)) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      segments[i] = i % size.segments;
      keys_in[segments[i]].push_back(keys[i]);
    }
    maplet = build();
    const std::size_t usual = size.keys * kUsualBits / 8 / size.segments;
    const std::size_t equal = maplet.memory_bytes() / size.segments;
    const auto add = [&](const std::string& name, std::size_t bytes, auto&& make) {
      const std::size_t count = size.segments;
      rivals.push_back({name, [=] { return make(count, bytes); }});
    };
    const auto blocked = [](std::size_t count, std::size_t bytes) {
      return std::make_unique<BlockedBloomSegments>(count, bytes);
    };
    add("blooms", usual, blocked);
    add("equal_blooms", equal, blocked);
#ifdef NESTLINE_BENCH_BOOST_BLOOM
    add("boost", usual, boost_segments);
    add("equal_boost", equal, boost_segments);
#endif
    for (Rival& rival : rivals) rival.filters = filled(rival);
  }
  [[nodiscard]] Maplet build() const {
    return Maplet::build(size.kind.options(size.keys), keys, segments);
  }
  [[nodiscard]] std::unique_ptr<SegmentFilters> filled(const Rival& rival) const {
    std::unique_ptr<SegmentFilters> filters = rival.make();
    for (std::size_t i = 0; i < keys_in.size(); ++i) filters->insert(i, keys_in[i]);
    return filters;
  }
};

// Kept for the next benchmark of the same size.
const Scene& scene_of(const Size& size) {
  static std::unique_ptr<Scene> kept;
  const auto of = [](const Size& s) {
    return std::tuple(s.keys, s.segments, std::string(s.kind.name));
  };
  if (kept == nullptr || of(kept->size) != of(size)) {
    kept.reset();
    kept = std::make_unique<Scene>(size);
  }
  return *kept;
}

std::vector<std::uint64_t> asked_numbers(const Size& size, bool present) {
  std::vector<std::uint64_t> asked(std::min<std::uint64_t>(16 * size.keys, std::uint64_t{1} << 20));
  std::mt19937_64 random(7);
  for (std::uint64_t& number : asked) {
    number = present ? random() % size.keys : kAbsent + random() % kAbsent;
  }
  return asked;
}

void lookups(benchmark::State& state, const Size& size, bool present, Form form) {
  const Scene& scene = scene_of(size);
  const Maplet& maplet = scene.maplet;
  const auto numbers = asked_numbers(size, present);
  const auto keys = keys_of(numbers);
  std::vector<std::uint64_t> sets(keys.size());
  const auto nonempty = [&] {
    return static_cast<std::size_t>(
        std::ranges::count_if(sets, [](std::uint64_t set) { return set != 0; }));
  };
  const auto share = [&](std::size_t found) {
    return static_cast<double>(found) / static_cast<double>(keys.size());
  };

  maplet.find_sets(keys, sets);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const bool right = !present || (sets[i] >> numbers[i] % size.segments & 1) != 0;
    if (!right || maplet.find_set(keys[i]) != sets[i]) {
      state.SkipWithError("a wrong set of segments");
      return;
    }
  }
  if (!present) state.counters["false"] = share(nonempty());

  Contest contest;
  contest.add("maplet", [&] {
    if (form == Form::batch) {
      std::vector<std::uint64_t> batch(kBatchKeys);
      each_batch(std::span(keys), [&](std::span<const std::uint64_t> part, std::size_t) {
        maplet.find_sets(part, std::span(batch).first(part.size()));
        benchmark::DoNotOptimize(batch.data());
      });
    } else {
      std::size_t found = 0;
      for (const std::uint64_t key : keys) found += maplet.find_set(key) != 0;
      benchmark::DoNotOptimize(found);
    }
    return keys.size();
  });
  for (const Rival& rival : scene.rivals) {
    const SegmentFilters& filters = *rival.filters;
    const std::size_t found = filters.count_each(keys);
    const std::size_t by_key = filters.count_by_key(keys);
    if (filters.count_by_filter(keys) != found || (by_key != 0 && by_key != found) ||
        (present && found != keys.size())) {
      state.SkipWithError(("a wrong answer of " + rival.name).c_str());
      return;
    }
    if (!present) state.counters[rival.name + "_false"] = share(found);
    const auto count = [&](auto&& counts) {
      contest.add(rival.name, [&filters, &keys, counts] {
        benchmark::DoNotOptimize((filters.*counts)(keys));
        return keys.size();
      });
    };
    if (form == Form::single) {
      count(&SegmentFilters::count_each);
    } else {
      count(&SegmentFilters::count_by_filter);
      if (by_key != 0) count(&SegmentFilters::count_by_key);
    }
  }
  // One filter in as much memory, which says no more than whether the key is anywhere. Its keys are
  // the numbers, and more.
  const std::size_t bytes = maplet.memory_bytes();
  const ConcurrentFilter& filter = kept_filter(kLoad, 8, bytes);
  contest.add("filter", [&] {
    std::size_t found = 0;
    if (form == Form::batch) {
      std::vector<std::uint8_t> answers(kBatchKeys);
      each_batch(std::span(numbers), [&](std::span<const std::uint64_t> part, std::size_t) {
        found += filter.may_contain(part, std::span(answers).first(part.size()));
      });
    } else {
      for (const std::uint64_t number : numbers) found += filter.may_contain(number);
    }
    benchmark::DoNotOptimize(found);
    return numbers.size();
  });
  for (auto _ : state) contest.round(state);
  contest.report(state);
  state.counters["bits_per_key"] = static_cast<double>(bytes) * 8 / static_cast<double>(size.keys);
}

// All from empty, in fresh memory. The filter of as much memory gets the keys that fill it.
void building(benchmark::State& state, const Size& size) {
  const Scene& scene = scene_of(size);
  const std::size_t bytes = scene.maplet.memory_bytes();
  const auto more = counter_keys(keys_at(kLoad, 8, bytes));
  Contest contest;
  contest.add("maplet", [&] {
    const Maplet made = scene.build();
    return static_cast<std::size_t>(made.size());
  });
  for (const Rival& rival : scene.rivals) {
    contest.add(rival.name, [&] {
      benchmark::DoNotOptimize(scene.filled(rival).get());
      return scene.keys.size();
    });
  }
  contest.add("filter", [&] {
    return static_cast<std::size_t>(Filter::build(options_of(8, bytes), more).size());
  });
  for (auto _ : state) contest.round(state);
  contest.report(state);
}

// One pass over the maplet, in bytes of its memory a second, beside memcpy of as much.
// change(maplet) returns how many pairs it changed.
void passing(benchmark::State& state, const Size& size, std::uint64_t expected,
             const std::function<std::uint64_t(Maplet&)>& change) {
  const Scene& scene = scene_of(size);
  const std::size_t bytes = scene.maplet.memory_bytes();
  Maplet copy = scene.maplet.ready_for_snapshot();
  std::vector<char, HugePages<char>> from(bytes);
  std::vector<char, HugePages<char>> to(bytes);
  Side ours;
  Side copied;
  for (auto _ : state) {
    if (!scene.maplet.snapshot_into(copy)) throw std::logic_error("the copy has another size");
    double start = now();
    const std::uint64_t changed = change(copy);
    double taken = now() - start;
    ours.add(bytes, taken);
    state.SetIterationTime(taken);
    if (changed != expected) state.SkipWithError("a wrong number of pairs was changed");
    std::memcpy(to.data(), from.data(), bytes);
    benchmark::DoNotOptimize(to.data());
    benchmark::ClobberMemory();
    start = now();
    std::memcpy(to.data(), from.data(), bytes);
    benchmark::DoNotOptimize(to.data());
    benchmark::ClobberMemory();
    taken = now() - start;
    copied.add(bytes, taken);
  }
  report(state, "of_memcpy", ours.rate(), copied.rate());
  state.counters["gb_per_s"] = ours.rate() / 1e9;
}

}  // namespace

void add_floors(const SegmentsSettings& settings) {
  for (const std::uint64_t keys : settings.keys) {
    for (const std::size_t segments : {std::size_t{8}, std::size_t{32}}) {
      for (const MapletKind& kind : kMapletKinds) {
        if (segments >= (std::size_t{1} << kind.value_bits)) continue;
        const Size size{keys, segments, kind};
        const int rounds = keys <= (std::uint64_t{1} << 20) ? 7 : 5;
        const auto add_one = [&](const std::string& name, auto&& body) {
          add("floors/" + size.name() + name, body)->Iterations(rounds);
        };
        for (const bool present : {false, true}) {
          const std::string which = present ? "/present" : "/absent";
          add_one("find_sets" + which,
                  [=](benchmark::State& state) { lookups(state, size, present, Form::batch); });
          add_one("find_set" + which,
                  [=](benchmark::State& state) { lookups(state, size, present, Form::single); });
        }
        add_one("build", [=](benchmark::State& state) { building(state, size); });
        add_one("erase_value", [=](benchmark::State& state) {
          passing(state, size, scene_of(size).keys_in[1].size(),
                  [](Maplet& maplet) { return maplet.erase_value(1); });
        });
        add_one("rename", [=](benchmark::State& state) {
          std::vector<std::uint64_t> next(segments);  // each segment becomes the next one
          std::iota(next.begin(), next.end() - 1, std::uint64_t{1});
          passing(state, size, keys, [=](Maplet& maplet) { return maplet.rename(next); });
        });
      }
    }
  }
}

}  // namespace nestline::bench
