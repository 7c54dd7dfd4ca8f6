// What the store does by itself, in two threads: one syncs the log while it grows and after an
// interval, the other prefaults it, saves the index, compacts, and makes a new index. An error ends
// the round only: stats() names it, and the next change that needs the disk meets it.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lib/filters/concurrent/reclaim.h"
#include "lib/store/checkpoint.h"
#include "lib/store/state.h"
#include "lib/store/test_switches.h"

namespace nestline { inline namespace v0_3 {

void Store::State::checkpoint() {
  require_writable();
  const std::lock_guard upkeep(upkeep_);
  save_index();
}

void Store::State::save_index() {
  CheckpointHead head;
  std::vector<std::uint64_t> leftover;
  std::uint64_t bytes = 0;
  std::optional<Maplet> pairs;
  for (bool is_copied = false; !is_copied;) {
    pairs.emplace(index().maplet.ready_for_snapshot());
    const std::lock_guard lock(writer_);
    syncs_.require_sound();
    is_copied = index().maplet.snapshot_into(*pairs);
    if (!is_copied) continue;  // it has grown meanwhile
    Content& here = content();
    head.store_id = here.store_id;
    head.position = log_->position();
    head.offset_bits = here.table.format().offset_bits();
    head.keys = here.keys.load();
    for (const std::shared_ptr<Segment>& segment : here.table.list()) {
      const SegmentCounts& counts = segment->counts;
      head.segments.push_back({segment->header.number, segment->slot, segment->end(),
                               segment->sealed.load() ? std::uint64_t{1} : 0, counts.live.load(),
                               counts.tombstones.load(), counts.frame.load()});
    }
    const Overflow::Pairs overflow = index().overflow.copy();
    head.overflow.assign(overflow.begin(), overflow.end());
    leftover = leftover_;
    bytes = log_->appended_bytes();
  }
  syncs_.wait_for(head.position.sequence);
  write_checkpoint(*disk_, head, *std::move(pairs));
  if (!store_faults::no_sync_before_removal) syncs_.sync_folder(*disk_);
  saved_ = head.position;
  saved_bytes_ = bytes;
  saved_newest_ = head.position.segment;
  remove_leftovers(leftover);
}

bool Store::State::is_checkpoint_due() const {
  constexpr std::uint64_t kOften = std::uint64_t{256} << 20;
  const std::uint64_t since = appended_.load(std::memory_order_relaxed) - saved_bytes_;
  if (checkpoint_bytes_ != 0) return since >= checkpoint_bytes_;
  const std::uint64_t index_bytes = index().maplet.memory_bytes();
  if (newest_.load(std::memory_order_relaxed) != saved_newest_ && since >= index_bytes) {
    return true;
  }
  return since >= std::max(kOften, 4 * index_bytes);
}

void Store::State::keep_up() {
  const std::lock_guard upkeep(upkeep_);
  renew_worn_index();
  const Keeping keeping{*this};
  try {
    compact_worst();
  } catch (const std::exception& error) {
    syncs_.require_sound();
    note_error(error);  // and no reason to leave the checkpoint out
  }
  if (is_checkpoint_due()) save_index();
}

void Store::State::compact_worst() {
  if (options_.compact_above == 0) return;
  const std::shared_ptr<Segment> segment = worst_segment();
  if (segment == nullptr) return;
  compact_and_free(segment);
  const std::uint64_t index_bytes = index().maplet.memory_bytes();
  if (leftover_bytes_ >= index_bytes) free_leftovers();
  wake([&] { awake_ = true; });
}

void Store::State::start_threads() {
  try {
    threads_.emplace_back([this] { run_upkeep(); });
    if (options_.sync != Sync::each) threads_.emplace_back([this] { run_syncs(); });
  } catch (...) {
    end_threads();
    throw;
  }
}

void Store::State::end_threads() noexcept {
  if (!threads_.empty()) require_no_section();  // they may wait for it
  wake([&] { ending_ = true; });
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Store::State::note_error(const std::exception& error) noexcept {
  try {
    std::string what = error.what();
    const std::lock_guard lock(noting_);
    background_error_.swap(what);
  } catch (const std::exception&) {  // no memory for it
  }
}

void Store::State::prefault() {
  const std::shared_ptr<Segment> newest = with_writer([&] { return log_->newest(); });
  newest->file->prefault(newest->end(), newest->end() + kPrefaultAhead);
}

void Store::State::run_upkeep() {
  std::unique_lock lock(waking_);
  for (;;) {
    woken_.wait(lock, [&] { return awake_ || is_prefault_due_ || ending_; });
    if (ending_) return;
    const bool is_awake = std::exchange(awake_, false);
    is_prefault_due_ = false;
    lock.unlock();
    try {
      prefault();
      if (is_awake) keep_up();
    } catch (const std::exception& error) {
      note_error(error);
    }
    lock.lock();
  }
}

// As much as the disk takes in some milliseconds, since that is what a file that is full makes its
// writers wait; not less often than needed, since a sync slows writers meanwhile.
void Store::State::sync_ahead() {
  using std::chrono::milliseconds;
  const auto begin = std::chrono::steady_clock::now();
  syncs_.sync_ahead();
  syncs_.require_sound();
  const auto took = std::chrono::steady_clock::now() - begin;
  const std::uint64_t step = ahead_step_.load(std::memory_order_relaxed);
  if (took < milliseconds(3)) {
    ahead_step_.store(std::min(2 * step, kMaxSyncAhead), std::memory_order_relaxed);
  } else if (took > milliseconds(8)) {
    ahead_step_.store(std::max(step / 2, kSyncAhead), std::memory_order_relaxed);
  }
}

void Store::State::run_syncs() {
  using Clock = std::chrono::steady_clock;
  constexpr auto kNever = Clock::time_point::max();
  Clock::time_point due = kNever;  // when all must be on disk that is not yet
  std::unique_lock lock(waking_);
  for (;;) {
    const auto is_next = [&] {
      return is_ahead_due_ || ending_ || (due == kNever && is_behind_.load());
    };
    if (due == kNever) {
      woken_.wait(lock, is_next);
    } else {
      woken_.wait_until(lock, due, is_next);
    }
    if (ending_) return;
    const Clock::time_point now = Clock::now();
    const bool is_due = now >= due;
    if (due == kNever && is_behind_.load()) due = now + options_.sync_interval;
    if (!is_due && !std::exchange(is_ahead_due_, false)) continue;
    lock.unlock();
    try {
      if (is_due) {
        due = kNever;
        is_behind_.store(false);
        sync();
      } else {
        sync_ahead();
      }
    } catch (const std::exception& error) {
      note_error(error);
      return;  // the store can only be read now, and the next writer gets an error
    }
    lock.lock();
  }
}

void Store::checkpoint() { state_->checkpoint(); }

}}  // namespace nestline
