// A disk that tells before each of its calls, and a thread that stands still there. With both, a
// test decides what a store that writes does between any two calls of a store that reads: the
// writer works in a SteppedThread, and the reader's disk lets it go on.
#ifndef NESTLINE_TESTS_STORE_STEPPED_DISK_H_
#define NESTLINE_TESTS_STORE_STEPPED_DISK_H_

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "lib/store/disk.h"

namespace nestline::test {

// Called before each call of a disk and its files; the call is not made if it throws. Not before
// the index is written: inside a ReadSection, it would stop all other threads.
using BeforeCall = std::function<void()>;

// `before` is looked at in each call, so a test may set it and take it back; empty: nothing.
std::unique_ptr<Disk> stepped_disk(std::unique_ptr<Disk> disk, const BeforeCall& before);
// The same before files are synced alone.
std::unique_ptr<Disk> disk_with_steps_at_syncs(std::unique_ptr<Disk> disk,
                                               const BeforeCall& before);

// Does work(thread), which calls thread.before_call() before each call of a disk.
class SteppedThread {
 public:
  static constexpr std::uint64_t kAll = ~std::uint64_t{0};

  // It stands still at its first call.
  explicit SteppedThread(std::function<void(SteppedThread& thread)> work);
  // Lets it finish.
  ~SteppedThread();
  SteppedThread(const SteppedThread&) = delete;
  SteppedThread& operator=(const SteppedThread&) = delete;

  // Returns when it stands before the next call after so many, or has ended. Throws its error.
  void go_on(std::uint64_t calls);
  void before_call();  // for the work

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t calls_ = 0;  // that it may make
  bool stands_ = false;
  bool has_ended_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_STORE_STEPPED_DISK_H_
