// Threads that run the same piece of work at the same time.
//
// Each thread is bound to its own core, so that two of them never share a core while another core
// is idle. If there are more threads than cores, they take turns. Members without work sleep.
#ifndef NESTLINE_BENCH_SUPPORT_PINNED_THREADS_H_
#define NESTLINE_BENCH_SUPPORT_PINNED_THREADS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace nestline::bench {

class PinnedThreads {
 public:
  explicit PinnedThreads(unsigned members);
  ~PinnedThreads();
  PinnedThreads(const PinnedThreads&) = delete;
  PinnedThreads& operator=(const PinnedThreads&) = delete;

  [[nodiscard]] unsigned size() const { return static_cast<unsigned>(threads_.size()); }

  // Calls work(m) on the members m in [first, first + count), which begin together. Returns the
  // seconds from the first start until the last of them is done.
  double run(unsigned first, unsigned count, const std::function<void(unsigned)>& work);

  // Calls piece(m) again and again on those members for about `seconds`. piece returns the number
  // of operations that it did. Returns operations per second, of all members together.
  double rate(unsigned first, unsigned count, double seconds,
              const std::function<std::size_t(unsigned)>& piece);

 private:
  struct alignas(64) Times {
    double begin;
    double end;
  };

  void member(unsigned m);

  std::vector<std::thread> threads_;
  std::vector<Times> times_;
  const std::function<void(unsigned)>* work_ = nullptr;
  unsigned first_ = 0;
  unsigned count_ = 0;
  alignas(64) std::atomic<std::uint32_t> round_ = 0;  // advances when there is new work
  alignas(64) std::atomic<unsigned> ready_ = 0;       // members at the starting line
  alignas(64) std::atomic<unsigned> left_ = 0;        // members that have not finished this round
};

// Has one member for each core that this process may use.
PinnedThreads& all_cores();

}  // namespace nestline::bench

#endif  // NESTLINE_BENCH_SUPPORT_PINNED_THREADS_H_
