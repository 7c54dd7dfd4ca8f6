#include <nestline/expiring_filter.h>

#include <cstddef>
#include <cstdint>
#include <iostream>
#include <string>
#include <unordered_map>

// A cache that takes an object when it is asked for a second time within the window.
class Cache {
 public:
  const std::string& get(const std::string& key) {
    if (const auto found = objects_.find(key); found != objects_.end()) return found->second;
    fetched_ = "the content of " + key;
    if (++misses_ % kMissesATick == 0) asked_for_.advance();
    const bool again = asked_for_.insert(key).outcome == nestline::Outcome::present;
    return again ? objects_[key] = fetched_ : fetched_;
  }
  [[nodiscard]] std::size_t size() const { return objects_.size(); }

 private:
  // The window is the last 140,000 misses: time need not be that of a clock.
  static constexpr std::uint64_t kMissesATick = 10'000;
  nestline::ExpiringFilter asked_for_{{.capacity = 150'000}};
  std::uint64_t misses_ = 0;
  std::string fetched_;
  std::unordered_map<std::string, std::string> objects_;  // stands for the cache
};

int main() {
  Cache cache;
  cache.get("a scanner was here");
  cache.get("front page");
  cache.get("front page");
  std::cout << cache.size() << " object is kept\n";
}
