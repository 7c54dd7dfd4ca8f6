// Processes that a test starts and kills, and memory that it has in common with them.
#ifndef NESTLINE_TESTS_SUPPORT_CHILD_PROCESS_H_
#define NESTLINE_TESTS_SUPPORT_CHILD_PROCESS_H_

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <functional>
#include <new>
#include <thread>

namespace nestline::test {

// A T that this process and those that it starts see.
template <typename T>
class SharedMemory {
 public:
  SharedMemory() {
    void* const memory =
        ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    shared_ = new (memory) T();
  }
  ~SharedMemory() { ::munmap(shared_, sizeof(T)); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  T* operator->() { return shared_; }
  T& operator*() { return *shared_; }

 private:
  T* shared_;
};

// Starts a process that does the work and ends with its status; 99 after an exception.
inline pid_t start(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    int status = 99;
    try {
      status = work();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "child: %s\n", error.what());
    }
    ::_exit(status);
  }
  return child;
}

inline int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
  }
  return status;
}

// Does the work in a process of its own. Returns its status, or -1 when it was killed: also when it
// hangs for two minutes, perhaps with its signals blocked.
inline int in_child(const std::function<int()>& work) {
  const pid_t child = start(work);
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) ::kill(child, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Lets this process have so many bytes of address space beyond those that it has.
inline bool limit_memory(rlim_t more) {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t limit = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + more;
  const rlimit limits{limit, limit};
  return ::setrlimit(RLIMIT_AS, &limits) == 0;
}

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_SUPPORT_CHILD_PROCESS_H_
