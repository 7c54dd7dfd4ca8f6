// What npm_test.js compares with: for each width a filter, with its file and its answers, by the
// library of this machine. Run it in an empty folder. With an argument it writes only late.nest, an
// expiring filter whose tick no number of JavaScript has.
//
// NAME.nest is a filter that keys were inserted into one by one, as insert() says. NAME.answers has
// its answers about kAsked integers and then as many strings, a byte each.
#include <cstdint>
#include <fstream>
#include <ios>
#include <string>

#include "nestline/expiring_filter.h"
#include "nestline/filter.h"
#include "nestline/io.h"

namespace {

constexpr std::uint64_t kStored = 100'000;
constexpr std::uint64_t kAsked = 1'000'000;

// Integers of all sizes, up to 2^53 - 1.
std::uint64_t integer(std::uint64_t i) { return i * 0x9e3779b97f4a7c15 >> (11 + i % 40); }
// Strings of up to 90 bytes; every third is not ASCII.
std::string string(std::uint64_t i) {
  return (i % 3 == 0 ? "cl\xc3\xa9 " : "key ") + std::to_string(i) + std::string(i % 80, '.');
}

void insert(nestline::Filter& filter) {
  for (std::uint64_t i = 0; i < kStored; ++i) {
    (void)filter.insert(integer(i));
    (void)filter.insert(string(i));
    if (i % 7 == 0) filter.erase(integer(i));
  }
}

void insert(nestline::ExpiringFilter& filter) {
  for (std::uint64_t i = 0; i < kStored; ++i) {
    (void)filter.insert(integer(i));
    (void)filter.insert(string(i), 3);
  }
  filter.advance(2);
  for (std::uint64_t i = 0; i < kStored; i += 3) (void)filter.insert(string(i));
}

template <class F>
void write(F filter, const std::string& name) {
  insert(filter);
  nestline::save(filter, name + ".nest");
  std::ofstream answers(name + ".answers", std::ios::binary);
  for (std::uint64_t i = 0; i < kAsked; ++i) {
    answers.put(static_cast<char>(filter.may_contain(integer(i))));
  }
  for (std::uint64_t i = 0; i < kAsked; ++i) {
    answers.put(static_cast<char>(filter.may_contain(string(i))));
  }
}

}  // namespace

int main(int count, char**) {
  if (count > 1) {
    nestline::ExpiringFilter late({.capacity = 1000, .ttl_ticks = 9});
    late.advance((std::uint64_t{1} << 53) + 2);
    (void)late.insert("order");
    nestline::save(late, "late.nest");
    return 0;
  }
  constexpr std::uint64_t kCapacity = 2 * kStored;
  for (const int bits : {8, 9, 10, 12, 16}) {
    write(nestline::Filter({.capacity = kCapacity, .bits = bits, .seed = 5}), std::to_string(bits));
    write(nestline::Filter({.capacity = kCapacity, .bits = bits, .turns_over = true}),
          std::to_string(bits) + "t");
  }
  write(nestline::Filter({.capacity = 1000, .max_capacity = kCapacity}), "grown");
  for (const int bits : {8, 12}) {
    write(nestline::ExpiringFilter({.capacity = kCapacity, .bits = bits, .ttl_ticks = 5}),
          "expiring" + std::to_string(bits));
  }
}
