// Plans the filter that a value opens next: its width, its room and how often it may double.
//
// The rate of a value is the sum of its sub_filters' rates, and must not exceed the promise P.
// The members of a family (sub_filter.h) may together be as large as one of them that has doubled
// as often as the plan allows, and cost the same rate as that one. A new family gets half of what
// the older ones leave of P, or all of it when none can follow (expansion 0). That part determines
//
//   width     of the first family 12 bits in the default; with an error rate the smallest of 8, 12
//             and 16, with Settings::all_widths of 8, 9, 10, 12 and 16, that has its rate, when
//             full, within the part. Of the others the smallest that may double kMinDoublings
//             times: every lookup visits each family, and fewer families save the memory that a
//             wider fingerprint takes. 16 if no width allows that.
//   doublings as many as keep the rate within the part (each doubles it), and no more than the
//             width allows before too many keys look alike: 1, 1, 2, 4 and 8.
//
// When not even 16 bits (0.0083 % when full) fit into what is left, further sub_filters have 16
// bits, so that nothing is refused. Each of them raises the sum above P by that much.
//
// A filter doubles in place only while it has at most kMaxBytesToDouble, since the server waits for
// it. A further sub_filter is a member of the newest family as long as that may grow, with
// expansion / 2 times its room so far; a new family begins with room for expansion / 2 times the
// present items. So expansion 1 leaves at most a third of the memory unused; two sub_filters double
// the room.
//
// Rates are compared as whole billionths, so that every machine makes the same decisions. Those of
// a value that turns over are rates after many turnovers, of filters with guest lanes.
#ifndef NESTLINE_LIB_FACES_EMBED_VALUE_SUB_FILTER_PLAN_H_
#define NESTLINE_LIB_FACES_EMBED_VALUE_SUB_FILTER_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace nestline { inline namespace v0_3 { namespace redis {

/// The arguments of CF.RESERVE, kept and reported as given. See check().
struct Settings {
  /// Items to make room for at the beginning, 1 to 2^40. With expansion 0 it takes no more.
  std::uint64_t capacity = 1024;
  /// Wanted false-positive rate of it all, lowest_error() to below 1. 0: RedisBloom's at first.
  double error = 0;
  /// 1 to 255. RedisBloom's slots a bucket; here only the default rate depends on it.
  std::uint16_t bucket_size = 2;
  /// 1 to 65535. Only kept and reported: it has no effect here.
  std::uint16_t max_iterations = 20;
  /// 0 to 32768, rounded up to a power of two. A further sub_filter has room for n / 2 times as
  /// many items as all so far; 0: none is opened and nothing grows.
  std::uint16_t expansion = 1;
  /// Seeds the hash. Random for each key that is created, and the same on its replicas.
  std::uint64_t seed = 0;
  /// Whether 9 and 10 bits may be chosen, which hardly double: only with an error rate and
  /// expansion 0. Versions before 0.2 know no such value; a value keeps what it was made with.
  bool all_widths = false;
  /// As Options::turns_over, of all its sub_filters. Versions before 0.3 know no such value; a
  /// value keeps what it was made with.
  bool turns_over = false;
  friend bool operator==(const Settings&, const Settings&) = default;
};

/// The largest filter that is doubled in place: a doubling of it stays well below 10 ms.
inline constexpr std::size_t kMaxBytesToDouble = std::size_t{2} << 20;
/// Members of a family after a compaction: so less than an eighth of its room is unused.
inline constexpr std::size_t kMaxMembers = 3;
/// A further family has room for at least this many items: smaller ones fill badly.
inline constexpr std::uint64_t kMinFurtherCapacity = 256;
/// The most items that a further sub_filter makes room for at once.
inline constexpr std::uint64_t kMaxFurtherCapacity = std::uint64_t{1} << 31;
/// Doublings that a further family must allow, so that there are few families.
inline constexpr unsigned kMinDoublings = 3;
using Billionths = std::uint64_t;  ///< A rate in billionths.

struct SubFilterPlan {
  int bits;
  std::uint64_t capacity;
  unsigned most_growth;
  bool turns_over = false;
};

/// The most doublings of a plan: up to these, fewer than one filter in a million gets more
/// look-alike keys than slots (lib/filters/filter/sizing.h). The ledger takes such keys.
unsigned most_growth_of(int bits);
/// Whether values have this width, which of them have Settings::all_widths only, and which may be
/// such values.
bool is_width(int bits, bool all_widths);
constexpr bool needs_all_widths(int bits) { return bits == 9 || bits == 10; }
inline bool may_have_all_widths(const Settings& settings) {
  return settings.error != 0 && settings.expansion == 0;
}
/// Throws std::invalid_argument with a sentence when a setting is out of bounds.
void check(const Settings& settings);
/// The settings as they are kept: expansion rounded up to a power of two.
Settings normalized(Settings settings);
/// The lowest error rate that settings may have: with expansion 0, and with any other.
double lowest_error(std::uint16_t expansion);
double promised_fpr(const Settings& settings);  ///< The promise P.
/// The rate of a full filter of this width after this many doublings.
Billionths rate_when_full(int bits, unsigned growth, bool turns_over = false);
/// The next sub_filter, for `capacity` items, after others whose rates sum up to `used`.
SubFilterPlan plan_generation(const Settings& settings, Billionths used, std::uint64_t capacity);

/// How often the next member of a family with so many `units` has doubled. Nothing: a new family.
std::optional<unsigned> next_growth(const Settings& settings, std::uint64_t units,
                                    unsigned most_growth);

/// Items that a new family gets room for, after others with this many keys.
std::uint64_t further_capacity(const Settings& settings, std::uint64_t keys);
/// The first member of a new family, after others with this many keys, whose rates sum up to
/// `used`. One that may have no other gets twice the room: it takes as much of the promise.
SubFilterPlan plan_family(const Settings& settings, Billionths used, std::uint64_t keys);

/// The doublings of the members of a family that holds this many items in little memory: at most
/// kMaxMembers where most_growth allows, largest first; all but the last are full.
std::vector<unsigned> compact_growths(int bits, std::uint64_t base_blocks, unsigned most_growth,
                                      std::uint64_t items);

}}}  // namespace nestline::redis

#endif  // NESTLINE_LIB_FACES_EMBED_VALUE_SUB_FILTER_PLAN_H_
