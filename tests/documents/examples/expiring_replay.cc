#include <nestline/expiring_filter.h>

#include <iostream>

int main() {
  // A signed request is valid for a minute; its signature must come once only. A tick is a fifth
  // of that, so it lives for 5 ticks, and a request with a longer grace for up to 14.
  nestline::ExpiringFilter used({.capacity = 1'000'000, .fpr = 0.0013, .ttl_ticks = 14});

  std::cout << (used.insert("signature 1", 5) ? "accepted" : "replayed") << '\n';
  used.advance(3);
  std::cout << (used.insert("signature 1", 5) ? "accepted" : "replayed") << '\n';
  used.advance(6);
  std::cout << (used.may_contain("signature 1") ? "remembered" : "forgotten") << '\n';
}
