#include <nestline/concurrent_filter.h>

#include <atomic>
#include <cstdint>
#include <iostream>
#include <thread>
#include <vector>

int main() {
  std::atomic<std::uint64_t> refused = 0;
  // Starts with room for 50,000 keys, and doubles by itself up to 200,000.
  nestline::ConcurrentFilter filter({.capacity = 50'000, .fpr = 0.01, .max_capacity = 200'000});
  const auto insert = [&](std::uint64_t first) {  // in as many threads as you like
    for (std::uint64_t key = first; key < first + 40'000; ++key) {
      if (!filter.insert(key)) ++refused;
    }
  };

  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) threads.emplace_back(insert, t << 32);
  for (std::thread& thread : threads) thread.join();
  std::cout << filter.size() << " keys, " << refused << " refused\n";
}
