// The C++ side of compare_rates.py: the same batches on the same keys, timed when a line comes in.
//
//   batch_rates KEYS   reads "build", "insert" or "may_contain" a line, prints the seconds it took
//
// Seconds of the processor, since other programs on the machine disturb them less.
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <ostream>
#include <string>
#include <vector>

#include "nestline/filter.h"

namespace {

// The keys of compare_rates.py: SplitMix64 of 0, 1, 2...
std::uint64_t key_of(std::uint64_t i) {
  std::uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// Of this thread.
double now() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

template <typename Work>
double seconds_of(Work&& work) {
  const double start = now();
  work();
  return now() - start;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t size = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10'000'000;
  std::vector<std::uint64_t> keys(size);
  for (std::uint64_t i = 0; i < size; ++i) keys[i] = key_of(i);
  std::vector<std::uint8_t> out(size);
  std::vector<nestline::Outcome> outcomes(size);
  const nestline::Options options{.capacity = size};
  const nestline::Filter full = nestline::Filter::build(options, keys);
  std::cout << "ready" << std::endl;
  for (std::string what; std::getline(std::cin, what);) {
    double seconds = 0;
    if (what == "build") {
      seconds = seconds_of([&] { (void)nestline::Filter::build(options, keys); });
    } else if (what == "insert") {
      nestline::Filter filter(options);
      seconds = seconds_of([&] { (void)filter.insert(keys, outcomes); });
    } else if (what == "may_contain") {
      seconds = seconds_of([&] { full.may_contain(keys, out); });
    } else {
      std::cerr << "batch_rates: build, insert or may_contain, not " << what << '\n';
      return 2;
    }
    std::cout << seconds << std::endl;
  }
}
