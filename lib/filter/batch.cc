// Filter's batches.
#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/filter/batch_changes.h"
#include "lib/filter/batch_questions.h"
#include "lib/filter/filter_state.h"
#include "lib/filter/filter_table.h"
#include "lib/filter/growth.h"
#include "nestline/filter.h"

namespace nestline {
namespace {

// Looks up a chunk of keys.
struct Lookup {
  const Filter::State& state;
  [[nodiscard]] const Kernels& kernels() const { return *state.kernels; }
  void operator()(const Inputs& inputs, std::uint64_t* bitmap) const {
    kernels().contains_batch(state.view, inputs.keys, inputs.count, inputs.kind, bitmap);
  }
};

}  // namespace

std::size_t Filter::insert(KeySpan keys, std::span<std::uint8_t> stored) {
  batch::Record record("stored", stored, keys.size());
  for (KeyChunks chunks(keys, state_->seed); chunks.next();) {
    for (std::size_t taken = 0; taken < chunks.inputs().count;) {
      while (state_->is_due_to_grow() && try_to_grow(state_, 0)) continue;
      const bool growing =
          state_->grows_by_itself() && !state_->patience.is_waiting() && !state_->is_due_to_grow();
      // Up to the key before which it would have to grow.
      Inputs run = chunks.inputs().from(taken);
      if (growing) run = run.first(state_->capacity - state_->size);
      const std::size_t before = record.total();
      const batch::RunEnd end = with_table<NoLocks>(*state_, [&](auto& table) {
        return batch::insert_run(table, *state_, run, growing, chunks.first() + taken, record);
      });
      state_->size += record.total() - before;
      taken += end.taken;
      if (!growing) state_->patience.waits(end.taken);
      if (end.full) try_to_grow(state_, 0);
    }
  }
  return record.total();
}

std::size_t Filter::erase(KeySpan keys, std::span<std::uint8_t> erased) {
  batch::Record record("erased", erased, keys.size());
  for (KeyChunks chunks(keys, state_->seed); chunks.next();) {
    with_table<NoLocks>(*state_, [&](auto& table) {
      batch::erase_run(table, *state_, chunks.inputs(), chunks.first(), record);
    });
  }
  state_->size -= record.total();
  return record.total();
}

void Filter::count(KeySpan keys, std::span<std::uint8_t> out) const {
  check_length("out", out.size(), keys.size());
  for (KeyChunks chunks(keys, state_->seed); chunks.next();) {
    with_table<NoLocks>(*state_, [&](auto& table) {
      batch::count_run(table, *state_, chunks.inputs(), out.data() + chunks.first());
    });
  }
}

std::size_t Filter::may_contain(KeySpan keys, std::span<std::uint8_t> out) const {
  return batch::may_contain(Lookup{*state_}, keys, state_->seed, out);
}

std::size_t Filter::may_contain_bits(KeySpan keys, std::span<std::uint64_t> bitmap) const {
  return batch::may_contain_bits(Lookup{*state_}, keys, state_->seed, bitmap);
}

std::size_t Filter::select(KeySpan keys, std::span<std::uint32_t> positions) const {
  return batch::select(Lookup{*state_}, keys, state_->seed, positions);
}

std::size_t Filter::select(KeySpan keys, std::span<const std::uint32_t> selection,
                           std::span<std::uint32_t> positions) const {
  return batch::select(Lookup{*state_}, keys, state_->seed, selection, positions);
}

}  // namespace nestline
