#include "tests/filters/concurrent/history_runner.h"

#include <functional>

namespace nestline::test {

void SpinBarrier::wait() {
  const unsigned round = round_.load(std::memory_order_relaxed);
  if (waiting_.fetch_add(1, std::memory_order_acq_rel) == count_ - 1) {
    waiting_.store(0, std::memory_order_relaxed);
    round_.store(round + 1, std::memory_order_release);
    return;
  }
  for (int tries = 0; round_.load(std::memory_order_acquire) == round; ++tries) {
    if (tries < 100) {
      spin(1);
    } else {
      std::this_thread::yield();
    }
  }
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
