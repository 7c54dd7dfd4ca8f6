// Single lookups in a loop: Reader and ConcurrentReader in code compiled for each target, the same
// loop of a textbook's cuckoo filter compiled for it too, and a Reader that calls the library. All
// take turns; a line has the medians of the rounds, in millions a second, and their ratios.
//
//   readers [BITS [SIZE ...]]   such as 8 256KiB 16MiB; BITS 0: all widths. Without sizes 256KiB,
//                               2MiB, 16MiB and 256MiB
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/filters/filter/reader_loops.h"
#include "bench/support/benchmarks.h"
#include "bench/support/ceiling.h"
#include "bench/support/workload.h"

namespace nestline::bench { namespace {

using Target = std::pair<const char*, const ReaderLoops*>;

std::vector<Target> targets() {
  std::vector<Target> all = {{"any", &kReaderLoopsForAny}};
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2")) all.emplace_back("avx2", &kReaderLoopsForAvx2);
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
    all.emplace_back("avx512", &kReaderLoopsForAvx512);
  }
#endif
  return all;
}

struct Filters {
  const TextbookCuckoo& textbook;
  const Filter& filter;
  const ConcurrentFilter& shared;
};

// One line a target.
void measure(const Filters& filters, std::size_t bytes, double load, int hits) {
  const int rounds = bytes < kMib ? 21 : 7;
  const auto ours = lookup_keys(bytes, filters.filter.size(), hits);
  const auto theirs =
      lookup_keys(bytes, static_cast<std::uint64_t>(load * static_cast<double>(bytes)), hits);
  const Reader reader = filters.filter.reader();
  const std::vector<Target> all = targets();
  std::vector<std::array<Side, 3>> sides(all.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t t = 0; t < all.size(); ++t) {
      const ReaderLoops& loops = *all[t].second;
      const auto time = [&](Side& side, const auto& work) {
        if (is_cached(bytes)) benchmark::DoNotOptimize(work());
        const double start = now();
        benchmark::DoNotOptimize(work());
        side.add(ours.size(), now() - start);
      };
      time(sides[t][0], [&] { return loops.reader(reader, ours); });
      time(sides[t][1], [&] { return loops.concurrent_reader(filters.shared.reader(), ours); });
      time(sides[t][2], [&] { return loops.textbook(filters.textbook, theirs); });
    }
  }
  const double called = sides[0][0].rate();
  for (std::size_t t = 0; t < all.size(); ++t) {
    const double reads = sides[t][0].rate();
    const double shared = sides[t][1].rate();
    const double textbook = sides[t][2].rate();
    std::printf(
        "%-26s load %.2f hits %3d %-7s reader %6.1f (%.2f of textbook %6.1f, %.2f of called)"
        "  concurrent %6.1f (%.2f of reader)\n",
        suffix(filters.filter.bits(), bytes).c_str(), load, hits, all[t].first, reads / 1e6,
        reads / textbook, textbook / 1e6, reads / called, shared / 1e6, shared / reads);
  }
  std::fflush(stdout);
}

void measure_size(std::size_t bytes, int only) {
  TextbookCuckoo textbook(bytes);
  std::uint64_t stored = 0;
  for (const double load : {0.5, kLoad}) {
    const auto count = static_cast<std::uint64_t>(load * static_cast<double>(bytes));
    fill_from(textbook, stored, count);
    stored = count;
    for (const int bits : kFilterWidths) {
      if (only != 0 && bits != only) continue;
      const Filter filter = filled_filter(bits, bytes, load);
      const ConcurrentFilter shared(filled_filter(bits, bytes, load));
      for (const int hits : {0, 50, 100}) measure({textbook, filter, shared}, bytes, load, hits);
    }
  }
}

}  // namespace
}  // namespace nestline::bench

int main(int count, char** arguments) {
  const int bits = count > 1 ? std::atoi(arguments[1]) : 0;
  std::string list = count > 2 ? arguments[2] : "256KiB,2MiB,16MiB,256MiB";
  for (int i = 3; i < count; ++i) list += std::string(",") + arguments[i];
  if (bits != 0 && !nestline::is_width(bits)) {
    std::fprintf(stderr, "readers: \"%s\" is no width\n", arguments[1]);
    return 2;
  }
  if (!nestline::bench::choose_sizes(list)) {
    std::fprintf(stderr, "readers: \"%s\" is no list of sizes\n", list.c_str());
    return 2;
  }
  for (const std::size_t bytes : nestline::bench::sizes()) {
    nestline::bench::measure_size(bytes, bits);
  }
}
