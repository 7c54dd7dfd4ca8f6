// The filters that a set of lines is made of. A line is in the set if one of its generations has
// it. With a capacity or a window there is one. A set that grows begins with room for 2^22 lines;
// when the newest generation is full, a larger one joins: nothing is copied, and no bit of a
// fingerprint is lost. Generation i has room for 2^(22 + i) lines, and the share 4 / ((i + 4) * (i
// + 5)) of the wanted rate. The shares of all generations add up to 1, and fall slowly, because the
// newest have most of the lines.
//
// A generation has one layer or two. 16 bits err at 0.00006 at best without waste. Where less is
// wanted, a second filter, with an unrelated hash, must have the line too: the rates multiply.
//
// The load is 0.8: inserts take less than half the time of 0.95, for a fifth more memory. Erasing
// and inserting for ever raises the rate by up to a quarter, so a window's filters are made for
// three quarters of it. A set that forgets by the clock has expiring filters of 8 and 12 bits,
// whose rate stays the same at this load. Where 12 bits do not meet it, there are two layers.
#ifndef NESTLINE_LIB_FACES_COMMAND_UNIQ_SEEN_PLAN_H_
#define NESTLINE_LIB_FACES_COMMAND_UNIQ_SEEN_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "nestline/expiring_filter.h"

namespace nestline { inline namespace v0_3 { namespace command {

struct SeenOptions {
  std::uint64_t capacity = 0;  ///< Lines it must hold at most; 0: it grows.
  std::uint64_t window = 0;    ///< Lines after which the oldest is forgotten; 0: never.
  double fpr = 0.001;          ///< Share of new lines that may be taken for seen ones.
  std::uint64_t seed = 0;
  std::uint64_t within = 0;  ///< Nanoseconds for which a line is remembered; 0: by the others.
};

/// Of layers with Options, or ExpiringOptions in a set that forgets by the clock.
template <typename LayerOptions>
struct GenerationPlan {
  std::uint64_t capacity;            ///< Lines after which the next generation begins.
  std::vector<LayerOptions> layers;  ///< One or two. A line is in the generation if all have it.
};

struct Selected {
  std::size_t fresh;  ///< New lines.
  std::size_t taken;  ///< Lines handled: all, unless the capacity is used up.
};

/// Most lines of a capacity or a window.
inline constexpr std::uint64_t kMaxLines = std::uint64_t{1} << 40;

/// Bounds of `within`: a millisecond and a century.
inline constexpr std::uint64_t kLeastWithin = 1'000'000;
inline constexpr std::uint64_t kMostWithin = 36525 * std::uint64_t{86'400'000'000'000};

/// Generations that a set may have: the last has room for 2^40 lines.
inline constexpr unsigned kMaxGenerations = 19;

double least_fpr(const SeenOptions& options);

/// The generation of this number, from 0. The rate must not be below least_fpr().
template <typename LayerOptions>
GenerationPlan<LayerOptions> plan_generation(const SeenOptions& options, unsigned number);

}}}  // namespace nestline::command

#endif  // NESTLINE_LIB_FACES_COMMAND_UNIQ_SEEN_PLAN_H_
