// What two filters have in common, and how much of it chance explains.
//
// Two keys look the same if their homes, fingerprints and bucket offsets are equal, or if the home
// of one is the other block of the other and a second look, or a resident away from home, brings
// them together. So the keys of a filter fall on so many kinds, and of each kind a Poisson number:
// chance makes as many matches as the lesser of two such numbers is, in all kinds.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "lib/filters/filter/blocks.h"
#include "lib/filters/filter/folding.h"
#include "lib/filters/filter/growth.h"
#include "nestline/filter.h"

namespace nestline { inline namespace v0_3 {
namespace {

// Of two filters that have not doubled equally often the larger one is folded first; where its keys
// leave no room for that, a copy of the other doubles.
Alike comparable(const Blocks& one, const Blocks& other) {
  const bool is_one = one.view.geometry.growth > other.view.geometry.growth;
  const Blocks& larger = is_one ? one : other;
  const Blocks& smaller = is_one ? other : one;
  Alike both = folded_alike(one, other, larger.size);
  const std::uint32_t growth = larger.view.geometry.growth;
  Shape doubled = smaller.shape();
  doubled.geometry.growth = growth;
  if (both.made || !can_merge(larger.shape(), doubled, nullptr)) return both;
  for (const Blocks* last = &smaller; last->view.geometry.growth != growth;) {
    both.made = grown(*last);
    last = both.made.get();
    (is_one ? both.other : both.one) = last;
  }
  return both;
}

std::uint64_t common(const Blocks& one, const Blocks& other, bool any) {
  std::string why;
  if (!can_merge(one.shape(), other.shape(), &why)) {
    throw std::invalid_argument("filters can be compared only if they could be merged: " + why);
  }
  return one.engine->of_filters().count_common(one.view, other.view, any);
}

// Kinds of keys, as many as would be equally likely: a low byte of 1 is twice as likely as others.
// Keys of crossed homes meet where one is away, as about half of those are that need a second look,
// or where the mark of either home covers them. Marks vary as exponential numbers do, of which the
// lesser of two has this mean.
double kinds_of(const Blocks& one, const Blocks& other) {
  const double a = second_probes_of(one), b = second_probes_of(other);
  const double away = std::min(a / 2, 0.03) + std::min(b / 2, 0.03);
  const double crossed = std::min(1.0, away + a + b - (a * b == 0 ? 0 : a * b / (a + b)));
  const double lowest_bytes = 65536.0 / (254 + 4);
  return visit_layout(one.bits, [&](auto layout) {
    return std::ldexp(lowest_bytes, layout.kBits - 8) * layout.kSlotsPerSegment *
           static_cast<double>(one.view.geometry.base_blocks) / (1 + crossed);
  });
}

// The mean of the lesser of two Poisson numbers, both seldom above 2: that both are above 0, and
// above 1.
double lesser_of(double mean, double other) {
  return std::expm1(-mean) * std::expm1(-other) + mean * mean * other * other / 4;
}

}  // namespace

bool Filter::may_overlap(const Filter& other) const {
  const Alike both = comparable(*state_, *other.state_);
  return common(*both.one, *both.other, true) != 0;
}

std::vector<std::size_t> Filter::overlapping(std::span<const Filter* const> others) const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < others.size(); ++i) {
    if (may_overlap(*others[i])) found.push_back(i);
  }
  return found;
}

Overlap Filter::count_common(const Filter& other) const {
  const Alike both = comparable(*state_, *other.state_);
  const std::uint64_t matches = common(*both.one, *both.other, false);
  const double kinds = kinds_of(*both.one, *both.other);
  const auto keys = static_cast<double>(size()), other_keys = static_cast<double>(other.size());
  // Where this many keys are common; they take no part in what chance does.
  const auto by_chance = [&](double common) {
    return kinds * lesser_of((keys - common) / kinds, (other_keys - common) / kinds);
  };
  double low = 0;
  double high = std::min({keys, other_keys, static_cast<double>(matches)});
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (middle + by_chance(middle) < static_cast<double>(matches) ? low : high) = middle;
  }
  // One common key more is that much more of a match.
  const double slope = std::max(0.1, 1 - (keys + other_keys - 2 * high) / kinds);
  // The formula is off by 1.5 to 2.5 % at loads of 0.85 to 0.9, else by less than 1 %.
  const double chance = by_chance(high);
  return {matches, by_chance(0), high, std::sqrt(chance + 0.0004 * chance * chance) / slope};
}

}}  // namespace nestline
