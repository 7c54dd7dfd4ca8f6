#include <nestline/expiring_filter.h>

#include <chrono>
#include <iostream>
#include <string_view>

int main() {
  using namespace std::chrono_literals;
  nestline::ExpiringFilter seen({.capacity = 1'000'000, .fpr = 0.001});
  nestline::ExpiringClock clock(seen, 10min);

  for (const std::string_view delivery : {"order 17", "order 18", "order 17"}) {
    clock.catch_up();
    if (seen.insert(delivery)) {
      std::cout << delivery << '\n';
    } else {
      std::cout << delivery << " came twice\n";
    }
  }
}
