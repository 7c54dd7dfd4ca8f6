#include "lib/faces/command/uniq/seen_plan.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <type_traits>

namespace nestline { inline namespace v0_3 { namespace command {
namespace {

constexpr double kLoad = 0.8;
constexpr double kWindowMargin = 0.75;
constexpr unsigned kFirstBits = 22;

// A width, and a rate that it keeps when it is filled to kLoad: see docs/SIZING.md.
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

}  // namespace

double least_fpr(const SeenOptions& options) {
  if (options.within > 0) return options.capacity == 0 ? 2e-4 : 2e-6;
  return options.capacity == 0 && options.window == 0 ? 1e-6 : 1e-8;
}

// One layer if it can keep the rate, otherwise the first pair that does, or the last one.
template <typename LayerOptions>
GenerationPlan<LayerOptions> plan_generation(const SeenOptions& options, unsigned number) {
  constexpr bool kExpires = std::is_same_v<LayerOptions, ExpiringOptions>;
  std::uint64_t capacity = options.window + options.capacity;  // one of them is 0
  double fpr = (options.window > 0 ? kWindowMargin : 1) * options.fpr;
  if (capacity == 0) {
    capacity = std::uint64_t{1} << (kFirstBits + number);
    fpr = 4.0 / ((number + 4.0) * (number + 5.0)) * options.fpr;
  }
  const auto layer = [&](Width width) {
    return LayerOptions{.capacity = capacity,
                        .fpr = width.fpr,
                        .bits = width.bits,
                        .load = kLoad,
                        .seed = options.seed};
  };
  const double alone = kExpires ? kExpiringMargin * fpr : fpr;
  // The library chooses the width.
  if (alone >= (kExpires ? kLeastExpiring : k16.fpr)) return {capacity, {layer({0, alone})}};
  const std::span<const Pair> pairs =
      kExpires ? std::span<const Pair>(kExpiringPairs) : std::span<const Pair>(kPairs);
  const auto keeps = [fpr](const Pair& pair) { return pair[0].fpr * pair[1].fpr <= fpr; };
  const auto found = std::find_if(pairs.begin(), pairs.end() - 1, keeps);
  return {capacity, {layer((*found)[0]), layer((*found)[1])}};
}

template GenerationPlan<Options> plan_generation(const SeenOptions&, unsigned);
template GenerationPlan<ExpiringOptions> plan_generation(const SeenOptions&, unsigned);

}}}  // namespace nestline::command
