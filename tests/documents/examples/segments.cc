#include <nestline/maplet.h>

#include <array>
#include <cstdint>
#include <iostream>
#include <set>
#include <string>
#include <vector>

int main() {
  std::array<std::set<std::string>, 15> runs;  // in place of files
  std::vector<std::uint64_t> newest_first;     // which of them there are
  nestline::Maplet index({.capacity = 100'000, .value_bits = 4});

  const auto flush = [&](std::uint64_t run, std::uint64_t first_user) {
    for (std::uint64_t user = first_user; user < first_user + 10'000; ++user) {
      const std::string key = "user:" + std::to_string(user);
      runs[run].insert(key);
      if (!index.insert(key, run) && !index.insert(key, index.anywhere())) {
        std::cerr << "the index is full\n";
      }
    }
    newest_first.insert(newest_first.begin(), run);
  };
  const auto reads_of = [&](const std::string& key) {
    const std::uint64_t set = index.find_set(key);
    int reads = 0;
    for (const std::uint64_t run : newest_first) {
      if ((set >> run & 1) == 0) continue;
      ++reads;
      if (runs[run].contains(key)) break;
    }
    return reads;
  };
  const auto report = [&] {
    int present = 0;
    int absent = 0;
    for (int i = 0; i < 70'000; ++i) {
      present += reads_of("user:" + std::to_string(i));
      absent += reads_of("nobody:" + std::to_string(i));
    }
    std::cout << index.size() << " pairs in " << newest_first.size()
              << " runs; 70000 keys: " << present << " reads if present, " << absent
              << " if absent\n";
  };

  // Eight runs. A tenth of each is in the next one too, in a newer version.
  for (std::uint64_t run = 0; run < 8; ++run) flush(run, 9'000 * run);
  report();

  // Runs 0 to 3 become run 8: what a newer one of them has goes, and all that is left moves.
  for (const std::uint64_t run : std::array<std::uint64_t, 4>{3, 2, 1, 0}) {
    for (const std::string& key : runs[run]) {
      if (!runs[8].insert(key).second) index.erase(key, run);
    }
  }
  newest_first = {7, 6, 5, 4, 8, 3, 2, 1, 0};
  index.rename(std::vector<std::uint64_t>{8, 8, 8, 8});
  newest_first.resize(5);
  report();
}
