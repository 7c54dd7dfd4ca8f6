// Building a filter of keys that are all known: Filter::build and parallel::build. Each step does
// one thing for all keys, mostly without reading fingerprints back:
//
//   place   Each key takes a free slot of its bucket at home, if there is one; at a load of 95 %
//           one key in nine is deferred. One thread places keys in their order while the filter
//           fits its second-level cache. Otherwise a slice of the keys at a time is distributed to
//           ranges of blocks (block_sort.h), and placed range by range.
//   count   Ranges: how many keys have their home in each block.
//   place_bulk  Ranges: the deferred keys are sorted by block, and get slots by displacements
//           (BuildKernels::place_bulk). Where there are more keys than slots, and for a key that
//           finds no slot, those of the lowest eviction ranks leave for their alternates.
//   add     Ranges, for a few rounds: those that have left a block are placed at their other one,
//           and place_bulk there if deferred. Where they are more than free slots, residents of the
//           lowest ranks leave if that raises the mark by a few ranks only; otherwise the arrival
//           goes back: another key may leave its home at a lower rank. How far the mark may rise
//           (max_mark_increase) grows from round to round.
//   insert  The few that are left go to Table::insert, which finds longer chains or that there is
//           no room.
//   assign  In a maplet: each pair gets its value (assign_values-inl.h).
//
// Between two steps the evicted are sorted by their alternates and counted there. A key leaves only
// for a block that had a free slot by the last count, and the mark of the block that it leaves
// covers its rank, so I1 of table-inl.h holds. What happens to a block depends on the order of its
// keys and on counts that are complete before a step begins: any number of threads, with ranges or
// without, leaves the same bytes.
//
// It takes about 2.5 bytes a key beside the filter, 1.5 while that fits the second-level cache,
// straight from the system (ScratchMemory): a page fault for each 4 KiB of a heap would take a
// third of the time of a small build.
#ifndef NESTLINE_LIB_FILTERS_FILTER_BULK_BUILD_H_
#define NESTLINE_LIB_FILTERS_FILTER_BULK_BUILD_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "lib/filters/filter/blocks.h"
#include "lib/filters/filter/bulk_block.h"
#include "nestline/filter.h"

namespace nestline { inline namespace v0_3 {

// What a thread needs while it does a task; reused for the next.
struct BuildScratch {
  ScratchArray<std::uint32_t> sorted;
  KeyList<std::uint32_t> deferred;
  BulkPlacement block;
};

// Where the tasks of a build run.
class BuildTasks {
 public:
  using Work = std::function<void(std::size_t, BuildScratch&)>;
  virtual ~BuildTasks() = default;
  // Whether all of them run on the same thread.
  [[nodiscard]] virtual bool are_on_one_thread() const = 0;
  // Calls work(i, scratch) for each i below `count`, in any order and on any threads, no two of
  // which get the same scratch. Returns when all calls have ended. Throws what `work` throws.
  virtual void for_each(std::size_t count, const Work& work) = 0;
};

// See Filter::build. A shared library exports it to nestline::parallel of its version.
NESTLINE_EXPORT Filter build_in_bulk(const Options& options, KeySpan keys,
                                     std::span<Outcome> outcomes, BuildTasks& tasks);

// Fills an empty filter on this thread, as Filter::build does. But it gives up early among many
// copies, where most searches for room are in vain: after the first such search; or, where many
// keys found no free slot at home, before any key is stored. `outcomes` has an element for each
// key: Outcome{} if it was not stored. Throws as Filter::build; the filter is then lost.
void fill_in_bulk(Filter& filter, KeySpan keys, std::span<Outcome> outcomes);

// The same for an empty maplet of values of up to 16 bits. False: not every pair was stored, and
// what is in the maplet means nothing.
bool fill_maplet_in_bulk(OwnedBlocks& maplet, KeySpan keys, std::span<const std::uint64_t> values);

// Fills an empty filter with the keys of `from`, whose blocks are 2^times as many (folding.h), from
// `place` on as a build does. False: there was no room for all of them; what is in the filter then
// means nothing. It must not grow by itself.
bool fold_in_bulk(const Blocks& from, std::uint32_t times, OwnedBlocks& made);

}}  // namespace nestline

#endif  // NESTLINE_LIB_FILTERS_FILTER_BULK_BUILD_H_
