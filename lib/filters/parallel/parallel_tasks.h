// Tasks that belong together, on the threads of the caller's task arena.
//
// When the caller's task group is cancelled, oneTBB silently skips the tasks that have not begun:
// so finished tasks are counted, and for_each_task throws if some are missing.
#ifndef NESTLINE_LIB_FILTERS_PARALLEL_PARALLEL_TASKS_H_
#define NESTLINE_LIB_FILTERS_PARALLEL_PARALLEL_TASKS_H_

#include <tbb/parallel_for.h>

#include <atomic>
#include <cstddef>

#include "nestline/parallel.h"

namespace nestline { inline namespace v0_3 { namespace parallel {

// Calls work(i) for each i below `count`, on all threads, neighbours mostly on the same thread and
// in order; a single task runs on this thread. Throws Cancelled, and what `work` throws.
template <typename Work>
void for_each_task(std::size_t count, const Work& work) {
  if (count == 0) return;
  if (count == 1) return work(std::size_t{0});
  std::atomic<std::size_t> finished = 0;
  tbb::parallel_for(std::size_t{0}, count, [&](std::size_t i) {
    work(i);
    ++finished;
  });
  if (finished != count) throw Cancelled();
}

}}}  // namespace nestline::parallel

#endif  // NESTLINE_LIB_FILTERS_PARALLEL_PARALLEL_TASKS_H_
