// See seen_plan.h.
#include "lib/command/uniq/seen_plan.h"

#include <array>
#include <utility>

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
constexpr std::array<std::array<Width, 2>, 4> kPairs = {
    {{k8, k12}, {k8, k16}, {k12, k16}, {k16, k16}}};

Options layer(const SeenOptions& options, std::uint64_t capacity, Width width) {
  return {.capacity = capacity,
          .fpr = width.fpr,
          .bits = width.bits,
          .load = kLoad,
          .seed = options.seed};
}

std::vector<Options> plan_layers(const SeenOptions& options, std::uint64_t capacity, double fpr) {
  // Width 0: the library chooses.
  if (fpr >= k16.fpr) return {layer(options, capacity, {0, fpr})};
  for (const auto& [first, second] : kPairs) {
    if (first.fpr * second.fpr <= fpr) {
      return {layer(options, capacity, first), layer(options, capacity, second)};
    }
  }
  return {layer(options, capacity, k16), layer(options, capacity, k16)};
}

ExpiringOptions expiring_layer(const SeenOptions& options, std::uint64_t capacity, Width width) {
  return {.capacity = capacity,
          .fpr = width.fpr,
          .bits = width.bits,
          .load = kLoad,
          .seed = options.seed};
}

std::vector<ExpiringOptions> plan_expiring(const SeenOptions& options, std::uint64_t capacity,
                                           double fpr) {
  const double fresh = kExpiringMargin * fpr;
  if (fresh >= kLeastExpiring) return {expiring_layer(options, capacity, {0, fresh})};
  for (const auto& [first, second] :
       {std::pair(kExpiring8, kExpiring8), std::pair(kExpiring8, kExpiring12)}) {
    if (first.fpr * second.fpr <= fpr) {
      return {expiring_layer(options, capacity, first), expiring_layer(options, capacity, second)};
    }
  }
  return {expiring_layer(options, capacity, kExpiring12),
          expiring_layer(options, capacity, kExpiring12)};
}

// Of a set that grows.
std::uint64_t capacity_of(unsigned number) { return std::uint64_t{1} << (kFirstBits + number); }
double share_of(unsigned number) { return 4.0 / ((number + 4.0) * (number + 5.0)); }

}  // namespace

double least_fpr(const SeenOptions& options) {
  if (options.within > 0) return options.capacity == 0 ? 2e-4 : 2e-6;
  return options.capacity == 0 && options.window == 0 ? 1e-6 : 1e-8;
}

GenerationPlan plan_generation(const SeenOptions& options, unsigned number) {
  if (options.window > 0) {
    return {options.window, plan_layers(options, options.window, kWindowMargin * options.fpr)};
  }
  if (options.capacity > 0) {
    return {options.capacity, plan_layers(options, options.capacity, options.fpr)};
  }
  const std::uint64_t capacity = capacity_of(number);
  return {capacity, plan_layers(options, capacity, share_of(number) * options.fpr)};
}

RecentPlan plan_recent(const SeenOptions& options, unsigned number) {
  const bool grows = options.capacity == 0;
  const std::uint64_t capacity = grows ? capacity_of(number) : options.capacity;
  const double share = grows ? share_of(number) : 1;
  return {capacity, plan_expiring(options, capacity, share * options.fpr)};
}

}  // namespace nestline::command
