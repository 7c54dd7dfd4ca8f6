// How many blocks a filter needs, and what it may promise: the formulas of nestline/filter.h.
//
//   safe_keys            keys that find room with a probability above 1 - 1e-6
//   false_positive_rate  at a load, with the share of keys that need a second block
//
// A filter that may grow is sized for its maximal capacity: a wider fingerprint or a lower load,
// since each doubling costs one bit. The figures were measured
// (bench/filters/filter/fill_limits.cc); tests/filters/filter's sizing_test.cc and fpr_test.cc hold
// the library to them.
#ifndef NESTLINE_LIB_FILTERS_FILTER_SIZING_H_
#define NESTLINE_LIB_FILTERS_FILTER_SIZING_H_

#include <cstdint>

#include "lib/engine/place/shape.h"
#include "nestline/expiring_filter.h"
#include "nestline/maplet.h"

namespace nestline { inline namespace v0_3 {

// In smaller filters many keys have no other block: nobody would use their guest lanes.
inline constexpr std::uint64_t kLeastLaneBlocks = 64;
// Of a filter that has so many blocks before it doubles; `turns_over` as Options have it.
constexpr Placement placement_of(bool turns_over, std::uint64_t base_blocks) {
  return turns_over && base_blocks >= kLeastLaneBlocks ? Placement::guest_lanes
                                                       : Placement::anywhere;
}

// The decided size of a new filter.
struct Size {
  int bits;
  std::uint64_t blocks;
  std::uint64_t capacity;      // promised, at least Options::capacity
  std::uint64_t max_capacity;  // how far the filter grows automatically; 0: it does not
  std::uint32_t growth;        // doublings until its capacity is max_capacity
  bool turns_over = false;     // Options::turns_over
  bool begins_grown = false;   // Options::may_fold: it begins with all doublings

  // Of the empty filter.
  [[nodiscard]] Shape shape(std::uint64_t seed) const;
};

// Checks `options` and decides. Throws std::invalid_argument.
Size decide_size(const Options& options);
// The same for a maplet: the layout with its bits of values. Throws std::invalid_argument.
Size decide_maplet_size(const MapletOptions& options);
// For an expiring filter; `bits`: its layout's number. Throws std::invalid_argument.
Size decide_expiring_size(const ExpiringOptions& options);
// Under its present name or that of version 0.2.
unsigned ttl_ticks_of(const ExpiringOptions& options);

// How many keys find room in a filter of this geometry, in all but one of a million filters. A
// grown filter is 2^growth filters side by side, which cannot share room and on which keys fall
// unevenly: 95 % of the slots from 800 base blocks on, less below. It ignores keys that look the
// same: up to 1, 1, 2, 4, 8 doublings at 8, 9, 10, 12, 16 bits under one in a million has too
// many (highest_load).
std::uint64_t safe_keys(int bits, const Geometry& geometry);

// The capacity after a doubling to `geometry`: twice `capacity` as far as that is safe, never less.
std::uint64_t grown_capacity(int bits, const Geometry& geometry, std::uint64_t capacity);
// The capacity before a doubling from `geometry`, that made it `capacity`; where that doubling was
// not twice as safe, the most that is safe.
std::uint64_t shrunk_capacity(int bits, const Geometry& geometry, std::uint64_t capacity);
// The lowest capacity of a filter of any kind with this geometry: it began with half of its slots.
std::uint64_t least_capacity(int bits, const Geometry& geometry);
// Share of absent keys that need a second block, filled by inserts to `load` at each doubling.
// `turns_over`: of a filter that turns over and has guest lanes.
double second_probe_share(int bits, double load, unsigned growth, bool turns_over = false);
// The false-positive rate at a load, `second_probes` being that share, after `growth` doublings,
// with a bound of 0.03 (maplets 0.09) for keys that are away and meet theirs there. Grown filters
// of 1 to 1000 base blocks, at loads of 30 to 95 % and up to the last doubling, are within 5 % of
// it.
double false_positive_rate(int bits, double load, double second_probes, unsigned growth);

}}  // namespace nestline

#endif  // NESTLINE_LIB_FILTERS_FILTER_SIZING_H_
