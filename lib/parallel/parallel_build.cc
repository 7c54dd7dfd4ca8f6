// parallel::build: the tasks of bulk_build.h on oneTBB's threads.
#include <tbb/enumerable_thread_specific.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/filter/bulk_build.h"
#include "lib/parallel/parallel_tasks.h"
#include "nestline/parallel.h"

namespace nestline::parallel {
namespace {

class Tasks final : public BuildTasks {
  void for_each(std::size_t count, const Work& work) override {
    for_each_task(count, [&](std::size_t i) { work(i, scratch_.local()); });
  }
  tbb::enumerable_thread_specific<BuildScratch> scratch_;
};

}  // namespace

Filter build(const Options& options, KeySpan keys, std::span<std::uint8_t> stored) {
  Tasks tasks;
  return build_in_bulk(options, keys, stored, tasks);
}

}  // namespace nestline::parallel
