// Maplet: single pairs, growing, and its properties. Its batches are in maplet_batch.cc, its files
// in maplet_file.cc.
#include "nestline/maplet.h"

#include <cmath>
#include <optional>
#include <utility>

#include "lib/filter/growth.h"
#include "lib/filter/sizing.h"
#include "lib/maplet/maplet_state.h"

namespace nestline {
namespace {

using State = Maplet::State;

std::unique_ptr<Filter::State> empty_table(const MapletOptions& options) {
  const Size size = decide_maplet_size(options.capacity, options.max_capacity);
  auto table = std::make_unique<Filter::State>(size.bits, Geometry{size.blocks, 0}, options.seed,
                                               size.capacity, Storage::allocate(size.blocks), 0);
  table->max_capacity = size.max_capacity;
  return table;
}

// Changes a pair that is there: work(table, home) says whether it was.
template <typename Work>
bool change(State& state, std::uint64_t hash, std::int64_t added, Work&& work) {
  return state.write([&]<class Locks>(const Filter::State& table, Locks) {
    auto blocks = maplet_table<Locks>(table);
    const bool done = work(blocks, blocks.home(hash));
    if (done && added != 0) {
      state.keys.add<Locks>(added);
    } else if constexpr (!Locks::kAlone) {
      store_before_load();
    }
    return std::optional(done);
  });
}

}  // namespace

std::size_t find_hash(const State& state, std::uint64_t hash,
                      std::span<std::uint64_t, Maplet::kMostCandidates> values) noexcept {
  return state.read([&](const Filter::State& table) {
    const std::size_t count = state.kernels.find(table.view, hash, values.data());
    if (count != MapletKernels::kBusy) [[likely]]
      return count;
    return state.with_reader_locks([&]<class Locks>(Locks locks) {
      const auto blocks = maplet_table<Locks>(table, locks);
      return blocks.values(blocks.home(hash), values);
    });
  });
}

Inserted insert_hash(State& state, std::uint64_t hash, std::uint64_t value) noexcept {
  const auto store_first = [&]<class Locks>(const Filter::State& table, Locks, Place& home) {
    return state.kernels.store_first<Locks>()(table.view.blocks, table.view.geometry, hash, value,
                                              home);
  };
  const bool done = state.try_alone([&](const Filter::State& table) {
    if (table.grows_by_itself() && state.keys.allowed() <= 0) return false;
    Place home;
    const bool stored = store_first(table, OneWriter(), home);
    if (stored) state.keys.add<OneWriter>(1);
    return stored;
  });
  if (done) return {Outcome::stored};
  return {with_room(state, true, [&]<class Locks>(const Filter::State& table, Locks locks, bool&) {
    Place home;
    if (store_first(table, locks, home)) return std::optional(Outcome::stored);
    return maplet_table<Locks>(table).insert_with_room_made(home, value);
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
  return key.visit(
      [&](auto one) { return insert_hash(*state_, state_->hash(one), value & kMaxValue); });
}

std::size_t Maplet::find(Key key, std::span<std::uint64_t, kMostCandidates> values) const noexcept {
  return key.visit([&](auto one) { return find_hash(*state_, state_->hash(one), values); });
}

std::size_t Maplet::find(Hash key,
                         std::span<std::uint64_t, kMostCandidates> values) const noexcept {
  return find_hash(*state_, key.value, values);
}

bool Maplet::replace(Key key, std::uint64_t old_value, std::uint64_t new_value) noexcept {
  return key.visit([&](auto one) {
    return change(*state_, state_->hash(one), 0, [&](auto& blocks, const Place& home) {
      return blocks.replace_value(home, old_value, new_value & kMaxValue);
    });
  });
}

bool Maplet::erase(Key key, std::uint64_t value) noexcept {
  return key.visit([&](auto one) {
    return change(*state_, state_->hash(one), -1,
                  [&](auto& blocks, const Place& home) { return blocks.erase_value(home, value); });
  });
}

Hash Maplet::prepare(Key key) const noexcept {
  const std::uint64_t hash = key.visit([&](auto one) { return state_->hash(one); });
  state_->read([&](const Filter::State& table) {
    prefetch_to_read(table.view.blocks[home_block_of(table.view.geometry, hash).block]);
  });
  return {hash};
}

std::uint64_t Maplet::size() const noexcept {
  return state_->read([&](const Filter::State&) { return state_->keys.total(); });
}

std::uint64_t Maplet::capacity() const noexcept {
  return state_->read([](const Filter::State& table) { return table.capacity; });
}

std::uint64_t Maplet::max_capacity() const noexcept {
  return state_->read([](const Filter::State& table) { return table.max_capacity; });
}

std::uint64_t Maplet::slots() const noexcept {
  return state_->read([](const Filter::State& table) { return nestline::slots(table); });
}

double Maplet::load_factor() const noexcept {
  return state_->read(
      [&](const Filter::State& table) { return nestline::load_factor(table, size()); });
}

// expected_fpr is the probability of at least one of a Poisson number of candidates.
double Maplet::expected_false_candidates() const noexcept {
  return state_->read([&](const Filter::State& table) {
    return -std::log1p(-nestline::expected_fpr(table, size()));
  });
}

std::uint64_t Maplet::seed() const noexcept { return state_->seed; }

std::size_t Maplet::memory_bytes() const noexcept {
  return state_->read([](const Filter::State& table) { return table.storage.bytes().size(); });
}

unsigned Maplet::growth() const noexcept {
  return state_->read([](const Filter::State& table) { return table.view.geometry.growth; });
}

unsigned Maplet::growth_left() const noexcept { return max_growth(kMapletBits) - growth(); }

bool Maplet::grow() { return state_->exchange(grown); }

Maplet Maplet::snapshot() const { return MapletAccess::make(state_->copy()); }

Maplet Maplet::ready_for_snapshot() const { return MapletAccess::make(state_->ready_for_copy()); }

bool Maplet::snapshot_into(Maplet& ready) const noexcept {
  const State::Pause pause(*state_);
  const State::Pause other(*ready.state_);
  Filter::State& table = other.table();
  if (!copy_into(pause.table(), table)) return false;
  ready.state_->keys.reset(table.size);
  return true;
}

void Maplet::for_each(const std::function<void(std::uint64_t value)>& with) const {
  const Maplet copy = snapshot();
  copy.state_->read([&](const Filter::State& table) {
    const Block* const blocks = table.view.blocks;
    for (std::uint64_t i = 0; i < table.view.geometry.blocks(); ++i) {
      std::uint64_t taken = MapletLayout::kAllSlots & ~table.kernels->free_slots(blocks[i]);
      for (; taken != 0; taken &= taken - 1)
        with(MapletLayout::value(blocks[i], first_slot(taken)));
    }
  });
}

}  // namespace nestline
