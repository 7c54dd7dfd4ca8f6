// Filter's batches.
#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/filter/batch_forms.h"
#include "lib/filter/filter_state.h"
#include "lib/filter/growth.h"
#include "nestline/filter.h"

namespace nestline {
namespace {

using batch::Fetch;

// Answers chunks of questions.
auto asker(const Filter::State& state) {
  return
      [&state](const std::uint64_t* inputs, std::size_t count, Input input, std::uint64_t* bitmap) {
        state.kernels->contains_batch(state.view, inputs, count, input, bitmap);
      };
}

// Calls visit(table, i, place, copies) for the inputs in order until it returns false; how many it
// took.
template <batch::Fetch kFetch, typename Visit>
std::size_t visit_places(const Filter::State& state, const batch::Inputs& inputs, Visit&& visit) {
  return with_table<NoLocks>(state, [&](auto& table) {
    return batch::for_each_place<kFetch>(
        table, *state.kernels, state.view, inputs,
        [&](std::size_t i, const Place& place, std::uint64_t copies) {
          return visit(table, i, place, copies);
        });
  });
}

}  // namespace

std::size_t Filter::insert(KeySpan keys, std::span<std::uint8_t> stored) {
  bool may_grow = true;
  return batch::change_all(
      keys, state_->seed, "stored", stored, [&](const batch::Inputs& inputs, auto&& record) {
        while (may_grow && state_->is_due_to_grow()) may_grow = try_to_grow(state_);
        const bool growing = may_grow && state_->grows_by_itself();
        // Up to where it would have to grow before the next key.
        const auto run = growing ? inputs.first(state_->capacity - state_->size) : inputs;
        const std::size_t taken = visit_places<Fetch::home>(
            *state_, run, [&](auto& table, std::size_t i, const Place& place, std::uint64_t) {
              const Outcome outcome = *table.insert(place);
              if (outcome == Outcome::full && growing) return false;
              state_->size += outcome == Outcome::stored;
              record(i, outcome == Outcome::stored);
              return true;
            });
        if (taken < run.count) may_grow = try_to_grow(state_);
        return taken;
      });
}

std::size_t Filter::erase(KeySpan keys, std::span<std::uint8_t> erased) {
  const std::size_t done = batch::change_all(
      keys, state_->seed, "erased", erased, [&](const batch::Inputs& inputs, auto&& record) {
        return visit_places<Fetch::both>(
            *state_, inputs,
            [&](auto& table, std::size_t i, const Place& place, std::uint64_t copies) {
              record(i, table.erase(place, copies));
              return true;
            });
      });
  state_->size -= done;
  return done;
}

void Filter::count(KeySpan keys, std::span<std::uint8_t> out) const {
  batch::count_all(
      keys, state_->seed, out, [&](const batch::Inputs& inputs, std::span<std::uint8_t> counts) {
        visit_places<Fetch::both>(
            *state_, inputs, [&](auto& table, std::size_t i, const Place& place, std::uint64_t) {
              counts[i] = static_cast<std::uint8_t>(table.count(place));
              return true;
            });
      });
}

std::size_t Filter::may_contain(KeySpan keys, std::span<std::uint8_t> out) const {
  return batch::may_contain(asker(*state_), keys, state_->seed, out);
}

std::size_t Filter::may_contain_bits(KeySpan keys, std::span<std::uint64_t> bitmap) const {
  return batch::may_contain_bits(asker(*state_), keys, state_->seed, bitmap);
}

std::size_t Filter::select(KeySpan keys, std::span<std::uint32_t> positions) const {
  return batch::select(asker(*state_), keys, state_->seed, positions);
}

std::size_t Filter::select(KeySpan keys, std::span<const std::uint32_t> selection,
                           std::span<std::uint32_t> positions) const {
  return batch::select(asker(*state_), keys, state_->seed, selection, positions);
}

}  // namespace nestline
