// Changes: find the key, append the record, then change the index; all under one mutex. A call that
// finds nothing to change waits for the disk too: what it saw may not be there yet. What can fail
// comes before the record is in the log, except syncing: the checks, finding the key, and memory
// for the index. So a change that throws has not been made.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/filters/concurrent/reclaim.h"
#include "lib/store/manifests.h"
#include "lib/store/state.h"
#include "lib/store/test_switches.h"

namespace nestline { inline namespace v0_3 {
// The bytes of all keys and values in one string, and where each lies.
struct Store::Batch::Changes {
  struct Step {
    RecordKind kind;
    std::size_t begin;
    std::size_t key_bytes;
    std::size_t value_bytes;
  };
  std::string bytes;
  std::vector<Step> steps;

  void add(RecordKind kind, std::string_view key, std::string_view value) {
    const Step step = {kind, bytes.size(), key.size(), value.size()};
    steps.push_back(step);
    try {
      bytes.append(key).append(value);
    } catch (...) {
      bytes.resize(step.begin);
      steps.pop_back();
      throw;
    }
  }
};

Store::Batch::Batch() : changes_(std::make_unique<Changes>()) {}
Store::Batch::Batch(Batch&& other) noexcept = default;
Store::Batch& Store::Batch::operator=(Batch&& other) noexcept = default;
Store::Batch::~Batch() = default;

void Store::Batch::put(std::string_view key, std::string_view value) {
  changes_->add(RecordKind::put, key, value);
}
void Store::Batch::erase(std::string_view key) { changes_->add(RecordKind::erase, key, {}); }
void Store::Batch::clear() noexcept {
  changes_->bytes.clear();
  changes_->steps.clear();
}
std::size_t Store::Batch::size() const noexcept { return changes_->steps.size(); }

void Store::write(const Batch& batch) {
  std::vector<Change> changes;
  changes.reserve(batch.size());
  for (const Batch::Changes::Step& step : batch.changes_->steps) {
    const std::string_view bytes = std::string_view(batch.changes_->bytes).substr(step.begin);
    changes.push_back({step.kind, 0, bytes.substr(0, step.key_bytes),
                       bytes.substr(step.key_bytes, step.value_bytes)});
  }
  state_->write(std::move(changes));
}

void Store::State::require_writable() const {
  refuse_in_section();
  if (options_.read_only) throw StoreError("the store was opened for reading only");
}

void Store::State::prepare(Change& change) const {
  if (change.key.size() > kMaxKeyBytes) {
    throw std::invalid_argument("a key has more than 65,536 bytes");
  }
  if (change.value.size() > kMaxValueBytes) {
    throw std::invalid_argument("a value has 4 GiB or more");
  }
  change.hash = hash_in(space_of(change.kind), change.key, content().store_id);
}

std::optional<Located> Store::State::locate(const HashedKey& wanted, Purpose purpose) const {
  return lookup_.find(content(), index(), wanted, purpose).record;
}

void Store::State::settle(const Change& change, std::uint64_t address,
                          const std::optional<Located>& old) {
  content().settle(change.kind, change.hash, address, change.bytes(), old, next_index_.get());
}

void Store::State::reserve(std::size_t changes) {
  index().reserve(changes);
  if (next_index_ != nullptr) next_index_->reserve(changes);
}

std::uint64_t Store::State::note_appended() {
  constexpr std::uint64_t kStride = std::uint64_t{16} << 20;
  const LogPosition position = log_->position();
  const std::uint64_t appended = log_->appended_bytes();
  appended_.store(appended, std::memory_order_relaxed);
  if (position.segment != newest_.load(std::memory_order_relaxed) || appended >= next_wake_) {
    newest_.store(position.segment, std::memory_order_relaxed);
    next_wake_ = appended + kStride;
    wake([&] { awake_ = true; });
  }
  if (appended >= next_prefault_) {
    next_prefault_ = appended + kPrefaultStep;
    wake([&] { is_prefault_due_ = true; });
  }
  if (options_.sync != Sync::each && appended >= next_ahead_) {
    next_ahead_ = appended + ahead_step_.load(std::memory_order_relaxed);
    wake([&] { is_ahead_due_ = true; });
  }
  if (options_.sync == Sync::interval && !is_behind_.load(std::memory_order_relaxed)) {
    wake([&] { is_behind_.store(true, std::memory_order_relaxed); });
  }
  return position.sequence;
}

bool Store::State::change(Space space, Purpose purpose, std::string_view key,
                          std::string_view value) {
  require_writable();
  Change change = {purpose == Purpose::erase ? erase_in(space) : put_in(space), 0, key, value};
  prepare(change);
  {  // Its place in the index is on its way from memory meanwhile. Nothing is read, so that the
     // fence of a ReadSection is not needed.
    const WriteSection section;
    (void)index().maplet.prepare(Hash{change.hash});
  }
  change.digest = value_digest(value, content().store_id);
  std::uint64_t sequence = 0;
  bool changes = false;
  {
    const std::lock_guard lock(writer_);
    syncs_.require_sound();
    const std::optional<Located> old = locate(hashed_key(change), purpose);
    changes = purpose == Purpose::replace || old.has_value() == (purpose == Purpose::erase);
    if (changes) {
      if (space == Space::manifests && old) note_dying_manifest(hashed_key(change));
      reserve(1);
      if (store_faults::index_before_log) {
        settle(change, content().table.address(*log_->newest(), log_->position().offset), old);
      }
      const std::uint64_t address = log_->append(change);
      if (!store_faults::index_before_log) settle(change, address, old);
    }
    sequence = changes ? note_appended() : log_->position().sequence;
  }
  if (options_.sync == Sync::each) syncs_.wait_for(sequence);
  return changes;
}

void Store::State::sync() {
  refuse_in_section();
  if (options_.read_only) return;
  syncs_.wait_for(with_writer([&] { return log_->position().sequence; }));
  syncs_.require_sound();
}

void Store::State::write(std::vector<Change> changes) {
  require_writable();
  if (changes.empty()) return;
  std::uint64_t bytes = 0;
  for (Change& change : changes) {
    prepare(change);
    change.digest = value_digest(change.value, content().store_id);
    bytes += change.bytes();
  }
  const bool erases =
      std::ranges::all_of(changes, [](const Change& c) { return is_erase(c.kind); });
  // What each change replaces: a record that is there, or an earlier one of the batch.
  std::vector<std::optional<Located>> old(changes.size());
  std::vector<std::size_t> earlier(changes.size(), changes.size());
  std::vector<std::uint64_t> addresses(changes.size());
  std::unordered_map<std::string_view, std::size_t> last;
  std::uint64_t sequence = 0;
  // Nodes that the batch does not need, however it ends; freed when other writers have their turn.
  Overflow::Pairs spare;
  Overflow::Pairs next_spare;
  {
    const std::lock_guard lock(writer_);
    for (std::size_t i = 0; i < changes.size(); ++i) {
      const auto [place, is_first] = last.try_emplace(changes[i].key, i);
      if (is_first) {
        old[i] = locate(hashed_key(changes[i]), purpose_of(changes[i].kind));
      } else {
        earlier[i] = std::exchange(place->second, i);
      }
    }
    const struct TakeSpare {
      ~TakeSpare() {
        spare.swap(index.overflow.spare());
        if (next != nullptr) next_spare.swap(next->overflow.spare());
      }
      Index& index;
      Index* next;
      Overflow::Pairs& spare;
      Overflow::Pairs& next_spare;
    } take{index(), next_index_.get(), spare, next_spare};
    reserve(changes.size());
    Log::Batch batch(*log_, changes.size(), bytes,
                     erases ? Log::AppendPriority::erase : Log::AppendPriority::change);
    for (std::size_t i = 0; i < changes.size(); ++i) addresses[i] = log_->append(changes[i]);
    batch.commit();
    for (std::size_t i = 0; i < changes.size(); ++i) {
      const std::size_t e = earlier[i];
      if (e != changes.size() && is_put(changes[e].kind)) {
        old[i] = Located{addresses[e], changes[e].value, changes[e].bytes()};
      }
      settle(changes[i], addresses[i], old[i]);
    }
    sequence = note_appended();
  }
  if (options_.sync == Sync::each) syncs_.wait_for(sequence);
}

void Store::put(std::string_view key, std::string_view value) {
  (void)state_->change(Space::keys, Purpose::replace, key, value);
}

Inserted Store::insert_unique(std::string_view key, std::string_view value) {
  const bool is_new = state_->change(Space::keys, Purpose::value, key, value);
  return {is_new ? Outcome::stored : Outcome::present};
}

bool Store::erase(std::string_view key) { return state_->change(Space::keys, Purpose::erase, key); }

void internal::Manifests::put(Store& store, std::string_view name, std::string_view bytes) {
  (void)store.state_->change(Space::manifests, Purpose::replace, name, bytes);
}

bool internal::Manifests::erase(Store& store, std::string_view name) {
  return store.state_->change(Space::manifests, Purpose::erase, name);
}

void Store::sync() { state_->sync(); }

}}  // namespace nestline
