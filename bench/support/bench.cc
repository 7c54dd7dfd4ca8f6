// Speed of nestline, and of what one might use instead.
//
// How to read it: `items_per_second` is keys a second, of all threads together. Absolute rates hold
// for the machine they were measured on, at that moment; compare ratios of one run:
//
//   of_ceiling     the rate as a share of the ceiling (ceiling.h) of memory as large as the filter;
//                  the two are measured in turn, piece by piece, so that a shared machine slows
//                  both
//   fpr            the false-positive rate that was measured on the way (hits:0 only)
//   bits_per_key   of the memory, at this load
//   bytes_touched  of a lookup: 64 for the home block, 128 with the alternate, on the average
//
// One thread. `load` is percent of the slots, 95 where the name has none; `hits` percent of the
// keys asked for that are there; `bytes` the memory of the filter:
//
//   may_contain/batch, /single    lookups in calls of a million keys, or of one
//   may_contain/length:N          in calls of N keys
//   may_contain/strings:N         of strings of N bytes
//   insert/batch/from_empty       to 95 %;  /last_5_percent: from 90 %, also /single
//   erase/batch                   from 95 %
//   churn/batch                   4096 oldest keys erased, 4096 inserted, again and again, at 95 %
//   cycles/lookup, /insert        cycles a key of the parts of it: see kernel_cycles.cc
//   file/save, load, map          file/map_then_ask: the first questions to a mapped file
//
// Other filters and sets: reference/NAME/OPERATION: `rate` is the reference's, `nestline` that of
// nestline at 8 bits beside it, `nestline_of_this` their ratio. See references.cc.
//
// Several threads, and growth; each compares two things that it does in turn, the counter named
// of_... is the ratio of their rates, `rate` and `other_rate` are the two; `min` and `max` show the
// spread of the repetitions:
//
//   read/batch, read/single       of_filter: ConcurrentFilter without writers against Filter
//   read/threads:N                of_one_thread, beside what the machine's memory allows
//                                 (ceiling_of_one_thread: the same ratio for ceiling.h)
//   read/beside_writer:FORM       of_alone: one thread asks while another erases and inserts flat
//                                 out, key by key or in batches, at 90 % load
//   read/hot_block:WRITER         of_alone: all questions about one block, which another thread
//                                 changes, or in which it looks for a key in vain, flat out
//   insert/threads:N              of_one_thread: key by key from empty to 90 %
//   mix                           of_libcuckoo: 90 % lookups, 5 % inserts, 5 % erases, 16 million
//                                 keys, against libcuckoo's map with room for as many; also with
//                                 twice the room, and on huge pages, which it does not ask for
//   build/threads:N               of_batch_insert: parallel::build on one thread against Filter's
//                                 batch insert; of_one_thread: on N threads against one
//   grow/filter, grow/concurrent  of_memcpy: bytes read and written a second, against memcpy
//   grow/lookups_meanwhile        p999_us, max_us: microseconds of a lookup while the filter grows,
//                                 clock included; quiet_...: before and after
//
// Threads are bound to cores (pinned_threads.h), oneTBB's are not. Run a Release build, with
// nothing else on the machine; the program refuses to run with assertions on. Arguments are Google
// Benchmark's and
//
//   --sizes=256KiB,1GiB   the filters' sizes, instead of 256KiB, 16MiB and 256MiB
//   --target=AVX2         the instruction set, instead of the best that the machine has
#include <benchmark/benchmark.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "bench/support/benchmarks.h"
#include "bench/support/context.h"
#include "bench/support/workload.h"

namespace nestline::bench {
namespace {

// Takes our own arguments out of `arguments`; false when one is wrong.
bool take_own(std::vector<char*>& arguments) {
  const auto value_of = [](std::string_view argument, std::string_view name) {
    return argument.substr(0, name.size()) == name ? argument.substr(name.size())
                                                   : std::string_view();
  };
  std::vector<char*> others;
  for (char* const argument : arguments) {
    if (const auto list = value_of(argument, "--sizes="); !list.empty()) {
      if (!choose_sizes(std::string(list))) {
        std::fprintf(stderr, "no list of sizes, like 256KiB,1GiB: %s\n", argument);
        return false;
      }
    } else if (const auto name = value_of(argument, "--target="); !name.empty()) {
      if (!force_target(std::string(name))) {
        std::fprintf(stderr, "no target of this machine: %s; there are:%s\n", argument,
                     target_names().c_str());
        return false;
      }
    } else {
      others.push_back(argument);
    }
  }
  arguments = others;
  return true;
}

int run(int argc, char** argv) {
#ifndef NDEBUG
  std::fprintf(stderr, "%s: built with assertions; measure a Release build\n", argv[0]);
  return 2;
#endif
  std::vector<char*> arguments(argv, argv + argc);
  if (!take_own(arguments)) return 2;
  int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;
  add_context();
  add_lookups();
  add_changes();
  add_kernel_cycles();
  add_files();
  add_references();
  add_reading();
  add_changing();
  add_building();
  add_growing();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace
}  // namespace nestline::bench

int main(int argc, char** argv) { return nestline::bench::run(argc, argv); }
