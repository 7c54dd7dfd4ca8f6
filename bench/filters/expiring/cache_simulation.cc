// What admission by an ExpiringFilter does for a cache: an LRU cache that takes an object only if
// it was asked for before within the filter's window, beside one that takes all, and one with
// TinyLFU's doorkeeper alone: a Bloom filter that is emptied after so many requests.
//
//   cache_simulation [REQUESTS]
//
// The trace is of the kind that caches are compared on: requests for a million objects by Zipf's
// law (exponents 0.7, 0.9 and 1.1), mixed with scans of objects that are asked for once, and
// popularity that drifts: the ranks move on by one object in a thousand requests. Seeds are fixed,
// so the same numbers come out each time. Objects have one size. It counts hits, not time.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <list>
#include <random>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "nestline/expiring_filter.h"
#include "nestline/filter.h"

namespace nestline::bench { namespace {

constexpr std::uint64_t kObjects = 1'000'000;
constexpr std::uint64_t kScanned = std::uint64_t{1} << 40;  // the first object of scans

class Trace {
 public:
  // `scans`: the share of requests that belong to scans.
  Trace(double exponent, double scans, std::uint64_t seed) : scans_(scans), random_(seed) {
    sums_.reserve(kObjects);
    double sum = 0;
    for (std::uint64_t rank = 1; rank <= kObjects; ++rank) {
      sums_.push_back(sum += std::pow(static_cast<double>(rank), -exponent));
    }
  }
  std::uint64_t next() {
    ++count_;
    if (unit() < scans_) return kScanned + scanned_++;
    const double at = unit() * sums_.back();
    const auto rank = static_cast<std::uint64_t>(std::lower_bound(sums_.begin(), sums_.end(), at) -
                                                 sums_.begin());
    return (rank + count_ / 1000) % kObjects;
  }

 private:
  double unit() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  double scans_;
  std::mt19937_64 random_;
  std::vector<double> sums_;
  std::uint64_t count_ = 0;
  std::uint64_t scanned_ = 0;
};

// The least recently used object leaves.
class LruCache {
 public:
  explicit LruCache(std::size_t size) : size_(size) {}
  bool touch(std::uint64_t object) {
    const auto found = places_.find(object);
    if (found == places_.end()) return false;
    order_.splice(order_.begin(), order_, found->second);
    return true;
  }
  void add(std::uint64_t object) {
    if (places_.size() == size_) {
      places_.erase(order_.back());
      order_.pop_back();
    }
    order_.push_front(object);
    places_[object] = order_.begin();
    ++written_;
  }
  [[nodiscard]] std::uint64_t written() const { return written_; }

 private:
  std::size_t size_;
  std::uint64_t written_ = 0;
  std::list<std::uint64_t> order_;
  std::unordered_map<std::uint64_t, std::list<std::uint64_t>::iterator> places_;
};

struct Result {
  double hits;
  double written;  // objects put into the cache, for each request
};

// admits(object) is asked once for each miss.
Result play(Trace trace, std::size_t cache_size, std::uint64_t requests,
            const std::function<bool(std::uint64_t)>& admits) {
  LruCache cache(cache_size);
  std::uint64_t hits = 0;
  std::uint64_t counted = 0;
  for (std::uint64_t i = 0; i < requests; ++i) {
    const std::uint64_t object = trace.next();
    const bool counts = i >= requests / 4;  // the cache is warm
    counted += counts;
    if (cache.touch(object)) {
      hits += counts;
    } else if (admits(object)) {
      cache.add(object);
    }
  }
  return {static_cast<double>(hits) / static_cast<double>(counted),
          static_cast<double>(cache.written()) / static_cast<double>(requests)};
}

void print_row(double exponent, double scans, std::size_t cache_size, std::uint64_t requests) {
  const Trace trace(exponent, scans, 7);
  const Result all = play(trace, cache_size, requests, [](std::uint64_t) { return true; });

  // A window of 4 times as many misses as the cache has objects.
  const std::uint64_t window = 4 * cache_size;
  ExpiringFilter seen({.capacity = window + window / 14, .fpr = 0.02});
  std::uint64_t misses = 0;
  const Result expiring = play(trace, cache_size, requests, [&](std::uint64_t object) {
    if (++misses % (window / 14) == 0) seen.advance();
    return seen.insert(object).outcome == Outcome::present;
  });

  // Emptied after twice as many, it remembers as many of the last misses on average.
  Filter doorkeeper({.capacity = 2 * window, .fpr = 0.02});
  misses = 0;
  const Result emptied = play(trace, cache_size, requests, [&](std::uint64_t object) {
    if (++misses % (2 * window) == 0) doorkeeper.clear();
    return doorkeeper.insert_unique(object).outcome == Outcome::present;
  });
  std::printf("| %.1f | %.0f %% | %zu | %.1f %%, %.2f | %.1f %%, %.2f | %.1f %%, %.2f |\n",
              exponent, scans * 100, cache_size, all.hits * 100, all.written, emptied.hits * 100,
              emptied.written, expiring.hits * 100, expiring.written);
  std::fflush(stdout);
}

int run(int count, char** arguments) {
  const std::uint64_t requests = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 4'000'000;
  if (requests == 0) {
    std::fprintf(stderr, "usage: cache_simulation [REQUESTS]\n");
    return 2;
  }
  std::puts("hits, and objects written to the cache for each request, of caches that admit");
  std::puts(
      "| Zipf | scans | cache | all | seen since the filter was emptied | seen in the window |");
  std::puts("| --- | --- | --- | --- | --- | --- |");
  for (const double exponent : {0.7, 0.9, 1.1}) {
    for (const double scans : {0.0, 0.3}) {
      for (const std::size_t size : {10'000u, 100'000u}) print_row(exponent, scans, size, requests);
    }
  }
  return 0;
}

}  // namespace
}  // namespace nestline::bench

int main(int count, char** arguments) { return nestline::bench::run(count, arguments); }
