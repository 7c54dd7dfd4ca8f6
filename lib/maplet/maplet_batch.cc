// Maplet's batches: one section per chunk of keys, so that growing waits
// for one chunk at most.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lib/filter/key_chunks.h"
#include "lib/filter/span_checks.h"
#include "lib/maplet/candidate_lists.h"
#include "lib/maplet/maplet_state.h"
#include "nestline/maplet.h"

namespace nestline {
namespace {

using State = Maplet::State;

std::uint64_t hash_of(const State& state, const Inputs& inputs, std::size_t i) {
  return inputs.kind == Input::integers ? state.hash(inputs.keys[i]) : inputs.keys[i];
}

}  // namespace

std::size_t Maplet::find(KeySpan keys, std::vector<std::uint32_t>& first,
                         std::vector<std::uint64_t>& values) const {
  const State& state = *state_;
  CandidateLists lists(keys.size(), first, values);
  for (KeyChunks chunks(keys, state.seed); chunks.next();) {
    state.read([&](const Filter::State& table) {
      find_chunk(state.kernels, table.view, chunks.inputs(), lists,
                 [&](const Inputs& inputs, std::size_t i, auto candidates) {
                   return find_hash(state, hash_of(state, inputs, i), candidates);
                 });
    });
  }
  return lists.finish();
}

std::size_t Maplet::insert(KeySpan keys, std::span<const std::uint64_t> values,
                           std::span<std::uint8_t> stored) {
  check_length("values", values.size(), keys.size());
  check_optional_length("stored", stored.size(), keys.size());
  // Keys whose blocks are on their way to the cache while others are stored.
  constexpr std::size_t kAhead = 16;
  std::size_t total = 0;
  for (KeyChunks chunks(keys, state_->seed); chunks.next();) {
    const Inputs& inputs = chunks.inputs();
    std::array<std::uint64_t, kAhead> hashes;
    const auto prepare_one = [&](std::size_t i) {
      if (i >= inputs.count) return;
      hashes[i % kAhead] = prepare(Hash{hash_of(*state_, inputs, i)}).value;
    };
    for (std::size_t i = 0; i < kAhead; ++i) prepare_one(i);
    for (std::size_t i = 0; i < inputs.count; ++i) {
      const std::uint64_t hash = hashes[i % kAhead];
      prepare_one(i + kAhead);
      const std::size_t at = chunks.first() + i;
      const bool done{insert_hash(*state_, hash, values[at] & kMaxValue)};
      if (!stored.empty()) stored[at] = static_cast<std::uint8_t>(done);
      total += done;
    }
  }
  return total;
}

}  // namespace nestline
