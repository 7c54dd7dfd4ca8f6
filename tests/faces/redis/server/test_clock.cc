// Loaded before all else into a server (LD_PRELOAD): its wall clock is ahead by the seconds in the
// first 8 bytes of the file NESTLINE_TEST_CLOCK, which a test changes while it runs.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

std::int64_t ahead() {
  static const volatile std::int64_t* const seconds = [] {
    const char* const name = std::getenv("NESTLINE_TEST_CLOCK");
    const int file = name == nullptr ? -1 : open(name, O_RDONLY | O_CLOEXEC);
    if (file < 0) std::abort();
    void* const mapped = mmap(nullptr, sizeof *seconds, PROT_READ, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) std::abort();
    close(file);
    return static_cast<const volatile std::int64_t*>(mapped);
  }();
  return *seconds;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const auto result = static_cast<int>(syscall(SYS_clock_gettime, clock, now));
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) now->tv_sec += ahead();
  return result;
}

int gettimeofday(timeval* now, void*) noexcept {
  timespec exact;
  const int result = clock_gettime(CLOCK_REALTIME, &exact);
  *now = {exact.tv_sec, exact.tv_nsec / 1000};
  return result;
}

time_t time(time_t* now) noexcept {
  timespec exact;
  clock_gettime(CLOCK_REALTIME, &exact);
  if (now != nullptr) *now = exact.tv_sec;
  return exact.tv_sec;
}
}
