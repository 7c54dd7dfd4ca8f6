// A filter whose writers are many from the beginning, although the test writes with one thread.
#ifndef NESTLINE_TESTS_FILTERS_CONCURRENT_MANY_WRITERS_H_
#define NESTLINE_TESTS_FILTERS_CONCURRENT_MANY_WRITERS_H_

#include <cstdint>
#include <thread>

#include "nestline/concurrent_filter.h"

namespace nestline::test {

// Whether one thread writes alone, without atomic exchanges (locking.h, W8), or as one of many.
enum class Writing : std::uint8_t { alone, many };

// Two threads write; the filter stays as it was.
inline void become_many_writers(ConcurrentFilter& filter) {
  Hash absent{0};
  while (filter.may_contain(absent)) absent.value += 0x9e3779b97f4a7c15u;
  (void)filter.erase(absent);
  std::thread([&] { (void)filter.erase(absent); }).join();
}

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_FILTERS_CONCURRENT_MANY_WRITERS_H_
