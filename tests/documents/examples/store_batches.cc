#include <nestline/store.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <iostream>
#include <string_view>

int main() {
  std::filesystem::remove_all("batches.db");
  nestline::Store store = nestline::Store::open("batches.db", {.sync = nestline::Sync::each});

  nestline::Store::Batch batch;  // all of it, or nothing, also after a crash
  batch.put("user:17", "Ada");
  batch.put("user:18", "Grace");
  batch.erase("guest:3");
  store.write(batch);

  const std::array<std::string_view, 3> keys = {"user:17", "user:18", "user:19"};
  const std::size_t found = store.get(keys, [&](std::size_t i, std::string_view value) {
    std::cout << keys[i] << ": " << value << '\n';  // in any order
  });
  std::cout << found << " of " << keys.size() << '\n';
}
