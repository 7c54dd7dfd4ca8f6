// Building a filter of keys that are all known: Filter::build and parallel::build.
//
// An insert knows one key. Here all keys are at hand, so that each step does one thing for all of
// them, mostly without reading fingerprints back. The steps:
//
//   place   Each key takes a free slot of its bucket at home, if there is one. At a load of 95 %
//           one key in nine is late: no slot is free. One thread places keys in their order while
//           the filter fits its second-level cache. Otherwise it is a slice of the keys at a time:
//           its keys are distributed to ranges of blocks (block_sort.h), and placed range by range.
//   count   Ranges: how many keys have their home in each block.
//   settle  Ranges: the late keys are sorted by block, and get slots by displacements
//           (BuildKernels::settle). Where there are more keys than slots, and for a key that finds
//           no slot, those of the lowest spill classes leave for their alternates.
//   add     Ranges, for a few rounds: those that have left a block are placed at their other one,
//           and settle there if they are late. Where they are more than free slots, residents of
//           the lowest classes leave, if that raises the mark by a few classes only; otherwise the
//           arrival goes back, since somebody else may leave its home for less. The price rises
//           from round to round.
//   insert  When few are left, Table::insert stores them one by one. It finds longer chains, and it
//           says when there is no room.
//
// Between two steps the leavers are sorted by their alternates and counted there. A key leaves only
// for a block that had a free slot by the last count, and the mark of the block that it leaves
// covers its class, so I1 of table.h holds. What happens to a block depends on the order of its
// keys and on counts that are complete before a step begins, so any number of threads, with ranges
// or without, leaves the same bytes.
//
// Beside the filter, this takes about 2.5 bytes a key, and while the filter fits the second-level
// cache 1.5, straight from the system (ScratchMemory): a page fault for each 4 KiB of a heap would
// take a third of the time of a small build.
#ifndef NESTLINE_LIB_FILTER_BULK_BUILD_H_
#define NESTLINE_LIB_FILTER_BULK_BUILD_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "lib/filter/block_sort.h"
#include "lib/filter/bulk_block.h"
#include "lib/kernels/kernels.h"
#include "nestline/filter.h"
#include "nestline/keys.h"

namespace nestline {

// What a thread needs while it does a task; reused for the next.
struct BuildScratch {
  ScratchArray<std::uint32_t> sorted;
  KeyList<std::uint32_t> late;
  Settling block;
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

// See Filter::build. A shared library exports it to nestline::parallel, which is of the same
// version.
NESTLINE_EXPORT Filter build_in_bulk(const Options& options, KeySpan keys,
                                     std::span<Outcome> outcomes, BuildTasks& tasks);

// Fills an empty filter on this thread, as Filter::build does, but ends early where that would take
// long: among many copies, most searches for room are in vain. After the first such search it
// stores none of those that are left, and where many keys found no free slot at home, no key at
// all. `outcomes` has an element for each key; where none is stored, Outcome{}. Throws as
// Filter::build; the filter is then lost.
void fill_in_bulk(Filter& filter, KeySpan keys, std::span<Outcome> outcomes);

}  // namespace nestline

#endif  // NESTLINE_LIB_FILTER_BULK_BUILD_H_
