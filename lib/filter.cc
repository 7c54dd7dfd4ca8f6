// Filter: single keys, and what it tells of itself. Its batches are in batch.cc.
#include "nestline/filter.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "filter_state.h"
#include "sizing.h"
#include "table.h"

namespace nestline {
namespace {

using State = Filter::State;

std::uint64_t hash_of(const State& state, std::uint64_t key) {
  return mix_integer(key, state.view.secrets);
}
std::uint64_t hash_of(const State& state, std::string_view key) {
  return hash_bytes(key, state.seed);
}

// Calls `work` with the table of the filter's width.
template <typename Work>
decltype(auto) with_table(const State& state, Work&& work) {
  return visit_layout(state.bits, [&](auto layout) {
    Table<decltype(layout)> table(state.blocks(), state.view.geometry, *state.kernels);
    return work(table);
  });
}

bool may_contain_hash(const State& state, std::uint64_t hash) {
  return state.kernels->contains(state.view, hash);
}

Inserted insert_hash(State& state, std::uint64_t hash) {
  const Outcome outcome =
      with_table(state, [&](auto& table) { return table.insert(table.home(hash)); });
  state.size += outcome == Outcome::stored;
  return {outcome};
}

Inserted insert_unique_hash(State& state, std::uint64_t hash) {
  if (may_contain_hash(state, hash)) return {Outcome::present};
  return insert_hash(state, hash);
}

bool erase_hash(State& state, std::uint64_t hash) {
  const bool erased = with_table(state, [&](auto& table) { return table.erase(table.home(hash)); });
  state.size -= erased;
  return erased;
}

Inserted update_hash(State& state, std::uint64_t old_hash, std::uint64_t new_hash) {
  const Inserted inserted = insert_hash(state, new_hash);
  if (inserted) erase_hash(state, old_hash);
  return inserted;
}

unsigned count_hash(const State& state, std::uint64_t hash) {
  return with_table(state, [&](auto& table) { return table.count(table.home(hash)); });
}

std::unique_ptr<State> make_state(const Options& options) {
  const Size size = decide_size(options);
  return std::make_unique<State>(size.bits, Geometry{size.blocks, 0}, options.seed, size.capacity,
                                 Storage::allocate(size.blocks), 0);
}

}  // namespace

Filter::Filter(const Options& options) : state_(make_state(options)) {}
Filter::Filter(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
Filter::Filter(Filter&& other) noexcept = default;
Filter& Filter::operator=(Filter&& other) noexcept = default;
Filter::~Filter() = default;

Inserted Filter::insert(std::uint64_t key) noexcept {
  return insert_hash(*state_, hash_of(*state_, key));
}
Inserted Filter::insert(std::string_view key) noexcept {
  return insert_hash(*state_, hash_of(*state_, key));
}
Inserted Filter::insert(Hash key) noexcept { return insert_hash(*state_, key.value); }

Inserted Filter::insert_unique(std::uint64_t key) noexcept {
  return insert_unique_hash(*state_, hash_of(*state_, key));
}
Inserted Filter::insert_unique(std::string_view key) noexcept {
  return insert_unique_hash(*state_, hash_of(*state_, key));
}
Inserted Filter::insert_unique(Hash key) noexcept { return insert_unique_hash(*state_, key.value); }

Inserted Filter::update(std::uint64_t old_key, std::uint64_t new_key) noexcept {
  return update_hash(*state_, hash_of(*state_, old_key), hash_of(*state_, new_key));
}
Inserted Filter::update(std::string_view old_key, std::string_view new_key) noexcept {
  return update_hash(*state_, hash_of(*state_, old_key), hash_of(*state_, new_key));
}
Inserted Filter::update(Hash old_key, Hash new_key) noexcept {
  return update_hash(*state_, old_key.value, new_key.value);
}

bool Filter::may_contain(std::uint64_t key) const noexcept {
  return state_->kernels->contains_integer(state_->view, key);
}
bool Filter::may_contain(std::string_view key) const noexcept {
  return may_contain_hash(*state_, hash_of(*state_, key));
}
bool Filter::may_contain(Hash key) const noexcept { return may_contain_hash(*state_, key.value); }

unsigned Filter::count(std::uint64_t key) const noexcept {
  return count_hash(*state_, hash_of(*state_, key));
}
unsigned Filter::count(std::string_view key) const noexcept {
  return count_hash(*state_, hash_of(*state_, key));
}
unsigned Filter::count(Hash key) const noexcept { return count_hash(*state_, key.value); }

bool Filter::erase(std::uint64_t key) noexcept {
  return erase_hash(*state_, hash_of(*state_, key));
}
bool Filter::erase(std::string_view key) noexcept {
  return erase_hash(*state_, hash_of(*state_, key));
}
bool Filter::erase(Hash key) noexcept { return erase_hash(*state_, key.value); }

void Filter::clear() noexcept {
  std::fill_n(state_->blocks(), state_->view.geometry.blocks(), Block{});
  state_->size = 0;
}

std::uint64_t Filter::size() const noexcept { return state_->size; }

std::uint64_t Filter::capacity() const noexcept { return state_->capacity; }

double Filter::load_factor() const noexcept {
  const auto slots = static_cast<double>(state_->view.geometry.blocks()) *
                     visit_layout(state_->bits, [](auto layout) { return layout.kSlots; });
  return static_cast<double>(state_->size) / slots;
}

double Filter::expected_fpr() const noexcept {
  constexpr std::uint64_t kSample = 4096;
  const Geometry& geometry = state_->view.geometry;
  const std::uint64_t sample = std::min(kSample, geometry.blocks());
  std::uint64_t marks = 0;
  for (std::uint64_t i = 0; i < sample; ++i) {
    // i * blocks / sample without overflow.
    const std::uint64_t whole = geometry.blocks() / sample * i;
    marks += state_->view.blocks[whole + geometry.blocks() % sample * i / sample].mark();
  }
  // A class is one of 255, evenly: a key's home sends it on with a probability of mark / 255.
  const double second_probes =
      static_cast<double>(marks) / (static_cast<double>(sample) * (kSpillClasses));
  return false_positive_rate(state_->bits, load_factor(), second_probes, geometry.growth);
}

int Filter::bits() const noexcept { return state_->bits; }

std::uint64_t Filter::seed() const noexcept { return state_->seed; }

std::size_t Filter::memory_bytes() const noexcept { return state_->storage.bytes().size(); }

}  // namespace nestline
