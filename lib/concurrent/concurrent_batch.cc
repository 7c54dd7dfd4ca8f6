// ConcurrentFilter's batches: one section a chunk, so that who grows the filter never waits long.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "lib/concurrent/concurrent_state.h"
#include "lib/filter/batch_forms.h"
#include "nestline/concurrent_filter.h"

namespace nestline {
namespace {

using State = ConcurrentFilter::State;

std::uint64_t hash_of(const State& state, std::uint64_t input, Input kind) {
  return kind == Input::integers ? state.hash(input) : input;
}

// Answers chunks of questions.
auto asker(const State& state) {
  return
      [&state](const std::uint64_t* inputs, std::size_t count, Input kind, std::uint64_t* bitmap) {
        state.read([&](const Filter::State& table) {
          std::array<std::uint64_t, kChunk / 64> undecided;
          if (!table.kernels->try_contains_batch(table.view, inputs, count, kind, bitmap,
                                                 undecided.data())) {
            return;
          }
          for (std::size_t first = 0; first < count; first += 64) {
            for_each_bit(undecided[first / 64], first, [&](std::size_t i) {
              const bool found = contains_after_all(table, hash_of(state, inputs[i], kind));
              bitmap[i / 64] |= std::uint64_t{found} << i % 64;
            });
          }
        });
      };
}

}  // namespace

std::size_t ConcurrentFilter::insert(KeySpan keys, std::span<std::uint8_t> stored) {
  State& state = *state_;
  bool may_grow = true;
  return batch::change_all(
      keys, state.seed, "stored", stored, [&](const batch::Inputs& inputs, auto&& record) {
        std::size_t taken = 0;
        bool overtaken = false;
        const Tried tried = state.write([&](Filter::State& table, auto& blocks) {
          const bool growing = may_grow && table.grows_by_itself();
          Tried run{.growth = table.view.geometry.growth};
          const std::int64_t allowed = growing ? state.keys.allowed() : 0;
          run.due = growing && allowed <= 0;
          if (run.due) return std::optional(run);
          const auto part = growing ? inputs.first(static_cast<std::uint64_t>(allowed)) : inputs;
          std::int64_t done = 0;
          taken = batch::for_each_place<batch::Fetch::home>(
              blocks, *table.kernels, table.view, part,
              [&](std::size_t i, const Place& place, std::uint64_t) {
                const std::optional<Outcome> outcome = blocks.insert(place);
                overtaken = !outcome;
                run.full = growing && outcome == Outcome::full;
                if (overtaken || run.full) return false;
                record(i, outcome == Outcome::stored);
                done += outcome == Outcome::stored;
                return true;
              });
          state.keys.add(done);
          run.due = run.full;
          return std::optional(run);
        });
        if (tried.due) may_grow = make_way(state, tried);
        if (overtaken) {
          const std::uint64_t hash = hash_of(state, inputs.keys[taken], inputs.kind);
          record(taken, static_cast<bool>(insert_hash(state, hash)));
          ++taken;
        }
        return taken;
      });
}

std::size_t ConcurrentFilter::erase(KeySpan keys, std::span<std::uint8_t> erased) {
  State& state = *state_;
  return batch::change_all(keys, state.seed, "erased", erased,
                           [&](const batch::Inputs& inputs, auto&& record) {
                             return state.write([&](Filter::State& table, auto& blocks) {
                               std::int64_t done = 0;
                               const std::size_t taken = batch::for_each_place<batch::Fetch::both>(
                                   blocks, *table.kernels, table.view, inputs,
                                   [&](std::size_t i, const Place& place, std::uint64_t copies) {
                                     const bool found = blocks.erase(place, copies);
                                     record(i, found);
                                     done += found;
                                     return true;
                                   });
                               state.keys.add(-done);
                               return std::optional(taken);
                             });
                           });
}

void ConcurrentFilter::count(KeySpan keys, std::span<std::uint8_t> out) const {
  const State& state = *state_;
  batch::count_all(keys, state.seed, out,
                   [&](const batch::Inputs& inputs, std::span<std::uint8_t> counts) {
                     state.read([&](const Filter::State& table) {
                       with_table<BlockLocks>(table, [&](const auto& blocks) {
                         batch::for_each_place<batch::Fetch::both>(
                             blocks, *table.kernels, table.view, inputs,
                             [&](std::size_t i, const Place& place, std::uint64_t) {
                               counts[i] = static_cast<std::uint8_t>(blocks.count(place));
                               return true;
                             });
                       });
                     });
                   });
}

std::size_t ConcurrentFilter::may_contain(KeySpan keys, std::span<std::uint8_t> out) const {
  return batch::may_contain(asker(*state_), keys, state_->seed, out);
}

std::size_t ConcurrentFilter::may_contain_bits(KeySpan keys,
                                               std::span<std::uint64_t> bitmap) const {
  return batch::may_contain_bits(asker(*state_), keys, state_->seed, bitmap);
}

std::size_t ConcurrentFilter::select(KeySpan keys, std::span<std::uint32_t> positions) const {
  return batch::select(asker(*state_), keys, state_->seed, positions);
}

std::size_t ConcurrentFilter::select(KeySpan keys, std::span<const std::uint32_t> selection,
                                     std::span<std::uint32_t> positions) const {
  return batch::select(asker(*state_), keys, state_->seed, selection, positions);
}

}  // namespace nestline
