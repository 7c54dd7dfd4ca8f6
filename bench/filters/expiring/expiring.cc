// ExpiringFilter: lookups beside ConcurrentFilter of 12 bits, whose blocks have as many slots, and
// beside two kinds of Bloom filters for keys that expire; inserts of keys half of which are new
// into a full filter that turns over, beside insert_unique and erase; moving time on.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/filters/others/age_partitioned_bloom.h"
#include "bench/filters/others/rotating_bloom.h"
#include "bench/support/benchmarks.h"
#include "bench/support/ceiling.h"
#include "bench/support/pinned_threads.h"
#include "bench/support/workload.h"
#include "lib/filters/expiring/expiring_state.h"
#include "nestline/concurrent_filter.h"
#include "nestline/expiring_filter.h"

namespace nestline::bench {
namespace {

constexpr double kFull = 0.90;
constexpr int kExpiringWidths[] = {8, 12};

std::uint64_t expiring_slots(int bits, std::size_t bytes) {
  return bytes / kBlockBytes * nestline::slots_of(expiring_layout(bits));
}

// A filter that is full of the keys from `oldest` on and below `next`, in its steady state.
struct Steady {
  ExpiringFilter filter;
  std::uint64_t each;  // new keys a tick
  std::uint64_t next = 0;

  // `lives`: how often it has turned over.
  Steady(int bits, std::size_t bytes, int lives)
      : filter({.capacity = static_cast<std::uint64_t>(
                    kFull * static_cast<double>(expiring_slots(bits, bytes))),
                .bits = bits,
                .load = kFull,
                .seed = 1}),
        each(filter.capacity() / (filter.ttl_ticks() + 1)) {
    const unsigned ticks = (filter.ttl_ticks() + 1) * static_cast<unsigned>(lives);
    for (unsigned tick = 0; tick < ticks; ++tick) {
      if (tick != 0) filter.advance();
      add(each);
    }
    while (!filter.sweep(1 << 16)) {
    }
  }
  void add(std::uint64_t count) {
    for (std::uint64_t done = 0; done < count;) {
      const std::uint64_t piece = std::min<std::uint64_t>(count - done, 1 << 20);
      (void)filter.insert(counter_keys(piece, next));
      next += piece;
      done += piece;
    }
  }
  [[nodiscard]] std::uint64_t oldest() const { return next - each * (filter.ttl_ticks() + 1); }
};

// Kept for the next benchmark of the same size.
Steady& steady(int bits, std::size_t bytes) {
  static std::pair<int, std::size_t> kept;
  static std::optional<Steady> made;
  if (!made || kept != std::pair(bits, bytes)) {
    made.reset();
    made.emplace(bits, bytes, 3);
    kept = {bits, bytes};
  }
  return *made;
}

std::vector<std::uint64_t> keys_for(const Steady& full, std::size_t bytes, int hits) {
  std::vector<std::uint64_t> keys = lookup_keys(bytes, full.next - full.oldest(), hits);
  for (std::uint64_t& key : keys) key += key < kAbsent ? full.oldest() : 0;
  return keys;
}

// The ratio of two kinds of lookups, piece by piece in turn.
template <class Other>
void look_up_beside(benchmark::State& state, const char* name, const ExpiringFilter& filter,
                    std::span<const std::uint64_t> keys, const Other& other,
                    std::span<const std::uint64_t> other_keys, std::size_t bytes) {
  std::vector<std::uint8_t> answers(keys.size());
  Side ours;
  Side theirs;
  std::size_t hits = 0;
  std::size_t other_hits = 0;
  std::size_t rounds = 0;
  for (auto _ : state) {
    const double before = ours.seconds();
    const auto time = [&](Side& side, const auto& body) {
      if (is_cached(bytes)) body();
      const double start = now();
      const std::size_t found = body();
      side.add(keys.size(), now() - start);
      return found;
    };
    hits += time(ours, [&] { return filter.may_contain(keys, answers); });
    other_hits += time(theirs, [&] { return other(other_keys, answers); });
    ++rounds;
    state.SetIterationTime(ours.seconds() - before);
  }
  report(state, name, ours.rate(), theirs.rate());
  const auto share = [&](std::size_t found) {
    return static_cast<double>(found) / static_cast<double>(rounds * keys.size());
  };
  state.counters["found"] = share(hits);
  state.counters["other_found"] = share(other_hits);
}

void beside_concurrent(benchmark::State& state, int bits, std::size_t bytes, int hit_rate) {
  const Steady& full = steady(bits, bytes);
  ConcurrentFilter other(filled_filter(12, bytes, kFull));
  const std::vector<std::uint64_t> other_keys = lookup_keys(bytes, other.size(), hit_rate);
  look_up_beside(
      state, "of_concurrent", full.filter, keys_for(full, bytes, hit_rate),
      [&](auto keys, auto out) { return other.may_contain(keys, out); }, other_keys, bytes);
}

// As many keys live in each generation as in the expiring filter's life.
void beside_rotating(benchmark::State& state, std::size_t bytes, int hit_rate) {
  const Steady& full = steady(8, bytes);
  RotatingBloom other(bytes);
  const std::uint64_t all = full.next - full.oldest();
  for (std::uint64_t at = 0; at < all;) {
    const std::uint64_t end = std::min(all, at + (all + 3) / 4);
    for (; at < end; at += std::min<std::uint64_t>(1 << 20, end - at)) {
      other.insert(counter_keys(std::min<std::uint64_t>(1 << 20, end - at), at));
    }
    if (at < all) other.rotate();
  }
  look_up_beside(
      state, "of_rotating", full.filter, keys_for(full, bytes, hit_rate),
      [&](auto keys, auto out) { return other.may_contain(keys, out); },
      lookup_keys(bytes, all, hit_rate), bytes);
}

void beside_age_partitioned(benchmark::State& state, std::size_t bytes, int hit_rate) {
  const Steady& full = steady(8, bytes);
  AgePartitionedBloom other(bytes);
  const std::uint64_t each = other.keys_a_generation();
  const std::uint64_t generations = AgePartitionedBloom::kSlices + 1;
  for (std::uint64_t key = 0; key < each * generations; ++key) {
    if (key != 0 && key % each == 0) other.rotate();
    other.insert(key);
  }
  std::vector<std::uint64_t> keys = lookup_keys(bytes, each * AgePartitionedBloom::kKept, hit_rate);
  for (std::uint64_t& key : keys) {
    key += key < kAbsent ? each * (generations - AgePartitionedBloom::kKept) : 0;
  }
  look_up_beside(
      state, "of_age_partitioned", full.filter, keys_for(full, bytes, hit_rate),
      [&](auto piece, auto out) {
        std::size_t found = 0;
        for (std::size_t i = 0; i < piece.size(); ++i)
          found += out[i] = other.may_contain(piece[i]);
        return found;
      },
      keys, bytes);
  state.counters["other_bits_per_key"] =
      static_cast<double>(bytes) * 8 / static_cast<double>(each * AgePartitionedBloom::kKept);
}

// Half of the keys are new, and half came within the last tick: so a key lives a tick longer at
// most.
std::vector<std::uint64_t> half_new(std::size_t count, std::uint64_t next, std::uint64_t each,
                                    std::mt19937_64& random) {
  std::vector<std::uint64_t> keys(count);
  for (std::size_t i = 0; i < count; ++i) {
    keys[i] = i % 2 == 0 ? next + i / 2 : next - 1 - random() % each;
  }
  return keys;
}

void insert_beside(benchmark::State& state, int bits, std::size_t bytes, Form form) {
  constexpr std::size_t kPart = 1024;
  Steady full(bits, bytes, 3);
  const std::uint64_t each = full.filter.capacity() / (full.filter.ttl_ticks() + 2);
  ConcurrentFilter other(filled_filter(12, bytes, kFull));
  std::uint64_t oldest = 0;
  std::uint64_t next = other.size();
  std::mt19937_64 random(5);
  std::vector<std::uint8_t> found(kPart);
  std::vector<std::uint64_t> absent;
  Side ours;
  Side theirs;
  std::uint64_t of_tick = 0;
  full.filter.advance();
  const std::uint64_t parts = std::max<std::uint64_t>(64, each * 2 / (kPart / 2));
  for (auto _ : state) {
    const double before = ours.seconds();
    for (std::uint64_t part = 0; part < parts; ++part) {
      const auto our_keys = half_new(kPart, full.next, each, random);
      double start = now();
      if (form == Form::batch) {
        benchmark::DoNotOptimize(full.filter.insert(our_keys));
      } else {
        for (const std::uint64_t key : our_keys) {
          benchmark::DoNotOptimize(full.filter.insert(key).outcome);
        }
      }
      full.next += kPart / 2;
      of_tick += kPart / 2;
      if (of_tick + kPart / 2 > each) {
        full.filter.advance();
        of_tick = 0;
      }
      ours.add(kPart, now() - start);

      const auto their_keys = half_new(kPart, next, each, random);
      start = now();
      std::size_t stored = 0;
      if (form == Form::batch) {
        other.may_contain(their_keys, found);
        absent.clear();
        for (std::size_t i = 0; i < kPart; ++i) {
          if (found[i] == 0) absent.push_back(their_keys[i]);
        }
        stored = other.insert(absent);
        benchmark::DoNotOptimize(other.erase(counter_keys(kPart / 2, oldest)));
      } else {
        for (std::size_t i = 0; i < kPart; ++i) {
          stored += static_cast<bool>(other.insert_unique(their_keys[i]));
          if (i % 2 == 0) benchmark::DoNotOptimize(other.erase(oldest + i / 2));
        }
      }
      oldest += kPart / 2;
      next += kPart / 2;
      benchmark::DoNotOptimize(stored);
      theirs.add(kPart, now() - start);
    }
    state.SetIterationTime(ours.seconds() - before);
  }
  report(state, "of_concurrent", ours.mean_rate(), theirs.mean_rate());
  state.counters["load"] = full.filter.load_factor();
}

// Blocks that a lookup of an absent key reads after so many lifetimes.
void blocks_read(benchmark::State& state, int bits, std::size_t bytes, int lives) {
  double blocks = 0;
  for (auto _ : state) {
    const double start = now();
    const Steady full(bits, bytes, lives);
    state.SetIterationTime(now() - start);
    const Blocks& table = ExpiringAccess::state(full.filter).table_of_writer();
    constexpr std::uint64_t kKeys = 1 << 20;
    std::uint64_t away = 0;
    for (std::uint64_t key = kAbsent; key < kAbsent + kKeys; ++key) {
      visit_expiring_layout(table.bits, [&](auto layout) {
        const Place home =
            home_of<decltype(layout)>(table.view.geometry, table.hasher()(key).value);
        Place other;
        away += may_be_away(table.view.geometry, table.view.blocks[home.block].overflow_mark(),
                            home, other);
      });
    }
    blocks = 1 + static_cast<double>(away) / kKeys;
  }
  state.counters["blocks"] = blocks;
}

// Time moves on where nobody has swept, against memset of as much memory.
void advance(benchmark::State& state, int bits, std::size_t bytes) {
  Steady& full = steady(bits, bytes);
  std::vector<char, HugePages<char>> memory(bytes);
  Side ours;
  Side theirs;
  for (auto _ : state) {
    // The sweep of the tick that begins now has its share of dead keys; advance() does all of it.
    full.filter.advance();
    double start = now();
    full.filter.advance();
    ours.add(bytes, now() - start);
    state.SetIterationTime(now() - start);
    full.add(2 * full.each);
    start = now();
    std::memset(memory.data(), static_cast<int>(state.iterations()), bytes);
    benchmark::DoNotOptimize(memory.data());
    benchmark::ClobberMemory();
    theirs.add(bytes, now() - start);
  }
  report(state, "of_memset", ours.rate(), theirs.rate());
}

// The longest single insert while another thread moves time on again and again.
void longest_insert(benchmark::State& state, int bits, std::size_t bytes) {
  Steady& full = steady(bits, bytes);
  PinnedThreads& pinned = all_cores();
  std::vector<double> times;
  for (auto _ : state) {
    std::atomic<bool> over = false;
    pinned.run(0, 2, [&](unsigned m) {
      if (m == 1) {
        while (!over.load()) full.filter.advance();
        return;
      }
      const std::uint64_t count = 400'000;
      double last = now();
      const double begin = last;
      for (std::uint64_t i = 0; i < count; ++i) {
        benchmark::DoNotOptimize(full.filter.insert(full.next++).outcome);
        const double time = now();
        times.push_back(time - last);
        last = time;
      }
      state.SetIterationTime(last - begin);
      over = true;
    });
  }
  std::sort(times.begin(), times.end());
  state.counters["max_us"] = times.back() * 1e6;
  state.counters["p9999_us"] = times[times.size() - 1 - times.size() / 10'000] * 1e6;
  state.counters["p50_us"] = times[times.size() / 2] * 1e6;
}

// Single inserts by several threads against one thread, keys half of which are new.
void insert_threads(benchmark::State& state, int bits, std::size_t bytes, unsigned threads) {
  constexpr double kPhase = 0.05;
  constexpr std::size_t kPart = 1024;
  Steady full(bits, bytes, 2);
  PinnedThreads& pinned = all_cores();
  // Two threads have written from now on.
  pinned.run(1, 1, [&](unsigned) { (void)full.filter.insert(kAbsent); });
  std::vector<std::uint64_t> at(threads * 8);
  for (unsigned m = 0; m < threads; ++m) at[std::size_t{m} * 8] = kAbsent / 2 * (m + 2);
  const auto piece = [&](unsigned m) {
    std::uint64_t& next = at[std::size_t{m} * 8];
    for (std::size_t i = 0; i < kPart; ++i) {
      benchmark::DoNotOptimize(full.filter.insert(i % 2 == 0 ? next++ : next - 512).outcome);
    }
    return kPart;
  };
  Side alone;
  Side together;
  for (auto _ : state) {
    for (unsigned m = 0; m < threads; ++m) {
      alone.add(static_cast<std::size_t>(pinned.rate(m, 1, kPhase / threads, piece) * kPhase),
                kPhase);
    }
    together.add(static_cast<std::size_t>(pinned.rate(0, threads, kPhase, piece) * kPhase), kPhase);
    while (full.filter.load_factor() > kFull) full.filter.advance();
    state.SetIterationTime(kPhase);
  }
  report(state, "of_one_thread", together.rate(), alone.rate());
}

}  // namespace

void add_expiring() {
  const auto end = [](int bits, std::size_t bytes) { return "/" + suffix(bits, bytes); };
  const unsigned cores = all_cores().size();
  for (const int bits : kExpiringWidths) {
    for (const std::size_t bytes : sizes()) {
      const int times = bytes < kMib ? 64 : 8;
      for (const int hit_rate : kNoneAndAll) {
        const std::string name = "/hits:" + std::to_string(hit_rate) + end(bits, bytes);
        add_timed("expiring/lookup/of_concurrent" + name, times, [=](benchmark::State& state) {
          beside_concurrent(state, bits, bytes, hit_rate);
        });
        if (bits != 8) continue;
        add_timed("expiring/lookup/of_rotating" + name, times,
                  [=](benchmark::State& state) { beside_rotating(state, bytes, hit_rate); });
        add_timed("expiring/lookup/of_age_partitioned" + name, times,
                  [=](benchmark::State& state) { beside_age_partitioned(state, bytes, hit_rate); });
      }
      for (const Form form : {Form::batch, Form::single}) {
        add_timed(std::string("expiring/insert/") + (form == Form::batch ? "batch" : "single") +
                      end(bits, bytes),
                  2, [=](benchmark::State& state) { insert_beside(state, bits, bytes, form); });
      }
      add_timed("expiring/advance" + end(bits, bytes), bytes < kMib ? 64 : 4,
                [=](benchmark::State& state) { advance(state, bits, bytes); });
      if (bytes <= 16 * kMib) {
        add_timed("expiring/blocks/lives:100" + end(bits, bytes), 1,
                  [=](benchmark::State& state) { blocks_read(state, bits, bytes, 100); });
      }
      if (cores < 2) continue;
      add_timed("expiring/longest_insert" + end(bits, bytes), 1,
                [=](benchmark::State& state) { longest_insert(state, bits, bytes); });
      // A small filter would be full before a phase is over.
      for (unsigned threads = 2; threads <= cores && bytes >= 16 * kMib; ++threads) {
        add_timed("expiring/insert/threads:" + std::to_string(threads) + end(bits, bytes), 10,
                  [=](benchmark::State& state) { insert_threads(state, bits, bytes, threads); });
      }
    }
  }
}

}  // namespace nestline::bench
