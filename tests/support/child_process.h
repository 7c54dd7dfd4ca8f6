// Processes that a test starts and kills, and memory that it has in common with them.
#ifndef NESTLINE_TESTS_SUPPORT_CHILD_PROCESS_H_
#define NESTLINE_TESTS_SUPPORT_CHILD_PROCESS_H_

#include <sys/mman.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <functional>
#include <new>

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

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_SUPPORT_CHILD_PROCESS_H_
