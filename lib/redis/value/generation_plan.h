// Which filter a value opens next: its width, its room and how often it may double.
//
// The rate of a value is the sum of its generations' rates, and may not be above the promise P. A
// new generation gets half of what the older ones leave of P, all of it when none can follow
// (expansion 0). From that part follow
//
//   width     12 bits in the default; with an error rate the smallest of 8, 12 and 16 that has its
//             rate, when full, within the part. 16 in both when no width has; then the promise is
//             kept until the sum has used up all of P.
//   doublings as many as keep the rate within the part (each doubles it), and no more than the
//             width takes without keys that look alike too often: 1, 4 and 8.
//
// At the end, when not even 16 bits (0.0083 % when full) fit into what is left, further generations
// go on at 16 bits, so that nothing is refused: then the sum exceeds P by 0.0083 % for each. With
// the default P = 1.57 % that is after 59 generations, with P = 0.1 % after 7, each larger than the
// one before by its doublings and the expansion.
//
// In place a filter doubles only while it has at most kMostBytesToDouble, since that is a pass over
// its memory during which the server waits. A further generation costs no pass.
//
// Rates are compared as whole billionths, so that every machine decides alike.
#ifndef NESTLINE_LIB_REDIS_VALUE_GENERATION_PLAN_H_
#define NESTLINE_LIB_REDIS_VALUE_GENERATION_PLAN_H_

#include <cstddef>
#include <cstdint>

#include "lib/redis/value/settings.h"

namespace nestline::redis {

/// The largest filter that is doubled in place: a doubling of it stays well below 10 ms.
inline constexpr std::size_t kMostBytesToDouble = std::size_t{2} << 20;
/// The most items that a further generation makes room for at once.
inline constexpr std::uint64_t kMostFurtherCapacity = std::uint64_t{1} << 31;

/// A rate in billionths.
using Billionths = std::uint64_t;

/// What a generation is to be.
struct GenerationPlan {
  int bits;
  std::uint64_t capacity;
  unsigned most_growth;
};

/// Throws std::invalid_argument with a sentence when a setting is out of its bounds.
void check(const Settings& settings);
/// The settings as they are kept: expansion rounded up to a power of two.
Settings normalized(Settings settings);
/// The lowest error rate that settings may ask for: with expansion 0, and else.
double lowest_error(std::uint16_t expansion);
/// The promise P.
double promised_fpr(const Settings& settings);

/// The rate of a full filter of this width after so many doublings.
Billionths rate_when_full(int bits, unsigned growth);

/// The next generation of a value whose generations have rates that sum up to `used`, and which is
/// to have room for `capacity` items.
GenerationPlan plan_generation(const Settings& settings, Billionths used, std::uint64_t capacity);

}  // namespace nestline::redis

#endif  // NESTLINE_LIB_REDIS_VALUE_GENERATION_PLAN_H_
