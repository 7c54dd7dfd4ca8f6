// Loops of single lookups, compiled for one target after the other (reader_loops.cc).
#ifndef NESTLINE_BENCH_FILTERS_FILTER_READER_LOOPS_H_
#define NESTLINE_BENCH_FILTERS_FILTER_READER_LOOPS_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "bench/filters/others/textbook_cuckoo.h"
#include "nestline/concurrent_filter.h"

namespace nestline::bench {

// How many of the keys may be in a filter.
struct ReaderLoops {
  std::size_t (*reader)(const Reader& reader, std::span<const std::uint64_t> keys);
  std::size_t (*concurrent_reader)(const ConcurrentReader& reader,
                                   std::span<const std::uint64_t> keys);
  std::size_t (*textbook)(const TextbookCuckoo& filter, std::span<const std::uint64_t> keys);
};

extern const ReaderLoops kReaderLoopsForAny;
#ifdef __x86_64__
extern const ReaderLoops kReaderLoopsForAvx2;
extern const ReaderLoops kReaderLoopsForAvx512;
#endif

}  // namespace nestline::bench

#endif  // NESTLINE_BENCH_FILTERS_FILTER_READER_LOOPS_H_
