// See seen_plan.h.
#include "lib/command/uniq/seen_plan.h"

#include <array>

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

}  // namespace

double least_fpr(const SeenOptions& options) {
  return options.capacity == 0 && options.window == 0 ? 1e-6 : 1e-8;
}

GenerationPlan plan_generation(const SeenOptions& options, unsigned number) {
  if (options.window > 0) {
    return {options.window, plan_layers(options, options.window, kWindowMargin * options.fpr)};
  }
  if (options.capacity > 0) {
    return {options.capacity, plan_layers(options, options.capacity, options.fpr)};
  }
  const std::uint64_t capacity = std::uint64_t{1} << (kFirstBits + number);
  const double share = 4.0 / ((number + 4.0) * (number + 5.0));
  return {capacity, plan_layers(options, capacity, share * options.fpr)};
}

}  // namespace nestline::command
