// The rate of false positives, measured on keys that no test inserts.
#ifndef NESTLINE_TESTS_FILTERS_FILTER_STRANGERS_H_
#define NESTLINE_TESTS_FILTERS_FILTER_STRANGERS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "nestline/filter.h"
#include "tests/support/keys_of_kinds.h"

namespace nestline::test {

// Of at least so many keys: the next multiple of 65536.
inline double measured_fpr(const Filter& filter, std::uint64_t probes) {
  constexpr std::size_t kAtOnce = 1 << 16;
  std::vector<std::uint64_t> bitmap(kAtOnce / 64);
  std::uint64_t hits = 0;
  std::uint64_t asked = 0;
  for (; asked < probes; asked += kAtOnce) {
    hits += filter.may_contain_bits(sequence((std::uint64_t{1} << 60) + asked, kAtOnce), bitmap);
  }
  return static_cast<double>(hits) / static_cast<double>(asked);
}

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_FILTERS_FILTER_STRANGERS_H_
