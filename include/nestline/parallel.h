// Batches on all cores, through oneTBB.
//
// The number of threads is oneTBB's: all cores, or those of the tbb::task_arena or the
// tbb::global_control that the caller runs in. Small batches stay on the calling thread.
//
//   nestline::Filter filter = nestline::parallel::build({.capacity = keys.size()}, keys);
//   std::size_t hits = nestline::parallel::may_contain(filter, keys, answers);
#ifndef NESTLINE_PARALLEL_H_
#define NESTLINE_PARALLEL_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>

#include "nestline/concurrent_filter.h"
#include "nestline/export.h"
#include "nestline/filter.h"
#include "nestline/keys.h"

namespace nestline { inline namespace v0_3 { namespace parallel {

/// Thrown when the caller's task group was cancelled before all keys were done: no function here
/// returns a partial result as if it were complete.
struct NESTLINE_EXPORT Cancelled : std::runtime_error {
  Cancelled();
};

/// Filter::build on all threads: the same filter, byte for byte, for any number of them. Throws
/// what Filter::build throws, and Cancelled.
[[nodiscard]] NESTLINE_EXPORT Filter build(const Options& options, KeySpan keys,
                                           std::span<Outcome> outcomes = {});

/// ConcurrentFilter::insert with the keys split among threads, which insert them in no particular
/// order. Throws std::invalid_argument, and std::logic_error inside a section (ConcurrentFilter),
/// before anything is touched. Throws Cancelled; the filter then has those keys whose outcome is
/// `stored`, and the outcome of those that had no turn is Outcome{}.
[[nodiscard]] NESTLINE_EXPORT std::size_t insert(ConcurrentFilter& filter, KeySpan keys,
                                                 std::span<Outcome> outcomes = {});

/// The filter's own, split among threads. After std::invalid_argument or Cancelled, ignore `out`.
NESTLINE_EXPORT std::size_t may_contain(const Filter& filter, KeySpan keys,
                                        std::span<std::uint8_t> out);
NESTLINE_EXPORT std::size_t may_contain(const ConcurrentFilter& filter, KeySpan keys,
                                        std::span<std::uint8_t> out);
NESTLINE_EXPORT std::size_t may_contain(const MappedFilter& filter, KeySpan keys,
                                        std::span<std::uint8_t> out);
/// The same; positions ascend. Needs one more bit of memory for each key; throws also
/// std::bad_alloc.
NESTLINE_EXPORT std::size_t select(const Filter& filter, KeySpan keys,
                                   std::span<std::uint32_t> positions);
NESTLINE_EXPORT std::size_t select(const ConcurrentFilter& filter, KeySpan keys,
                                   std::span<std::uint32_t> positions);
NESTLINE_EXPORT std::size_t select(const MappedFilter& filter, KeySpan keys,
                                   std::span<std::uint32_t> positions);
/// ConcurrentFilter::erase with the keys split among threads. Throws as insert does; after
/// Cancelled, the keys whose `erased` is 1 are erased.
NESTLINE_EXPORT std::size_t erase(ConcurrentFilter& filter, KeySpan keys,
                                  std::span<std::uint8_t> erased = {});

}}}  // namespace nestline::parallel

#endif  // NESTLINE_PARALLEL_H_
