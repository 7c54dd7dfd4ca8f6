// Measures the speed of nestline, and of other filters and sets.
//
// How to read the results: `items_per_second` is keys per second, of all threads together. Absolute
// rates hold for one machine at one moment. Compare the ratios of one run:
//
//   of_ceiling     the rate as a share of the ceiling (ceiling.h) of memory as large as the filter;
//                  the two are measured in turn, piece by piece, so that a shared machine slows
//                  both
//   fpr            the false-positive rate measured in the same run (hits:0 only)
//   bits_per_key   memory per key, at this load
//   bytes_touched  per lookup, on average: 64 for the home block, 128 with the alternate
//
// One thread. `load` is the percentage of slots in use, 95 if the name has none. `hits` is the
// percentage of the looked-up keys that are stored. `bytes` is the memory of the filter:
//
//   may_contain/batch, /single    lookups in calls of a million keys, or of one
//   may_contain/reader            lookups of one key by a Reader
//   may_contain/prepared          the same, hashed and fetched 16 keys before
//   may_contain/length:N          in calls of N keys
//   may_contain/strings:N         of strings of N bytes
//   insert/batch/from_empty       to 95 %;  /last_5_percent: from 90 %, also /single
//   erase/batch                   from 95 %
//   churn/batch                   erases the 4096 oldest keys and inserts 4096, again and again, at
//                                 95 %
//   cycles/lookup, /insert        cycles per key, by parts: see kernel_cycles.cc
//   file/save, load, map          whole files
//   file/map_then_ask             the first lookups in a mapped file
//
// Two filters of the same memory in turn; `rate` and `other_rate` are their rates:
//
//   insert/batch/load:N           of_full_load: a filter of Options::load N beside one at 95 %,
//                                 each from empty to its capacity
//   may_contain/of_full_load      the same, absent keys, in batches
//   of_8_bits/OPERATION           a filter of more bits beside one of 8, both at 95 %; erased: keys
//                                 that were erased just before
//   lived/may_contain             of_fresh: a filter after N turnovers (as many erases of keys at
//                                 random, each with an insert, as it has keys) beside a fresh one;
//                                 second_probes: the share of lookups that read a second block
//   lived/turnover                pairs of an erase and an insert in such a filter, alone
//   lived_turns_over/...          the same of filters with Options::turns_over
//
// Other filters and sets: reference/NAME/OPERATION. `rate` is the rate of the reference, `nestline`
// that of nestline at 8 bits beside it, `nestline_of_this` their ratio. See references.cc.
//
// Memory, see space.cc: fpr and bits_per_key of filters of a million keys, and bits_set, the bits
// of a key in a Bloom filter.
//
//   space/nestline/bits:N/load:L  nestline at each width and several loads
//   space/NAME/bits:N             Bloom filters in the memory of nestline of N bits at 95 %
//   space/NAME/fpr:R              the least memory for this rate; for nestline, what it takes
//
// Several threads, and growth. Each benchmark measures two things in turn. `rate` and `other_rate`
// are their rates, the counter named of_... is the ratio. `min` and `max` show the spread of the
// repetitions:
//
//   read/batch, read/single       of_filter: ConcurrentFilter without writers against Filter
//   read/threads:N                of_one_thread, beside what the machine's memory allows
//                                 (ceiling_of_one_thread: the same ratio for ceiling.h)
//   read/beside_writer:FORM       of_alone: one thread looks up keys while another erases and
//                                 inserts flat out, key by key or in batches, at 90 % load
//   read/hot_block:WRITER         of_alone: all lookups are in one block. Another thread changes
//                                 that block, or tries to erase an absent key from it, flat out
//   write/OPERATION/FORM          of_filter: inserts and erases of ConcurrentFilter against Filter,
//                                 by its only writer, or by one of two (writers:2)
//   insert/threads:N              of_one_thread: key by key from empty to 90 %
//   mix                           of_libcuckoo: 90 % lookups, 5 % inserts, 5 % erases, 16 million
//                                 keys, against libcuckoo's map with room for as many; also with
//                                 twice the room, and on huge pages, which it does not use itself
//   build/threads:N               of_batch_insert: parallel::build on one thread against Filter's
//                                 batch insert; of_one_thread: on N threads against one
//   grow/filter, grow/concurrent  of_memcpy: bytes read and written per second, against memcpy
//   grow/lookups_meanwhile        p999_us, max_us: microseconds of a lookup while the filter grows,
//                                 clock included; quiet_...: before and after
//
// ExpiringFilter, full at 90 % and turning over:
//
//   expiring/lookup/of_NAME       batches beside ConcurrentFilter of 12 bits, four rotating blocked
//                                 Bloom filters, an age-partitioned Bloom filter
//   expiring/insert/FORM          of_concurrent: half of the keys are new; beside insert_unique (in
//                                 batches: lookups and inserts) and the erasing of the oldest
//   expiring/insert/threads:N     of_one_thread
//   expiring/advance              of_memset: a tick that nobody has swept
//   expiring/longest_insert       max_us: single inserts while another thread moves time on
//   expiring/blocks               blocks that a lookup of an absent key reads after 100 lifetimes
//
// Threads are bound to cores (pinned_threads.h), except those of oneTBB. Run a Release build, with
// nothing else on the machine. The program refuses to run with assertions on. Arguments are those
// of Google Benchmark and
//
//   --sizes=256KiB,1GiB   sizes of the filters, instead of 256KiB, 16MiB and 256MiB
//   --target=AVX2         the instruction set, instead of the best that the machine has
#include <benchmark/benchmark.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "bench/support/benchmarks.h"
#include "bench/support/context.h"
#include "bench/support/workload.h"

namespace nestline::bench { namespace {

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
  add_loads_and_widths();
  add_lived();
  add_kernel_cycles();
  add_files();
  add_references();
  add_spaces();
  add_overlaps();
  add_reading();
  add_writing();
  add_changing();
  add_building();
  add_growing();
  add_expiring();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace
}  // namespace nestline::bench

int main(int argc, char** argv) { return nestline::bench::run(argc, argv); }
