// Questions for one key, and statistics.
#include <optional>

#include "lib/concurrent/reclaim.h"
#include "lib/store/answering.h"
#include "lib/store/state.h"

namespace nestline {

bool Store::State::get(Space space, std::string_view key, With with, void* context) const {
  const ReadSection section;
  const Content& here = content();
  const Question question = ask(space, key, here.store_id);
  std::uint64_t false_reads = 0;
  const std::optional<Located> found =
      lookup_.find(here, *here.index.load(std::memory_order_acquire), question, false_reads);
  counters_.count(found ? 1 : 0, found ? 0 : 1, false_reads);
  if (found && with != nullptr) {
    const Answering answering;
    with(context, found->value);
  }
  return found.has_value();
}

StoreStats Store::State::stats() const {
  StoreStats stats;
  {
    const ReadSection section;
    const Content& here = content();
    const Index& index = *here.index.load(std::memory_order_acquire);
    stats.records = here.keys.load(std::memory_order_relaxed);
    stats.index_bytes = index.maplet.memory_bytes();
    stats.index_slots = index.maplet.slots();
    stats.overflow_keys = index.overflow.size();
    for (const std::shared_ptr<Segment>& segment : here.table.list()) {
      const std::uint64_t live = segment->counts.live.load(std::memory_order_relaxed);
      stats.live_bytes += live;
      stats.dead_bytes += segment->end() - live;
      ++stats.segments;
    }
  }
  const Counters::Sums sums = counters_.sums();
  stats.questions = sums.found + sums.missing;
  stats.found = sums.found;
  stats.false_reads = sums.false_reads;
  stats.reads = sums.found + sums.false_reads;
  stats.syncs = syncs_.syncs();
  stats.replayed_records = replayed_records_;
  stats.cut_bytes = cut_bytes_;
  stats.back_end = "preadv";
  const std::lock_guard lock(noting_);
  stats.background_error = background_error_;
  return stats;
}

}  // namespace nestline
