// ExpiringFilter's batches: one section per chunk.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

#include "lib/filters/concurrent/lookup_beside_writers.h"
#include "lib/filters/expiring/expiring_state.h"
#include "lib/filters/filter/batch.h"
#include "nestline/expiring_filter.h"

namespace nestline { inline namespace v0_3 {
namespace {

using State = ExpiringFilter::State;

// Inserts keys from the front of the inputs, the first being number `first` of the batch, up to one
// that other writers keep overtaking; returns how many.
template <class Locks>
std::size_t renew_some(State& state, const Blocks& table, const Inputs& inputs, unsigned life,
                       std::size_t first, Record& record) {
  const std::size_t before = record.total();
  std::uint32_t emptied = 0;
  const std::size_t taken =
      expiring_operations<Locks>(table).renew_run(table.view, inputs, life, first, record, emptied);
  // Also lets all threads see what was stored (locking.h, W7).
  state.keys.add<Locks>(static_cast<std::int64_t>(record.total() - before) - std::int64_t{emptied});
  state.count_inserts<Locks>(table, static_cast<std::uint32_t>(taken));
  return taken;
}

}  // namespace

std::size_t ExpiringFilter::insert_all(KeySpan keys, unsigned life, std::span<Outcome> outcomes) {
  State& state = *state_;
  life = std::clamp(life, 1u, state.life);
  Record record(outcomes, keys.size());
  refuse_in_section();  // before anything is changed
  for (KeyChunks chunks(keys, state.seed); chunks.next();) {
    const Inputs& inputs = chunks.inputs();
    for (std::size_t taken = 0; taken < inputs.count;) {
      taken += state.write([&]<class Locks>(const Blocks& table, Locks) {
        return std::optional(renew_some<Locks>(state, table, inputs.from(taken), life,
                                               chunks.first() + taken, record));
      });
      if (taken == inputs.count) break;
      const Inserted one = insert_one(Hash{inputs.hash(taken, state.secrets)}, life);
      record.add(chunks.first() + taken, one.outcome);
      ++taken;
    }
  }
  return record.total();
}

void ExpiringFilter::remaining_ticks(KeySpan keys, std::span<std::uint8_t> ticks) const {
  check_length("ticks", ticks.size(), keys.size());
  for (KeyChunks chunks(keys, state_->seed); chunks.next();) {
    state_->read([&](const Blocks& table) {
      state_->with_readers(table.engine->of_expiring_filters().operations,
                           [&](const auto& expiring, Writers* writers) {
                             expiring.ticks_left_run(table.view, chunks.inputs(),
                                                     ticks.data() + chunks.first(), writers);
                           });
    });
  }
}

std::size_t ExpiringFilter::look_up(KeySpan keys, const internal::Answers& answers) const {
  return batch::look_up(ConcurrentLookup{*state_}, keys, state_->seed, answers);
}

}}  // namespace nestline
