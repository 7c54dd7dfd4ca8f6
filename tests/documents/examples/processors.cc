// One program for several processors, with processors_look.cc.
#include <nestline/filter.h>

#include <cstddef>
#include <cstdint>
#include <iostream>
#include <span>
#include <vector>

using Look = std::size_t(const nestline::Filter&, std::span<const std::uint64_t>);
Look look, look_avx2;

int main() {
  nestline::Filter filter({.capacity = 1000, .bits = 8});
  std::vector<std::uint64_t> keys;
  for (std::uint64_t key = 0; key < 1000; ++key) {
    if (filter.insert(key)) keys.push_back(key);
  }

  Look* const best = __builtin_cpu_supports("avx2") ? look_avx2 : look;
  std::cout << best(filter, keys) << '\n';
}
