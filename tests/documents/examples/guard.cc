#include <nestline/guard.h>
#include <nestline/store.h>

#include <cstdint>
#include <iostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

int main() {
  // In place of an engine, since it has all that a guard asks for.
  nestline::Store db = nestline::Store::open("guarded.db");

  nestline::Guard guard({.capacity = 1'000'000, .max_capacity = 16'000'000}, "guarded.nest");
  if (!guard.load()) {  // there is no file, since the last process did not end well
    guard.fill([&] { return [&](auto&& add) { db.for_each([&](auto key, auto) { add(key); }); }; });
  }

  std::string value;
  int asked = 0;
  const auto get = [&](std::string_view key) {
    return guard.get(key, [&] {
      ++asked;
      return db.get(key, value);
    });
  };
  const auto put = [&](std::string_view key, std::string_view text) {
    guard.put(
        key, [&] { return db.contains(key); }, [&] { db.put(key, text); });
  };
  const auto erase = [&](std::string_view key) {
    return guard.erase(key, [&] { return db.erase(key); });
  };

  put("user:17", "Ada");
  put("user:18", "Grace");
  erase("user:17");
  std::cout << get("user:17") << get("user:18") << get("user:19");
  std::cout << ", the database was asked " << asked << " time\n";

  const std::vector<std::string> keys = {"user:18", "user:19", "user:20"};
  guard.get_many(keys, [&](std::span<const std::uint32_t> positions) {
    for (const std::uint32_t at : positions) std::cout << "ask for " << keys[at] << '\n';
  });

  guard.save([&] { db.sync(); });  // the next start loads it
}
