// The lookups of readers, compiled for one target after the other (readers_here.cc).
#ifndef NESTLINE_TESTS_FILTERS_FILTER_READERS_HERE_H_
#define NESTLINE_TESTS_FILTERS_FILTER_READERS_HERE_H_

#include <cstddef>
#include <cstdint>

#include "nestline/concurrent_filter.h"

namespace nestline::test {

// Whether each of `count` keys may be in a filter, 1 or 0; and how many of them there are.
struct ReadersHere {
  std::size_t (*look_up)(const Reader& reader, const std::uint64_t* keys, std::size_t count,
                         std::uint8_t* answers);
  std::size_t (*look_up_beside)(const ConcurrentReader& reader, const std::uint64_t* keys,
                                std::size_t count, std::uint8_t* answers);
};

extern const ReadersHere kReadersHereForAny;
#ifdef __x86_64__
extern const ReadersHere kReadersHereForAvx2;
extern const ReadersHere kReadersHereForAvx512;
#endif

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_FILTERS_FILTER_READERS_HERE_H_
