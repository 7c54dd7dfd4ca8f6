// The filters that a set of lines is made of: how many, how large, how wide.
//
// A set is a row of generations. A line is in the set if a generation has it. With a capacity or a
// window there is one generation, made for that number of lines. A set that grows begins with room
// for 2^22 lines. When the newest generation is full, a larger one joins: nothing is copied, and no
// bit of a fingerprint is lost. Generation i has room for 2^(22 + i) lines.
//
// The rates of the generations add up. Generation i has the share 4 / ((i + 4) * (i + 5)) of the
// wanted rate. The shares of all generations, however many there will be, add up to 1, and they
// fall slowly, because the newest generations have most of the lines.
//
// A generation has one layer or two. 16 bits err at 0.00006 at best without waste. Where less is
// wanted, a second filter, with a hash that has nothing to do with the first, must have the line
// too: the rates multiply.
//
// The load is 0.8: inserts take less than half the time that they take at 0.95, for a fifth more
// memory. Erasing and inserting for ever raises the rate, by up to a quarter at this load, so a
// window's filters are made for three quarters of the wanted rate.
#ifndef NESTLINE_LIB_COMMAND_UNIQ_SEEN_PLAN_H_
#define NESTLINE_LIB_COMMAND_UNIQ_SEEN_PLAN_H_

#include <cstdint>
#include <vector>

#include "nestline/filter.h"

namespace nestline::command {

/// What a set of lines is made for.
struct SeenOptions {
  std::uint64_t capacity = 0;  ///< Lines it must hold at most; 0: it grows.
  std::uint64_t window = 0;    ///< Lines after which the oldest is forgotten; 0: never.
  double fpr = 0.001;          ///< Share of new lines that may be taken for seen ones.
  std::uint64_t seed = 0;

  friend bool operator==(const SeenOptions&, const SeenOptions&) = default;
};

struct GenerationPlan {
  std::uint64_t capacity;       ///< Lines after which the next generation begins.
  std::vector<Options> layers;  ///< One or two. A line is in the generation if all have it.
};

/// Most lines of a capacity or a window.
inline constexpr std::uint64_t kMaxLines = std::uint64_t{1} << 40;

/// Generations that a set may have: the last has room for 2^40 lines.
inline constexpr unsigned kMaxGenerations = 19;

/// The lowest rate that can be promised.
double least_fpr(const SeenOptions& options);

/// The generation of this number, counted from 0. The rate must not be below least_fpr().
GenerationPlan plan_generation(const SeenOptions& options, unsigned number);

}  // namespace nestline::command

#endif  // NESTLINE_LIB_COMMAND_UNIQ_SEEN_PLAN_H_
