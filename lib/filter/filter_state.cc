#include "lib/filter/filter_state.h"

#include <algorithm>

#include "lib/filter/sizing.h"

namespace nestline {

std::uint64_t slots(const Filter::State& state) {
  return state.view.geometry.blocks() * slots_of(state.bits);
}

double load_factor(const Filter::State& state, std::uint64_t keys) {
  return static_cast<double>(keys) / static_cast<double>(slots(state));
}

namespace {

// The part of a block's absent keys that its mark covers. Low bytes are equally likely from 0 on,
// before 0 becomes 1; growth has fixed the highest bits of those of narrow fingerprints.
double covered_part(int bits, const Geometry& geometry, std::uint64_t block, std::uint32_t mark) {
  const int fixed = std::max(0, static_cast<int>(geometry.growth) - (bits - 8));
  const std::uint32_t values = 256u >> fixed;
  const std::uint32_t lowest = static_cast<std::uint32_t>(block) % (1u << fixed) * values;
  if (mark == 0 || mark < lowest) return 0;
  return static_cast<double>(std::min(mark - lowest + 1, values)) / values;
}

}  // namespace

double expected_fpr(const Filter::State& state, std::uint64_t keys) {
  constexpr std::uint64_t kSample = 4096;
  const Geometry& geometry = state.view.geometry;
  const std::uint64_t sample = std::min(kSample, geometry.blocks());
  double second_probes = 0;
  for (std::uint64_t i = 0; i < sample; ++i) {
    // At random, since a regular choice would take the same child of each base.
    const std::uint64_t block =
        sample == geometry.blocks()
            ? i
            : multiply_high(mix_integer(i, state.view.secrets), geometry.blocks());
    second_probes += covered_part(state.bits, geometry, block, state.view.blocks[block].mark());
  }
  // One key in base_blocks has no other block.
  second_probes *=
      (1 - 1 / static_cast<double>(geometry.base_blocks)) / static_cast<double>(sample);
  return false_positive_rate(state.bits, load_factor(state, keys), second_probes, geometry.growth);
}

}  // namespace nestline
