// Decides when memory that readers may still be using can be freed. It uses userspace RCU, in the
// flavour whose threads register automatically (liburcu-bp).
//
// A reader pays a few moves to memory of its own thread, whatever the number of threads, and never
// waits. A thread that frees memory waits for all readers of the process that are in a section at
// that moment. So sections are short: one lookup, or one chunk of a batch.
//
// A thread registers at its first section, with its signals blocked. liburcu takes the memory for
// that by mmap and mremap, 256 bytes a thread in chunks that double from 2 KiB on, and calls
// abort() if the system refuses. It cannot report that, so register_reader() checks ahead.
//
// liburcu is not compiled for ThreadSanitizer, so the code here declares to it what liburcu orders.
#ifndef NESTLINE_LIB_CONCURRENT_RECLAIM_H_
#define NESTLINE_LIB_CONCURRENT_RECLAIM_H_

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "lib/concurrent/thread_number.h"
#include "lib/filter/storage.h"
#include "lib/place/memory_order.h"

// ThreadSanitizer does not know liburcu's memory orders, and the undefined-behaviour sanitizer
// reports that liburcu aligns its readers less than their type requires.
#ifndef NESTLINE_SANITIZED
#define _LGPL_SOURCE  // the two short functions that liburcu offers for inlining
#endif
// Before each use of a thread_local variable of another file, C++ code checks whether its
// constructor has to run. liburcu's variables are C and have no constructor: hence __thread.
#include <urcu/tls-compat.h>
#ifdef CONFIG_RCU_TLS
#undef DECLARE_URCU_TLS
#define DECLARE_URCU_TLS(type, name) __thread type name
#endif
#include <urcu/urcu-bp.h>

#if NESTLINE_TSAN
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace nestline {

#if NESTLINE_TSAN
inline char grace_period_mark;
#endif

// Whether all other threads can see everything that this thread has stored. Its next lookup must
// not begin before that (locking.h, W8). It begins as false, so that a thread's first section takes
// the way that registers it; and it stays false where each section needs a fence of its own anyway.
NESTLINE_NEAR_TLS inline thread_local constinit bool all_is_seen = false;

// The fence keeps the compiler from doing this before what was stored: a signal handler may look
// into another filter in between.
inline void stored_alone() noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  all_is_seen = false;
}
inline void show_all() noexcept {
  if (all_is_seen) return;
  full_fence();
#ifndef NESTLINE_SANITIZED
  all_is_seen = urcu_bp_has_sys_membarrier != 0;
#endif
}

// While one lives, memory that the thread reaches through an atomic pointer is not freed. Sections
// nest.
//
// This is liburcu's urcu_bp_read_lock() and urcu_bp_read_unlock() for the case that nearly always
// holds: the thread is registered, and the system has membarrier(), so that neither needs a fence.
// Then it is enough to look up the thread's reader once, and to leave by storing what was before.
class Section {
 public:
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;

 protected:
#ifdef NESTLINE_SANITIZED
  explicit Section(bool) noexcept {
    urcu_bp_read_lock();
    show_all();
  }
  ~Section() {
#if NESTLINE_TSAN
    __tsan_release(&grace_period_mark);
#endif
    urcu_bp_read_unlock();
  }
#else
  NESTLINE_INLINE explicit Section(bool quick) noexcept {
    struct urcu_bp_reader* const reader = quick ? URCU_TLS(urcu_bp_reader) : nullptr;
    if (reader != nullptr) [[likely]] {
      before_ = CMM_LOAD_SHARED(reader->ctr);
      CMM_ACCESS_ONCE(reader->ctr) =
          is_inside(before_) ? before_ + URCU_BP_GP_COUNT : CMM_LOAD_SHARED(urcu_bp_gp.ctr);
      cmm_barrier();
      reader_ = reader;
    } else {
      enter_slowly();
      reader_ = nullptr;
    }
  }
  NESTLINE_INLINE ~Section() {
    if (reader_ != nullptr) [[likely]] {
      cmm_barrier();
      CMM_ACCESS_ONCE(reader_->ctr) = before_;
    } else {
      leave_slowly();
    }
  }

 private:
  static bool is_inside(unsigned long ctr) { return (ctr & URCU_BP_GP_CTR_NEST_MASK) != 0; }
  [[gnu::cold, gnu::noinline]] static void enter_slowly() noexcept {
    urcu_bp_read_lock();
    show_all();
  }
  [[gnu::cold, gnu::noinline]] static void leave_slowly() noexcept { urcu_bp_read_unlock(); }

  struct urcu_bp_reader* reader_;
  unsigned long before_;  // its count outside this section
#endif
};

// For lookups: all threads see what this one has stored.
class ReadSection : public Section {
 public:
  ReadSection() noexcept : Section(all_is_seen) {}
};

// For changes.
class WriteSection : public Section {
 public:
#ifdef NESTLINE_SANITIZED
  WriteSection() noexcept : Section(false) {}
#else
  WriteSection() noexcept : Section(urcu_bp_has_sys_membarrier != 0) {}
#endif
};

// Registers the calling thread, so that its sections need no memory. Throws std::bad_alloc, unless
// another thread takes the memory just after this check found it.
inline void register_reader() {
  // A chunk for 4,096 threads: a system that grants this does not refuse what liburcu requests
  // next.
  constexpr std::uint64_t kRoom = (std::uint64_t{1} << 20) / kBlockBytes;
  thread_local bool registered = false;
  if (registered) return;
  (void)Storage::allocate(kRoom);  // and freed at once
  urcu_bp_register_thread();
  registered = true;
}

// While it lives, the thread cannot be cancelled: liburcu waits for readers in poll(), which is a
// cancellation point, while it holds a mutex.
class Uncancelled {
 public:
  Uncancelled() noexcept { (void)::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~Uncancelled() { (void)::pthread_setcancelstate(before_, &before_); }
  Uncancelled(const Uncancelled&) = delete;
  Uncancelled& operator=(const Uncancelled&) = delete;

 private:
  int before_ = 0;
};

// Returns when every section that had begun before has ended; sections that begin later see
// everything that was written before. Must not be called inside a section.
inline void wait_for_readers() noexcept {
  const Uncancelled uncancelled;
  urcu_bp_synchronize_rcu();
#if NESTLINE_TSAN
  __tsan_acquire(&grace_period_mark);
#endif
}

}  // namespace nestline

#endif  // NESTLINE_LIB_CONCURRENT_RECLAIM_H_
