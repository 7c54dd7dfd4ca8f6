// See seen_plan.h.
#include "lib/command/uniq/seen_plan.h"

#include <array>
#include <span>

namespace nestline::command {
namespace {

constexpr double kLoad = 0.8;
constexpr double kWindowMargin = 0.75;
constexpr unsigned kFirstBits = 22;

// A width, and a rate that a filter of this width keeps when it is filled to kLoad: see
// docs/SIZING.md.
struct Width {
  int bits;
  double fpr;
};
constexpr Width k8{8, 0.0128};
constexpr Width k12{12, 0.00081};
constexpr Width k16{16, 0.000064};

// The same for expiring filters whose keys come and die: a tenth more than in a fresh filter.
constexpr Width kExpiring8{8, 0.014};
constexpr Width kExpiring12{12, 0.00112};
constexpr double kExpiringMargin = 0.9;
constexpr double kLeastExpiring = 0.0008;  // of 12 bits, in a fresh filter at a lower load

// In the order of the memory that they take.
using Pair = std::array<Width, 2>;
constexpr std::array<Pair, 4> kPairs = {{{k8, k12}, {k8, k16}, {k12, k16}, {k16, k16}}};
constexpr std::array<Pair, 3> kExpiringPairs = {
    {{kExpiring8, kExpiring8}, {kExpiring8, kExpiring12}, {kExpiring12, kExpiring12}}};

// One layer with a rate of `alone`, where that is not below `least`; otherwise the first pair that
// keeps `fpr`, or the last one.
template <typename Layer>
GenerationPlan<Layer> plan(const SeenOptions& options, std::uint64_t capacity, double fpr,
                           double alone, double least, std::span<const Pair> pairs) {
  const auto layer = [&](Width width) {
    return Layer{.capacity = capacity,
                 .fpr = width.fpr,
                 .bits = width.bits,
                 .load = kLoad,
                 .seed = options.seed};
  };
  if (alone >= least) return {capacity, {layer({0, alone})}};  // the library chooses the width
  for (const auto& [first, second] : pairs) {
    if (first.fpr * second.fpr <= fpr) return {capacity, {layer(first), layer(second)}};
  }
  return {capacity, {layer(pairs.back()[0]), layer(pairs.back()[1])}};
}

// Of a set that grows.
std::uint64_t capacity_of(unsigned number) { return std::uint64_t{1} << (kFirstBits + number); }
double share_of(unsigned number) { return 4.0 / ((number + 4.0) * (number + 5.0)); }

}  // namespace

double least_fpr(const SeenOptions& options) {
  if (options.within > 0) return options.capacity == 0 ? 2e-4 : 2e-6;
  return options.capacity == 0 && options.window == 0 ? 1e-6 : 1e-8;
}

GenerationPlan<Options> plan_generation(const SeenOptions& options, unsigned number) {
  std::uint64_t capacity = options.window + options.capacity;  // one of them is 0
  double fpr = (options.window > 0 ? kWindowMargin : 1) * options.fpr;
  if (capacity == 0) {
    capacity = capacity_of(number);
    fpr = share_of(number) * options.fpr;
  }
  return plan<Options>(options, capacity, fpr, fpr, k16.fpr, kPairs);
}

GenerationPlan<ExpiringOptions> plan_recent(const SeenOptions& options, unsigned number) {
  const bool grows = options.capacity == 0;
  const std::uint64_t capacity = grows ? capacity_of(number) : options.capacity;
  const double fpr = (grows ? share_of(number) : 1) * options.fpr;
  return plan<ExpiringOptions>(options, capacity, fpr, kExpiringMargin * fpr, kLeastExpiring,
                               kExpiringPairs);
}

}  // namespace nestline::command
