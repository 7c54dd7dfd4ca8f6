// Filter: single keys, batches, and its properties.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "lib/filters/filter/batch.h"
#include "lib/filters/filter/folding.h"
#include "lib/filters/filter/growth.h"
#include "lib/filters/filter/sizing.h"

namespace nestline { inline namespace v0_3 {
namespace {

const FilterOperations& operations(const Blocks& state) {
  return state.engine->of_filters().operations.alone;
}

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

// The rest of an insert into a filter that may grow. `tried`: how it ended in the table as it is.
[[gnu::noinline]] Inserted insert_or_grow(OwnedBlocks& state, std::uint64_t hash, Result tried) {
  return change_or_grow(state, true, [&](const Blocks& now) {
    return tried ? std::exchange(tried, std::nullopt) : operations(now).insert(now.view, hash);
  });
}

Inserted insert_absent(OwnedBlocks& state, std::uint64_t hash) {
  return change_or_grow(state, true, [&](const Blocks& now) {
    return operations(now).insert_unique(now.view, hash);
  });
}

// Inserts a batch in runs, and by one(hash) each key that needs growth first, or that ends the wait
// for it: so growth is tried before the same keys as by single inserts.
template <class One>
std::size_t insert_batch(OwnedBlocks& state, KeySpan keys, std::span<Outcome> outcomes,
                         decltype(FilterOperations::insert_run) run, One one) {
  Record record(outcomes, keys.size());
  for (KeyChunks chunks(keys, state->seed); chunks.next();) {
    for (std::size_t taken = 0; taken < chunks.inputs().count;) {
      const bool grows = state->grows_by_itself();
      const bool due = state->is_due_to_grow();
      const std::uint64_t left = state->patience.left();
      const bool waits = grows && left > 1;
      RunLimits limits{~std::uint64_t{0}, grows && !waits};
      if (grows && !(due && waits)) {
        limits.room = state->capacity - std::min(state->capacity, state->size);
      }
      const Inputs rest = chunks.inputs().from(taken);
      const Inputs inputs = waits ? rest.first(left - 1) : rest;
      const std::size_t first = chunks.first() + taken;
      const std::size_t before = record.total();
      const RunEnd end = run(state->view, inputs, limits, first, record);
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
  [[nodiscard]] const LookupOperations& operations() const { return state.engine->lookups; }
  void operator()(const Inputs& inputs, std::uint64_t* bitmap) const {
    state.engine->of_filters().lookups_alone.contains_batch(state.view, inputs, bitmap);
  }
};

bool is_due_to_shrink(const Blocks& state) {
#if defined(NESTLINE_SMALL) && NESTLINE_SMALL
  return false;
#endif
  return state.size < state.shrinking_size.load(std::memory_order_relaxed);
}
// Apart from erasing, which needs few registers.
[[gnu::noinline]] void shrink_now(OwnedBlocks& state) noexcept {
  while (is_due_to_shrink(*state)) {
    auto made = shrunk_if_possible(*state);
    if (!made) return;
    state = std::move(made);
  }
}

OwnedBlocks make_state(const Options& options) {
  auto made = make_blocks(decide_size(options).shape(options.seed), options.memory);
  made->set_shrink_below(options.shrink_below);
  return made;
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

double second_probes_of(const Blocks& state) {
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
    second_probes += covered_part(fingerprint_bits(state.bits), geometry, block,
                                  state.view.blocks[block].overflow_mark());
  }
  // One key in base_blocks has no other block.
  return second_probes * (1 - 1 / static_cast<double>(geometry.base_blocks)) /
         static_cast<double>(sample);
}

double expected_fpr(const Blocks& state, std::uint64_t keys) {
  return false_positive_rate(state.bits, load_factor(state, keys), second_probes_of(state),
                             state.view.geometry.growth);
}

Filter::Filter(const Options& options) : Filter(make_state(options)) {}
Filter::Filter(Filter&& other) noexcept = default;
Filter& Filter::operator=(Filter&& other) noexcept = default;
Filter::~Filter() = default;

KeyHasher Filter::hasher(const Blocks& state) noexcept { return state.hasher(); }

Inserted Filter::insert_one(Hash key) noexcept {
  Result tried;
  if (!state_->is_due_to_grow()) [[likely]] {
    tried = operations(*state_).insert(state_->view, key.value);
    if (tried == Outcome::stored) [[likely]] {
      ++state_->size;
      return {Outcome::stored};
    }
    if (!state_->grows_by_itself()) return {*tried};
  }
  return insert_or_grow(state_, key.value, tried);
}

Inserted Filter::insert_unique_one(Hash key) noexcept {
  if (may_contain_one(key)) return {Outcome::present};
  return insert_absent(state_, key.value);
}

Inserted Filter::update_one(Hash old_key, Hash new_key) noexcept {
  bool replaced = false;
  const Inserted inserted = change_or_grow(state_, false, [&](const Blocks& now) {
    return operations(now).update(now.view, old_key.value, new_key.value, replaced);
  });
  state_->size += inserted && !replaced;
  return inserted;
}

bool Filter::may_contain_one(Hash key) const noexcept {
  return state_->engine->of_filters().lookups_alone.contains(state_->view, key.value);
}

void Filter::fetch(Hash key) const noexcept { prefetch_home(state_->view, key.value); }

Reader Filter::reader() const noexcept {
  const FilterLookups& lookups = state_->engine->of_filters().lookups_alone;
  return {state_->view, hash_of_, lookups.contains, lookups.contains_away};
}

unsigned Filter::count_one(Hash key) const noexcept {
  const Place home = home_of(state_->bits, state_->view.geometry, key.value);
  return operations(*state_).count(state_->view, home, nullptr);
}

bool Filter::erase_one(Hash key) noexcept {
  const bool erased = operations(*state_).erase(state_->view, key.value);
  state_->size -= erased;
  if (erased && is_due_to_shrink(*state_)) [[unlikely]]
    shrink_now(state_);
  return erased;
}

std::size_t Filter::insert(KeySpan keys, std::span<Outcome> outcomes) {
  return insert_batch(state_, keys, outcomes, operations(*state_).insert_run,
                      [](OwnedBlocks& state, std::uint64_t hash) {
                        return insert_or_grow(state, hash, std::nullopt);
                      });
}

std::size_t Filter::insert_unique(KeySpan keys, std::span<Outcome> outcomes) {
  return insert_batch(state_, keys, outcomes, operations(*state_).insert_unique_run, insert_absent);
}

std::size_t Filter::erase(KeySpan keys, std::span<std::uint8_t> erased) {
  Record record(erased, keys.size());
  for (KeyChunks chunks(keys, state_->seed); chunks.next();) {
    operations(*state_).erase_run(state_->view, chunks.inputs(), chunks.first(), record);
  }
  state_->size -= record.total();
  if (is_due_to_shrink(*state_)) shrink_now(state_);
  return record.total();
}

void Filter::count(KeySpan keys, std::span<std::uint8_t> out) const {
  check_length("out", out.size(), keys.size());
  for (KeyChunks chunks(keys, state_->seed); chunks.next();) {
    operations(*state_).count_run(state_->view, chunks.inputs(), out.data() + chunks.first(),
                                  nullptr);
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
  state_ = merged_folded(*state_, *other.state_, copies, left_out);
  return left_out;
}

bool Filter::can_merge(const Filter& other, std::string* why) const {
  return can_merge_folded(state_->shape(), size(), other.state_->shape(), other.size(), why);
}

Filter Filter::snapshot() const { return Filter(full_copy(*state_)); }

std::uint64_t Filter::size() const noexcept { return state_->size; }
std::uint64_t Filter::capacity() const noexcept { return state_->capacity; }
std::uint64_t Filter::max_capacity() const noexcept { return state_->max_capacity; }
unsigned Filter::growth() const noexcept { return state_->view.geometry.growth; }
bool Filter::turns_over() const noexcept { return has_guest_lanes(state_->view.geometry); }
std::uint64_t Filter::slots() const noexcept { return state_->shape().slots(); }
double Filter::load_factor() const noexcept { return nestline::load_factor(*state_, state_->size); }
double Filter::expected_fpr() const noexcept {
  return nestline::expected_fpr(*state_, state_->size);
}
int Filter::bits() const noexcept { return state_->bits; }
std::uint64_t Filter::seed() const noexcept { return state_->seed; }
std::uint32_t Filter::key_kinds() const noexcept { return state_->key_kinds; }
std::size_t Filter::memory_bytes() const noexcept { return state_->storage.bytes().size(); }

}}  // namespace nestline
