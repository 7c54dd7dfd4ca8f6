// Batches of inserts beside other threads, for filters and maplets: one section per run of keys, so
// that growing waits for one chunk at most.
#ifndef NESTLINE_LIB_FILTERS_CONCURRENT_INSERT_BATCH_H_
#define NESTLINE_LIB_FILTERS_CONCURRENT_INSERT_BATCH_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "lib/filters/concurrent/concurrent_state.h"
#include "lib/filters/filter/key_chunks.h"

namespace nestline { inline namespace v0_3 {

// Inserts some keys from the front of the inputs, and makes way if the next one finds no room.
template <class Run>
RunEnd insert_some(ConcurrentFilter::State& state, const Inputs& inputs, std::size_t first,
                   Record& record, const Run& insert_run) {
  RunEnd end{};
  const Tried tried = state.write([&]<class Locks>(Blocks& table, Locks locks) {
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
    end = insert_run(table, locks, some, limits, first, record);
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

// Inserts a batch: run(table, locks, inputs, limits, number of the first one, record) for some keys
// at a time, one(hash, number) for those that are overtaken.
template <class Run, class One>
std::size_t insert_batch(ConcurrentFilter::State& state, KeySpan keys, std::span<Outcome> outcomes,
                         const Run& run, const One& one) {
  Record record(outcomes, keys.size());
  refuse_in_section();  // before anything is changed
  for (KeyChunks chunks(keys, state.seed); chunks.next();) {
    const Inputs& inputs = chunks.inputs();
    for (std::size_t taken = 0; taken < inputs.count;) {
      const std::size_t first = chunks.first() + taken;
      const RunEnd end = insert_some(state, inputs.from(taken), first, record, run);
      taken += end.taken;
      if (!end.overtaken) continue;
      const std::size_t at = chunks.first() + taken;
      record.add(at, one(Hash{inputs.hash(taken, state.secrets)}, at).outcome);
      ++taken;
    }
  }
  return record.total();
}

}}  // namespace nestline

#endif  // NESTLINE_LIB_FILTERS_CONCURRENT_INSERT_BATCH_H_
