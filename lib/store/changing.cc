// Changes: find the key, append the record, then change the index; all under one mutex.
//
// A call that finds nothing to change waits for the disk too: what it saw may not be there yet.
//
// What can fail comes before the record is in the log, except syncing: the checks, finding the key,
// and memory for the index. So a change that throws has not been made.
#include <string>
#include <unordered_map>
#include <utility>

#include "lib/concurrent/reclaim.h"
#include "lib/store/answering.h"
#include "lib/store/state.h"
#include "lib/store/test_switches.h"

namespace nestline {
namespace {

void check_key(std::string_view key) {
  if (key.size() > kMostKeyBytes) throw std::invalid_argument("a key has more than 65,536 bytes");
}
void check_value(std::string_view value) {
  if (value.size() > kMostValueBytes) throw std::invalid_argument("a value has 4 GiB or more");
}

// The part that needs no mutex.
Change make_change(RecordKind kind, const Question& question, std::string_view value,
                   std::uint64_t store_id) {
  return {kind, question.hash, question.key, value, value_digest(value, store_id)};
}

// Takes what is left of the memory that was made ready for a batch, however the batch ends.
class SpareTaken {
 public:
  SpareTaken(Overflow& overflow, Overflow::Pairs& to) : overflow_(overflow), to_(to) {}
  ~SpareTaken() { to_.swap(overflow_.spare()); }
  SpareTaken(const SpareTaken&) = delete;
  SpareTaken& operator=(const SpareTaken&) = delete;

 private:
  Overflow& overflow_;
  Overflow::Pairs& to_;
};

}  // namespace

void Store::State::require_writable() const {
  Answering::refuse();
  if (options_.read_only) throw StoreError("the store was opened for reading only");
}

Question Store::State::prepare(Space space, std::string_view key) const {
  const Question question = ask(space, key, content().store_id);
  const ReadSection section;
  (void)index().maplet.prepare(Hash{question.hash});
  return question;
}

std::optional<Located> Store::State::locate(const Question& question, Purpose purpose) const {
  std::uint64_t false_reads = 0;
  return lookup_.find(content(), index(), question, false_reads, purpose);
}

void Store::State::settle(const Change& change, std::uint64_t address,
                          const std::optional<Located>& old) {
  Index& here = index();
  const Space space = space_of(change.kind);
  if (is_put(change.kind)) {
    if (old) {
      (void)here.replace(change.hash, old->address, address);
    } else {
      here.insert(change.hash, address);
    }
    content().now_live(address, change.bytes(), space);
  } else if (old) {
    (void)here.erase(change.hash, old->address);
  }
  if (old) content().now_dead(old->address, old->bytes, space);
}

void Store::State::make(const Change& change, const std::optional<Located>& old) {
  index().reserve();
  if (store_faults::index_before_log) {
    const LogPosition at = log_->position();
    settle(change, content().table.address(*log_->newest(), at.offset), old);
    (void)log_->append(change);
    return;
  }
  settle(change, log_->append(change), old);
}

std::uint64_t Store::State::note_appended() {
  constexpr std::uint64_t kStride = std::uint64_t{16} << 20;
  const LogPosition position = log_->position();
  const std::uint64_t appended = log_->appended_bytes();
  appended_.store(appended, std::memory_order_relaxed);
  if (position.segment != newest_.load(std::memory_order_relaxed) || appended >= next_wake_) {
    newest_.store(position.segment, std::memory_order_relaxed);
    next_wake_ = appended + kStride;
    wake();
  }
  if (options_.sync != Sync::each && appended >= next_ahead_) {
    next_ahead_ = appended + ahead_step_.load(std::memory_order_relaxed);
    {
      const std::lock_guard lock(waking_);
      is_ahead_due_ = true;
    }
    woken_.notify_all();
  }
  if (options_.sync == Sync::interval && !is_behind_.load(std::memory_order_relaxed)) {
    {
      const std::lock_guard lock(waking_);
      is_behind_.store(true, std::memory_order_relaxed);
    }
    woken_.notify_all();
  }
  return position.sequence;
}

void Store::State::finish(std::uint64_t sequence) {
  if (options_.sync == Sync::each) syncs_.wait_for(sequence);
}

void Store::State::put(Space space, std::string_view key, std::string_view value) {
  (void)store(space, key, value, IfThere::replace);
}

bool Store::State::insert(Space space, std::string_view key, std::string_view value) {
  return store(space, key, value, IfThere::keep);
}

bool Store::State::store(Space space, std::string_view key, std::string_view value,
                         IfThere if_there) {
  require_writable();
  check_key(key);
  check_value(value);
  const Question question = prepare(space, key);
  const Change change = make_change(put_in(space), question, value, content().store_id);
  std::uint64_t sequence = 0;
  bool changes = false;
  {
    const std::lock_guard lock(writer_);
    syncs_.require_sound();
    const std::optional<Located> old =
        locate(question, if_there == IfThere::replace ? Purpose::replace : Purpose::value);
    changes = !old || if_there == IfThere::replace;
    if (changes) make(change, old);
    sequence = changes ? note_appended() : log_->position().sequence;
  }
  finish(sequence);
  return changes;
}

bool Store::State::erase(Space space, std::string_view key) {
  require_writable();
  check_key(key);
  const Question question = prepare(space, key);
  const Change change = make_change(erase_in(space), question, {}, content().store_id);
  std::uint64_t sequence = 0;
  bool changes = false;
  {
    const std::lock_guard lock(writer_);
    syncs_.require_sound();
    const std::optional<Located> old = locate(question, Purpose::erase);
    changes = old.has_value();
    if (changes) make(change, old);
    sequence = changes ? note_appended() : log_->position().sequence;
  }
  finish(sequence);
  return changes;
}

void Store::State::sync() {
  Answering::refuse();
  if (options_.read_only) return;
  std::uint64_t sequence = 0;
  {
    const std::lock_guard lock(writer_);
    sequence = log_->position().sequence;
  }
  syncs_.wait_for(sequence);
  syncs_.require_sound();
}

void Store::State::write(std::span<const BatchStep> steps) {
  require_writable();
  if (steps.empty()) return;
  std::vector<Change> changes;
  std::uint64_t bytes = 0;
  for (const BatchStep& step : steps) {
    check_key(step.key);
    check_value(step.value);
    const RecordKind kind = step.is_put ? RecordKind::put : RecordKind::erase;
    changes.push_back(make_change(kind, ask(Space::keys, step.key, content().store_id), step.value,
                                  content().store_id));
    bytes += changes.back().bytes();
  }
  // What each change replaces: a record that is there, or an earlier one of the batch.
  std::vector<std::optional<Located>> old(changes.size());
  std::vector<std::size_t> earlier(changes.size(), changes.size());
  std::vector<std::uint64_t> addresses(changes.size());
  std::unordered_map<std::string_view, std::size_t> last;
  std::uint64_t sequence = 0;
  Overflow::Pairs spare;  // freed when other writers have their turn
  {
    const std::lock_guard lock(writer_);
    const SpareTaken taken(index().overflow, spare);
    for (std::size_t i = 0; i < changes.size(); ++i) {
      const auto [place, is_first] = last.try_emplace(changes[i].key, i);
      if (is_first) {
        old[i] = locate({Space::keys, changes[i].key, changes[i].hash},
                        is_put(changes[i].kind) ? Purpose::replace : Purpose::erase);
      } else {
        earlier[i] = std::exchange(place->second, i);
      }
    }
    index().reserve(changes.size());
    Log::Batch batch(*log_, changes.size(), bytes);
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
  finish(sequence);
}

}  // namespace nestline
