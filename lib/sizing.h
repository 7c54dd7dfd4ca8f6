// How many blocks a filter needs, and what it may promise: the formulas of nestline/filter.h.
//
//   safe_keys(n)      keys that n blocks hold with a probability above 1 - 1e-6
//   false_positives   the rate at a load, with the share of keys that need a second block
//
// The figures in sizing.cc were measured on this library, the loads with bench/fill_limits.cc;
// tests/sizing_test.cc and tests/fpr_test.cc hold the filter to them.
#ifndef NESTLINE_LIB_SIZING_H_
#define NESTLINE_LIB_SIZING_H_

#include <cstdint>

#include "geometry.h"
#include "nestline/filter.h"

namespace nestline {

// The decided size of a new filter.
struct Size {
  int bits;
  std::uint64_t blocks;
  std::uint64_t capacity;  // promised, at least Options::capacity
};

// Checks `options` and decides. Throws std::invalid_argument.
Size decide_size(const Options& options);

// Keys that so many blocks hold without failing, in all but one of a million filters.
std::uint64_t safe_keys(int bits, const Geometry& geometry);

// What a filter that has just doubled promises, `geometry` being the new one: twice what it
// promised before as far as that is safe, and never less than before.
std::uint64_t grown_capacity(int bits, const Geometry& geometry, std::uint64_t capacity);

// Share of absent keys that need a second block in a filter that inserts alone filled to `load`.
double second_probe_share(int bits, double load);

// The false-positive rate at a load, `second_probes` being that share, after `growth` doublings.
// Beyond the blocks looked at, a bound of 0.03 for the keys that are away: a key whose home has
// sent keys of its class away meets them in the alternate. Measured on 3500 to 7000 blocks, in
// multiples of the rate without second probes: 1.10, 1.14, 1.14 at 8, 12, 16 bits after inserts to
// 95 %, 1.33, 1.43, 1.53 after the content was replaced 16 times.
double false_positive_rate(int bits, double load, double second_probes, unsigned growth);

}  // namespace nestline

#endif  // NESTLINE_LIB_SIZING_H_
