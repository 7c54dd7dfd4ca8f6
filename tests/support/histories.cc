#include "tests/support/histories.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

namespace nestline::test {

void spin(std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#else
    std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
  }
}

void perturb(int point) {
  // The thread's own generator; its start does not matter.
  thread_local std::uint64_t state = std::hash<std::thread::id>()(std::this_thread::get_id()) | 1;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  const std::uint64_t what = (state >> 32) % 16;
  // Rarer inside an operation than before it, since an operation comes to many points.
  if (what < 4) {
    std::this_thread::yield();
  } else if (what < (point < 0 ? 12 : 8)) {
    spin((state >> 16) % 128);
  }
}

void linger() {
  for (int i = 0; i < 8; ++i) perturb(0);
}

void SpinBarrier::wait() {
  const unsigned round = round_.load(std::memory_order_relaxed);
  if (waiting_.fetch_add(1, std::memory_order_acq_rel) == count_ - 1) {
    waiting_.store(0, std::memory_order_relaxed);
    round_.store(round + 1, std::memory_order_release);
    round_.notify_all();
    return;
  }
  for (int tries = 0; tries < 100; ++tries) {
    if (round_.load(std::memory_order_acquire) != round) return;
    spin(1);
  }
  round_.wait(round, std::memory_order_acquire);
}

Crew::Crew() {
  for (int thread = 0; thread < kMaxThreads; ++thread) {
    threads_.emplace_back([this, thread] {
      auto& rounds = rounds_[static_cast<std::size_t>(thread)];
      for (unsigned round = 0;; ++round) {
        rounds.wait(round, std::memory_order_acquire);
        if (leaving_) return;
        (*work_)(thread);
        done_.fetch_add(1, std::memory_order_acq_rel);
        done_.notify_one();
      }
    });
  }
}

Crew::~Crew() {
  leaving_ = true;
  wake(kMaxThreads);
  for (std::thread& thread : threads_) thread.join();
}

void Crew::wake(int threads) {
  for (int thread = 0; thread < threads; ++thread) {
    auto& rounds = rounds_[static_cast<std::size_t>(thread)];
    rounds.fetch_add(1, std::memory_order_release);
    rounds.notify_one();
  }
}

void Crew::run(int threads, const std::function<void(int)>& work) {
  work_ = &work;
  done_.store(0, std::memory_order_relaxed);
  wake(threads);
  for (int done = 0; done < threads; done = done_.load(std::memory_order_acquire)) {
    done_.wait(done, std::memory_order_acquire);
  }
}

}  // namespace nestline::test
