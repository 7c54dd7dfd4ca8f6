// Filter: single keys, batches, and its properties.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "lib/filters/filter/batch.h"
#include "lib/filters/filter/growth.h"
#include "lib/filters/filter/sizing.h"

namespace nestline { inline namespace v0_3 {
namespace {

// Runs an insert or update, work(blocks), and again after each growth while it finds no room.
// `adds`: it stores a new key, which is counted and for which the filter may be due to grow first.
template <typename Work>
Inserted change_or_grow(OwnedBlocks& state, bool adds, Work&& work) {
  while (adds && state->is_due_to_grow() && try_to_grow(state)) continue;
  // The filter's patience has counted a key before which it is due.
  const std::uint64_t uncounted = adds && state->is_due_to_grow() ? 0 : 1;
  for (;;) {
    const Outcome outcome = *work(std::as_const(*state));
    if (outcome == Outcome::full && state->grows_by_itself() && try_to_grow(state, uncounted)) {
      continue;
    }
    state->size += adds && outcome == Outcome::stored;
    return {outcome};
  }
}

// The rest of an insert, whose first try has failed or was not made.
[[gnu::noinline]] Inserted insert_further(OwnedBlocks& state, std::uint64_t hash, bool tried) {
  return change_or_grow(state, true, [&](const Blocks& now) {
    // What was tried was this table, not a grown one.
    if (!std::exchange(tried, false) && store_at_home<NoLocks>(now, hash)) {
      return std::optional(Outcome::stored);
    }
    return insert_by_spill<NoLocks>(now, hash);
  });
}

Inserted insert_absent(OwnedBlocks& state, std::uint64_t hash) {
  return change_or_grow(state, true, [&](const Blocks& now) {
    return with_table<NoLocks>(
        now, [&](auto& table) { return table.insert(table.home(hash), {}, true); });
  });
}

// Inserts a batch in runs, and by one(hash) each key that needs growth first, or that ends the wait
// for it: so growth is tried before the same keys as by single inserts.
template <class Run, class One>
std::size_t insert_batch(OwnedBlocks& state, KeySpan keys, std::span<Outcome> outcomes, Run run,
                         One one) {
  batch::Record record(outcomes, keys.size());
  for (KeyChunks chunks(keys, state->seed); chunks.next();) {
    for (std::size_t taken = 0; taken < chunks.inputs().count;) {
      const bool grows = state->grows_by_itself();
      const bool due = state->is_due_to_grow();
      const std::uint64_t left = state->patience.left();
      const bool waits = grows && left > 1;
      batch::RunLimits limits{~std::uint64_t{0}, grows && !waits};
      if (grows && !(due && waits)) {
        limits.room = state->capacity - std::min(state->capacity, state->size);
      }
      const Inputs rest = chunks.inputs().from(taken);
      const Inputs inputs = waits ? rest.first(left - 1) : rest;
      const std::size_t first = chunks.first() + taken;
      const std::size_t before = record.total();
      const batch::RunEnd end = with_table<NoLocks>(
          *state, [&](auto& table) { return run(table, *state, inputs, limits, first, record); });
      state->size += record.total() - before;
      taken += end.taken;
      if (waits) state->patience.waits(due ? end.taken - end.present : end.refused);
      if (!end.due && !end.full) continue;
      const std::uint64_t hash = chunks.inputs().hash(taken, state->view.secrets);
      record.add(chunks.first() + taken, one(state, hash).outcome);
      ++taken;
    }
  }
  return record.total();
}

// Looks up a chunk of keys.
struct Lookup {
  const Blocks& state;
  [[nodiscard]] const FilterKernels& kernels() const { return state.kernels->of_filter(); }
  void operator()(const Inputs& inputs, std::uint64_t* bitmap) const {
    kernels().contains_batch(state.view, inputs.keys, inputs.count, inputs.kind, bitmap);
  }
};

OwnedBlocks make_state(const Options& options) {
  return make_blocks(decide_size(options).shape(options.seed), options.memory);
}

// The part of a block's absent keys that its mark covers. Low bytes are equally likely from 0 on,
// before 0 becomes 1; growth has fixed the highest bits of those of narrow fingerprints.
double covered_part(int bits, const Geometry& geometry, std::uint64_t block, std::uint32_t mark) {
  const int fixed = std::max(0, static_cast<int>(geometry.growth) - (bits - 8));
  const std::uint32_t values = 256u >> fixed;
  const std::uint32_t lowest = static_cast<std::uint32_t>(block) % (1u << fixed) * values;
  if (mark == 0 || mark < lowest) return 0;
  return static_cast<double>(std::min(mark - lowest + 1, values)) / values;
}

}  // namespace

OwnedBlocks make_blocks(const Shape& shape, std::pmr::memory_resource* memory) {
  const std::uint64_t head = shape.head_blocks();
  auto made =
      std::make_unique<Blocks>(shape, Storage::allocate(head + shape.stored_blocks(), memory),
                               static_cast<std::size_t>(head) * kBlockBytes);
  if (is_expiring(shape.bits)) set_tick(made->blocks(), shape.tick);
  return made;
}

double load_factor(const Blocks& state, std::uint64_t keys) {
  return static_cast<double>(keys) / static_cast<double>(state.shape().slots());
}

double expected_fpr(const Blocks& state, std::uint64_t keys) {
  constexpr std::uint64_t kSample = 4096;
  const Geometry& geometry = state.view.geometry;
  const std::uint64_t sample = std::min(kSample, geometry.blocks());
  double second_probes = 0;
  for (std::uint64_t i = 0; i < sample; ++i) {
    // At random, since a regular choice would take the same child of each base.
    const std::uint64_t block =
        sample == geometry.blocks()
            ? i
            : multiply_high(mix_integer(i, state.view.secrets), geometry.blocks());
    second_probes +=
        covered_part(state.bits, geometry, block, state.view.blocks[block].overflow_mark());
  }
  // One key in base_blocks has no other block.
  second_probes *=
      (1 - 1 / static_cast<double>(geometry.base_blocks)) / static_cast<double>(sample);
  return false_positive_rate(state.bits, load_factor(state, keys), second_probes, geometry.growth);
}

Filter::Filter(const Options& options) : Filter(make_state(options)) {}
Filter::Filter(Filter&& other) noexcept = default;
Filter& Filter::operator=(Filter&& other) noexcept = default;
Filter::~Filter() = default;

KeyHasher Filter::hasher(const Blocks& state) noexcept { return state.hasher(); }

Inserted Filter::insert_one(Hash key) noexcept {
  const bool due = state_->is_due_to_grow();
  if (!due && store_at_home<NoLocks>(*state_, key.value)) [[likely]] {
    ++state_->size;
    return {Outcome::stored};
  }
  return insert_further(state_, key.value, !due);
}

Inserted Filter::insert_unique_one(Hash key) noexcept {
  if (may_contain_one(key)) return {Outcome::present};
  return insert_absent(state_, key.value);
}

Inserted Filter::update_one(Hash old_key, Hash new_key) noexcept {
  bool replaced = false;
  const Inserted inserted = change_or_grow(state_, false, [&](const Blocks& now) {
    return with_table<NoLocks>(now, [&](auto& table) {
      return table.update(table.home(old_key.value), table.home(new_key.value), replaced);
    });
  });
  state_->size += inserted && !replaced;
  return inserted;
}

bool Filter::may_contain_one(Hash key) const noexcept {
  return state_->kernels->of_filter().contains(state_->view, key.value);
}

Hash Filter::prepare(Key key) const noexcept {
  const Hash hash = hash_of_(key);
  prefetch_home(state_->view, hash.value);
  return hash;
}

Reader Filter::reader() const noexcept {
  const FilterKernels& kernels = state_->kernels->of_filter();
  return {state_->view, hash_of_, kernels.contains, kernels.contains_away};
}

unsigned Filter::count_one(Hash key) const noexcept {
  return with_table<NoLocks>(*state_,
                             [&](auto& table) { return table.count(table.home(key.value)); });
}

bool Filter::erase_one(Hash key) noexcept {
  const bool erased = erase_from<NoLocks>(*state_, key.value);
  state_->size -= erased;
  return erased;
}

std::size_t Filter::insert(KeySpan keys, std::span<Outcome> outcomes) {
  return insert_batch(
      state_, keys, outcomes, [](auto&... run) { return batch::insert_run(run...); },
      [](OwnedBlocks& state, std::uint64_t hash) { return insert_further(state, hash, false); });
}

std::size_t Filter::insert_unique(KeySpan keys, std::span<Outcome> outcomes) {
  return insert_batch(
      state_, keys, outcomes, [](auto&... run) { return batch::insert_unique_run(run...); },
      insert_absent);
}

std::size_t Filter::erase(KeySpan keys, std::span<std::uint8_t> erased) {
  batch::Record record(erased, keys.size());
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

std::size_t Filter::look_up(KeySpan keys, const internal::Answers& answers) const {
  return batch::look_up(Lookup{*state_}, keys, state_->seed, answers);
}

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

std::uint64_t Filter::merge(const Filter& other, Copies copies) {
  std::uint64_t left_out = 0;
  state_ = merged(*state_, *other.state_, copies, left_out);
  return left_out;
}

bool Filter::can_merge(const Filter& other, std::string* why) const {
  return nestline::can_merge(state_->shape(), other.state_->shape(), why);
}

Filter Filter::snapshot() const { return Filter(full_copy(*state_)); }

std::uint64_t Filter::size() const noexcept { return state_->size; }
std::uint64_t Filter::capacity() const noexcept { return state_->capacity; }
std::uint64_t Filter::max_capacity() const noexcept { return state_->max_capacity; }
unsigned Filter::growth() const noexcept { return state_->view.geometry.growth; }
std::uint64_t Filter::slots() const noexcept { return state_->shape().slots(); }
double Filter::load_factor() const noexcept { return nestline::load_factor(*state_, state_->size); }
double Filter::expected_fpr() const noexcept {
  return nestline::expected_fpr(*state_, state_->size);
}
int Filter::bits() const noexcept { return state_->bits; }
std::uint64_t Filter::seed() const noexcept { return state_->seed; }
std::size_t Filter::memory_bytes() const noexcept { return state_->storage.bytes().size(); }

}}  // namespace nestline
