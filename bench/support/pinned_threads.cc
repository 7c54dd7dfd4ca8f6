#include "bench/support/pinned_threads.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <limits>

#include "bench/support/ceiling.h"

namespace nestline::bench {
namespace {

// The cores that this process was started on.
const std::vector<int>& cores() {
  static const std::vector<int> list = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    (void)::sched_getaffinity(0, sizeof(set), &set);
    std::vector<int> made;
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &set)) made.push_back(core);
    }
    return made;
  }();
  return list;
}

// If the system refuses, results only vary more.
void bind_to(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  (void)::pthread_setaffinity_np(::pthread_self(), sizeof(set), &set);
}

}  // namespace

PinnedThreads::PinnedThreads(unsigned members) : times_(members) {
  for (unsigned m = 0; m < members; ++m) {
    threads_.emplace_back([this, m, core = cores()[m % cores().size()]] {
      bind_to(core);
      member(m);
    });
  }
}

PinnedThreads::~PinnedThreads() {
  run(0, 0, {});
  for (std::thread& thread : threads_) thread.join();
}

double PinnedThreads::run(unsigned first, unsigned count,
                          const std::function<void(unsigned)>& work) {
  work_ = count != 0 ? &work : nullptr;
  first_ = first;
  count_ = count;
  ready_ = 0;
  left_ = size();
  round_.fetch_add(1);
  round_.notify_all();
  for (unsigned left = left_; left != 0; left = left_) left_.wait(left);
  double begin = std::numeric_limits<double>::max();
  double end = 0;
  for (unsigned m = first; m < first + count; ++m) {
    begin = std::min(begin, times_[m].begin);
    end = std::max(end, times_[m].end);
  }
  return end - begin;
}

double PinnedThreads::rate(unsigned first, unsigned count, double seconds,
                           const std::function<std::size_t(unsigned)>& piece) {
  std::vector<double> rates(first + count);
  run(first, count, [&](unsigned m) {
    const double begin = now();
    double taken = 0;
    std::size_t done = 0;
    do {
      done += piece(m);
      taken = now() - begin;
    } while (taken < seconds);
    rates[m] = static_cast<double>(done) / taken;
  });
  double sum = 0;
  for (const double one : rates) sum += one;
  return sum;
}

void PinnedThreads::member(unsigned m) {
  for (std::uint32_t seen = 0;; ++seen) {
    round_.wait(seen);
    const bool over = work_ == nullptr;
    if (m >= first_ && m < first_ + count_) {
      // Do not sleep here: threads that wake first would get a head start.
      const unsigned count = count_;
      for (ready_.fetch_add(1); ready_.load() < count;) std::this_thread::yield();
      times_[m].begin = now();
      (*work_)(m);
      times_[m].end = now();
    }
    if (left_.fetch_sub(1) == 1) left_.notify_all();
    if (over) return;
  }
}

PinnedThreads& all_cores() {
  static PinnedThreads threads_of_cores(static_cast<unsigned>(cores().size()));
  return threads_of_cores;
}

}  // namespace nestline::bench
