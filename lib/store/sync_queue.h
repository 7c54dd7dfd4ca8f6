// Group commit: threads that wait for the disk share one fdatasync(). One leads: it syncs the
// newest file, and wakes those whose records that covers; another is next. Older files are on disk.
// A leader waits, at most half of what the last sync took, for as many threads as that served and
// kept waiting: else they fall into two groups that take turns. One alone never waits. After a
// successful sync the log gets a sync mark before its next record or end (recovery.h).
//
// A sync that failed is never repeated: the system may have dropped what it could not write, and
// call the next a success. The queue is broken then, for ever. One caller only learns of a failure:
// so all syncs of the log happen here, one at a time, each after failures of the last are known.
// But not that of an end that is written anew, whose file goes if it fails.
#ifndef NESTLINE_LIB_STORE_SYNC_QUEUE_H_
#define NESTLINE_LIB_STORE_SYNC_QUEUE_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "lib/store/segment_table.h"

namespace nestline { inline namespace v0_3 {

class SyncQueue {
 public:
  // For the writer. Records go to `segment` at `position` now; all before `synced` is on disk.
  void begin(std::shared_ptr<Segment> segment, const LogPosition& position, std::uint64_t synced);
  // Everything before the position has been written to the newest segment.
  void appended(const LogPosition& position) {
    offset_.store(position.offset, std::memory_order_release);
    sequence_.store(position.sequence, std::memory_order_release);
  }
  // All before the position is on disk, which a mark is to say.
  void note_synced(const LogPosition& position);
  std::optional<TwoNumbers> take_mark();   // the value of the sync mark that is due, if one is
  void wait_for(std::uint64_t sequence);   // till all before it is on disk, or throws StoreError
  void fail(const char* reason) noexcept;  // another refusal that must not be tried again
  // Throws StoreError if it did.
  void require_sound() const {
    if (broken_.load(std::memory_order_acquire)) throw_broken();
  }
  [[nodiscard]] bool is_broken() const { return broken_.load(std::memory_order_acquire); }
  void sync(DiskFile& file);  // for the writer; throws std::system_error, or StoreError if broken
  void sync_folder(Disk& disk);  // if the disk refuses, later names are not certain either (D3)
  // Leaves a later sync little to do. Promises nothing, makes no mark; a refusal breaks the queue.
  void sync_ahead();
  [[nodiscard]] std::uint64_t syncs() const { return syncs_.load(std::memory_order_relaxed); }

 private:
  // The only place that syncs a file of the log. `leading_` is true, so no other thread is here.
  std::exception_ptr sync_file(std::unique_lock<std::mutex>& lock, DiskFile& file);
  // Syncs `file`, or if null the newest, when no other thread syncs, unless the queue is broken.
  std::exception_ptr sync_next(std::unique_lock<std::mutex>& lock, DiskFile* file);
  void fail_locked(const char* reason) noexcept;  // with mutex_ held
  [[noreturn]] void throw_broken() const;
  mutable std::mutex mutex_;
  std::condition_variable done_;
  std::shared_ptr<Segment> newest_;
  bool leading_ = false;  // whether a thread is syncing
  std::condition_variable enough_;
  int arrived_ = 0;   // threads in wait_for() that no sync has begun for
  int expected_ = 0;  // how many there may be soon
  std::chrono::steady_clock::duration last_took_{};
  std::uint64_t epoch_ = 0;  // counts begin(); a sync that began before proves nothing now
  std::string reason_;
  TwoNumbers mark_;
  std::atomic<bool> mark_due_{false};
  std::atomic<bool> broken_{false};
  std::atomic<std::uint64_t> offset_{0};
  std::atomic<std::uint64_t> sequence_{0};
  std::atomic<std::uint64_t> synced_{0};
  std::atomic<std::uint64_t> syncs_{0};
};

}}  // namespace nestline

#endif  // NESTLINE_LIB_STORE_SYNC_QUEUE_H_
