// Times some work in pieces, and the ceiling (ceiling.h) after each piece, so that a shared machine
// slows both.
#ifndef NESTLINE_BENCH_SUPPORT_BESIDE_CEILING_H_
#define NESTLINE_BENCH_SUPPORT_BESIDE_CEILING_H_

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "bench/support/ceiling.h"
#include "bench/support/workload.h"

namespace nestline::bench {

class BesideCeiling {
 public:
  BesideCeiling(benchmark::State& state, std::size_t bytes)
      : state_(state), ceiling_(ceiling_of(bytes)) {}

  // One iteration of work that can be repeated: calls work(piece) on pieces of at most a million
  // keys. If the filter fits into a cache, first runs each piece once untimed, since the ceiling
  // has used the cache meanwhile.
  template <typename Work>
  void repeatable(std::span<const std::uint64_t> keys, Work&& work) {
    iteration(keys, [&](auto piece) {
      if (is_cached(ceiling_.bytes())) work(piece);
      const double start = now();
      work(piece);
      return now() - start;
    });
  }

  // The same for work that changes something.
  template <typename Work>
  void changing(std::span<const std::uint64_t> keys, Work&& work) {
    iteration(keys, [&](auto piece) {
      const double start = now();
      work(piece);
      return now() - start;
    });
  }

  void report() {
    state_.SetItemsProcessed(static_cast<std::int64_t>(keys_));
    state_.counters["of_ceiling"] = ceiling_seconds_ / work_seconds_;
  }

  // The most keys in a piece.
  void set_piece(std::size_t keys) { piece_ = keys; }

 private:
  template <typename Timed>
  void iteration(std::span<const std::uint64_t> keys, Timed&& timed) {
    const std::span<const std::uint64_t> numbers = random_numbers();
    double taken = 0;
    for (std::size_t at = 0; at < keys.size(); at += piece_) {
      const auto piece = keys.subspan(at, std::min(piece_, keys.size() - at));
      taken += timed(piece);
      if (is_cached(ceiling_.bytes())) (void)ceiling_.seconds(numbers.first(piece.size()));
      ceiling_seconds_ += ceiling_.seconds(numbers.first(piece.size()));
    }
    state_.SetIterationTime(taken);
    work_seconds_ += taken;
    keys_ += keys.size();
  }

  benchmark::State& state_;
  const Ceiling& ceiling_;
  std::size_t piece_ = random_numbers().size();
  double work_seconds_ = 0;
  double ceiling_seconds_ = 0;
  std::size_t keys_ = 0;
};

}  // namespace nestline::bench

#endif  // NESTLINE_BENCH_SUPPORT_BESIDE_CEILING_H_
