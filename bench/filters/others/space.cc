// How much memory a false-positive rate takes: nestline at each width beside Bloom filters in equal
// memory, and the least memory of each for an asked rate.
//
// Each filter holds a million keys. A Bloom filter gets the number of bits a key that gives it the
// fewest false positives in its memory, found by measuring. Rates are counts of wrong answers, not
// times, so any machine will do; one counted from 20,000 wrong answers is off
// by 0.7 %, and from the 5000 of a search for 0.0001 by 1.4 %.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/filters/others/blocked_bloom.h"
#include "bench/filters/others/classic_bloom.h"
#include "bench/filters/others/textbook_cuckoo.h"
#include "bench/support/benchmarks.h"
#include "bench/support/ceiling.h"
#include "bench/support/workload.h"
#include "lib/engine/place/layout.h"

namespace nestline::bench {
namespace {

constexpr std::uint64_t kKeys = 1'000'000;
constexpr int kLoads[] = {50, 60, 70, 80, 90, 95};
constexpr const char* kRates[] = {"0.02", "0.01", "0.005", "0.001", "0.0001"};

// Keys that are asked, at most, for the rate of a filter in a search, and of another.
constexpr double kMostInSearch = 5e7;
constexpr double kMost = 3e8;

// The share of wrong answers of a filter that holds the keys below kAbsent, counted until 20,000
// were wrong or `most` keys were asked.
template <class AnyFilter>
double rate_of(const AnyFilter& filter, double most = kMost) {
  constexpr double kWrong = 20'000;
  constexpr std::uint64_t kBatch = std::uint64_t{1} << 18;
  std::vector<std::uint8_t> answers(kBatch);
  double wrong = 0;
  double asked = 0;
  while (wrong < kWrong && asked < most) {
    const auto keys = counter_keys(kBatch, kAbsent + static_cast<std::uint64_t>(asked));
    wrong += static_cast<double>(filter.may_contain(keys, answers));
    asked += static_cast<double>(kBatch);
  }
  return wrong / asked;
}

// A kind of Bloom filter: rate_with gives the rate with so many bytes, and bits for each key.
struct Kind {
  const char* name;
  double (*rate_with)(std::size_t bytes, std::size_t bits, double most);
};

template <class Bloom>
double rate_of_filled(Bloom filter, double most) {
  fill_from(filter, 0, kKeys);
  return rate_of(filter, most);
}

constexpr std::array kKinds = {
    Kind{"blocked_bloom_32",
         [](std::size_t bytes, std::size_t bits, double most) {
           return rate_of_filled(BlockedBloom(bytes, {.block_bytes = 32, .bits = bits}), most);
         }},
    Kind{"blocked_bloom_64",
         [](std::size_t bytes, std::size_t bits, double most) {
           return rate_of_filled(BlockedBloom(bytes, {.block_bytes = 64, .bits = bits}), most);
         }},
    Kind{"classic_bloom",
         [](std::size_t bytes, std::size_t bits, double most) {
           return rate_of_filled(ClassicBloom(bytes, kKeys, bits), most);
         }},
};

struct Found {
  std::size_t bytes;
  std::size_t bits;  // for each key; 0: not a Bloom filter
  double rate;
  std::uint64_t keys = kKeys;

  [[nodiscard]] double bits_a_key() const {
    return static_cast<double>(bytes) * 8 / static_cast<double>(keys);
  }
};

// The number of bits with the lowest rate. From the best one of a classic filter on, the rate falls
// in one direction at most, down to the lowest.
Found best_in(const Kind& kind, std::size_t bytes, double most = kMost) {
  constexpr std::size_t kMostBits = BlockedBloom::kMostBits;
  const auto with = [&](std::size_t bits) {
    return Found{bytes, bits, kind.rate_with(bytes, bits, most)};
  };
  Found best = with(std::min(ClassicBloom::best_k(bytes * 8, kKeys), kMostBits));
  const auto improve = [&](std::size_t bits) {
    const Found next = with(bits);
    const bool better = next.rate < best.rate;
    if (better) best = next;
    return better;
  };
  while (best.bits > 1 && improve(best.bits - 1)) continue;
  while (best.bits < kMostBits && improve(best.bits + 1)) continue;
  return best;
}

// The least memory with a rate of at most `rate`: with 0.985 to 1 times that. A classic filter's
// rate falls by exp(-ln(2)^2) with each bit a key, and that of the others somewhat less.
Found least_for(const Kind& kind, double rate) {
  const double slope = std::log(2.0) * std::log(2.0);
  double bits = -std::log(rate) / slope;
  for (;;) {
    const Found found = best_in(kind, static_cast<std::size_t>(bits * kKeys / 8), kMostInSearch);
    if (found.rate <= rate && found.rate >= 0.985 * rate) return found;
    bits += std::log(found.rate / (0.9925 * rate)) / slope;
  }
}

Found nestline_with(const Options& options) {
  Filter filter(options);
  fill(filter, kKeys);
  return {filter.memory_bytes(), 0, rate_of(filter)};
}

template <typename Find>
void add_found(const std::string& name, Find find) {
  add("space/" + name, [=](benchmark::State& state) {
    for (auto _ : state) {
      const double start = now();
      const Found found = find();
      state.SetIterationTime(now() - start);
      state.counters["fpr"] = found.rate;
      state.counters["bits_per_key"] = found.bits_a_key();
      if (found.bits != 0) state.counters["bits_set"] = static_cast<double>(found.bits);
    }
  })->Iterations(1);
}

}  // namespace

void add_spaces() {
  for (const int bits : kFilterWidths) {
    const std::string width = "bits:" + std::to_string(bits);
    for (const int load : kLoads) {
      add_found("nestline/" + width + "/load:" + std::to_string(load), [=] {
        return nestline_with({.capacity = kKeys, .bits = bits, .load = load / 100.0, .seed = 1});
      });
    }
    for (const Kind& kind : kKinds) {
      add_found(kind.name + ("/" + width),
                [=] { return best_in(kind, bytes_for({.capacity = kKeys, .bits = bits})); });
    }
  }
  add_found("textbook_cuckoo", [] {
    constexpr std::size_t kBytes = std::size_t{1} << 20;  // a power of two of slots of one byte
    constexpr auto kStored = static_cast<std::uint64_t>(kLoad * kBytes);
    TextbookCuckoo filter(kBytes);
    fill_from(filter, 0, kStored);
    return Found{filter.memory_bytes(), 0, rate_of(filter), kStored};
  });
  for (const char* const text : kRates) {
    const double rate = std::stod(text);
    const std::string asked = std::string("/fpr:") + text;
    add_found("nestline" + asked,
              [=] { return nestline_with({.capacity = kKeys, .fpr = rate, .seed = 1}); });
    for (const Kind& kind : {kKinds[1], kKinds[2]}) {  // blocks of 64 bytes take less than of 32
      add_found(kind.name + asked, [=] { return least_for(kind, rate); });
    }
  }
}

}  // namespace nestline::bench
