// Maplet: single pairs, growing, its properties, batches and files.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lib/filters/concurrent/insert_batch.h"
#include "lib/filters/file/filter_bytes.h"
#include "lib/filters/filter/batch.h"
#include "lib/filters/filter/bulk_build.h"
#include "lib/filters/filter/folding.h"
#include "lib/filters/filter/growth.h"
#include "lib/filters/filter/sizing.h"
#include "lib/filters/maplet/maplet_state.h"

namespace nestline { inline namespace v0_3 {
namespace {

using State = Maplet::State;

OwnedBlocks empty_table(const MapletOptions& options) {
  Shape shape = decide_maplet_size(options).shape(options.seed);
  shape.kind = &kMaplets;
  return make_blocks(shape, options.memory);
}

void check_value(std::uint64_t highest, std::uint64_t value) {
  if (value <= highest) return;
  throw std::invalid_argument("the value " + std::to_string(value) + " is above " +
                              std::to_string(highest) + ", the highest of " +
                              std::to_string(std::bit_width(highest)) + " bits");
}

void check_values(std::uint64_t highest, KeySpan keys, std::span<const std::uint64_t> values) {
  check_length("values", values.size(), keys.size());
  const auto found = std::ranges::find_if(values, [&](auto value) { return value > highest; });
  if (found != values.end()) check_value(highest, *found);
}

// Changes a pair that is there: work(operations, view) returns whether it was.
template <typename Work>
bool change(State& state, std::int64_t added, Work&& work) {
  return state.write([&]<class Locks>(const Blocks& table, Locks) {
    const bool done = work(maplet_operations<Locks>(table), table.view);
    if (done && added != 0) {
      state.keys.add<Locks>(added);
    } else if (!Locks().blocks_are_stable()) {
      full_fence();
    }
    return std::optional(done);
  });
}

// What a writer was at. Not inlined: lookups would have to save registers for it.
[[gnu::cold, gnu::noinline]] std::size_t find_locked(
    const State& state, const Blocks& table, std::uint64_t hash,
    std::span<std::uint64_t, Maplet::kMaxCandidates> values) noexcept {
  return state.with_readers(table.engine->of_maplets().operations,
                            [&](const auto& maplet, Writers* writers) {
                              return maplet.values(table.view, hash, values, writers);
                            });
}

[[gnu::cold, gnu::noinline]] std::uint64_t find_locked_set(const State& state, const Blocks& table,
                                                           std::uint64_t hash,
                                                           ValueSets sets) noexcept {
  std::array<std::uint64_t, Maplet::kMaxCandidates> values;
  return sets.of(std::span(values).first(find_locked(state, table, hash, values)));
}

// Changes values in all blocks, of as many pairs as it returns, while other writers wait.
std::uint64_t change_values(State& state, const ValueChange& change) {
  const auto change_all = [&](const Blocks& table) {
    const auto [changed, erased] = state.with_readers(
        table.engine->of_maplets().operations,
        [&](const auto& maplet, Writers*) { return maplet.change_values(table.view, change); });
    state.keys.add<BlockLocks>(-static_cast<std::int64_t>(erased));
    full_fence();  // lookups of this thread come after
    return changed;
  };
  if (NESTLINE_CHANGE_BESIDE_WRITERS) return state.read(change_all);
  const State::Pause pause(state);
  return change_all(pause.table());
}

}  // namespace

std::size_t find_hash(const State& state, std::uint64_t hash,
                      std::span<std::uint64_t, Maplet::kMaxCandidates> values) noexcept {
  return state.read([&](const Blocks& table) {
    const std::size_t count =
        state.engine.of_maplets().values.find(table.view, hash, values.data());
    if (count != MapletLookups::kBusy) [[likely]]
      return count;
    return find_locked(state, table, hash, values);
  });
}

std::uint64_t find_hash_set(const State& state, std::uint64_t hash,
                            std::uint64_t anywhere) noexcept {
  return state.read([&](const Blocks& table) {
    const ValueSets sets{anywhere, state.highest_value};
    const auto [set, done] = state.engine.of_maplets().values.find_set(table.view, hash, sets);
    return done ? set : find_locked_set(state, table, hash, sets);
  });
}

bool replace_pair(State& state, std::uint64_t hash, std::uint64_t old_value,
                  std::uint64_t new_value) noexcept {
  return change(state, 0, [&](const MapletOperations& maplet, const BlocksView& view) {
    return maplet.replace(view, hash, old_value, new_value);
  });
}

// Gives one of the key's pairs the highest value. False: there is none any more.
bool turn_into_anywhere(State& state, std::uint64_t hash) noexcept {
  std::array<std::uint64_t, Maplet::kMaxCandidates> values;
  for (std::size_t count; (count = find_hash(state, hash, values)) != 0;) {
    const auto found = std::span(values).first(count);
    if (std::ranges::find(found, state.highest_value) != found.end()) return true;
    if (replace_pair(state, hash, found[0], state.highest_value)) return true;
  }
  return false;
}

Inserted insert_pair(State& state, std::uint64_t hash, std::uint64_t value) noexcept {
  for (;;) {
    const Inserted inserted = insert_new_pair(state, hash, value);
    if (inserted || !state.is_anywhere(value)) return inserted;
    if (turn_into_anywhere(state, hash)) return {Outcome::stored};
    if (inserted.outcome == Outcome::full) return inserted;  // a key without a pair
  }
}

Inserted insert_new_pair(State& state, std::uint64_t hash, std::uint64_t value) noexcept {
  const bool done = state.try_alone([&](const Blocks& table) {
    if (table.grows_by_itself() && state.keys.allowed() <= 0) return false;
    const bool stored =
        maplet_operations<OneWriter>(table).insert(table.view, hash, value) == Outcome::stored;
    if (stored) state.keys.add<OneWriter>(1);
    return stored;
  });
  if (done) return {Outcome::stored};
  return {insert_or_grow(state, true, [&]<class Locks>(const Blocks& table, Locks, bool&) {
    return maplet_operations<Locks>(table).insert(table.view, hash, value);
  })};
}

Maplet::Maplet(const MapletOptions& options) : Maplet(MapletAccess::make(empty_table(options))) {}

Maplet::Maplet(Maplet&& other) noexcept = default;
Maplet& Maplet::operator=(Maplet&& other) noexcept = default;
Maplet::~Maplet() = default;

Maplet Maplet::build(const MapletOptions& options, KeySpan keys,
                     std::span<const std::uint64_t> values, std::span<Outcome> outcomes) {
  check_optional_length("outcomes", outcomes.size(), keys.size());
  const auto empty = [&] { return grown_for(empty_table(options), keys.size()); };
  OwnedBlocks table = empty();
  check_values(highest_value_of(table->bits), keys, values);
  if (table->engine->build != nullptr) {
    if (fill_maplet_in_bulk(table, keys, values)) {
      std::ranges::fill(outcomes, Outcome::stored);
      return MapletAccess::make(std::move(table));
    }
    table = nullptr;
    table = empty();  // pair by pair: which of them find no room
  }
  Maplet made = MapletAccess::make(std::move(table));
  if (made.insert(keys, values, outcomes) != keys.size() && outcomes.empty()) {
    throw std::length_error("a pair finds no room: raise capacity or max_capacity");
  }
  return made;
}

internal::KeyHasher Maplet::hasher(const State& state) noexcept { return state.hasher; }

Inserted Maplet::insert_one(Hash key, std::uint64_t value) {
  check_value(state_->highest_value, value);
  return insert_pair(*state_, key.value, value);
}

std::size_t Maplet::find_one(Hash key,
                             std::span<std::uint64_t, kMaxCandidates> values) const noexcept {
  return find_hash(*state_, key.value, values);
}

std::uint64_t Maplet::find_set_one(Hash key, std::uint64_t anywhere) const noexcept {
  return find_hash_set(*state_, key.value, anywhere);
}

bool Maplet::replace_one(Hash key, std::uint64_t old_value, std::uint64_t new_value) {
  check_value(state_->highest_value, new_value);
  return replace_pair(*state_, key.value, old_value, new_value);
}

bool Maplet::erase_one(Hash key, std::uint64_t value) noexcept {
  return change(*state_, -1, [&](const MapletOperations& maplet, const BlocksView& view) {
    return maplet.erase(view, key.value, value);
  });
}

void Maplet::fetch(Hash key) const noexcept {
  state_->read_no_block([&](const Blocks& table) { prefetch_home(table.view, key.value); });
}

std::uint64_t Maplet::erase_value(std::uint64_t value) {
  return change_values(*state_, {value, std::span(&kErased, 1)});
}

std::uint64_t Maplet::rename(std::span<const std::uint64_t> table) {
  const std::uint64_t highest = max_value();
  if (table.size() > highest + 1) {
    throw std::invalid_argument("the table has " + std::to_string(table.size()) +
                                " entries, but there are values up to " + std::to_string(highest));
  }
  for (const std::uint64_t value : table) {
    if (value != kErased) check_value(state_->highest_value, value);
  }
  return change_values(*state_, {0, table});
}

void Maplet::merge(const Maplet& other) {
  refuse_in_section();
  const OwnedBlocks copy = other.state_->copy();
  state_->exchange([&](const Blocks& table) {
    std::uint64_t left_out = 0;
    return merged_folded(table, *copy, Copies::all, left_out);
  });
}

bool Maplet::can_merge(const Maplet& other, std::string* why) const {
  return can_merge_folded(state_->shape(), size(), other.state_->shape(), other.size(), why);
}

int Maplet::value_bits() const noexcept { return value_bits_of(state_->bits); }
int Maplet::bits() const noexcept { return fingerprint_bits(state_->bits); }
std::uint64_t Maplet::max_value() const noexcept { return state_->highest_value; }
std::uint64_t Maplet::anywhere() const noexcept { return max_value(); }
std::size_t Maplet::max_copies() const noexcept { return most_copies(state_->bits); }

std::uint64_t Maplet::size() const noexcept {
  return state_->read([&](const Blocks&) { return state_->keys.total(); });
}

std::uint64_t Maplet::capacity() const noexcept { return state_->shape().capacity; }
std::uint64_t Maplet::max_capacity() const noexcept { return state_->shape().max_capacity; }
std::uint64_t Maplet::slots() const noexcept { return state_->shape().slots(); }

double Maplet::load_factor() const noexcept {
  return state_->read([&](const Blocks& table) { return nestline::load_factor(table, size()); });
}

// expected_fpr is the probability of at least one of a Poisson number of candidates.
double Maplet::expected_false_candidates() const noexcept {
  return state_->read(
      [&](const Blocks& table) { return -std::log1p(-nestline::expected_fpr(table, size())); });
}

std::uint64_t Maplet::seed() const noexcept { return state_->seed; }

std::size_t Maplet::memory_bytes() const noexcept { return state_->shape().memory_bytes(); }
unsigned Maplet::growth() const noexcept { return state_->shape().geometry.growth; }
unsigned Maplet::growth_left() const noexcept { return max_growth(state_->bits) - growth(); }

bool Maplet::grow() { return state_->exchange(grown); }
bool Maplet::shrink() { return state_->fold(1) != 0; }
bool Maplet::can_shrink() const noexcept { return state_->can_shrink(); }
unsigned Maplet::fit() { return state_->fold(); }

Maplet Maplet::snapshot() const { return MapletAccess::make(state_->copy()); }

Maplet Maplet::ready_for_snapshot() const { return MapletAccess::make(state_->ready_for_copy()); }

bool Maplet::snapshot_into(Maplet& ready) const {
  const State::Pause pause(*state_);
  const State::Pause other(*ready.state_);
  Blocks& table = other.table();
  if (!copy_into(pause.table(), table)) return false;
  ready.state_->keys.reset(table.size, table.capacity);
  return true;
}

void Maplet::for_each(const std::function<void(std::uint64_t value)>& with) const {
  const Maplet copy = snapshot();
  const Blocks& table = copy.state_->table_of_writer();
  const Block* const blocks = table.view.blocks;
  visit_maplet_layout(table.bits, [&](auto layout) {
    using L = decltype(layout);
    for (std::uint64_t i = 0; i < table.view.geometry.blocks(); ++i) {
      std::uint64_t taken = L::kAllSlots & ~table.engine->block.free_slots(blocks[i]);
      for (; taken != 0; taken &= taken - 1) with(L::value(blocks[i], first_slot(taken)));
    }
  });
}

// Batches: one section per chunk of keys, so that growing waits for one chunk at most.

std::size_t Maplet::find(KeySpan keys, std::vector<std::uint32_t>& first,
                         std::vector<std::uint64_t>& values) const {
  KeyChunks chunks(keys, state_->seed);
  CandidateLists lists(keys.size(), first, values, [&](std::size_t i, auto room) {
    return find_hash(*state_, chunks.inputs().hash(i, state_->secrets), room);
  });
  while (chunks.next()) {
    state_->read([&](const Blocks& table) {
      state_->engine.of_maplets().values.find_lists(table.view, chunks.inputs(), lists);
    });
  }
  return lists.finish();
}

void Maplet::find_sets(KeySpan keys, std::span<std::uint64_t> sets, std::uint64_t anywhere) const {
  check_length("sets", sets.size(), keys.size());
  for (KeyChunks chunks(keys, state_->seed); chunks.next();) {
    state_->read([&](const Blocks& table) {
      find_chunk_sets(state_->engine.of_maplets().values, table.view, chunks.inputs(),
                      {anywhere, state_->highest_value}, sets.data() + chunks.first(),
                      [&](std::size_t i) {
                        const std::uint64_t hash = chunks.inputs().hash(i, state_->secrets);
                        return find_hash_set(*state_, hash, anywhere);
                      });
    });
  }
}

std::size_t Maplet::insert(KeySpan keys, std::span<const std::uint64_t> values,
                           std::span<Outcome> outcomes) {
  check_values(state_->highest_value, keys, values);
  return insert_batch(
      *state_, keys, outcomes,
      [&]<class Locks>(const Blocks& table, Locks, const Inputs& inputs, const RunLimits& limits,
                       std::size_t first, Record& record) {
        return maplet_operations<Locks>(table).insert_run(table.view, inputs, values.data() + first,
                                                          limits, first, record);
      },
      [&](Hash hash, std::size_t at) { return insert_pair(*state_, hash.value, values[at]); });
}

// Files: the format of filters, whose code does the work.

// Of a copy, so that its bytes are of one instant and writers need not wait for a disk.
void save(const Maplet& maplet, const Output& to) { save(maplet.snapshot(), to); }

void save(Maplet&& maplet, const Output& to) {
  const auto table = MapletAccess::release(std::move(maplet));
  std::for_each_n(table->blocks(), table->view.geometry.blocks(), BlockLocks::forget_version);
  write_filter(to, table->shape(), *table);
}

Maplet Maplet::load(const Input& from, std::pmr::memory_resource* memory) {
  return MapletAccess::make(read_filter(from, memory, kMaplets).blocks);
}

}}  // namespace nestline
