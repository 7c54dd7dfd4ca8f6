// Group commit: threads that wait for the disk at the same time share one fdatasync(). One of them
// leads: it syncs the newest file and wakes those whose records that covers; one of the others
// leads the next round. Older files are on disk.
//
// A leader gives as many threads as the last sync has served, and kept waiting, a moment to come,
// at most half of what that sync took: else they fall into two groups that wait for each other, and
// each sync serves one of them. A thread that is alone never waits.
//
// After a successful sync the log gets a sync mark before its next record, or when it is closed
// (recovery.h).
//
// A sync that failed is never repeated: the system may have dropped what it could not write, and
// call the next one a success. The queue is broken then, for ever. The system reports a
// failure to one caller only: so all syncs of the log's files happen here, one at a time, and the
// next one does not begin before a failure of the last is known to all.
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

#include "lib/store/disk.h"
#include "lib/store/segment_table.h"

namespace nestline {

class SyncQueue {
 public:
  // For the writer. From now on records go to `segment` at `position`, and all before the sequence
  // number `synced` is on disk.
  void begin(std::shared_ptr<Segment> segment, const LogPosition& position, std::uint64_t synced);
  // Everything before the position has been written to the newest segment.
  void appended(const LogPosition& position) {
    offset_.store(position.offset, std::memory_order_release);
    sequence_.store(position.sequence, std::memory_order_release);
  }
  // All before the position is on disk, which a mark is to say.
  void note_synced(const LogPosition& position);
  // The value of the sync mark that is due, if one is.
  std::optional<TwoNumbers> take_mark();

  // Returns when all records before `sequence` are on disk. Throws StoreError if the disk refuses.
  void wait_for(std::uint64_t sequence);

  // Records that the disk refused something else that must not be tried again.
  void fail(const char* reason) noexcept;
  // Throws StoreError if it did.
  void require_sound() const {
    if (broken_.load(std::memory_order_acquire)) throw_broken();
  }
  [[nodiscard]] bool is_broken() const { return broken_.load(std::memory_order_acquire); }

  // Syncs a file of the log now, for the writer. Throws std::system_error if the disk refuses, and
  // StoreError if it has refused before.
  void sync(DiskFile& file);
  // Syncs the folder. If the disk refuses, the names of later files are not certain either (D3).
  void sync_folder(Disk& disk);
  // Syncs the newest file, so that a later sync, with writers waiting for it, finds little to do.
  // Promises nothing: there is no mark for it. A refusal breaks the queue.
  void sync_ahead();
  [[nodiscard]] std::uint64_t syncs() const { return syncs_.load(std::memory_order_relaxed); }

 private:
  // The only place in which a file of the log is synced. `leading_` is true, so nobody else is
  // here; whoever comes next knows of a refusal.
  std::exception_ptr sync_file(std::unique_lock<std::mutex>& lock, DiskFile& file);
  // Syncs `file`, or the newest if that is null, when nobody else syncs, unless the queue is
  // broken.
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

}  // namespace nestline

#endif  // NESTLINE_LIB_STORE_SYNC_QUEUE_H_
