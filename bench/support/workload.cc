#include "bench/support/workload.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <random>
#include <sstream>
#include <stdexcept>
#include <tuple>

namespace nestline::bench {

namespace {

std::vector<std::size_t>& chosen_sizes() {
  static std::vector<std::size_t> sizes = {256 * kKib, 16 * kMib, 256 * kMib};
  return sizes;
}

struct Unit {
  const char* name;
  std::size_t bytes;
};
constexpr Unit kUnits[] = {{"GiB", 1024 * kMib}, {"MiB", kMib}, {"KiB", kKib}};

}  // namespace

const std::vector<std::size_t>& sizes() { return chosen_sizes(); }

bool choose_sizes(const std::string& list) {
  std::vector<std::size_t> sizes;
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    std::istringstream parts(word);
    std::size_t number = 0;
    std::string name;
    if (!(parts >> number >> name)) return false;
    const auto unit = std::find_if(std::begin(kUnits), std::end(kUnits),
                                   [&](const Unit& u) { return u.name == name; });
    if (unit == std::end(kUnits) || number == 0 || number > 1'000'000) return false;
    sizes.push_back(number * unit->bytes);
  }
  std::sort(sizes.begin(), sizes.end());
  if (!sizes.empty()) chosen_sizes() = sizes;
  return !sizes.empty();
}

std::string suffix(std::size_t bytes) {
  const auto unit = std::find_if(std::begin(kUnits), std::end(kUnits),
                                 [&](const Unit& u) { return bytes % u.bytes == 0; });
  return "bytes:" + std::to_string(bytes / unit->bytes) + unit->name;
}

std::string suffix(int bits, std::size_t bytes) {
  return "bits:" + std::to_string(bits) + "/" + suffix(bytes);
}

std::uint64_t slots_of(int bits, std::size_t bytes) {
  return bytes / 64 * nestline::slots_of(bits);
}

std::uint64_t keys_at(double load, int bits, std::size_t bytes) {
  return static_cast<std::uint64_t>(load * static_cast<double>(slots_of(bits, bytes)));
}

Options options_of(int bits, std::size_t bytes) {
  return {.capacity = keys_at(kLoad, bits, bytes), .bits = bits, .seed = 1};
}

std::vector<std::uint64_t> counter_keys(std::uint64_t count, std::uint64_t first) {
  std::vector<std::uint64_t> keys(count);
  std::iota(keys.begin(), keys.end(), first);
  return keys;
}

void fill(Filter& filter, std::uint64_t count) {
  fill_from(filter, filter.size(), count);
  if (filter.size() != count) {
    throw std::logic_error("a filter did not take the keys that it promised to take");
  }
}

Filter filled_filter(int bits, std::size_t bytes, double load) {
  Filter filter(options_of(bits, bytes));
  fill(filter, keys_at(load, bits, bytes));
  return filter;
}

const ConcurrentFilter& kept_filter(double load, int bits, std::size_t bytes) {
  static std::tuple<double, int, std::size_t> kept;
  static std::optional<ConcurrentFilter> made;
  if (!made || kept != std::tuple(load, bits, bytes)) {
    made.reset();
    made.emplace(filled_filter(bits, bytes, load));
    kept = {load, bits, bytes};
  }
  return *made;
}

std::vector<std::uint64_t> lookup_keys(std::size_t bytes, std::uint64_t stored, int hits,
                                       std::uint64_t seed) {
  std::vector<std::uint64_t> keys(std::size_t{1} << (bytes < kMib ? 16 : 20));
  std::mt19937_64 random(seed);
  for (std::uint64_t& key : keys) {
    const bool present = static_cast<int>(random() % 100) < hits;
    key = present ? random() % stored : kAbsent + random() % kAbsent;
  }
  return keys;
}

}  // namespace nestline::bench
