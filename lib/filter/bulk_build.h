// Building a filter of keys that are all known: Filter::build and parallel::build.
//
// An insert knows one key. Here all keys of a block are at hand, so that what inserts search for
// again and again is decided once, mostly without reading fingerprints back. The steps:
//
//   locate   Chunks of keys: they are hashed and sorted by ranges of blocks (block_sort.h).
//   count    Ranges: how many keys have their home in each block.
//   choose   Ranges: the keys are sorted by block. Where a block has more keys than slots that are
//   in
//            any of their buckets, those of the lowest spill classes leave for their alternates.
//   fill     Ranges: each block is filled with its own keys that stay, then with the leavers of
//            others that have arrived (Kernels::settle). For an own key without a slot, the lowest
//            class leaves. For an arrival without a slot, too, if that raises the mark by a few
//            classes only; otherwise it goes back, since somebody else may leave its home for less.
//   add      Ranges, for a few rounds: those who have left a block since arrive at their other one.
//            The price that the mark may pay rises from round to round.
//   insert   When few are left, Table::insert stores them one by one. It finds longer chains, and
//   it
//            says when there is no room.
//
// Between two steps the leavers are sorted by their alternates and counted there. A key leaves only
// for a block that had a free slot by the last count. The mark of the block that it leaves covers
// its class, so I1 of table.h holds.
//
// Each step depends on the order of the keys and on counts that are complete before it begins. So
// any number of threads leaves the same bytes.
//
// Beside the filter, this takes a little more than 4 bytes a key and 2 bytes a block, and 8 bytes
// for each key of a thread's chunk.
#ifndef NESTLINE_LIB_FILTER_BULK_BUILD_H_
#define NESTLINE_LIB_FILTER_BULK_BUILD_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "lib/kernels/kernels.h"
#include "nestline/filter.h"
#include "nestline/keys.h"

namespace nestline {

// What a thread needs while it does a task; reused for the next.
struct BuildScratch {
  std::vector<std::uint64_t> located;
  std::vector<std::uint32_t> next;
  std::vector<std::uint32_t> sorted;
  std::vector<std::uint32_t> arrivals;
  UnpackedBlock block;
};

// Where the tasks of a build run.
class BuildTasks {
 public:
  using Work = std::function<void(std::size_t, BuildScratch&)>;
  virtual ~BuildTasks() = default;
  // Calls work(i, scratch) for each i below `count`, in any order and on any threads, no two of
  // which get the same scratch. Returns when all calls have ended. Throws what `work` throws.
  virtual void for_each(std::size_t count, const Work& work) = 0;
};

// See Filter::build.
Filter build_in_bulk(const Options& options, KeySpan keys, std::span<std::uint8_t> stored,
                     BuildTasks& tasks);

}  // namespace nestline

#endif  // NESTLINE_LIB_FILTER_BULK_BUILD_H_
