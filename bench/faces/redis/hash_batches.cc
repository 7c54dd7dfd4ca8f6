// Questions of hashes, without server and protocol: of a Filter in one batch, and of the value of a
// CF.* key with the same content in batches of 1024.
//
//   redis_hash_batches CAPACITY
//
// Fills both with 0.9 * CAPACITY random hashes, and asks for as many that are in it as for others.
// Prints hashes per second of the Filter and of the value, in one line. bench/tools/redis_hashes.py
// runs it in turn with a server.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <span>
#include <vector>

#include "lib/faces/embed/value/value.h"
#include "nestline/filter.h"

namespace {

using nestline::Outcome;
using nestline::redis::CuckooValue;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kAsked = 400 * 1024;
constexpr std::size_t kBatch = 1024;

// Hashes per second of `ask`, which returns how many it has found.
template <typename Ask>
double rate(const Ask& ask) {
  const auto start = Clock::now();
  if (ask() < kAsked / 2) std::abort();
  return static_cast<double>(kAsked) / std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

int main(int count, char** arguments) {
  const std::uint64_t capacity = count == 2 ? std::strtoull(arguments[1], nullptr, 10) : 0;
  if (capacity < kAsked) {
    std::fputs("usage: redis_hash_batches CAPACITY (at least 409600)\n", stderr);
    return 2;
  }
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> stored(capacity / 10 * 9);
  std::generate(stored.begin(), stored.end(), random);
  nestline::Options options;
  options.capacity = capacity;
  options.bits = 12;
  nestline::Filter filter(options);
  std::vector<nestline::Hash> keys(stored.size());
  std::transform(stored.begin(), stored.end(), keys.begin(),
                 [](std::uint64_t hash) { return nestline::Hash{hash}; });
  if (filter.insert(keys) != keys.size()) std::abort();
  const auto value = CuckooValue::create({capacity, 0, 2, 20, 1, 1});
  std::vector<Outcome> outcomes(stored.size());
  value->insert(stored, nestline::redis::Unless::never, {}, outcomes);

  std::vector<std::uint64_t> asked(kAsked);
  std::vector<nestline::Hash> asked_keys(kAsked);
  for (std::size_t i = 0; i < kAsked; ++i) {
    asked[i] = i % 2 == 0 ? stored[i] : random();
    asked_keys[i] = nestline::Hash{asked[i]};
  }
  std::vector<std::uint8_t> out(kAsked);
  const auto ask_filter = [&] { return filter.may_contain(asked_keys, out); };
  const auto ask_value = [&] {
    for (std::size_t at = 0; at < kAsked; at += kBatch) {
      value->exists(std::span<const std::uint64_t>(asked).subspan(at, kBatch),
                    std::span(out).subspan(at, kBatch));
    }
    return static_cast<std::size_t>(std::count(out.begin(), out.end(), 1));
  };
  rate(ask_filter);
  rate(ask_value);
  const double of_filter = rate(ask_filter);
  const double of_value = rate(ask_value);
  std::printf("%.0f %.0f\n", of_filter, of_value);
  return 0;
}
