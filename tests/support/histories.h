// Plays histories of several threads and records what happened, for any object and any model.
//
// The threads live as long as the crew: starting one takes longer than a thousand operations.
// Stages are made and histories are checked while the crew sleeps; then it plays a whole round of
// histories, meeting at a barrier before each. Random spins and yields before operations, and
// inside them where the library calls `perturb`, make the operations overlap in many ways, also
// when there are more threads than cores.
#ifndef NESTLINE_TESTS_SUPPORT_HISTORIES_H_
#define NESTLINE_TESTS_SUPPORT_HISTORIES_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/order_search.h"

namespace nestline::test {

inline constexpr int kMaxThreads = 4;

// How many times as many histories as usual to play: NESTLINE_HISTORY_TIMES (1).
inline std::uint64_t history_times() {
  const char* const times = std::getenv("NESTLINE_HISTORY_TIMES");
  return times == nullptr ? 1 : std::strtoull(times, nullptr, 10);
}

// How many of so many histories to play. Under the thread sanitizer a quarter: it is slow, and sees
// a race without a wrong history.
inline std::uint64_t of_histories(std::uint64_t count) {
#if defined(__SANITIZE_THREAD__)
  count /= 4;
#endif
  return count * history_times();
}

// Keeps the processor busy for a moment.
void spin(std::uint64_t times);

// A random short wait of the calling thread: nothing, some spinning, or a yield.
void perturb(int point);
// A longer wait, in which other threads should do several operations.
void linger();

// Tickets: an operation whose `end` is below the `start` of another happened before it. On the
// processor both are full barriers; ThreadSanitizer does not learn of the order, so it sees races
// that the tickets would hide.
class Tickets {
 public:
  std::uint64_t draw() {
#if defined(__SANITIZE_THREAD__)
    return next_.fetch_add(1, std::memory_order_relaxed);
#else
    return next_.fetch_add(1, std::memory_order_seq_cst);
#endif
  }

 private:
  alignas(64) std::atomic<std::uint64_t> next_{1};
};

// The operations of one history. Operation: has `thread`, `start` and `end`, and a to_string.
template <class Operation>
class Recorder {
 public:
  // Calls call(operation), which fills in what it answers.
  template <class Call>
  void record(std::size_t thread, Operation operation, const Call& call) {
    keep(thread, {timed(operation, call)});
  }
  // The same for operations that one call makes, each at some instant of it: parts(operation) gives
  // them.
  template <class Call, class Parts>
  void record(std::size_t thread, Operation operation, const Call& call, const Parts& parts) {
    keep(thread, parts(timed(operation, call)));
  }

  // After all threads have played: the operations, in the order of starts.
  [[nodiscard]] std::vector<Operation> all() const {
    std::vector<Operation> all;
    for (const auto& part : parts_) all.insert(all.end(), part.begin(), part.end());
    std::sort(all.begin(), all.end(),
              [](const auto& a, const auto& b) { return a.start < b.start; });
    return all;
  }

  // Whether an order of them explains the answers; if not, `reason` is a report that begins with
  // `title`. OrderSearch says what the others are.
  template <class StateHash, class State, class Apply>
  bool is_linearizable(const Apply& apply, const State& start, const std::string& title,
                       std::string* reason) const {
    const std::vector<Operation> operations = all();
    if (OrderSearch<Operation, State, StateHash>(operations).run(apply, start)) return true;
    *reason = title + "\n";
    for (const Operation& one : operations) {
      *reason += "thread " + std::to_string(one.thread) + " [" + std::to_string(one.start) + ", " +
                 std::to_string(one.end) + "] " + to_string(one) + "\n";
    }
    return false;
  }

 private:
  template <class Call>
  Operation timed(Operation operation, const Call& call) {
    operation.start = tickets_.draw();
    call(operation);
    operation.end = tickets_.draw();
    return operation;
  }
  void keep(std::size_t thread, const std::vector<Operation>& operations) {
    for (Operation one : operations) {
      one.thread = static_cast<std::uint8_t>(thread);
      parts_[thread].push_back(one);
    }
  }

  Tickets tickets_;
  std::array<std::vector<Operation>, kMaxThreads + 1>
      parts_;  // the last: of the thread that checks
};

// Meeting point of `count` threads, spinning at first and then asleep: on a busy machine who yields
// loses its whole turn.
class SpinBarrier {
 public:
  explicit SpinBarrier(int count) : count_(count) {}
  void wait();

 private:
  const int count_;
  std::atomic<int> waiting_{0};
  std::atomic<unsigned> round_{0};
};

// Threads that together run one piece of work after the other.
class Crew {
 public:
  Crew();
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // Calls work(thread) in this many of the threads; returns when all have returned.
  void run(int threads, const std::function<void(int)>& work);

 private:
  void wake(int threads);

  const std::function<void(int)>* work_ = nullptr;
  bool leaving_ = false;  // like work_, read after rounds_ has been raised
  std::array<std::atomic<unsigned>, kMaxThreads> rounds_{};  // of each thread
  std::atomic<int> done_{0};
  std::vector<std::thread> threads_;
};

struct Verdict {
  std::uint64_t played = 0;
  std::uint64_t failed = 0;
  std::string first_failure;
};

// Plays `count` histories, or fewer when one fails and `until_failure` is set. make(i, threads)
// returns the stage of number i, which is played on by so many threads, as a pointer.
template <typename Make>
Verdict play_stages(Crew& crew, std::uint64_t count, bool until_failure, Make&& make) {
  constexpr std::uint64_t kRound = 64;
  Verdict verdict;
  for (std::uint64_t at = 0; at < count; at += kRound) {
    const int threads = 2 + static_cast<int>(at / kRound % (kMaxThreads - 1));
    std::vector<decltype(make(at, threads))> stages;
    for (std::uint64_t i = at; i < at + kRound && i < count; ++i) {
      stages.push_back(make(i, threads));
    }
    SpinBarrier barrier(threads);
    crew.run(threads, [&](int thread) {
      for (auto& stage : stages) {
        barrier.wait();
        stage->play(static_cast<std::size_t>(thread));
      }
    });
    for (auto& stage : stages) {
      ++verdict.played;
      std::string reason;
      if (stage->is_right(&reason)) continue;
      if (verdict.failed++ == 0) verdict.first_failure = reason;
    }
    if (until_failure && verdict.failed != 0) break;
  }
  return verdict;
}

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_SUPPORT_HISTORIES_H_
