#include "sizing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>

#include "geometry.h"
#include "layout.h"

namespace nestline {
namespace {

// The load that is promised from 8 blocks on, and below: the share of their slots that 1, 2, ... 7
// blocks hold in all but one of a million filters (bench/fill_limits.cc).
constexpr double kFullLoad = 0.95;
constexpr std::array<double, 7> kSmallLoad = {0.75, 0.80, 0.85, 0.90, 0.90, 0.93, 0.94};

// A rate is met by lowering the load, but not below half: the next width then needs less memory.
constexpr double kLowestLoad = 0.5;

// Sizes are decided for a rate this much below the wanted one, so that what is measured on one
// filter is below it too.
constexpr double kRateMargin = 0.97;

constexpr double kDefaultFpr = 0.01;

template <typename... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  std::ostringstream sentence;
  (sentence << ... << parts);
  throw std::invalid_argument(sentence.str());
}

double slots_of(int bits) {
  return visit_layout(bits, [](auto layout) { return layout.kSlots; });
}

double fresh_rate(int bits, double load) {
  return false_positive_rate(bits, load, second_probe_share(bits, load), 0);
}

// The highest load up to full that keeps the rate below `fpr`; nothing if half full is too much.
// `fpr` 0: no bound.
std::optional<double> highest_load(int bits, double fpr) {
  const double bound = fpr * kRateMargin;
  if (fpr == 0 || fresh_rate(bits, kFullLoad) <= bound) return kFullLoad;
  if (fresh_rate(bits, kLowestLoad) > bound) return std::nullopt;
  double met = kLowestLoad;
  double missed = kFullLoad;
  for (int i = 0; i < 50; ++i) {
    const double middle = (met + missed) / 2;
    (fresh_rate(bits, middle) <= bound ? met : missed) = middle;
  }
  return met;
}

// The width that needs the fewest bits a key at the highest load that it meets `fpr` at; the
// smaller one when two need the same. By density, not by blocks: so the choice does not hang on how
// a capacity falls into blocks.
std::optional<int> choose_bits(double fpr) {
  std::optional<int> best;
  double best_keys_a_block = 0;
  for (const int bits : {8, 12, 16}) {
    const std::optional<double> load = highest_load(bits, fpr);
    if (load && *load * slots_of(bits) > best_keys_a_block) {
      best = bits;
      best_keys_a_block = *load * slots_of(bits);
    }
  }
  return best;
}

void check(const Options& options) {
  // Up to here every count is exact in a double; more blocks than kMaxBlocks are refused below.
  constexpr std::uint64_t kMaxCapacity = std::uint64_t{1} << 53;
  if (options.capacity == 0) refuse("capacity must be at least 1: the keys the filter has to hold");
  if (options.capacity > kMaxCapacity) refuse("capacity must be at most 2^53");
  if (!(options.fpr >= 0 && options.fpr < 1)) {
    refuse("fpr must be above 0 and below 1, or 0 for the default; it is ", options.fpr);
  }
  if (options.bits != 0 && options.bits != 8 && options.bits != 12 && options.bits != 16) {
    refuse("bits must be 8, 12 or 16, or 0 to choose by fpr; it is ", options.bits);
  }
  if (options.max_capacity > options.capacity) {
    refuse("max_capacity must not be above capacity: this version does not grow filters");
  }
}

}  // namespace

std::uint64_t safe_keys(int bits, const Geometry& geometry) {
  const std::uint64_t blocks = geometry.blocks();
  const double load = blocks <= kSmallLoad.size() ? kSmallLoad[blocks - 1] : kFullLoad;
  return static_cast<std::uint64_t>(load * static_cast<double>(blocks) * slots_of(bits));
}

std::uint64_t grown_capacity(int bits, const Geometry& geometry, std::uint64_t capacity) {
  return std::max(capacity, std::min(2 * capacity, safe_keys(bits, geometry)));
}

double second_probe_share(int bits, double load) {
  // Measured at 80, 85, 90 and 95 % of 4096 blocks: an exponential in the load, within a tenth.
  struct Fit {
    double at_full;
    double slope;
  };
  const Fit fit = bits == 8 ? Fit{0.068, 19} : bits == 12 ? Fit{0.090, 16.3} : Fit{0.092, 14.5};
  return fit.at_full * std::exp(fit.slope * (load - kFullLoad));
}

double false_positive_rate(int bits, double load, double second_probes, unsigned growth) {
  return visit_layout(bits, [&](auto layout) {
    const double fingerprints = std::ldexp(layout.kFingerprints, -static_cast<int>(growth));
    const double blocks = 1 + second_probes + std::min(second_probes / 2, 0.03);
    const double looked_at = layout.kLanes * load * blocks;
    return -std::expm1(looked_at * std::log1p(-1 / fingerprints));
  });
}

Size decide_size(const Options& options) {
  check(options);
  const double fpr = options.fpr == 0 && options.bits == 0 ? kDefaultFpr : options.fpr;
  const int bits = options.bits != 0 ? options.bits : choose_bits(fpr).value_or(16);
  const std::optional<double> load = highest_load(bits, fpr);
  if (!load) {
    refuse("fpr ", fpr, " is below ", fresh_rate(bits, kLowestLoad) / kRateMargin,
           ", the lowest false-positive rate of ", bits, "-bit fingerprints",
           bits == 16 ? "" : ": take more bits, or leave them to be chosen");
  }
  const double keys_a_block = *load * slots_of(bits);
  const auto holds = [&](std::uint64_t blocks) {
    const auto at_load = static_cast<std::uint64_t>(keys_a_block * static_cast<double>(blocks));
    return std::min(safe_keys(bits, Geometry{blocks, 0}), at_load);
  };
  std::uint64_t blocks = std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(static_cast<double>(options.capacity) / keys_a_block));
  while (holds(blocks) < options.capacity) ++blocks;
  if (blocks > kMaxBlocks) refuse("capacity needs more than 2^40 blocks (64 TiB)");
  return {bits, blocks, holds(blocks)};
}

}  // namespace nestline
