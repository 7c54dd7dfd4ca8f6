// Decides when memory that readers may still be using can be freed. It uses userspace RCU, in the
// flavour whose threads register automatically (liburcu-bp); on Windows and in WebAssembly, which
// have none, counted_sections.h.
//
// A reader pays a few moves to memory of its own thread, whatever the number of threads, and never
// waits. A thread that frees memory waits for all readers of the process that are in a section at
// that moment. So sections are short: one lookup, or one chunk of a batch.
//
// A thread registers at its first section, with its signals blocked. liburcu maps the memory, 256
// bytes a thread in chunks that double from 2 KiB on, and calls abort() if the system refuses: so
// register_reader() checks ahead.
//
// liburcu is not compiled for ThreadSanitizer, so the code here declares to it what liburcu orders.
#ifndef NESTLINE_LIB_FILTERS_CONCURRENT_RECLAIM_H_
#define NESTLINE_LIB_FILTERS_CONCURRENT_RECLAIM_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "lib/filters/concurrent/thread_number.h"
#include "lib/filters/filter/storage.h"

namespace nestline { inline namespace v0_3 {

// Whether the calling thread is in a section.
inline bool is_in_section() noexcept;

// Throws std::logic_error in a thread that is in a section: it would wait for itself, and so for
// ever, if it waited for readers, or for a thread that waits for them. So every wait begins with
// this, before it takes a mutex or changes anything.
inline void refuse_in_section() {
  if (!is_in_section()) return;
  throw std::logic_error(
      "this call would wait for ever for its own thread, which is still reading: it has a "
      "ConcurrentReader, or is in a function that Store::get calls or between urcu_bp_read_lock() "
      "and urcu_bp_read_unlock(); make the call after that has ended");
}

// The same for changes of one key, which must not throw: it ends the program with that sentence.
// (An exception that leaves a noexcept function may end it without.)
[[gnu::cold]] inline void require_no_section() noexcept {
  try {
    refuse_in_section();
  } catch (...) {
    std::terminate();
  }
}

}}  // namespace nestline

#if NESTLINE_COUNTED_SECTIONS
#include "lib/filters/concurrent/counted_sections.h"
#else

#include <pthread.h>

// Before each use of a thread_local variable of another file, C++ code checks whether its
// constructor has to run. liburcu's variables are C and have no constructor: hence __thread.
#include <urcu/tls-compat.h>
#ifdef CONFIG_RCU_TLS
#undef DECLARE_URCU_TLS
#define DECLARE_URCU_TLS(type, name) __thread type name
#endif
#include <urcu/urcu-bp.h>
// What it offers for short functions of others, and not its functions.
#include <urcu/static/urcu-bp.h>

#if NESTLINE_TSAN
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace nestline { inline namespace v0_3 {

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
  all_is_seen = urcu_bp_has_sys_membarrier != 0;
}

// liburcu's count of the calling thread: how many sections it is in, in the bits of
// URCU_BP_GP_CTR_NEST_MASK, and above them the phase of grace periods in which the first of these
// began. Null before its first section. (liburcu aligns its readers less than their type requires,
// which the sanitizer for undefined behaviour reports of any use of the type.)
NESTLINE_INLINE unsigned long* section_count() noexcept {
  static_assert(offsetof(struct urcu_bp_reader, ctr) == 0);
  return reinterpret_cast<unsigned long*>(URCU_TLS(urcu_bp_reader));
}

inline bool is_in_section() noexcept {
  const unsigned long* const count = section_count();
  return count != nullptr && (*count & URCU_BP_GP_CTR_NEST_MASK) != 0;
}

// The counts of the threads that have been in sections here. In the child of a fork() the other
// threads do not run, so their sections would never end, and a thread that waits for them would
// wait for ever. So these sections end when the child begins. (liburcu's own calls for that wait
// for its mutexes, which another thread may hold while it waits for the one that forks; and the
// program must be the only one to make them.)
class KnownThreads {
 public:
  // Adds the calling thread, which is registered. Throws std::bad_alloc.
  static void add() {
    if (is_known) return;
    KnownThreads& known = all();
    const std::lock_guard lock(known.mutex_);
    std::vector<unsigned long*>& counts = known.counts_;
    // liburcu gives the count of a thread that has ended to another.
    if (std::ranges::find(counts, section_count()) == counts.end()) {
      counts.push_back(section_count());
    }
    is_known = true;
  }

 private:
  KnownThreads() {
    (void)::pthread_atfork([] { all().mutex_.lock(); }, [] { all().mutex_.unlock(); },
                           [] {
                             for (unsigned long* const count : all().counts_) {
                               if (count != section_count()) CMM_ACCESS_ONCE(*count) = 0;
                             }
                             all().mutex_.unlock();
                           });
  }
  static KnownThreads& all() {
    static KnownThreads& known = *new KnownThreads;  // for the whole process
    return known;
  }
  NESTLINE_NEAR_TLS static inline thread_local constinit bool is_known = false;
  std::mutex mutex_;
  std::vector<unsigned long*> counts_;
};

// While one lives, memory that the thread reaches through an atomic pointer is not freed. The
// thread that begins one ends it.
//
// This is liburcu's urcu_bp_read_lock() and urcu_bp_read_unlock() for a registered thread and a
// system with membarrier(), where neither needs a fence and the count is looked up once.
//
// Sections of a thread, also the program's own of liburcu, may end in any order. Each begins by
// adding one to the count and ends by subtracting one, which leaves the phase alone. The one that
// finds none beside it takes the phase of that moment. So the count is above zero, and the phase is
// that of the first begin, from there until the last of them ends: to a thread that waits, they are
// one section. A signal handler whose sections end in it leaves the number as it was, so it may
// come between the load and the store of either; if it changes the phase, then only while there is
// no section, and the begin that it interrupts stores the phase that it has loaded from urcu_bp_gp.
// That may be old, as with any interrupted thread: a thread that waits looks at readers in both
// phases.
class Section {
 public:
  Section& operator=(Section&&) = delete;

  // Whether liburcu knows it as one of the calling thread, which has begun it: not any more when it
  // has unregistered the thread, at the thread's end.
  [[nodiscard]] bool is_known() const {
    const unsigned long* const count = section_count();
    return count != nullptr && (count_ == nullptr || count_ == count);
  }

 protected:
  NESTLINE_INLINE explicit Section(bool quick) noexcept {
    unsigned long* const count = quick ? section_count() : nullptr;
    if (count != nullptr) [[likely]] {
      const unsigned long before = CMM_LOAD_SHARED(*count);
      CMM_ACCESS_ONCE(*count) = (before & URCU_BP_GP_CTR_NEST_MASK) != 0
                                    ? before + URCU_BP_GP_COUNT
                                    : CMM_LOAD_SHARED(urcu_bp_gp.ctr);
      cmm_barrier();
      count_ = count;
    } else {
      enter_slowly();
      count_ = nullptr;
    }
  }
  NESTLINE_INLINE ~Section() {
#if NESTLINE_TSAN
    __tsan_release(&grace_period_mark);
#endif
    if (count_ != nullptr) [[likely]] {
      cmm_barrier();
      *count_ -= URCU_BP_GP_COUNT;
      cmm_barrier();
    } else {
      urcu_bp_read_unlock();
    }
  }

 private:
  [[gnu::cold, gnu::noinline]] static void enter_slowly() noexcept {
    urcu_bp_read_lock();
    show_all();
    try {
      KnownThreads::add();
    } catch (...) {  // for want of memory: at its next slow begin
    }
  }

  unsigned long* count_;  // null: it began slowly, and ends so
};

// For lookups: all threads see what this one has stored.
class ReadSection : public Section {
 public:
  ReadSection() noexcept : Section(all_is_seen) {}
};

// For changes.
class WriteSection : public Section {
 public:
  WriteSection() noexcept : Section(urcu_bp_has_sys_membarrier != 0) {}
};

// Registers the calling thread, so that its sections need no memory. Throws std::bad_alloc.
inline void register_reader() {
  // A chunk for 4,096 threads: a system that grants this grants what liburcu requests next.
  constexpr std::uint64_t kRoom = (std::uint64_t{1} << 20) / kBlockBytes;
  thread_local bool registered = false;
  if (registered) return;
  (void)Storage::allocate(kRoom);  // and freed at once
  urcu_bp_register_thread();
  KnownThreads::add();
  registered = true;
}

// While it lives, the thread cannot be cancelled: liburcu waits for readers in poll(), which is a
// cancellation point, while it holds a mutex.
class Uncancelled {
 public:
  Uncancelled() noexcept { (void)::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~Uncancelled() { (void)::pthread_setcancelstate(before_, &before_); }
  Uncancelled& operator=(Uncancelled&&) = delete;

 private:
  int before_ = 0;
};

// Returns when every section that had begun before has ended; sections that begin later see
// everything that was written before. Throws std::logic_error inside a section. liburcu blocks all
// signals of the thread meanwhile.
inline void wait_for_readers() {
  refuse_in_section();
  const Uncancelled uncancelled;
  urcu_bp_synchronize_rcu();
#if NESTLINE_TSAN
  __tsan_acquire(&grace_period_mark);
#endif
}

}}  // namespace nestline

#endif  // NESTLINE_COUNTED_SECTIONS

#endif  // NESTLINE_LIB_FILTERS_CONCURRENT_RECLAIM_H_
