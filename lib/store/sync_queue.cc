#include "lib/store/sync_queue.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "lib/store/test_switches.h"

namespace nestline { inline namespace v0_3 {
void SyncQueue::begin(std::shared_ptr<Segment> segment, const LogPosition& position,
                      std::uint64_t synced) {
  {
    const std::lock_guard lock(mutex_);
    newest_.swap(segment);
    ++epoch_;
    mark_due_.store(false);
    offset_.store(position.offset, std::memory_order_release);
    sequence_.store(position.sequence, std::memory_order_release);
    // After a sync that failed, others that succeed prove nothing.
    if (!broken_.load()) synced_.store(synced, std::memory_order_release);
  }
  done_.notify_all();
}

void SyncQueue::note_synced(const LogPosition& position) {
  const std::lock_guard lock(mutex_);
  mark_ = {position.segment, position.offset};
  mark_due_.store(!broken_.load());
}

std::optional<TwoNumbers> SyncQueue::take_mark() {
  if (!mark_due_.load(std::memory_order_acquire)) return std::nullopt;
  const std::lock_guard lock(mutex_);
  mark_due_.store(false);
  return mark_;
}

void SyncQueue::wait_for(std::uint64_t sequence) {
  if (synced_.load(std::memory_order_acquire) >= sequence) return;
  std::unique_lock lock(mutex_);
  if (++arrived_ == expected_) enough_.notify_one();
  while (synced_.load() < sequence) {
    if (broken_.load()) {
      lock.unlock();
      throw_broken();
    }
    if (leading_) {
      done_.wait(lock);
      continue;
    }
    leading_ = true;
    enough_.wait_for(lock, last_took_ / 2, [&] { return arrived_ >= expected_; });
    const std::uint64_t epoch = epoch_;
    const std::shared_ptr<Segment> segment = newest_;
    // Each of the two is true by itself, even if records are appended between the loads.
    const TwoNumbers mark(segment->header.number, offset_.load(std::memory_order_acquire));
    const std::uint64_t covered = sequence_.load(std::memory_order_acquire);
    const int served = std::exchange(arrived_, 0);
    const auto begin = std::chrono::steady_clock::now();
    const std::exception_ptr error = sync_file(lock, *segment->file);
    last_took_ = std::chrono::steady_clock::now() - begin;
    expected_ = served + arrived_;
    if (!error && epoch == epoch_ && !broken_.load()) {
      synced_.store(covered);
      mark_ = mark;
      mark_due_.store(true);
    }
  }
}

void SyncQueue::sync(DiskFile& file) {
  std::unique_lock lock(mutex_);
  if (const std::exception_ptr error = sync_next(lock, &file)) std::rethrow_exception(error);
  lock.unlock();
  require_sound();
}

void SyncQueue::sync_folder(Disk& disk) {
  try {
    if (!store_faults::no_folder_sync) disk.sync_folder();
  } catch (const std::exception& error) {
    fail(error.what());
    throw;
  }
}

void SyncQueue::sync_ahead() {
  std::unique_lock lock(mutex_);
  (void)sync_next(lock, nullptr);
}

std::exception_ptr SyncQueue::sync_next(std::unique_lock<std::mutex>& lock, DiskFile* file) {
  done_.wait(lock, [&] { return !leading_; });
  if (broken_.load()) return nullptr;
  leading_ = true;
  const std::shared_ptr<Segment> segment = newest_;
  return sync_file(lock, file == nullptr ? *segment->file : *file);
}

std::exception_ptr SyncQueue::sync_file(std::unique_lock<std::mutex>& lock, DiskFile& file) {
  lock.unlock();
  std::exception_ptr error;
  try {
    file.sync();
    syncs_.fetch_add(1, std::memory_order_relaxed);
    lock.lock();
  } catch (const std::exception& refusal) {
    error = std::current_exception();
    lock.lock();
    fail_locked(refusal.what());
  }
  leading_ = false;
  done_.notify_all();
  return error;
}

void SyncQueue::fail(const char* reason) noexcept {
  {
    const std::lock_guard lock(mutex_);
    fail_locked(reason);
  }
  done_.notify_all();
}

void SyncQueue::fail_locked(const char* reason) noexcept {
  broken_.store(true);
  try {
    if (reason_.empty()) reason_ = reason;
  } catch (const std::bad_alloc&) {  // broken all the same
  }
}

void SyncQueue::throw_broken() const {
  const std::lock_guard lock(mutex_);
  throw StoreError("the store can only be read, since its disk refused to sync (" + reason_ +
                   "): open it anew to see what is on disk");
}

}}  // namespace nestline
