// A join: the engine hashes its rows once, and drops the rows that cannot match before it joins.
#include <nestline/filter.h>

#include <cstdint>
#include <iostream>
#include <vector>

int main() {
  std::vector<nestline::Hash> build, probe;
  for (std::uint64_t row = 0; row < 10'000; ++row) {
    build.push_back(nestline::hash_key(3 * row, 1));  // or the engine's own hash, if well mixed
    probe.push_back(nestline::hash_key(row, 1));
  }

  const auto filter = nestline::Filter::build({.capacity = build.size(), .bits = 8}, build);
  std::vector<std::uint32_t> rows(probe.size());
  rows.resize(filter.select(probe, rows));  // positions of the rows that may match
  std::cout << rows.size() << " of " << probe.size() << " rows are left\n";
}
