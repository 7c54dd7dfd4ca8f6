// Random histories of a store on a disk that loses its power.
//
// A history is a run of random changes, syncs, checkpoints, compactions and reopenings, on one
// thread and from a seed, with files so small that they fill and an index so small that it grows.
// At changes of the disk a picture is taken: the disk as it would be found if the power went at
// that moment, or if the process were killed. Afterwards each picture is opened. Then the store
// must hold what the model held after some change, not before the last one that was acknowledged as
// synced, and it must work: the history goes on from there, and pictures are taken of that too,
// those of the opening included. So a crash in a recovery from a crash comes up as well.
//
// The disk may refuse calls, too. An operation that throws has not been made, unless the store can
// only be read from then on: then the history ends with a loss of power.
#ifndef NESTLINE_TESTS_STORE_CRASH_HISTORY_H_
#define NESTLINE_TESTS_STORE_CRASH_HISTORY_H_

#include <cstdint>
#include <string>

namespace nestline::test {

struct CrashPlan {
  std::uint64_t seed = 0;
  unsigned operations = 60;
  unsigned one_in = 4;  // a picture is taken at one in so many changes of the disk: 1 for each
  // One in so many meets a disk that refuses the n-th call of a kind, or all from it on.
  unsigned refusals = 0;
  unsigned crashes = 3;  // how many crashes may follow each other
  // Whether the process that opens the store after the first crash is killed at each change that it
  // makes, and the power goes at many of those of the next.
  bool kills_openings = false;
};

struct CrashReport {
  std::uint64_t refused = 0;  // operations that threw
  std::uint64_t power_losses = 0;
  std::uint64_t kills = 0;
  std::uint64_t compactions = 0;
  std::uint64_t most_segments = 0;
  std::uint64_t most_index_slots = 0;
  std::string violation;  // empty: none. It names the seed and the pictures that led to it
};

// Plays one history and all that follows from its pictures, up to the first violation.
CrashReport play_crashes(const CrashPlan& plan);

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_STORE_CRASH_HISTORY_H_
