// Expiring filters smaller than their constructor makes them, at any tick.
#ifndef NESTLINE_TESTS_FILTERS_EXPIRING_SMALL_FILTER_H_
#define NESTLINE_TESTS_FILTERS_EXPIRING_SMALL_FILTER_H_

#include <cstdint>

#include "lib/engine/place/layout.h"
#include "nestline/expiring_filter.h"
#include "tests/filters/file/format_tools.h"

namespace nestline::test {

// Without keys, so that everything is swept.
inline ExpiringFilter small_expiring_filter(int bits, std::uint64_t blocks,
                                            format_tools::Times times = {}) {
  times.swept = blocks;
  return ExpiringFilter::load(format_tools::make_empty_expiring_file(
      {.bits = static_cast<std::uint32_t>(expiring_layout(bits)),
       .base_blocks = blocks,
       .capacity = blocks * (bits == 8 ? 36 : 27)},
      times));
}

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_FILTERS_EXPIRING_SMALL_FILTER_H_
