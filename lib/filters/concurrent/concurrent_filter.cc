// ConcurrentFilter: single keys, growing, properties. Its batches are in concurrent_batch.cc.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "lib/engine/place/test_hooks.h"
#include "lib/filters/concurrent/concurrent_state.h"
#include "lib/filters/filter/folding.h"

namespace nestline { inline namespace v0_3 {
namespace {

using State = ConcurrentFilter::State;

// An insert by a thread that writes alone, if the filter need not grow first: into the table
// `tried`. Nothing where it found no room in a filter that may grow.
NESTLINE_INLINE Result insert_alone(State& state, const Blocks& table, std::uint64_t hash,
                                    const Blocks*& tried) {
  tried = !table.grows_by_itself() || state.keys.allowed() > 0 ? &table : nullptr;
  if (tried == nullptr) return std::nullopt;
  const Result result = operations<OneWriter>(table).insert(table.view, hash);
  if (result == Outcome::stored) state.keys.add<OneWriter>(1);
  return result;
}

}  // namespace

bool State::look_up_locked(const LookupFallback& second, std::uint64_t hash) noexcept {
  const auto& state = static_cast<const State&>(second);
  const Blocks& table = *state.table_.load();
  return state.with_readers(table.engine->of_filters().operations,
                            [&](const auto& filter, Writers* writers) {
                              return filter.contains(table.view, hash, writers);
                            });
}

// Nothing throws here: grown_if_possible reports missing memory by its result, and neither locking
// a plain mutex nor waiting on an atomic can fail.
void make_way(State& state, const Tried& tried) noexcept {
  const auto is_due = [&](const Blocks& table, std::uint64_t keys) {
    return table.view.geometry.growth == tried.growth && table.grows_by_itself() &&
           (tried.full || keys >= table.capacity);
  };
  // As a writer, so that no exchange resets the count meanwhile.
  const bool due = state.write([&](Blocks& table, auto) {
    const std::uint64_t keys = state.keys.total();
    if (keys < table.capacity) state.keys.allow(table.capacity - keys);
    if (!is_due(table, keys)) return std::optional(false);
    if (tried.full) return std::optional(!table.patience.is_waiting());
    // While it waits, a thread looks again after a share of the keys of the wait.
    const bool waits = table.patience.waits(KeyCount::share(GrowthPatience::kKeys));
    if (waits) state.keys.allow(GrowthPatience::kKeys);
    return std::optional(!waits);
  });
  if (!due) return;
  require_no_section();
  bool possible = true;
  // Not for a table that another thread has exchanged by now.
  const auto wanted = [&](const Blocks& table) {
    return is_due(table, state.keys.total()) && !table.patience.is_waiting();
  };
  state.exchange(
      [&](const Blocks& table) {
        auto doubled = grown_if_possible(table);
        possible = static_cast<bool>(doubled);
        return doubled;
      },
      wanted);
  if (possible) return;
  // As a writer, again. Not for a table that has been exchanged meanwhile, as by clear().
  state.write([&](Blocks& table, auto) {
    if (table.patience.is_waiting()) state.keys.allow(GrowthPatience::kKeys);
    return std::optional(true);
  });
}

// The rest of an insert that has ended with `result` in the table `tried`, or was not tried. Apart
// from it: it needs few registers.
[[gnu::noinline]] Inserted insert_further(State& state, std::uint64_t hash, const Blocks* tried,
                                          Result result) noexcept {
  return {insert_or_grow(state, true, [&]<class Locks>(const Blocks& table, Locks, bool&) {
    // Not in a table that has taken its place since, nor where others may have made room.
    if (Locks().blocks_are_stable() && std::exchange(tried, nullptr) == &table) return result;
    return operations<Locks>(table).insert(table.view, hash);
  })};
}

Inserted insert_hash(State& state, std::uint64_t hash) noexcept {
  const Blocks* tried = nullptr;
  Result result;
  const bool stored = state.try_alone([&](const Blocks& table) {
    result = insert_alone(state, table, hash, tried);
    return result == Outcome::stored;
  });
  if (stored) return {Outcome::stored};
  return insert_further(state, hash, tried, result);
}

std::uint32_t State::fold(std::uint32_t most) {
  std::uint32_t times = 0;
  exchange(
      [&](const Blocks& table) {
        auto made = fitted(table, most);
        if (made) times = table.view.geometry.growth - made->view.geometry.growth;
        if (NESTLINE_PUBLISH_EARLY && made) {
          const OwnedBlocks early = empty_copy(*made);
          Blocks* const all = table_.exchange(early.get());
          NESTLINE_TEST_POINT(NESTLINE_POINT_BETWEEN_STEPS);
          table_.store(all);
          wait_for_readers();
        }
        return made;
      },
      [&](const Blocks& table) { return most_folding(table.shape(), keys.total(), 1).times != 0; });
  return times;
}

bool State::can_shrink() const noexcept {
  return read(
      [&](const Blocks& table) { return most_folding(table.shape(), keys.total(), 1).times != 0; });
}

[[gnu::cold]] void State::shrink_if_due() noexcept {
  const auto is_due = [&](const Blocks& table) { return keys.total() < table.shrinking_size; };
  while (!is_in_section() && read(is_due) && exchange(shrunk_if_possible, is_due)) continue;
}

ConcurrentFilter::ConcurrentFilter(const Options& options) : ConcurrentFilter(Filter(options)) {}

ConcurrentFilter::ConcurrentFilter(Filter&& filter)
    : ConcurrentFilter(ConcurrentAccess::make(std::move(filter), Readers::may_lock)) {}

ConcurrentFilter::ConcurrentFilter(ConcurrentFilter&& other) noexcept = default;
ConcurrentFilter& ConcurrentFilter::operator=(ConcurrentFilter&& other) noexcept = default;
ConcurrentFilter::~ConcurrentFilter() = default;

void ConcurrentFilter::register_thread() { register_reader(); }

Filter ConcurrentFilter::freeze() && {
  OwnedBlocks table = state_->release();
  state_ = nullptr;
  std::for_each_n(table->blocks(), table->view.geometry.blocks(), BlockLocks::forget_version);
  return FilterAccess::make(std::move(table));
}

ConcurrentFilter ConcurrentFilter::load(const Input& from, std::pmr::memory_resource* memory) {
  return ConcurrentFilter(Filter::load(from, memory));
}

void save(const ConcurrentFilter& filter, const Output& to) { save(filter.snapshot(), to); }

Filter ConcurrentFilter::snapshot() const { return FilterAccess::make(state_->copy()); }

KeyHasher ConcurrentFilter::hasher(const State& state) noexcept { return state.hasher; }

Inserted ConcurrentFilter::insert_one(Hash key) noexcept { return insert_hash(*state_, key.value); }

[[gnu::noinline]] static Inserted insert_unique_further(State& state, std::uint64_t hash) noexcept {
  return {insert_or_grow(state, true, [&]<class Locks>(const Blocks& table, Locks, bool&) {
    return operations<Locks>(table).insert_unique(table.view, hash);
  })};
}

// A thread that writes alone needs no fence (locking.h, W8): nobody else changes what it reads.
Inserted ConcurrentFilter::insert_unique_one(Hash key) noexcept {
  bool present = false;
  const Blocks* tried = nullptr;
  const bool stored = state_->try_alone([&](const Blocks& table) {
    present = table.engine->of_filters().lookups_alone.contains(table.view, key.value);
    return !present && insert_alone(*state_, table, key.value, tried) == Outcome::stored;
  });
  if (stored) return {Outcome::stored};
  if (present || may_contain_one(key)) return {Outcome::present};
  return insert_unique_further(*state_, key.value);
}

Inserted ConcurrentFilter::update_one(Hash old_key, Hash new_key) noexcept {
  return {insert_or_grow(*state_, false, [&]<class Locks>(const Blocks& table, Locks, bool& added) {
    bool replaced = false;
    const Result outcome =
        operations<Locks>(table).update(table.view, old_key.value, new_key.value, replaced);
    added = !replaced;
    if (!Locks().blocks_are_stable()) full_fence();
    return outcome;
  })};
}

bool ConcurrentFilter::may_contain_one(Hash key) const noexcept {
  const State& state = *state_;
  return state.read([&](const Blocks& table) {
    return state.engine.lookups.contains(table.view, state, key.value);
  });
}

namespace {

// What a ConcurrentReader holds: a section, and whose it is. Neither another thread nor one that
// liburcu has forgotten may end it: it is then left as it is, so that no other's count is touched.
struct OwnSection {
  ReadSection section;
  std::uint64_t thread = thread_number();
  [[nodiscard]] bool is_ours() const { return thread == thread_number() && section.is_known(); }
};

}  // namespace

ConcurrentReader::ConcurrentReader(const ConcurrentFilter& filter) noexcept
    : ConcurrentReader(*filter.state_, filter.hash_of_) {}

ConcurrentReader::ConcurrentReader(const LookupFallback& of, const KeyHasher& hash_of) noexcept
    : state_(&of),
      table_(static_cast<const ConcurrentFilter::State&>(of).address_of_table()),
      hash_of_(hash_of) {
  static_assert(sizeof(OwnSection) <= sizeof(section_) &&
                alignof(OwnSection) <= alignof(std::uint64_t));
  new (section_) OwnSection;
}

ConcurrentReader::~ConcurrentReader() {
  auto* const own = std::launder(reinterpret_cast<OwnSection*>(section_));
  const bool is_ours = own->is_ours();
  assert(is_ours && "the thread that makes a ConcurrentReader must destroy it, before it ends");
  if (is_ours) own->~OwnSection();
}

ConcurrentReader ConcurrentFilter::reader() const noexcept { return ConcurrentReader(*this); }

bool ConcurrentReader::may_contain_one(Hash key) const noexcept {
  const auto& state = *static_cast<const ConcurrentFilter::State*>(state_);
  return state.engine.lookups.contains(state.table_in_section().view, state, key.value);
}

void ConcurrentReader::fetch(Hash key) const noexcept {
  const auto& state = *static_cast<const ConcurrentFilter::State*>(state_);
  prefetch_home(state.table_in_section().view, key.value);
}

void ConcurrentFilter::fetch(Hash key) const noexcept {
  state_->read_no_block([&](const Blocks& table) { prefetch_home(table.view, key.value); });
}

unsigned ConcurrentFilter::count_one(Hash key) const noexcept {
  const State& state = *state_;
  return state.read([&](const Blocks& table) {
    const Place home = home_of(state.bits, table.view.geometry, key.value);
    return state.with_readers(table.engine->of_filters().operations,
                              [&](const auto& filter, Writers* writers) {
                                return filter.count(table.view, home, writers);
                              });
  });
}

bool ConcurrentFilter::erase_one(Hash key) noexcept {
  bool is_alone = false;
  bool may_shrink = false;
  const auto erase = [&]<class Locks>(const Blocks& table, Locks) {
    const bool erased = operations<Locks>(table).erase(table.view, key.value);
    if (erased) state_->keys.add<Locks>(-1);
    may_shrink = erased && table.shrinking_size != 0 && state_->keys.is_at_look();
    return erased;
  };
  bool erased = state_->try_alone([&](const Blocks& table) {
    is_alone = true;
    return erase(table, OneWriter());
  });
  if (!is_alone) {
    erased = state_->write([&]<class Locks>(const Blocks& table, Locks locks) {
      return std::optional(erase(table, locks));
    });
  }
  if (may_shrink) state_->shrink_if_due();
  return erased;
}

void ConcurrentFilter::clear() { state_->exchange(empty_copy); }

bool ConcurrentFilter::grow() { return state_->exchange(grown); }
bool ConcurrentFilter::shrink() { return state_->fold(1) != 0; }
bool ConcurrentFilter::can_shrink() const noexcept { return state_->can_shrink(); }
unsigned ConcurrentFilter::fit() { return state_->fold(); }

std::uint64_t ConcurrentFilter::merge(const Filter& other, Copies copies) {
  std::uint64_t left_out = 0;
  state_->exchange([&](const Blocks& table) {
    return merged_folded(table, FilterAccess::blocks(other), copies, left_out);
  });
  return left_out;
}

std::uint64_t ConcurrentFilter::merge(const ConcurrentFilter& other, Copies copies) {
  // Never pauses the writers of both filters at once: two filters may be merged into each other.
  return merge(other.snapshot(), copies);
}

bool ConcurrentFilter::can_merge(const Filter& other, std::string* why) const {
  return can_merge_folded(state_->shape(), size(), FilterAccess::blocks(other).shape(),
                          other.size(), why);
}

bool ConcurrentFilter::can_merge(const ConcurrentFilter& other, std::string* why) const {
  return can_merge_folded(state_->shape(), size(), other.state_->shape(), other.size(), why);
}

std::uint64_t ConcurrentFilter::size() const noexcept {
  return state_->read([&](const Blocks&) { return state_->keys.total(); });
}

std::uint64_t ConcurrentFilter::capacity() const noexcept { return state_->shape().capacity; }
std::uint64_t ConcurrentFilter::max_capacity() const noexcept {
  return state_->shape().max_capacity;
}
unsigned ConcurrentFilter::growth() const noexcept { return state_->shape().geometry.growth; }
bool ConcurrentFilter::turns_over() const noexcept {
  return has_guest_lanes(state_->shape().geometry);
}
std::uint64_t ConcurrentFilter::slots() const noexcept { return state_->shape().slots(); }

double ConcurrentFilter::load_factor() const noexcept {
  return state_->read([&](const Blocks& table) { return nestline::load_factor(table, size()); });
}

double ConcurrentFilter::expected_fpr() const noexcept {
  return state_->read([&](const Blocks& table) { return nestline::expected_fpr(table, size()); });
}

int ConcurrentFilter::bits() const noexcept { return state_->bits; }

std::uint64_t ConcurrentFilter::seed() const noexcept { return state_->seed; }

std::size_t ConcurrentFilter::memory_bytes() const noexcept {
  return state_->shape().memory_bytes();
}

}}  // namespace nestline
