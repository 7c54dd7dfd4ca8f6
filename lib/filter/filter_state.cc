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

double expected_fpr(const Filter::State& state, std::uint64_t keys) {
  constexpr std::uint64_t kSample = 4096;
  const Geometry& geometry = state.view.geometry;
  const std::uint64_t sample = std::min(kSample, geometry.blocks());
  std::uint64_t marks = 0;
  for (std::uint64_t i = 0; i < sample; ++i) {
    // i * blocks / sample without overflow.
    const std::uint64_t whole = geometry.blocks() / sample * i;
    marks += state.view.blocks[whole + geometry.blocks() % sample * i / sample].mark();
  }
  // The 255 classes are equally likely: a key's home sends it on with a probability of mark / 255,
  // if it has another block. One key in base_blocks has none.
  const double second_probes = static_cast<double>(marks) /
                               (static_cast<double>(sample) * (kSpillClasses)) *
                               (1 - 1 / static_cast<double>(geometry.base_blocks));
  return false_positive_rate(state.bits, load_factor(state, keys), second_probes, geometry.growth);
}

}  // namespace nestline
