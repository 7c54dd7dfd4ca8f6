// Measures maplets of small values, which say which of N segments have a key, beside N blocked
// Bloom filters.
//
//   segments_bench [--keys=N,N,...] [--records=N] [--folder=DIR] [GOOGLE BENCHMARK'S ARGUMENTS]
//
// Times are of a machine at one moment. Compare the ratios: of_NAME is the maplet's rate as a
// multiple of NAME's. All are measured in turn in one run, each after it has done the same once
// untimed.
//
// Without files, with --keys keys (default: 1048576,16777216) in 8 and 32 segments:
//
//   floors/.../find_sets/WHICH    keys that are absent or present, in batches of 16,384
//   floors/.../find_set/WHICH     one at a time
//   floors/.../build              all from empty
//   floors/.../erase_value        one segment's pairs; gb_per_s: bytes of the maplet in a second
//   floors/.../rename             all pairs; of_memcpy: beside a copy of as much memory
//
//   blooms, equal_blooms          blocked_bloom.h for each segment, asked in turn until the first
//                                 hit: 10 bits a key, and as much memory as the maplet has. In
//                                 batches filter by filter or key by key: the faster one counts
//   boost, equal_boost            the same of Boost.Bloom, if it is installed
//   filter                        one ConcurrentFilter in as much memory, which knows no segments;
//                                 for `build` a Filter
//   false, NAME_false             the share of absent keys that are not known to be absent
//
// Before files of DIR (default: segments_bench.data), a small LSM of 8 and 32 runs in three tiers,
// into which --records records of 64 bytes (default: 2,000,000) were written, 70 % of new keys, and
// 15 % tombstones. Three quarters were there when the indexes were made from the files; of the rest
// the indexes were told by flushes and compactions.
//
//   lsm/.../answers               every key that was ever written, and as many others, are compared
//                                 with std::map; NAME_bits: memory in bits a record of the runs
//   lsm/.../updates               keys a second: at the start, by flushes, by compactions
//   lsm/.../get/WHICH             absent, present or erased keys; NAME_reads: blocks of files a
//                                 lookup; the files are in the page cache
//   lsm/.../get_many/WHICH        the same by 256 keys
//
//   filters, blooms, equal_blooms for each run a Filter of 8 bits, a blocked Bloom filter of 10
//                                 bits a key, and one of as many bits as the maplet has
//
// The status is 1 when an answer was wrong.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bench/segments/segments.h"
#include "bench/support/context.h"

namespace nestline::bench { namespace {

std::uint64_t number_of(const std::string& text) {
  std::size_t end = 0;
  const std::uint64_t number = std::stoull(text, &end);
  if (end != text.size() || number < 4096) throw std::invalid_argument(text);
  return number;
}

// Takes our own arguments out of `arguments`. Throws std::invalid_argument, std::out_of_range.
SegmentsSettings take_own(std::vector<char*>& arguments) {
  SegmentsSettings settings;
  std::vector<char*> others;
  for (char* const argument : arguments) {
    const std::string_view text = argument;
    const std::string value(text.substr(text.find('=') + 1));
    if (text.starts_with("--keys=")) {
      settings.keys.clear();
      std::istringstream words(value);
      for (std::string word; std::getline(words, word, ',');) {
        settings.keys.push_back(number_of(word));
      }
    } else if (text.starts_with("--records=")) {
      settings.records = number_of(value);
    } else if (text.starts_with("--folder=")) {
      settings.folder = value;
    } else {
      others.push_back(argument);
    }
  }
  arguments = others;
  return settings;
}

// Remembers whether a benchmark failed, which Google Benchmark's status does not tell.
class Reporter : public benchmark::ConsoleReporter {
 public:
  Reporter() : ConsoleReporter(OO_Tabular) {}
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) failed = failed || run.error_occurred;
    ConsoleReporter::ReportRuns(runs);
  }
  bool failed = false;
};

int run(int argc, char** argv) {
  std::vector<char*> arguments(argv, argv + argc);
  SegmentsSettings settings;
  try {
    settings = take_own(arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "segments_bench: no number of at least 4096: %s\n", error.what());
    return 2;
  }
  int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;
  add_context();
  add_floors(settings);
  add_small_lsm(settings);
  Reporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  benchmark::Shutdown();
  return reporter.failed ? 1 : 0;
}

}  // namespace
}  // namespace nestline::bench

int main(int argc, char** argv) { return nestline::bench::run(argc, argv); }
