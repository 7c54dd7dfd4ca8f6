#include "ceiling.h"

#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <new>
#include <random>
#include <vector>

namespace nestline::bench {
namespace {

constexpr std::size_t kBlock = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Ceiling::Ceiling(std::size_t bytes)
    : blocks_(bytes / kBlock),
      mapped_(bytes + kHugePage),
      mapping_(
          ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
  if (mapping_ == MAP_FAILED) throw std::bad_alloc();
  const auto address = reinterpret_cast<std::uintptr_t>(mapping_);
  data_ = static_cast<std::uint8_t*>(mapping_) + (kHugePage - address % kHugePage) % kHugePage;
  (void)::madvise(data_, bytes, MADV_HUGEPAGE);
  std::memset(data_, 1, bytes);

  std::mt19937_64 random(1);
  std::vector<std::uint64_t> keys(std::size_t{1} << 20);
  for (std::uint64_t& key : keys) key = random();
  double best = std::numeric_limits<double>::max();
  for (const std::size_t ahead : {64u, 128u, 256u}) {
    for (int round = 0; round < 3; ++round) {
      const double seconds = visit_at(ahead, keys);
      if (seconds < best) {
        best = seconds;
        ahead_ = ahead;
      }
    }
  }
}

Ceiling::~Ceiling() { ::munmap(mapping_, mapped_); }

template <std::size_t kAhead>
double Ceiling::visit(std::span<const std::uint64_t> keys) const {
  const auto block = [&](std::uint64_t key) {
    return data_ + ((key >> 32) * blocks_ >> 32) * kBlock;
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

}  // namespace nestline::bench
