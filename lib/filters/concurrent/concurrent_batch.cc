// ConcurrentFilter's batches: one section per chunk, so that growing waits for one chunk at most.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "lib/filters/concurrent/insert_batch.h"
#include "lib/filters/concurrent/lookup_beside_writers.h"

namespace nestline { inline namespace v0_3 {
namespace {

using State = ConcurrentFilter::State;
using InsertRun = decltype(FilterOperations::insert_run) FilterOperations::*;

// Runs of a filter, for insert_batch.
auto of_filter(InsertRun insert_run) {
  return [insert_run]<class Locks>(const Blocks& table, Locks, const Inputs& inputs,
                                   const RunLimits& limits, std::size_t first, Record& record) {
    return (operations<Locks>(table).*insert_run)(table.view, inputs, limits, first, record);
  };
}

}  // namespace

std::size_t ConcurrentFilter::insert(KeySpan keys, std::span<Outcome> outcomes) {
  return insert_batch(*state_, keys, outcomes, of_filter(&FilterOperations::insert_run),
                      [&](Hash key, std::size_t) { return insert_one(key); });
}

std::size_t ConcurrentFilter::insert_unique(KeySpan keys, std::span<Outcome> outcomes) {
  return insert_batch(*state_, keys, outcomes, of_filter(&FilterOperations::insert_unique_run),
                      [&](Hash key, std::size_t) { return insert_unique_one(key); });
}

std::size_t ConcurrentFilter::erase(KeySpan keys, std::span<std::uint8_t> erased) {
  Record record(erased, keys.size());
  refuse_in_section();
  for (KeyChunks chunks(keys, state_->seed); chunks.next();) {
    const bool may_shrink = state_->write([&]<class Locks>(const Blocks& table, Locks) {
      const std::size_t before = record.total();
      operations<Locks>(table).erase_run(table.view, chunks.inputs(), chunks.first(), record);
      state_->keys.add<Locks>(-static_cast<std::int64_t>(record.total() - before));
      return std::optional(table.shrinking_size != 0);
    });
    if (may_shrink) state_->shrink_if_due();
  }
  return record.total();
}

void ConcurrentFilter::count(KeySpan keys, std::span<std::uint8_t> out) const {
  check_length("out", out.size(), keys.size());
  for (KeyChunks chunks(keys, state_->seed); chunks.next();) {
    state_->read([&](const Blocks& table) {
      state_->with_readers(
          table.engine->of_filters().operations, [&](const auto& filter, Writers* writers) {
            filter.count_run(table.view, chunks.inputs(), out.data() + chunks.first(), writers);
          });
    });
  }
}

std::size_t ConcurrentFilter::look_up(KeySpan keys, const internal::Answers& answers) const {
  return batch::look_up(ConcurrentLookup{*state_}, keys, state_->seed, answers);
}

}}  // namespace nestline
