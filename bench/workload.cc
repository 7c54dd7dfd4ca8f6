#include "workload.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <random>
#include <stdexcept>

namespace nestline::bench {

std::string suffix(int bits, const Size& size) {
  return "/bits:" + std::to_string(bits) + "/" + size.name;
}

std::uint64_t slots_of(int bits, std::size_t bytes) {
  return bytes / 64 * (bits == 8 ? 60 : bits == 12 ? 40 : 30);
}

std::uint64_t keys_at(double load, int bits, std::size_t bytes) {
  return static_cast<std::uint64_t>(load * static_cast<double>(slots_of(bits, bytes)));
}

Options options_of(int bits, std::size_t bytes) {
  return {.capacity = keys_at(kLoad, bits, bytes), .bits = bits, .seed = 1};
}

std::vector<std::uint64_t> counter_keys(std::uint64_t count, std::uint64_t first) {
  std::vector<std::uint64_t> keys(count);
  std::iota(keys.begin(), keys.end(), first);
  return keys;
}

Filter filled_filter(int bits, std::size_t bytes, double load) {
  Filter filter(options_of(bits, bytes));
  const std::uint64_t count = keys_at(load, bits, bytes);
  constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;
  for (std::uint64_t at = 0; at < count; at += kPiece) {
    filter.insert(counter_keys(std::min(kPiece, count - at), at));
  }
  if (filter.size() != count) {
    throw std::logic_error("a filter did not take the keys that it promised to take");
  }
  return filter;
}

const char* name_of(Keys kind) { return kind == Keys::absent ? "absent" : "present"; }

std::vector<std::uint64_t> questions(std::size_t bytes, std::uint64_t stored, Keys kind,
                                     std::uint64_t seed) {
  std::vector<std::uint64_t> keys(std::size_t{1} << (bytes < kMib ? 16 : 20));
  std::mt19937_64 random(seed);
  for (std::uint64_t& key : keys) {
    key = kind == Keys::absent ? kAbsent + random() % kAbsent : random() % stored;
  }
  return keys;
}

int run_program(std::vector<std::string> defaults, int argc, char** argv,
                const std::function<void()>& add) {
#ifndef NDEBUG
  std::fprintf(stderr, "%s: built with assertions; measure a Release build\n", argv[0]);
  return 2;
#endif
  std::vector<char*> arguments{argv[0]};
  for (std::string& argument : defaults) arguments.push_back(argument.data());
  // Those of the caller come last, and the last one of a name counts.
  arguments.insert(arguments.end(), argv + 1, argv + argc);
  int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;
  add();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace nestline::bench
