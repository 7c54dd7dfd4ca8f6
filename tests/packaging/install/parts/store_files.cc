// Uses what of the store needs the compiled library: records, files, errors.
#include <nestline/store_files.h>

#include <cstddef>
#include <filesystem>
#include <iostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: consumer FOLDER\n";
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  {
    nestline::Store store = nestline::Store::open(folder, {.sync = nestline::Sync::each});
    store.put("user:17", "Ada");
    store.put("user:18", "Grace");
    std::cout << "erased " << store.erase("user:18") << '\n';
    std::string_view text = "a file";
    nestline::put_file(store, "name", [&](std::span<char> to) {
      const std::size_t bytes = text.copy(to.data(), to.size());
      text.remove_prefix(bytes);
      return bytes;
    });
    // An exception must be recognized on both sides of a shared library.
    try {
      nestline::Store::open(folder);
      std::cout << "opened twice\n";
    } catch (const nestline::StoreError&) {
      std::cout << "refused\n";
    }
  }
  const nestline::Store store = nestline::Store::open(folder, {.create = false, .read_only = true});
  std::string value;
  std::cout << "got " << store.get("user:17", value) << ' ' << value << '\n';
  std::cout << "of two " << store.contains("user:17") + store.contains("user:18") << '\n';
  const std::vector<std::string_view> keys = {"user:17", "user:18", "user:19"};
  std::cout << "of a batch " << store.get(keys, [](std::size_t, std::string_view) {}) << '\n';
  nestline::get_file(store, "name", [](std::string_view piece) { std::cout << piece << '\n'; });
  std::cout << "verified " << nestline::verify_store(folder).ok() << '\n';
}
