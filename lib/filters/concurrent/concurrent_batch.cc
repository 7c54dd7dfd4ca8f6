// ConcurrentFilter's batches: one section per chunk, so that growing waits for one chunk at most.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "lib/filters/concurrent/lookup_beside_writers.h"

namespace nestline { inline namespace v0_3 {
namespace {

using State = ConcurrentFilter::State;
using InsertRun = decltype(FilterOperations::insert_run) FilterOperations::*;

// Inserts some keys from the front of the inputs, and makes way if the next one finds no room.
RunEnd insert_some(State& state, const Inputs& inputs, std::size_t first, Record& record,
                   InsertRun insert_run) {
  RunEnd end{};
  const Tried tried = state.write([&]<class Locks>(Blocks& table, Locks) {
    end = {};
    const bool growing = table.grows_by_itself();
    const std::uint64_t left = table.patience.left();
    const bool waiting = growing && left != 0;
    Tried run{.growth = table.view.geometry.growth};
    const std::int64_t allowed = growing ? state.keys.allowed() : 0;
    const std::uint64_t room = growing
                                   ? static_cast<std::uint64_t>(std::max<std::int64_t>(allowed, 0))
                                   : ~std::uint64_t{0};
    const RunLimits limits{room, growing && !waiting};
    const Inputs some = waiting ? inputs.first(left) : inputs;
    const std::size_t before = record.total();
    end = (operations<Locks>(table).*insert_run)(table.view, some, limits, first, record);
    const std::size_t stored = record.total() - before;
    if (end.taken != 0) state.keys.add<Locks>(static_cast<std::int64_t>(stored));
    if (waiting) table.patience.waits(end.refused);
    run.full = end.full;
    run.due = end.full || end.due;
    return std::optional(run);
  });
  if (tried.due) make_way(state, tried);
  return end;
}

// Inserts a batch: run(table, ...) for some keys at a time, one(hash) for those that are overtaken.
template <class One>
std::size_t insert_batch(State& state, KeySpan keys, std::span<Outcome> outcomes, InsertRun run,
                         One one) {
  Record record(outcomes, keys.size());
  refuse_in_section();  // before anything is changed
  for (KeyChunks chunks(keys, state.seed); chunks.next();) {
    const Inputs& inputs = chunks.inputs();
    for (std::size_t taken = 0; taken < inputs.count;) {
      const RunEnd end =
          insert_some(state, inputs.from(taken), chunks.first() + taken, record, run);
      taken += end.taken;
      if (!end.overtaken) continue;
      record.add(chunks.first() + taken, one(Hash{inputs.hash(taken, state.secrets)}).outcome);
      ++taken;
    }
  }
  return record.total();
}

}  // namespace

std::size_t ConcurrentFilter::insert(KeySpan keys, std::span<Outcome> outcomes) {
  return insert_batch(*state_, keys, outcomes, &FilterOperations::insert_run,
                      [&](Hash key) { return insert_one(key); });
}

std::size_t ConcurrentFilter::insert_unique(KeySpan keys, std::span<Outcome> outcomes) {
  return insert_batch(*state_, keys, outcomes, &FilterOperations::insert_unique_run,
                      [&](Hash key) { return insert_unique_one(key); });
}

std::size_t ConcurrentFilter::erase(KeySpan keys, std::span<std::uint8_t> erased) {
  Record record(erased, keys.size());
  refuse_in_section();
  for (KeyChunks chunks(keys, state_->seed); chunks.next();) {
    state_->write([&]<class Locks>(const Blocks& table, Locks) {
      const std::size_t before = record.total();
      operations<Locks>(table).erase_run(table.view, chunks.inputs(), chunks.first(), record);
      state_->keys.add<Locks>(-static_cast<std::int64_t>(record.total() - before));
      return std::optional(true);
    });
  }
  return record.total();
}

void ConcurrentFilter::count(KeySpan keys, std::span<std::uint8_t> out) const {
  check_length("out", out.size(), keys.size());
  for (KeyChunks chunks(keys, state_->seed); chunks.next();) {
    state_->read([&](const Blocks& table) {
      state_->with_readers(table.engine->filter, [&](const auto& filter, Writers* writers) {
        filter.count_run(table.view, chunks.inputs(), out.data() + chunks.first(), writers);
      });
    });
  }
}

std::size_t ConcurrentFilter::look_up(KeySpan keys, const internal::Answers& answers) const {
  return batch::look_up(ConcurrentLookup{*state_}, keys, state_->seed, answers);
}

}}  // namespace nestline
