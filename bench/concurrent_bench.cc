// Speed where several threads work, and of growth: ConcurrentFilter, parallel::build, grow.
//
// How to read it: each benchmark compares two things that it does in turn, a small piece at a time
// where that is possible, so that a shared machine slows both; the counter named of_... is the
// ratio of their rates, `rate` and `other_rate` are the two, in operations a second of all threads
// together. Look at the medians of the repetitions, `min` and `max` show the spread.
//
//   read/batch, read/single       of_filter: ConcurrentFilter without writers against Filter
//   read/threads:N                of_one_thread, beside what the machine's memory allows
//                                 (ceiling_of_one_thread: the same ratio for ceiling.h)
//   read/beside_writer:FORM       of_alone: one thread asks while another erases and inserts flat
//                                 out, key by key or in batches, at 90 % load
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
// Filters are 95 % full unless said otherwise. Threads are bound to cores (team.h), oneTBB's are
// not. Run a Release build, with nothing else on the machine; the program refuses to run with
// assertions on. Arguments are Google Benchmark's.
#include "concurrent_bench.h"

#include "workload.h"

namespace {

void add_benchmarks() {
  using namespace nestline::bench;
  add_reading();
  add_changing();
  add_building();
  add_growing();
}

}  // namespace

int main(int argc, char** argv) {
  return nestline::bench::run_program(
      {"--benchmark_repetitions=5", "--benchmark_display_aggregates_only=true"}, argc, argv,
      add_benchmarks);
}
