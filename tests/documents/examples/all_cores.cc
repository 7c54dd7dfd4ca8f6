#include <nestline/parallel.h>

#include <cstdint>
#include <iostream>
#include <numeric>
#include <vector>

int main() {
  std::vector<std::uint64_t> keys(1'000'000);
  std::iota(keys.begin(), keys.end(), 0);

  const nestline::Filter filter = nestline::parallel::build({.capacity = keys.size()}, keys);
  std::vector<std::uint8_t> found(keys.size());
  std::cout << nestline::parallel::may_contain(filter, keys, found) << '\n';
}
