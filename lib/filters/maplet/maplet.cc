// Maplet: single pairs, growing, its properties, batches and files.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "lib/filters/file/filter_bytes.h"
#include "lib/filters/filter/batch.h"
#include "lib/filters/filter/sizing.h"
#include "lib/filters/maplet/maplet_state.h"

namespace nestline { inline namespace v0_3 {
namespace {

using State = Maplet::State;

OwnedBlocks empty_table(const MapletOptions& options) {
  const Size size = decide_maplet_size(options.capacity, options.max_capacity);
  return make_blocks(size.shape(options.seed), options.memory);
}

// Changes a pair that is there: work(operations, view) returns whether it was.
template <typename Work>
bool change(State& state, std::int64_t added, Work&& work) {
  return state.write([&]<class Locks>(const Blocks& table, Locks) {
    const bool done = work(maplet_operations<Locks>(table), table.view);
    if (done && added != 0) {
      state.keys.add<Locks>(added);
    } else if constexpr (!Locks::kBlocksAreStable) {
      full_fence();
    }
    return std::optional(done);
  });
}

// What a writer was at. Not inlined: lookups would have to save registers for it.
[[gnu::cold, gnu::noinline]] std::size_t find_locked(
    const State& state, const Blocks& table, std::uint64_t hash,
    std::span<std::uint64_t, Maplet::kMaxCandidates> values) noexcept {
  return state.with_readers(table.engine->maplet, [&](const auto& maplet, Writers* writers) {
    return maplet.values(table.view, hash, values, writers);
  });
}

}  // namespace

std::size_t find_hash(const State& state, std::uint64_t hash,
                      std::span<std::uint64_t, Maplet::kMaxCandidates> values) noexcept {
  return state.read([&](const Blocks& table) {
    const std::size_t count = state.engine.maplet_lookups.find(table.view, hash, values.data());
    if (count != MapletLookups::kBusy) [[likely]]
      return count;
    return find_locked(state, table, hash, values);
  });
}

Inserted insert_pair(State& state, std::uint64_t hash, std::uint64_t value) noexcept {
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

Maplet::Maplet(const MapletOptions& options) {
  ConcurrentFilter::register_thread();
  state_ = std::make_unique<State>(empty_table(options));
}

Maplet::Maplet(Maplet&& other) noexcept = default;
Maplet& Maplet::operator=(Maplet&& other) noexcept = default;
Maplet::~Maplet() = default;

Inserted Maplet::insert(Key key, std::uint64_t value) noexcept {
  return insert_pair(*state_, state_->hasher(key).value, value & kMaxValue);
}

std::size_t Maplet::find(Key key, std::span<std::uint64_t, kMaxCandidates> values) const noexcept {
  return find_hash(*state_, state_->hasher(key).value, values);
}

std::size_t Maplet::find(Hash key, std::span<std::uint64_t, kMaxCandidates> values) const noexcept {
  return find_hash(*state_, key.value, values);
}

bool Maplet::replace(Key key, std::uint64_t old_value, std::uint64_t new_value) noexcept {
  const std::uint64_t hash = state_->hasher(key).value;
  return change(*state_, 0, [&](const MapletOperations& maplet, const BlocksView& view) {
    return maplet.replace(view, hash, old_value, new_value & kMaxValue);
  });
}

bool Maplet::erase(Key key, std::uint64_t value) noexcept {
  const std::uint64_t hash = state_->hasher(key).value;
  return change(*state_, -1, [&](const MapletOperations& maplet, const BlocksView& view) {
    return maplet.erase(view, hash, value);
  });
}

Hash Maplet::prepare(Key key) const noexcept {
  const Hash hash = state_->hasher(key);
  state_->read_no_block([&](const Blocks& table) { prefetch_home(table.view, hash.value); });
  return hash;
}

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
unsigned Maplet::growth_left() const noexcept { return max_growth(kMapletBits) - growth(); }

bool Maplet::grow() { return state_->exchange(grown); }

Maplet Maplet::snapshot() const { return MapletAccess::make(state_->copy()); }

Maplet Maplet::ready_for_snapshot() const { return MapletAccess::make(state_->ready_for_copy()); }

bool Maplet::snapshot_into(Maplet& ready) const {
  const State::Pause pause(*state_);
  const State::Pause other(*ready.state_);
  Blocks& table = other.table();
  if (!copy_into(pause.table(), table)) return false;
  ready.state_->keys.reset(table.size);
  return true;
}

void Maplet::for_each(const std::function<void(std::uint64_t value)>& with) const {
  const Maplet copy = snapshot();
  const Blocks& table = copy.state_->table_of_writer();
  const Block* const blocks = table.view.blocks;
  for (std::uint64_t i = 0; i < table.view.geometry.blocks(); ++i) {
    std::uint64_t taken = MapletLayout::kAllSlots & ~table.engine->block.free_slots(blocks[i]);
    for (; taken != 0; taken &= taken - 1) with(MapletLayout::value(blocks[i], first_slot(taken)));
  }
}

// Batches: one section per chunk of keys, so that growing waits for one chunk at most.

std::size_t Maplet::find(KeySpan keys, std::vector<std::uint32_t>& first,
                         std::vector<std::uint64_t>& values) const {
  CandidateLists lists(keys.size(), first, values);
  for (KeyChunks chunks(keys, state_->seed); chunks.next();) {
    state_->read([&](const Blocks& table) {
      find_chunk(state_->engine.maplet_lookups, table.view, chunks.inputs(), lists,
                 [&](const Inputs& inputs, std::size_t i, auto candidates) {
                   return find_hash(*state_, inputs.hash(i, state_->secrets), candidates);
                 });
    });
  }
  return lists.finish();
}

std::size_t Maplet::insert(KeySpan keys, std::span<const std::uint64_t> values,
                           std::span<Outcome> outcomes) {
  check_length("values", values.size(), keys.size());
  Record record(outcomes, keys.size());
  refuse_in_section();  // before anything is changed
  // Keys whose blocks are on their way to the cache while others are stored.
  constexpr std::size_t kAhead = 16;
  for (KeyChunks chunks(keys, state_->seed); chunks.next();) {
    const Inputs& inputs = chunks.inputs();
    std::array<std::uint64_t, kAhead> hashes;
    const auto prepare_one = [&](std::size_t i) {
      if (i >= inputs.count) return;
      hashes[i % kAhead] = prepare(Hash{inputs.hash(i, state_->secrets)}).value;
    };
    for (std::size_t i = 0; i < kAhead; ++i) prepare_one(i);
    for (std::size_t i = 0; i < inputs.count; ++i) {
      const std::uint64_t hash = hashes[i % kAhead];
      prepare_one(i + kAhead);
      const std::size_t at = chunks.first() + i;
      record.add(at, insert_pair(*state_, hash, values[at] & kMaxValue).outcome);
    }
  }
  return record.total();
}

// Files: the format of filters, whose code does the work.

// Of a copy, so that its bytes are of one instant and writers need not wait for a disk.
void save(const Maplet& maplet, const Output& to) { save(maplet.snapshot(), to); }

void save(Maplet&& maplet, const Output& to) {
  const auto table = MapletAccess::release(std::move(maplet));
  write_to(to, [&](const ByteSink& sink) { write_filter(*table, sink); });
}

Maplet Maplet::load(const Input& from, std::pmr::memory_resource* memory) {
  ConcurrentFilter::register_thread();
  return MapletAccess::make(read_filter(from, memory, Kind::maplet).blocks);
}

}}  // namespace nestline
