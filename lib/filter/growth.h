// New tables made from old ones, without keys: a doubled one, the union of two, copies.
//
// Each function reads its filters, which nobody may write meanwhile, and gives a state of its own
// in fresh memory from where its own came (nestline/memory.h); its lock and version bytes are 0
// whatever they are in the source. So a filter that grows or merges changes by one exchange of
// pointers, and is as it was when something fails. The sequential filter and the concurrent one
// both use them.
#ifndef NESTLINE_LIB_FILTER_GROWTH_H_
#define NESTLINE_LIB_FILTER_GROWTH_H_

#include <memory>

#include "nestline/filter.h"

namespace nestline {

// The filter doubled: the same keys, and the capacity that grown_capacity gives. Nothing when it
// can double no more: max_growth is reached, or there would be more than kMaxBlocks. Throws
// std::bad_alloc.
std::unique_ptr<Filter::State> grown(const Filter::State& state);

// Puts grown(*state) in the place of the state. False when that cannot be had, for whatever reason:
// the state is as it was then.
bool try_to_grow(std::unique_ptr<Filter::State>& state) noexcept;

// Everything that is in `into` and in `other`, which may be the same; with the promises of `into`.
// Throws std::invalid_argument when they differ in width, seed, blocks or growth, std::length_error
// when something finds no room, and std::bad_alloc.
std::unique_ptr<Filter::State> merged(const Filter::State& into, const Filter::State& other);

// The same filter without keys. Throws std::bad_alloc.
std::unique_ptr<Filter::State> empty_copy(const Filter::State& state);

// The same filter with its keys. Throws std::bad_alloc.
std::unique_ptr<Filter::State> full_copy(const Filter::State& state);

}  // namespace nestline

#endif  // NESTLINE_LIB_FILTER_GROWTH_H_
