// What the references share: a hash, and a batch form that prefetches.
#ifndef NESTLINE_BENCH_FILTERS_OTHERS_PREFETCHED_H_
#define NESTLINE_BENCH_FILTERS_OTHERS_PREFETCHED_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace nestline::bench {

// As many operations as nestline's own mixing: two xorshift rounds with one multiplication each.
inline std::uint64_t mixed(std::uint64_t key) {
  key ^= key >> 32;
  key *= 0x9fb21c651e98df25u;
  key ^= key >> 32;
  key *= 0x9fb21c651e98df25u;
  return key ^ key >> 32;
}

// Calls visit(i, place) for every key in order, a few groups after prefetch(place). The place is
// place_of(key). Returns the sum of what the visits return.
template <typename Place, typename PlaceOf, typename Prefetch, typename Visit>
std::size_t for_each_prefetched(std::span<const std::uint64_t> keys, PlaceOf&& place_of,
                                Prefetch&& prefetch, Visit&& visit) {
  constexpr std::size_t kGroup = 64;
  constexpr std::size_t kAhead = 2;
  std::array<std::array<Place, kGroup>, kAhead + 1> ring;
  const std::size_t groups = (keys.size() + kGroup - 1) / kGroup;
  const auto size_of = [&](std::size_t g) { return std::min(kGroup, keys.size() - g * kGroup); };
  const auto locate = [&](std::size_t g) {
    if (g >= groups) return;
    std::array<Place, kGroup>& places = ring[g % ring.size()];
    for (std::size_t i = 0; i < size_of(g); ++i) {
      places[i] = place_of(keys[g * kGroup + i]);
      prefetch(places[i]);
    }
  };
  for (std::size_t g = 0; g < kAhead; ++g) locate(g);
  std::size_t sum = 0;
  for (std::size_t g = 0; g < groups; ++g) {
    locate(g + kAhead);
    const std::array<Place, kGroup>& places = ring[g % ring.size()];
    for (std::size_t i = 0; i < size_of(g); ++i) {
      sum += static_cast<std::size_t>(visit(g * kGroup + i, places[i]));
    }
  }
  return sum;
}

}  // namespace nestline::bench

#endif  // NESTLINE_BENCH_FILTERS_OTHERS_PREFETCHED_H_
