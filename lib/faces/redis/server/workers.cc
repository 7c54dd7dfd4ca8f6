#include "lib/faces/redis/server/workers.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#include <exception>
#include <thread>
#include <utility>

namespace nestline { inline namespace v0_3 { namespace redis {
namespace {

// How much nicer the threads are: where processors are few, the server's thread goes first.
constexpr int kNice = 10;

// While it lives, new threads take no signals, which are for the server's thread, but for faults.
class SignalsOff {
 public:
  SignalsOff() {
    sigset_t all;
    ::sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) ::sigdelset(&all, fault);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsOff() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsOff& operator=(SignalsOff&&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

Workers::Workers() {
  for (std::size_t i = 0; i < kCells; ++i) cells_[i].turn.store(i, std::memory_order_relaxed);
}

void Workers::want(unsigned threads) noexcept {
  wanted_ = threads;
  while (threads_.size() > wanted_) {
    threads_.back()->ends.store(true);
    ::sem_post(&threads_.back()->wake);
    threads_.pop_back();
  }
}

void Workers::begin_threads() noexcept {
  const SignalsOff off;
  try {
    threads_.reserve(wanted_);
    while (threads_.size() < wanted_) {
      auto self = std::make_shared<Thread>();
      std::thread([this, self] { live(*self); }).detach();
      threads_.push_back(std::move(self));
    }
  } catch (const std::exception&) {  // no memory, or no more threads: it is tried again next time
  }
}

bool Workers::are_ready(std::uint32_t slices) noexcept {
  if (threads_.size() < wanted_) begin_threads();
  if (threads_.empty() || slices > kMaxSlices) return false;
  for (std::uint64_t n = offered_; n < offered_ + slices; ++n) {
    if (cells_[n % kCells].turn.load(std::memory_order_acquire) != n) return false;
  }
  return true;
}

bool Workers::offer(Work& work, std::uint32_t slices) noexcept {
  if (!are_ready(slices)) return false;
  for (std::uint32_t i = 0; i < slices; ++i, ++offered_) {
    Cell& cell = cells_[offered_ % kCells];
    cell.slice = {&work, i};
    cell.turn.store(offered_ + 1, std::memory_order_release);
  }
  wake(slices);
  return true;
}

// Called after slices were put into the ring. At least one thread is woken, asleep or not: one that
// has just found the ring empty, and is about to sleep, then looks into it again.
void Workers::wake(std::uint32_t most) noexcept {
  for (const auto& thread : threads_) {
    thread->is_woken = most != 0 && thread->is_asleep.load();
    if (!thread->is_woken) continue;
    ::sem_post(&thread->wake);
    --most;
  }
  for (const auto& thread : threads_) {
    if (most == 0) return;
    if (thread->is_woken) continue;
    ::sem_post(&thread->wake);
    --most;
  }
}

// The next slice; false when the ring is empty.
bool Workers::take(Slice& slice) noexcept {
  std::uint64_t n = taken_.load(std::memory_order_relaxed);
  for (;;) {
    Cell& cell = cells_[n % kCells];
    const std::uint64_t turn = cell.turn.load(std::memory_order_acquire);
    if (turn == n + 1) {
      if (!taken_.compare_exchange_weak(n, n + 1, std::memory_order_relaxed)) continue;
      slice = cell.slice;
      cell.turn.store(n + kCells, std::memory_order_release);
      return true;
    }
    if (turn <= n) return false;
    n = taken_.load(std::memory_order_relaxed);  // another thread took it meanwhile
  }
}

// The ring has what was offered before the order to end; for what comes after, others are woken.
void Workers::live(Thread& self) noexcept {
  // On Linux it is a thread's own. It may be refused, which does no harm.
  (void)::setpriority(PRIO_PROCESS, 0, ::getpriority(PRIO_PROCESS, 0) + kNice);
  for (;;) {
    const bool ends = self.ends.load();
    for (Slice slice{}; take(slice);) slice.work->run(slice.number);
    if (ends) return;
    self.is_asleep.store(true);
    while (::sem_wait(&self.wake) != 0) {
    }
    self.is_asleep.store(false);
  }
}

Workers& workers() noexcept {
  alignas(Workers) static std::byte place[sizeof(Workers)];
  static Workers* const all = new (place) Workers;
  return *all;
}

}}}  // namespace nestline::redis
