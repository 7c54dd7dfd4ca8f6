// ConcurrentFilter's batches: one section per chunk, so that growing waits for one chunk at most.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "lib/concurrent/concurrent_state.h"
#include "lib/concurrent/lookup_beside_writers.h"
#include "lib/filter/batch.h"
#include "lib/filter/blocks.h"
#include "nestline/concurrent_filter.h"

namespace nestline {
namespace {

using State = ConcurrentFilter::State;

// Inserts some keys from the front of the inputs, and makes way if the next one finds no room;
// returns how many it took.
std::size_t insert_some(State& state, const Inputs& inputs, std::size_t first,
                        batch::Record& record) {
  batch::RunEnd end{};
  const Tried tried = state.write([&]<class Locks>(Blocks& table, Locks) {
    end = {};
    const bool growing = table.grows_by_itself();
    const bool waiting = table.patience.is_waiting();
    Tried run{.growth = table.view.geometry.growth};
    const std::int64_t allowed = growing ? state.keys.allowed() : 0;
    run.due = growing && allowed <= 0;
    if (run.due) return std::optional(run);
    const Inputs part = growing ? inputs.first(static_cast<std::uint64_t>(allowed)) : inputs;
    const std::size_t before = record.total();
    end = with_table<Locks>(table, [&](auto& blocks) {
      return batch::insert_run(blocks, table, part, growing && !waiting, first, record);
    });
    const std::size_t stored = record.total() - before;
    state.keys.add<Locks>(static_cast<std::int64_t>(stored));
    if (growing && waiting) table.patience.waits(end.taken - stored);
    run.due = run.full = end.full;
    return std::optional(run);
  });
  if (tried.due) make_way(state, tried);
  if (!end.overtaken) return end.taken;
  const bool stored{insert_hash(state, inputs.hash(end.taken, state.secrets))};
  record.add(first + end.taken, stored);
  return end.taken + 1;
}

}  // namespace

std::size_t ConcurrentFilter::insert(KeySpan keys, std::span<std::uint8_t> stored) {
  batch::Record record("stored", stored, keys.size());
  refuse_in_section();  // before anything is changed
  for (KeyChunks chunks(keys, state_->seed); chunks.next();) {
    for (std::size_t taken = 0; taken < chunks.inputs().count;) {
      taken += insert_some(*state_, chunks.inputs().from(taken), chunks.first() + taken, record);
    }
  }
  return record.total();
}

std::size_t ConcurrentFilter::erase(KeySpan keys, std::span<std::uint8_t> erased) {
  batch::Record record("erased", erased, keys.size());
  refuse_in_section();
  for (KeyChunks chunks(keys, state_->seed); chunks.next();) {
    state_->write([&]<class Locks>(const Blocks& table, Locks) {
      const std::size_t before = record.total();
      with_table<Locks>(table, [&](auto& blocks) {
        batch::erase_run(blocks, table, chunks.inputs(), chunks.first(), record);
      });
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
      state_->look_at(table, [&](const auto& blocks) {
        batch::count_run(blocks, table, chunks.inputs(), out.data() + chunks.first());
      });
    });
  }
}

std::size_t ConcurrentFilter::look_up(KeySpan keys, const internal::Answers& answers) const {
  return batch::look_up(LookupBesideWriters{*state_}, keys, state_->seed, answers);
}

}  // namespace nestline
