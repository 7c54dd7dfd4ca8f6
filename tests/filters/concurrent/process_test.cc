// ConcurrentFilter and the life of a process: fork, signals, cancellation, and threads that begin
// to use it when no memory is left.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "lib/filters/concurrent/reclaim.h"
#include "nestline/concurrent_filter.h"
#include "nestline/filter.h"
#include "tests/support/child_process.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define NESTLINE_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define NESTLINE_SANITIZER 1
#endif
#endif
#ifndef NESTLINE_SANITIZER
#define NESTLINE_SANITIZER 0
#endif

namespace nestline::test { namespace {

constexpr std::uint64_t kKeys = 2000;

ConcurrentFilter filled_filter() {
  ConcurrentFilter filter({.capacity = kKeys, .max_capacity = 8 * kKeys});
  for (std::uint64_t key = 0; key < kKeys; ++key) EXPECT_TRUE(filter.insert(key));
  return filter;
}

template <class AnyFilter>
bool holds_all(const AnyFilter& filter) {
  for (std::uint64_t key = 0; key < kKeys; ++key) {
    if (!filter.may_contain(key)) return false;
  }
  return true;
}

// `filled_elsewhere`: another thread is the filter's only writer so far (locking.h, W8).
void use_in_the_child_of_a_quiet_process(bool filled_elsewhere) {
  std::optional<ConcurrentFilter> made;
  const auto fill = [&] { made.emplace(filled_filter()); };
  if (filled_elsewhere) {
    std::thread(fill).join();
  } else {
    fill();
  }
  ConcurrentFilter& filter = *made;
  // Threads that have used it and are idle at the moment of fork, but have readers.
  std::barrier rest(3);
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      EXPECT_TRUE(holds_all(filter));
      const ConcurrentReader reader = filter.reader();
      rest.arrive_and_wait();
      rest.arrive_and_wait();
    });
  }
  rest.arrive_and_wait();
  EXPECT_EQ(in_child([&] {
              if (!holds_all(filter)) return 2;
              for (std::uint64_t key = kKeys; key < 6 * kKeys; ++key) {
                if (!filter.insert(key) || !filter.may_contain(key)) return 3;
              }
              if (filter.growth() == 0 || !filter.grow()) return 4;
              filter.merge(filter.snapshot());
              return holds_all(filter) && filter.count(std::uint64_t{1}) >= 2 ? 0 : 5;
            }),
            0);
  rest.arrive_and_wait();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(filter.size(), kKeys);
}

TEST(ProcessTest, TheChildOfAQuietProcessUsesTheFilter) {
  use_in_the_child_of_a_quiet_process(false);
}

TEST(ProcessTest, TheChildOfAQuietProcessUsesAFilterThatAnotherThreadFilled) {
  use_in_the_child_of_a_quiet_process(true);
}

TEST(ProcessTest, TheChildOfABusyProcessUsesASnapshot) {
  ConcurrentFilter filter = filled_filter();
  std::atomic<bool> over = false;
  std::vector<std::thread> threads;
  for (std::uint64_t t = 1; t <= 2; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t key = t << 32; !over; ++key) {
        (void)filter.insert(key);
        (void)filter.erase(key);
      }
    });
  }
  for (int round = 0; round < 20; ++round) {
    Filter snapshot = filter.snapshot();
    EXPECT_EQ(in_child([&] {
                if (!holds_all(snapshot)) return 2;
                if (!snapshot.insert(std::uint64_t{1} << 40) || !snapshot.grow()) return 3;
                return holds_all(snapshot) ? 0 : 4;
              }),
              0);
  }
  over = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(holds_all(filter));
}

// What a handler looks up, and its answers.
struct Handler {
  static inline const ConcurrentFilter* filter = nullptr;
  static inline std::atomic<std::uint64_t> calls{0};
  static inline std::atomic<std::uint64_t> missed{0};

  static void handle(int) {
    const std::uint64_t call = calls.load(std::memory_order_relaxed);
    const std::uint64_t key = call % kKeys;
    if (!filter->may_contain(key) || filter->count(key) == 0) ++missed;
    calls = call + 1;
  }
};

TEST(ProcessTest, AHandlerUsesAFilterThatItsThreadIsNotUsing) {
  const ConcurrentFilter asked = filled_filter();
  ConcurrentFilter changed = filled_filter();
  Handler::filter = &asked;
  struct sigaction action {};
  action.sa_handler = Handler::handle;
  struct sigaction before {};
  ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
  constexpr std::uint64_t kCalls = 300;
  std::atomic<bool> registered = false;
  std::uint64_t wrong = 0;
  std::thread worker([&] {
    ConcurrentFilter::register_thread();
    registered = true;
    // In the middle of changes, lookups and growth.
    for (std::uint64_t key = kKeys; Handler::calls < kCalls; ++key) {
      if (!changed.insert(key) || !changed.may_contain(key) || !changed.erase(key)) ++wrong;
      if (key % 1000 != 0) continue;
      changed.clear();
      if (changed.growth() < 4) wrong += !changed.grow();
    }
  });
  while (!registered) std::this_thread::yield();
  while (Handler::calls < kCalls) {
    const std::uint64_t calls = Handler::calls;
    ASSERT_EQ(::pthread_kill(worker.native_handle(), SIGUSR1), 0);
    while (Handler::calls == calls) std::this_thread::yield();
  }
  worker.join();
  ASSERT_EQ(::sigaction(SIGUSR1, &before, nullptr), 0);
  EXPECT_EQ(Handler::missed, 0u);
  EXPECT_EQ(wrong, 0u);
  EXPECT_TRUE(holds_all(asked));
}

// Waits until a thread of this process sleeps in a system call; false if none does in time.
bool await_sleep(pid_t thread) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (std::chrono::steady_clock::now() < end) {
    std::string stat;
    std::getline(std::ifstream("/proc/self/task/" + std::to_string(thread) + "/stat"), stat);
    const std::size_t name_end = stat.rfind(')');
    if (name_end != std::string::npos && stat.compare(name_end, 3, ") S") == 0) return true;
    std::this_thread::yield();
  }
  return false;
}

struct Cancelled {
  ConcurrentFilter filter = filled_filter();
  std::atomic<pid_t> thread = 0;
  std::atomic<bool> grown = false;
};

TEST(ProcessTest, ACancelledThreadEndsAfterTheCall) {
  Cancelled shared;
  pthread_t thread{};
  {
    // A thread that grows waits for this section to end.
    const ReadSection section;
    ASSERT_EQ(::pthread_create(
                  &thread, nullptr,
                  [](void* argument) -> void* {
                    auto& work = *static_cast<Cancelled*>(argument);
                    work.thread = static_cast<pid_t>(::syscall(SYS_gettid));
                    work.grown = work.filter.grow();
                    ::pthread_testcancel();
                    return nullptr;
                  },
                  &shared),
              0);
    while (shared.thread == 0) std::this_thread::yield();
    EXPECT_TRUE(await_sleep(shared.thread));
    ASSERT_EQ(::pthread_cancel(thread), 0);
  }
  void* result = nullptr;
  ASSERT_EQ(::pthread_join(thread, &result), 0);
  EXPECT_EQ(result, PTHREAD_CANCELED);
  EXPECT_TRUE(shared.grown);
  // Nothing is left locked.
  EXPECT_TRUE(shared.filter.grow());
  EXPECT_TRUE(shared.filter.insert(kKeys));
  EXPECT_TRUE(holds_all(shared.filter));
}

// This many threads at a time need more than liburcu's first piece of memory.
constexpr int kThreads = 40;

// Starts kThreads threads, forbids more memory and calls work(thread) in each. True if all were
// true. `ahead`: they register first.
bool without_memory(bool ahead, const std::function<bool(int)>& work) {
  std::barrier line(kThreads + 1);
  std::atomic<int> good = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      if (ahead) ConcurrentFilter::register_thread();
      line.arrive_and_wait();
      line.arrive_and_wait();
      good += work(t);
      line.arrive_and_wait();  // all at once
    });
  }
  line.arrive_and_wait();
  const bool forbidden = limit_memory(0);
  line.arrive_and_wait();
  line.arrive_and_wait();
  for (std::thread& thread : threads) thread.join();
  return forbidden && good == kThreads;
}

TEST(ProcessTest, AThreadThatHasRegisteredNeedsNoMemory) {
  if (NESTLINE_SANITIZER) GTEST_SKIP() << "the sanitizer itself needs memory";
  ConcurrentFilter filter = filled_filter();
  EXPECT_EQ(in_child([&] {
              const bool works = without_memory(true, [&](int t) {
                const std::uint64_t key = kKeys + static_cast<unsigned>(t);
                return filter.may_contain(std::uint64_t{1}) && filter.insert(key) &&
                       filter.count(key) != 0 && filter.erase(key);
              });
              return works ? 0 : 2;
            }),
            0);
}

TEST(ProcessTest, RegisteringReportsThatThereIsNoMemory) {
  if (NESTLINE_SANITIZER) GTEST_SKIP() << "the sanitizer itself needs memory";
  EXPECT_EQ(in_child([&] {
              const bool refused = without_memory(false, [](int) {
                try {
                  ConcurrentFilter::register_thread();
                } catch (const std::bad_alloc&) {
                  return true;
                }
                return false;
              });
              return refused ? 0 : 2;
            }),
            0);
}

}  // namespace
}  // namespace nestline::test
