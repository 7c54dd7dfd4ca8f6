// What the tests of the parallel forms share: keys of each kind, and a number of threads.
#ifndef NESTLINE_TESTS_FILTERS_PARALLEL_PARALLEL_FIXTURE_H_
#define NESTLINE_TESTS_FILTERS_PARALLEL_PARALLEL_FIXTURE_H_

#include <gtest/gtest.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "nestline/keys.h"
#include "tests/support/keys_of_kinds.h"

namespace nestline::test {

using KeyTypes = testing::Types<std::uint64_t, Hash, std::string_view>;

// Calls `work` in an arena of this many threads, which may be more than there are cores.
template <typename Work>
void with_threads(int threads, Work&& work) {
  const tbb::global_control allow(tbb::global_control::max_allowed_parallelism,
                                  static_cast<std::size_t>(threads));
  tbb::task_arena(threads).execute(std::forward<Work>(work));
}

inline constexpr int kThreads[] = {1, 2, 3, 8};

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_FILTERS_PARALLEL_PARALLEL_FIXTURE_H_
