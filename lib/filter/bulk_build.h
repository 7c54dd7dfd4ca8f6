// Building a filter of keys that are all known: Filter::build and parallel::build.
//
// An insert knows one key. Here all keys of a block are at hand at once, so that what inserts
// search for again and again is decided once, and fingerprints never have to be decoded. The work
// is done in rounds:
//
//   locate   Chunks of keys are hashed and sorted by ranges of blocks (block_sort.h).
//   count    Ranges: how many keys each block gets.
//   fill     Ranges: their keys are sorted by block. Of a block's keys, those of the lowest spill
//            classes leave for their alternates, as many as are too many. The others are given
//            slots (Kernels::settle). For each that finds none, the lowest class that can make room
//            leaves.
//
// What leaves is sorted by its alternate, and counted and filled in there in the next round, with
// the residents of the block instead of nothing to begin with. The number of keys falls to a tenth
// from round to round. When few are left, or after kMostRounds, Table::insert stores the rest one
// by one: it finds longer chains, and it says when there is no room.
//
// A key leaves only for a block that had few keys when they were last counted: most of them find
// room there then. Its block's mark covers its class, so I1 of table.h holds.
//
// Each step depends on the order of the keys and on counts that are complete before it begins, not
// on threads: any number of them leaves the same bytes.
//
// Beside the filter this takes a little more than 4 bytes a key, and 2 bytes a block.
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
