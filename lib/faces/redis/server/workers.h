// Threads that look up while the server goes on.
//
// The server's thread never waits for them. It puts slices of work into a ring of cells, each with
// a number that shows whether it is free (Vyukov's bounded queue, with one producer); where a cell
// is taken, it does the work itself. No thread can be preempted with a lock. For each slice a
// semaphore wakes a thread, sleeping ones first, which empties the ring before it sleeps.
//
// Threads begin at the first work: a server that needs none has none, and one that forks into the
// background has not begun yet. They are detached and the pool is never destroyed, so the end of a
// server waits for none. A child made by fork() has no threads and gives them no work.
#ifndef NESTLINE_LIB_FACES_REDIS_SERVER_WORKERS_H_
#define NESTLINE_LIB_FACES_REDIS_SERVER_WORKERS_H_

#include <semaphore.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace nestline { inline namespace v0_3 { namespace redis {

// Something that is done in slices.
class Work {
 public:
  Work& operator=(Work&&) = delete;
  virtual ~Work() = default;
  // Called once for each slice, by different threads at the same time.
  virtual void run(std::uint32_t slice) noexcept = 0;
};

// All members are for the server's thread.
class Workers {
 public:
  static constexpr std::uint32_t kMaxSlices = 256;  // of one work
  static constexpr unsigned kMaxThreads = 256;
  Workers();
  // How many threads there shall be. Others end when the ring is empty; new ones begin with work.
  void want(unsigned threads) noexcept;
  // Makes as many as wanted, or as the system lets. Whether there are any, and room for the slices.
  bool are_ready(std::uint32_t slices) noexcept;
  // Gives them slices 0 to slices - 1 of the work. False when they are not ready.
  bool offer(Work& work, std::uint32_t slices) noexcept;
  [[nodiscard]] std::size_t threads() const noexcept { return threads_.size(); }

 private:
  static constexpr std::size_t kCells = 4096;  // a power of two
  struct Slice {
    Work* work;
    std::uint32_t number;
  };
  // Free for the slice with number n while `turn` is n, and taken by it while `turn` is n + 1.
  struct Cell {
    std::atomic<std::uint64_t> turn;
    Slice slice;
  };
  struct Thread {
    Thread() { ::sem_init(&wake, 0, 0); }
    ~Thread() { ::sem_destroy(&wake); }
    Thread& operator=(Thread&&) = delete;

    sem_t wake;
    std::atomic<bool> ends{false};
    std::atomic<bool> is_asleep{false};  // or about to be
    bool is_woken = false;               // in this turn of wake(), whose thread alone uses it
  };

  void begin_threads() noexcept;
  void live(Thread& self) noexcept;
  void wake(std::uint32_t most) noexcept;
  bool take(Slice& slice) noexcept;
  std::array<Cell, kCells> cells_;
  std::atomic<std::uint64_t> taken_{0};  // slices
  std::uint64_t offered_ = 0;
  unsigned wanted_ = 0;
  std::vector<std::shared_ptr<Thread>> threads_;
};

Workers& workers() noexcept;  // Those of the module. Lives as long as the process.

}}}  // namespace nestline::redis

#endif  // NESTLINE_LIB_FACES_REDIS_SERVER_WORKERS_H_
