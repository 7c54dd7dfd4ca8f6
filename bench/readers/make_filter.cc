// Writes the file of a filter of 8 bits that has keys of both kinds, for compare.py: half of its
// keys are integers, and half are strings of 16 hexadecimal digits. Number i of a kind is i *
// 0x9e3779b97f4a7c15.
//
//   make_filter FILE BYTES LOAD
//
// Prints how many keys of each kind it has.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "nestline/filter.h"
#include "nestline/io.h"

int main(int count, char** words) {
  if (count != 4) {
    std::cerr << "usage: make_filter FILE BYTES LOAD\n";
    return 2;
  }
  const double load = std::atof(words[3]);
  constexpr double kSlotsPerByte = 60.0 / 64;
  const auto each = static_cast<std::uint64_t>(std::atof(words[2]) * kSlotsPerByte * load / 2);
  nestline::Filter filter({.capacity = 2 * each, .bits = 8, .load = load});
  for (std::uint64_t i = 0; i < each; ++i) {
    const std::uint64_t number = i * 0x9e3779b97f4a7c15;
    char digits[17];
    std::snprintf(digits, sizeof(digits), "%016llx", static_cast<unsigned long long>(number));
    if (!filter.insert(number) || !filter.insert(std::string_view(digits, 16))) {
      std::cerr << "make_filter: full\n";
      return 1;
    }
  }
  nestline::save(filter, words[1]);
  std::cout << each << "\n";
}
