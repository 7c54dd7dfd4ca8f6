#include "bench/support/ceiling.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <vector>

namespace nestline::bench {
namespace {

constexpr std::size_t kBlock = 64;

}  // namespace

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Ceiling::Ceiling(std::size_t bytes) : blocks_(bytes / kBlock), memory_(bytes) {
  std::memset(memory_.data(), 1, bytes);
  double best = std::numeric_limits<double>::max();
  for (const std::size_t ahead : {64u, 128u, 256u}) {
    for (int round = 0; round < 3; ++round) {
      const double seconds = visit_at(ahead, random_numbers());
      if (seconds < best) {
        best = seconds;
        ahead_ = ahead;
      }
    }
  }
}

template <std::size_t kAhead>
double Ceiling::visit(std::span<const std::uint64_t> keys) const {
  const auto block = [&](std::uint64_t key) {
    return memory_.data() + ((key >> 32) * blocks_ >> 32) * kBlock;
  };
  const double start = now();
  std::uint64_t sum = 0;
  const std::size_t ahead = std::min(kAhead, keys.size());
  for (std::size_t i = 0; i < ahead; ++i) __builtin_prefetch(block(keys[i]));
  for (std::size_t i = 0; i + ahead < keys.size(); ++i) {
    __builtin_prefetch(block(keys[i + ahead]));
    sum += block(keys[i])[kBlock - 4];
  }
  for (std::size_t i = keys.size() - ahead; i < keys.size(); ++i) sum += block(keys[i])[kBlock - 4];
  benchmark::DoNotOptimize(sum);
  return now() - start;
}

double Ceiling::visit_at(std::size_t ahead, std::span<const std::uint64_t> keys) const {
  return ahead == 64 ? visit<64>(keys) : ahead == 128 ? visit<128>(keys) : visit<256>(keys);
}

double Ceiling::seconds(std::span<const std::uint64_t> keys) const {
  return visit_at(ahead_, keys);
}

const Ceiling& ceiling_of(std::size_t bytes) {
  static std::map<std::size_t, std::unique_ptr<Ceiling>> ceilings;
  auto& ceiling = ceilings[bytes];
  if (!ceiling) ceiling = std::make_unique<Ceiling>(bytes);
  return *ceiling;
}

std::span<const std::uint64_t> random_numbers() {
  static const std::vector<std::uint64_t> numbers = [] {
    std::mt19937_64 random(7);
    std::vector<std::uint64_t> made(std::size_t{1} << 20);
    std::generate(made.begin(), made.end(), std::ref(random));
    return made;
  }();
  return numbers;
}

}  // namespace nestline::bench
