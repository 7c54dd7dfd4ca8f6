#include "lib/filters/filter/sizing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace nestline { inline namespace v0_3 {
namespace {

// The highest load that is promised, from 8 blocks on; and below that, the share of their slots
// that 1, 2, ... 7 blocks hold in all but one of a million filters
// (bench/filters/filter/fill_limits.cc).
constexpr double kFullLoad = 0.95;
constexpr std::array<double, 7> kSmallLoad = {0.75, 0.80, 0.85, 0.90, 0.90, 0.93, 0.94};

// The same for maplets, by the fewest blocks. None has 2 to 7: there one in a million is full at
// half of its slots, since most keys have no alternate.
struct SmallMaplet {
  std::uint64_t blocks;
  double load;
};
constexpr std::uint64_t kLeastMapletBlocks = 64;
constexpr std::uint64_t kLeastSmallMapletBlocks = 32;
constexpr std::array<SmallMaplet, 3> kMapletLoad = {{{256, kFullLoad}, {128, 0.94}, {64, 0.93}}};

// Maplets of small values, and those of wide ones.
constexpr std::uint64_t least_blocks(int bits) {
  if (bits == kMapletBits) return kLeastMapletBlocks;
  return is_maplet(bits) ? kLeastSmallMapletBlocks : 1;
}

// The load that this many base blocks hold in all but one of a million filters or maplets.
double safe_load(int bits, std::uint64_t bases) {
  if (is_maplet(bits) && bits != kMapletBits) return kFullLoad;
  if (bits != kMapletBits) return bases <= kSmallLoad.size() ? kSmallLoad[bases - 1] : kFullLoad;
  for (const SmallMaplet& small : kMapletLoad) {
    if (bases >= small.blocks) return small.load;
  }
  return 0.4;
}

// No filter is planned for a lower load than half: the next width needs less memory then.
constexpr double kLowestLoad = 0.5;

// Below it a filter may shrink by itself: after that it is far from growing again.
constexpr double kMostShrinkLoad = 0.4;

// A child filter is full at this share of its slots; the mean stays below it (safe_keys).
constexpr double kChildFull = 0.985;

// The most keys per base block at which one filter in a million has too many that look the same.
double alike_keys(int bits) {
  constexpr std::array<double, kFilterWidths.size()> kAlike = {118, 184, 300, 785, 13250};
  return kAlike[index_of_width(bits)];
}

// Sizes are for the wanted rate times this, for single filters to measure below the wanted one.
constexpr double kRateMargin = 0.97;

constexpr double kDefaultFpr = 0.01;
constexpr double kDefaultExpiringFpr = 0.02;

// An expiring filter has at least so many blocks, and promises at most so much load below 16 of
// them. Where few keys come in a tick, nothing is swept before its end, so up to a fifteenth more
// slots are taken than keys live. Keys that come evenly are the hardest. At 12 bits 8 blocks
// refused none at 92 % in 450,000 turnovers, and one in 270 turnovers at 95 %; 12 blocks one in
// 25,000, and 16 none in 440,000. (8 bits have more slots: 8 blocks one in 18,000 at 95 %.)
constexpr std::uint64_t kLeastExpiringBlocks = 8;
constexpr std::uint64_t kFullExpiringBlocks = 16;
constexpr double kSmallExpiringLoad = 0.92;

// As streams write them, which would be half of a small program.
std::string text_of(std::string_view text) { return std::string(text); }
std::string text_of(double number, int digits = 6) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.*g", digits, number);
  return text;
}
double number_of(const std::string& text) { return std::strtod(text.c_str(), nullptr); }
template <std::integral T>
std::string text_of(T number) {
  return std::to_string(number);
}

template <typename... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  throw std::invalid_argument((text_of(parts) + ...));
}

// A number with as many digits as it needs: 0.95 + 1e-9 is not 0.95.
std::string as_given(double number) {
  int digits = 6;
  while (digits < 17 && number_of(text_of(number, digits)) != number) ++digits;
  return text_of(number, digits);
}

// A bound in three digits that is not below it: who takes it from a message is not refused again.
std::string rounded_up(double bound) {
  double number = bound;
  while (number_of(text_of(number, 3)) < bound) number *= 1.001;
  return text_of(number, 3);
}

// What the options ask of a filter's size, for each width that is tried.
struct Wish {
  double capacity = 0;
  double max_capacity = 0;  // at least `capacity`
  double load = 0;          // at most, at these capacities
  double fpr = 0;           // 0: no bound
  bool any_width = false;
  bool turns_over = false;

  // The fewest doublings for which the initial blocks are no more than twice what `capacity` needs.
  [[nodiscard]] std::uint32_t fewest_doublings() const {
    return static_cast<std::uint32_t>(
        std::max(0.0, std::ceil(std::log2(max_capacity / capacity)) - 1));
  }
};

// A width and the doublings up to the maximal capacity, and the load that they allow.
struct Plan {
  int bits;
  std::uint32_t growth;
  double load;

  [[nodiscard]] double keys_a_block() const { return load * slots_of(bits); }
  // Initial blocks that the capacities need, not rounded.
  [[nodiscard]] double blocks(const Wish& wish) const {
    return std::max(wish.capacity, std::ldexp(wish.max_capacity, -static_cast<int>(growth))) /
           keys_a_block();
  }
};

double planned_rate(int bits, double load, std::uint32_t growth, bool turns_over = false) {
  const double second_probes = second_probe_share(bits, load, growth, turns_over);
  return false_positive_rate(bits, load, second_probes, growth);
}

// The load that is planned at most. With guest lanes a filter that is fuller does not keep its
// state where doublings have taken bits of the low byte (SIZING.md, "Filters that turn over").
double most_load(const Wish& wish, int bits, std::uint32_t growth) {
  const int bits_taken = static_cast<int>(growth) + 8 - fingerprint_bits(bits);
  if (!wish.turns_over || bits_taken < 1) return wish.load;
  return std::min(wish.load, bits_taken < 4 ? 0.90 : 0.87);
}

// The highest load up to the wanted one that keeps the rate below the wanted one after `growth`
// doublings; nothing if even half full is too much.
//
// Where the width is left open, this also keeps the promise of one failure in a million for keys
// that look the same. Fingerprint and bucket offset together have M = 2^bits * R values before a
// low byte of 0 becomes 1. Keys that agree in these and in home are of one kind; without an
// alternate there is room for k of a kind. With K keys per base block a kind has K / M keys on
// average, and one with the low byte 1 twice as many. So M (254 + 2^(k+1)) / 256 (K / M)^(k+1) /
// (k+1)! failures are expected: one in a million at alike_keys. Each doubling at full load
// multiplies that by 2^(k+1). (Kinds with an alternate have 2k slots and fail far more rarely.)
std::optional<double> highest_load(const Wish& wish, int bits, std::uint32_t growth) {
  double most = most_load(wish, bits, growth);
  if (wish.any_width) {
    most = std::min(most, std::ldexp(alike_keys(bits), -static_cast<int>(growth)) / slots_of(bits));
  }
  const double bound = wish.fpr * kRateMargin;
  if (most < kLowestLoad) return std::nullopt;
  const auto rate = [&](double load) { return planned_rate(bits, load, growth, wish.turns_over); };
  if (wish.fpr == 0 || rate(most) <= bound) return most;
  if (rate(kLowestLoad) > bound) return std::nullopt;
  double met = kLowestLoad;
  double missed = most;
  for (int i = 0; i < 50; ++i) {
    const double middle = (met + missed) / 2;
    (rate(middle) <= bound ? met : missed) = middle;
  }
  return met;
}

// The plan with the least product of initial and final blocks, which trade; else the smaller width.
std::optional<Plan> choose(const Wish& wish, std::span<const int> widths) {
  std::optional<Plan> best;
  double least = 0;
  for (const int bits : widths) {
    for (std::uint32_t growth = wish.fewest_doublings(); growth <= max_growth(bits); ++growth) {
      const std::optional<double> load = highest_load(wish, bits, growth);
      if (!load) break;
      const Plan plan{bits, growth, *load};
      const double blocks = plan.blocks(wish);
      const double product = std::ldexp(blocks * blocks, static_cast<int>(growth));
      if (!best || product < least) {
        best = plan;
        least = product;
      }
      if (std::ldexp(wish.capacity, static_cast<int>(growth)) >= wish.max_capacity) break;
    }
  }
  return best;
}

// The largest max_capacity / capacity that has a plan; 0: there is no plan even without growth.
double largest_ratio(const Wish& wish, std::span<const int> widths) {
  double ratio = 0;
  for (const int bits : widths) {
    for (std::uint32_t growth = 0; growth <= max_growth(bits); ++growth) {
      if (!highest_load(wish, bits, growth)) break;
      ratio = std::max(ratio, std::ldexp(2, static_cast<int>(growth)));
    }
  }
  return ratio;
}

// Says why there is no plan, and what is possible.
[[noreturn]] void refuse_all(const Wish& wish, std::span<const int> widths) {
  const double ratio = wish.max_capacity / wish.capacity;
  const std::uint32_t growth = wish.fewest_doublings();
  Wish at_any_rate = wish;
  at_any_rate.fpr = 0;
  std::optional<double> lowest;
  int lowest_bits = 0;
  for (const int bits : widths) {
    if (growth > max_growth(bits) || !highest_load(at_any_rate, bits, growth)) continue;
    const double rate = planned_rate(bits, kLowestLoad, growth, wish.turns_over) / kRateMargin;
    if (lowest && *lowest <= rate) continue;
    lowest = rate;
    lowest_bits = fingerprint_bits(bits);
  }
  const bool can_be_wider = !wish.any_width && widths[0] < 16;
  const char* const advice = can_be_wider ? "take more bits, or leave them to be chosen" : "";
  const char* const comma = can_be_wider ? ", " : "";
  const double had = largest_ratio(wish, widths);
  if (!lowest) {
    const std::string rate = had == 0 || wish.fpr == 0 ? "" : "at fpr " + as_given(wish.fpr) + ' ';
    refuse("max_capacity is ", ratio, " times capacity, but ", rate, "a filter of ",
           wish.any_width ? 16 : fingerprint_bits(widths.back()), "-bit fingerprints can grow to ",
           had == 0 ? largest_ratio(at_any_rate, widths) : had, " times at most: raise capacity",
           comma, advice);
  }
  if (had == 0 || ratio == 1) {
    refuse("fpr ", as_given(wish.fpr), " is below ", rounded_up(*lowest),
           ", the lowest false-positive rate of ", lowest_bits, "-bit fingerprints",
           can_be_wider ? ": " : "", advice);
  }
  refuse("fpr ", as_given(wish.fpr), " is below ", rounded_up(*lowest),
         ", the lowest false-positive rate of ", lowest_bits,
         "-bit fingerprints at a max_capacity of ", ratio, " times capacity; it holds ", "up to ",
         had, " times: raise capacity or fpr", comma, advice);
}

constexpr char kTooManyBlocks[] = " needs more than 2^40 blocks (64 TiB)";
static_assert(kMaxBlocks == std::uint64_t{1} << 40);

void check_capacities(std::uint64_t capacity, std::uint64_t max_capacity) {
  // Up to here every count is exact in a double; decide refuses more than kMaxBlocks.
  constexpr std::uint64_t kMaxCapacity = std::uint64_t{1} << 53;
  if (capacity == 0) refuse("capacity must be at least 1: the number of keys to make room for");
  if (capacity > kMaxCapacity) refuse("capacity", kTooManyBlocks);
  if (max_capacity > kMaxCapacity) refuse("max_capacity", kTooManyBlocks);
}

void check_rate_and_load(double fpr, double load) {
  if (!(fpr >= 0 && fpr < 1)) {
    refuse("fpr must be above 0 and below 1, or 0 for the default; it is ", as_given(fpr));
  }
  if (!(load >= kLowestLoad && load <= kFullLoad)) {
    refuse("load must be from ", kLowestLoad, " to ", kFullLoad, "; it is ", as_given(load));
  }
}

void check(const Options& options) {
  check_capacities(options.capacity, options.max_capacity);
  check_rate_and_load(options.fpr, options.load);
  if (!(options.shrink_below >= 0 && options.shrink_below <= kMostShrinkLoad)) {
    refuse("shrink_below must be from 0 to ", kMostShrinkLoad, "; it is ",
           as_given(options.shrink_below));
  }
  if (options.bits != 0 && !is_width(options.bits)) {
    refuse("bits must be 8, 9, 10, 12 or 16, or 0 to choose by fpr; it is ", options.bits);
  }
}

}  // namespace

std::uint64_t safe_keys(int bits, const Geometry& geometry) {
  const std::uint64_t bases = geometry.base_blocks;
  const double load = safe_load(bits, bases);
  const double slots = static_cast<double>(bases) * slots_of(bits);
  if (geometry.growth == 0) return static_cast<std::uint64_t>(load * slots);
  // Keys fall on the 2^g children by chance: a Poisson number of mean m on each, its variance
  // reduced by the child's share. With a probability of 1 - 1e-6 none may get more than kChildFull
  // of its slots. The largest gets at most m + z sigma + z^2 / 6: z is the quantile of a normal
  // distribution at 1e-6 / 2^g, the last term Poisson's longer tail. This solves for the root of m.
  const double growth = geometry.growth;
  const double z = 4.76 + 0.13 * growth;
  const double z_sigma = z * std::sqrt(1 - std::exp2(-growth));
  const double room = (is_maplet(bits) ? load : kChildFull) * slots - z * z / 6;
  const double root = (std::sqrt(z_sigma * z_sigma + 4 * room) - z_sigma) / 2;
  // Of fingerprints: at most 2^(bits - g) of 2^bits - 2^(bits - 8) (8 and 12 bits) or 2^bits - 1.
  const double mean = root * root * (fingerprint_bits(bits) >= 16 ? 1 : 255.0 / 256);
  return static_cast<std::uint64_t>(std::min(mean, load * slots) * std::exp2(growth));
}

std::uint64_t grown_capacity(int bits, const Geometry& geometry, std::uint64_t capacity) {
  return std::max(capacity, std::min(2 * capacity, safe_keys(bits, geometry)));
}

std::uint64_t shrunk_capacity(int bits, const Geometry& geometry, std::uint64_t capacity) {
  const std::uint32_t growth = geometry.growth + 1;
  if (capacity < safe_keys(bits, {geometry.base_blocks, growth})) {
    return std::max<std::uint64_t>(1, capacity / 2);
  }
  return std::min(capacity, safe_keys(bits, geometry));
}

Shape Size::shape(std::uint64_t seed) const {
  Shape shape{bits, {blocks, 0, placement_of(turns_over, blocks)}, seed, capacity, max_capacity};
  while (begins_grown && shape.geometry.growth < growth) {
    ++shape.geometry.growth;
    shape.capacity = grown_capacity(bits, shape.geometry, shape.capacity);
  }
  return shape;
}

std::uint64_t least_capacity(int bits, const Geometry& geometry) {
  const auto slots = static_cast<double>(geometry.base_blocks * slots_of(bits));
  auto capacity = static_cast<std::uint64_t>(kLowestLoad * slots);
  for (std::uint32_t growth = 1; growth <= geometry.growth; ++growth) {
    capacity = grown_capacity(bits, {geometry.base_blocks, growth}, capacity);
  }
  return capacity;
}

double second_probe_share(int bits, double load, unsigned growth, bool turns_over) {
  // Of filters that turn over: steady from the second lifetime on, within a tenth at 80 to 93 %.
  if (is_expiring(bits)) {
    return bits == expiring_layout(8) ? 0.26 * std::exp(11 * (load - kFullLoad))
                                      : 0.286 * std::exp(10.4 * (load - kFullLoad));
  }
  // Measured at 80, 85, 90 and 95 % of 4096 blocks: an exponential in the load, within a tenth.
  struct Fit {
    double at_full;
    double slope;
    [[nodiscard]] double at(double load) const {
      return at_full * std::exp(slope * (load - kFullLoad));
    }
  };
  if (is_maplet(bits)) {
    // Within a thirtieth. Grown maplets of narrow fingerprints, of 512 base blocks, keep more
    // marks.
    constexpr std::array<Fit, MapletLayouts::kNumbers.size()> kMapletFits = {{{0.0906, 16.2},
                                                                              {0.0926, 14.4},
                                                                              {0.0934, 14.4},
                                                                              {0.1247, 13.1},
                                                                              {0.1532, 11.2},
                                                                              {0.2159, 8.7}}};
    const double below = kFullLoad - load;
    const double power = fingerprint_bits(bits) == 8 ? std::min(1.0, 0.82 + 1.7 * below)
                                                     : std::min(0.87, 0.6 + 1.9 * below);
    return kMapletFits[index_of_maplet(bits)].at(load) * std::pow(1 + growth, power);
  }
  constexpr std::array<Fit, kFilterWidths.size()> kFits = {
      {{0.068, 19}, {0.0765, 18}, {0.081, 17.3}, {0.090, 16.3}, {0.092, 14.5}}};
  // The same after 32 turnovers of a filter with guest lanes, at 80, 85, 90, 93 and 95 %: within a
  // sixth, and seldom below.
  constexpr std::array<Fit, kFilterWidths.size()> kLivedFits = {
      {{0.125, 21.3}, {0.135, 19.8}, {0.143, 19.8}, {0.155, 18.0}, {0.149, 14.8}}};
  const std::size_t index = index_of_width(bits);
  const double fresh = (turns_over ? kLivedFits[index] : kFits[index]).at(load);
  // A block keeps the highest mark from all its past fillings. Measured on 2000 base blocks through
  // up to 8 doublings, each at this load: within a tenth at 80 to 95 %.
  const double power = std::min(1.0, 0.57 + 2 * (kFullLoad - load));
  return fresh * std::pow(1 + growth, power);
}

double false_positive_rate(int bits, double load, double second_probes, unsigned growth) {
  return visit_any_layout(bits, [&](auto layout) {
    const double fingerprints = std::ldexp(layout.kFingerprints, -static_cast<int>(growth));
    const double of_others = layout.kHasValues && !layout.kExpires
                                 ? std::min(0.7 * second_probes, 0.09)
                                 : std::min(second_probes / 2, 0.03);
    const double blocks = 1 + second_probes + of_others;
    const double looked_at = layout.kChoices * load * blocks;
    return -std::expm1(-looked_at / fingerprints);
  });
}

namespace {

// The size that has room for `capacity` keys, and grows to `max_capacity` unless that is less.
Size decide(std::uint64_t capacity, std::uint64_t max_capacity, Wish wish,
            std::span<const int> widths) {
  const bool grows = max_capacity > capacity;
  max_capacity = std::max(max_capacity, capacity);
  wish.capacity = static_cast<double>(capacity);
  wish.max_capacity = static_cast<double>(max_capacity);
  const std::optional<Plan> plan = choose(wish, widths);
  if (!plan) refuse_all(wish, widths);

  // The capacity that `blocks` blocks may promise before any doubling.
  const auto capacity_of = [&](std::uint64_t blocks) {
    const auto at_load =
        static_cast<std::uint64_t>(plan->keys_a_block() * static_cast<double>(blocks));
    return std::min(safe_keys(plan->bits, {blocks, 0}), at_load);
  };
  // After how many doublings they may promise the maximal capacity; nothing if that takes more than
  // planned, or if they are too few for the initial capacity.
  const auto doublings = [&](std::uint64_t blocks) -> std::optional<std::uint32_t> {
    std::uint64_t promised = capacity_of(blocks);
    if (promised < capacity) return std::nullopt;
    for (std::uint32_t growth = 0; growth <= plan->growth; ++growth) {
      if (growth != 0) promised = grown_capacity(plan->bits, {blocks, growth}, promised);
      if (promised >= max_capacity) return growth;
    }
    return std::nullopt;
  };
  auto blocks = std::max(least_blocks(plan->bits), static_cast<std::uint64_t>(plan->blocks(wish)));
  std::optional<std::uint32_t> growth = doublings(blocks);
  while (!growth) growth = doublings(++blocks);
  if (blocks > kMaxBlocks >> *growth) {
    refuse(grows ? "max_capacity" : "capacity", kTooManyBlocks);
  }
  return {plan->bits, blocks, capacity_of(blocks), grows ? max_capacity : 0, *growth};
}

// The fewest keys for which a filter of this capacity can be folded: as many halvings as keep the
// wanted rate at the wanted load, and leave so many first blocks that a doubling doubles the
// capacity (safe_keys).
constexpr double kLeastFoldedBlocks = 800;
std::uint64_t least_folded(std::uint64_t capacity, Wish wish, std::span<const int> widths) {
  wish.max_capacity = static_cast<double>(capacity);
  for (std::uint32_t times = max_growth(16); times != 0; --times) {
    wish.capacity = std::ceil(std::ldexp(wish.max_capacity, -static_cast<int>(times)));
    const std::optional<Plan> plan = choose(wish, widths);
    if (plan && plan->load >= most_load(wish, plan->bits, plan->growth) &&
        plan->blocks(wish) >= kLeastFoldedBlocks) {
      return static_cast<std::uint64_t>(wish.capacity);
    }
  }
  return capacity;
}

}  // namespace

Size decide_size(const Options& options) {
  check(options);
  const std::span<const int> widths =
      options.bits == 0 ? std::span(kFilterWidths) : std::span(&options.bits, 1);
  const bool by_default = options.fpr == 0 && options.bits == 0;
  const Wish wish{.load = options.load,
                  .fpr = by_default ? kDefaultFpr : options.fpr,
                  .any_width = options.bits == 0,
                  .turns_over = options.turns_over};
  std::uint64_t least = options.capacity;
  if (options.may_fold && options.max_capacity <= least) least = least_folded(least, wish, widths);
  Size size = decide(least, std::max(options.capacity, options.max_capacity), wish, widths);
  size.turns_over = options.turns_over;
  size.begins_grown = options.may_fold;
  return size;
}

std::uint64_t bytes_for(const Options& options) {
  return decide_size(options).shape(0).stored_bytes();
}

std::uint64_t capacity_for(std::uint64_t bytes, double fpr) {
  if (fpr == 0) refuse("fpr must be above 0");
  Options options{.capacity = 1, .fpr = fpr};
  if (bytes_for(options) > bytes) return 0;
  // Between what fits and what does not. More blocks than there may be are refused.
  const auto fits = [&](std::uint64_t keys) {
    options.capacity = keys;
    try {
      return bytes_for(options) <= bytes;
    } catch (const std::invalid_argument&) {
      return false;
    }
  };
  std::uint64_t least = 1;
  std::uint64_t most = std::min(bytes / kBlockBytes, kMaxBlocks) * slots_of(8) + 1;
  while (most - least > 1) {
    const std::uint64_t middle = least + (most - least) / 2;
    (fits(middle) ? least : most) = middle;
  }
  return least;
}

Options Options::within(std::uint64_t bytes, double fpr) {
  const std::uint64_t capacity = capacity_for(bytes, fpr);
  if (capacity == 0) refuse(bytes, " bytes are too few for a filter of this rate");
  return {.capacity = capacity, .fpr = fpr};
}

unsigned ttl_ticks_of(const ExpiringOptions& options) {
  return options.life.given().value_or(options.ttl_ticks);
}

Size decide_expiring_size(const ExpiringOptions& options) {
  check_capacities(options.capacity, 0);
  if (options.bits != 0 && options.bits != 8 && options.bits != 12) {
    refuse("bits must be 8 or 12, or 0 to choose by fpr; it is ", options.bits);
  }
  const unsigned ttl = ttl_ticks_of(options);
  if (ttl < 1 || ttl > ExpiringFilter::kMaxTtlTicks) {
    refuse("ttl_ticks must be from 1 to ", ExpiringFilter::kMaxTtlTicks, "; it is ", ttl);
  }
  check_rate_and_load(options.fpr, options.load);
  Wish wish{.capacity = static_cast<double>(options.capacity),
            .max_capacity = static_cast<double>(options.capacity),
            .load = options.load,
            .fpr = options.fpr};
  if (options.fpr == 0 && options.bits == 0) wish.fpr = kDefaultExpiringFpr;
  constexpr std::array kLayouts = {expiring_layout(8), expiring_layout(12)};
  const int given = expiring_layout(options.bits);
  const auto layouts = options.bits == 0 ? std::span<const int>(kLayouts) : std::span(&given, 1);
  const std::optional<Plan> plan = choose(wish, layouts);
  if (!plan) {
    refuse("fpr ", as_given(options.fpr), " is below ",
           rounded_up(planned_rate(layouts.back(), kLowestLoad, 0) / kRateMargin),
           ", the lowest false-positive rate of ", options.bits == 8 ? "8" : "12",
           "-bit fingerprints",
           options.bits == 8 ? ": take more bits, or leave them to be chosen" : "");
  }
  const auto capacity_of = [&](std::uint64_t blocks) {
    const double load =
        std::min(plan->load, blocks < kFullExpiringBlocks ? kSmallExpiringLoad : kFullLoad);
    return static_cast<std::uint64_t>(load * static_cast<double>(blocks) * slots_of(plan->bits));
  };
  auto blocks = std::max(kLeastExpiringBlocks, static_cast<std::uint64_t>(plan->blocks(wish)));
  while (capacity_of(blocks) < options.capacity) ++blocks;
  if (blocks > kMaxBlocks) refuse("capacity", kTooManyBlocks);
  return {plan->bits, blocks, capacity_of(blocks), 0, 0};
}

Size decide_maplet_size(const MapletOptions& options) {
  check_capacities(options.capacity, options.max_capacity);
  check_rate_and_load(options.fpr, kFullLoad);
  std::vector<int> layouts;
  for (const int number : MapletLayouts::kNumbers) {
    if (value_bits_of(number) == options.value_bits) layouts.push_back(number);
  }
  if (layouts.empty()) refuse("value_bits must be 4, 8, 16 or 40; it is ", options.value_bits);
  Size size = decide(options.capacity, options.max_capacity,
                     {.load = kFullLoad, .fpr = options.fpr}, layouts);
  size.begins_grown = options.may_fold;
  return size;
}

}}  // namespace nestline
