// Which filter a value opens next: its width, its room and how often it may double.
//
// The rate of a value is the sum of its generations' rates, and may not be above the promise P.
// Generations come in families (generation.h). The members of one may together be as large as one
// of them that has doubled as often as the plan allows, and cost the same rate as that one. A new
// family gets half of what the older ones leave of P, all of it when none can follow (expansion 0).
// From that part follow
//
//   width     of the first family 12 bits in the default; with an error rate the smallest of 8, 12
//             and 16 that has its rate, when full, within the part. Of the others the smallest that
//             may double kLeastDoublings times: each family costs every question a look, and what
//             a wider fingerprint costs in memory a longer family saves in families. 16 when no
//             width has; then the promise is kept until the sum has used up all of P.
//   doublings as many as keep the rate within the part (each doubles it), and no more than the
//             width takes without keys that look alike too often: 1, 4 and 8.
//
// At the end, when not even 16 bits (0.0083 % when full) fit into what is left, further
// generations go on at 16 bits, so that nothing is refused: then the sum exceeds P by so much for
// each. tests/redis/value/generation_plan_test.cc says after how many items that is.
//
// In place a filter doubles only while it has at most kMostBytesToDouble, since that is a pass over
// its memory during which the server waits. A further generation costs no pass. It is a member of
// the newest family as long as that may grow, with expansion / 2 times the room of that family so
// far, and a new family begins with room for expansion / 2 times the items there are. So with
// expansion 1 a third of the memory is unused at most, and two generations come with each doubling.
//
// Rates are compared as whole billionths, so that every machine decides alike.
#ifndef NESTLINE_LIB_REDIS_VALUE_GENERATION_PLAN_H_
#define NESTLINE_LIB_REDIS_VALUE_GENERATION_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "lib/redis/value/settings.h"

namespace nestline::redis {

/// The largest filter that is doubled in place: a doubling of it stays well below 10 ms.
inline constexpr std::size_t kMostBytesToDouble = std::size_t{2} << 20;
/// Members of a family after a compaction: with three, less than an eighth of it is unused, unless
/// it has not doubled.
inline constexpr std::size_t kMostMembers = 3;
/// A further family has room for this many at least: smaller ones fill badly.
inline constexpr std::uint64_t kLeastFurtherCapacity = 256;
/// The most items that a further generation makes room for at once.
inline constexpr std::uint64_t kMostFurtherCapacity = std::uint64_t{1} << 31;

/// Doublings of which a further family is to be capable, so that families stay few.
inline constexpr unsigned kLeastDoublings = 3;

/// A rate in billionths.
using Billionths = std::uint64_t;

/// What a generation is to be.
struct GenerationPlan {
  int bits;
  std::uint64_t capacity;
  unsigned most_growth;
};

/// Doublings up to which fewer than one filter in a million gets keys that look alike too often for
/// their slots (see lib/filter/sizing.h); no plan has more. Nothing is lost beyond: the ledger
/// takes them.
unsigned most_growth_of(int bits);

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

/// How often the next member of a family is to have doubled, whose members have `units` together.
/// Nothing: it is time for a new family.
std::optional<unsigned> next_growth(const Settings& settings, std::uint64_t units,
                                    unsigned most_growth);

/// Items that a new family is to have room for, behind others with so many keys.
std::uint64_t further_capacity(const Settings& settings, std::uint64_t keys);

/// The first member of a new family behind others with so many keys, whose rates sum up to `used`.
/// One that may have no others has room for twice further_capacity, since each takes as much of the
/// promise as any other.
GenerationPlan plan_family(const Settings& settings, Billionths used, std::uint64_t keys);

/// How often the members of a family are to have doubled that hold so many items with little
/// memory: at most kMostMembers where most_growth allows, largest first; all but the last are full.
std::vector<unsigned> compact_growths(int bits, std::uint64_t base_blocks, unsigned most_growth,
                                      std::uint64_t items);

}  // namespace nestline::redis

#endif  // NESTLINE_LIB_REDIS_VALUE_GENERATION_PLAN_H_
