// Filter: single keys, and its properties. Its batches are in batch.cc.
#include "nestline/filter.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "lib/filter/filter_state.h"
#include "lib/filter/filter_table.h"
#include "lib/filter/growth.h"
#include "lib/filter/sizing.h"

namespace nestline {
namespace {

using State = Filter::State;
using Owned = internal::OwnedState<State>;

bool may_contain_hash(const State& state, std::uint64_t hash) {
  return state.kernels->contains(state.view, hash);
}

// Runs an insert or update, work(state); grows the filter and runs it again while it finds no room.
// `uncounted`: 1 unless the filter's patience has counted the key already.
template <typename Work>
Inserted with_room(Owned& state, Work&& work, std::uint64_t uncounted = 1) {
  for (;;) {
    const Outcome outcome = *work(std::as_const(*state));
    if (outcome != Outcome::full || !state->grows_by_itself() || !try_to_grow(state, uncounted)) {
      return {outcome};
    }
  }
}

// An insert that adds a key: work(state).
template <typename Work>
Inserted add_key(Owned& state, Work&& work) {
  while (state->is_due_to_grow() && try_to_grow(state)) continue;
  const Inserted inserted = with_room(state, work, state->is_due_to_grow() ? 0 : 1);
  state->size += inserted.outcome == Outcome::stored;
  return inserted;
}

// The rest of an insert. `tried`: the key's home if the first try was made there, else null.
[[gnu::noinline]] Inserted insert_further(Owned& state, std::uint64_t hash, const Place* tried) {
  return add_key(state, [&](const State& now) {
    const Place* const home = std::exchange(tried, nullptr);  // of this table, not of a grown one
    if (home == nullptr) return insert_in<NoLocks>(now, hash);
    return with_table<NoLocks>(now,
                               [&](auto& table) { return table.insert_with_room_made(*home); });
  });
}

Inserted insert_hash(Owned& state, std::uint64_t hash) {
  Place home;
  const bool tried = !state->is_due_to_grow();
  if (tried && insert_first<NoLocks>(*state, hash, home)) [[likely]] {
    ++state->size;
    return {Outcome::stored};
  }
  return insert_further(state, hash, tried ? &home : nullptr);
}

Inserted insert_unique_hash(Owned& state, std::uint64_t hash) {
  if (may_contain_hash(*state, hash)) return {Outcome::present};
  return add_key(state, [&](const State& now) {
    return with_table<NoLocks>(now,
                               [&](auto& table) { return table.insert_unique(table.home(hash)); });
  });
}

Inserted update_hash(Owned& state, std::uint64_t old_hash, std::uint64_t new_hash) {
  bool replaced = false;
  const Inserted inserted = with_room(state, [&](const State& now) {
    return with_table<NoLocks>(now, [&](auto& table) {
      return table.update(table.home(old_hash), table.home(new_hash), replaced);
    });
  });
  state->size += inserted && !replaced;
  return inserted;
}

bool erase_hash(State& state, std::uint64_t hash) {
  const bool erased = erase_in<NoLocks>(state, hash);
  state.size -= erased;
  return erased;
}

unsigned count_hash(const State& state, std::uint64_t hash) {
  return with_table<NoLocks>(state, [&](auto& table) { return table.count(table.home(hash)); });
}

std::unique_ptr<State> make_state(const Options& options) {
  const Size size = decide_size(options);
  auto state =
      std::make_unique<State>(size.bits, Geometry{size.blocks, 0}, options.seed, size.capacity,
                              Storage::allocate(size.blocks, options.memory), 0);
  state->max_capacity = size.max_capacity;
  return state;
}

}  // namespace

Filter::Filter(const Options& options) : state_(make_state(options)) {}
Filter::Filter(Filter&& other) noexcept = default;
Filter& Filter::operator=(Filter&& other) noexcept = default;
Filter::~Filter() = default;

Inserted Filter::insert_one(std::uint64_t key) noexcept {
  return insert_hash(state_, state_->hash(key));
}
Inserted Filter::insert_one(std::string_view key) noexcept {
  return insert_hash(state_, state_->hash(key));
}
Inserted Filter::insert_one(Hash key) noexcept { return insert_hash(state_, key.value); }

Inserted Filter::insert_unique_one(std::uint64_t key) noexcept {
  return insert_unique_hash(state_, state_->hash(key));
}
Inserted Filter::insert_unique_one(std::string_view key) noexcept {
  return insert_unique_hash(state_, state_->hash(key));
}
Inserted Filter::insert_unique_one(Hash key) noexcept {
  return insert_unique_hash(state_, key.value);
}

Inserted Filter::update_one(Hash old_key, Hash new_key) noexcept {
  return update_hash(state_, old_key.value, new_key.value);
}

bool Filter::may_contain_one(std::uint64_t key) const noexcept {
  return state_->kernels->contains_integer(state_->view, key);
}
bool Filter::may_contain_one(std::string_view key) const noexcept {
  return may_contain_hash(*state_, state_->hash(key));
}
bool Filter::may_contain_one(Hash key) const noexcept {
  return may_contain_hash(*state_, key.value);
}

Hash Filter::prepare(Key key) const noexcept {
  const std::uint64_t hash = key.visit([this](auto one) { return hash_one(one); }).value;
  prefetch_to_read(state_->view.blocks[home_block_of(state_->view.geometry, hash).block]);
  return {hash};
}

Reader Filter::reader() const noexcept {
  return {state_->view, state_->seed, state_->kernels->contains};
}

unsigned Filter::count_one(std::uint64_t key) const noexcept {
  return count_hash(*state_, state_->hash(key));
}
unsigned Filter::count_one(std::string_view key) const noexcept {
  return count_hash(*state_, state_->hash(key));
}
unsigned Filter::count_one(Hash key) const noexcept { return count_hash(*state_, key.value); }

bool Filter::erase_one(std::uint64_t key) noexcept {
  return erase_hash(*state_, state_->hash(key));
}
bool Filter::erase_one(std::string_view key) noexcept {
  return erase_hash(*state_, state_->hash(key));
}
bool Filter::erase_one(Hash key) noexcept { return erase_hash(*state_, key.value); }

Hash Filter::hash_one(std::uint64_t key) const noexcept { return {state_->hash(key)}; }
Hash Filter::hash_one(std::string_view key) const noexcept { return {state_->hash(key)}; }

void Filter::clear() noexcept {
  std::fill_n(state_->blocks(), state_->view.geometry.blocks(), Block{});
  state_->size = 0;
}

bool Filter::grow() {
  auto doubled = grown(*state_);
  if (!doubled) return false;
  state_ = std::move(doubled);
  return true;
}

void Filter::merge(const Filter& other) { state_ = merged(*state_, *other.state_); }

bool Filter::can_merge(const Filter& other, std::string* why) const {
  return nestline::can_merge(likeness(*state_), likeness(*other.state_), why);
}

Filter Filter::clone() const { return Filter(full_copy(*state_)); }

std::uint64_t Filter::size() const noexcept { return state_->size; }
std::uint64_t Filter::capacity() const noexcept { return state_->capacity; }
std::uint64_t Filter::max_capacity() const noexcept { return state_->max_capacity; }
unsigned Filter::growth() const noexcept { return state_->view.geometry.growth; }
std::uint64_t Filter::slots() const noexcept { return nestline::slots(*state_); }
double Filter::load_factor() const noexcept { return nestline::load_factor(*state_, state_->size); }
double Filter::expected_fpr() const noexcept {
  return nestline::expected_fpr(*state_, state_->size);
}
int Filter::bits() const noexcept { return state_->bits; }
std::uint64_t Filter::seed() const noexcept { return state_->seed; }
std::size_t Filter::memory_bytes() const noexcept { return state_->storage.bytes().size(); }

}  // namespace nestline
