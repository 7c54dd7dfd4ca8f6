// See failing_calls.h. Each function fails if it should, or passes the call on to the system.
#include "tests/store/failing_calls.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>

namespace nestline::test {
namespace {

constexpr int kNone = -1;
std::atomic<int> failing_call{kNone};
std::atomic<std::uint64_t> calls_made{0};
std::atomic<std::uint64_t> first_failure{0};
std::atomic<std::uint64_t> last_failure{0};
std::atomic<int> failure{0};
constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};
std::atomic<std::uint64_t> file_limit{kNoLimit};
std::atomic<std::uint64_t> beyond_limit{0};

// 0, or how this call fails.
int fate_of(SystemCall call) noexcept {
  if (failing_call.load() != static_cast<int>(call)) return 0;
  const std::uint64_t number = calls_made.fetch_add(1);
  return first_failure.load() <= number && number <= last_failure.load() ? failure.load() : 0;
}

// Whether the call fails with an error, which is in errno then. Else its `size` may become less.
bool fails(SystemCall call, size_t* size = nullptr) noexcept {
  const int fate = fate_of(call);
  if (fate > 0) errno = fate;
  if (fate == kShort && size != nullptr) *size = (*size + 1) / 2;
  return fate > 0;
}

}  // namespace

FailingCall::FailingCall(SystemCall call, std::uint64_t number, int error, bool for_ever) {
  calls_made.store(0);
  first_failure.store(number);
  last_failure.store(for_ever ? ~std::uint64_t{0} : number);
  failure.store(error);
  failing_call.store(static_cast<int>(call));
}

FailingCall::~FailingCall() { failing_call.store(kNone); }
bool FailingCall::has_failed() const { return calls_made.load() > first_failure.load(); }

FullDisk::FullDisk(std::uint64_t bytes_of_a_file) {
  beyond_limit.store(0);
  file_limit.store(bytes_of_a_file);
}

FullDisk::~FullDisk() { file_limit.store(kNoLimit); }
std::uint64_t FullDisk::refused() const { return beyond_limit.load(); }

}  // namespace nestline::test

using nestline::test::SystemCall;

extern "C" {

int open(const char* path, int flags, ...) {
  std::va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  if (nestline::test::fails(SystemCall::open)) return -1;
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

ssize_t pread(int file, void* to, size_t size, off_t offset) {
  if (nestline::test::fails(SystemCall::pread, &size)) return -1;
  return ::syscall(SYS_pread64, file, to, size, offset);
}

ssize_t pwrite(int file, const void* from, size_t size, off_t offset) {
  if (nestline::test::fails(SystemCall::pwrite, &size)) return -1;
  return ::syscall(SYS_pwrite64, file, from, size, offset);
}

int ftruncate(int file, off_t size) noexcept {
  if (nestline::test::fails(SystemCall::ftruncate)) return -1;
  return static_cast<int>(::syscall(SYS_ftruncate, file, size));
}

int fallocate(int file, int mode, off_t offset, off_t size) {
  if (nestline::test::fails(SystemCall::fallocate)) return -1;
  if (static_cast<std::uint64_t>(offset) + static_cast<std::uint64_t>(size) >
      nestline::test::file_limit.load()) {
    nestline::test::beyond_limit.fetch_add(1);
    errno = ENOSPC;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_fallocate, file, mode, offset, size));
}

int fdatasync(int file) {
  if (nestline::test::fails(SystemCall::fdatasync)) return -1;
  return static_cast<int>(::syscall(SYS_fdatasync, file));
}

int fsync(int file) {
  if (nestline::test::fails(SystemCall::fsync)) return -1;
  return static_cast<int>(::syscall(SYS_fsync, file));
}

int rename(const char* from, const char* to) noexcept {
  if (nestline::test::fails(SystemCall::rename)) return -1;
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

int unlink(const char* path) noexcept {
  if (nestline::test::fails(SystemCall::unlink)) return -1;
  return static_cast<int>(::syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}

void* mmap(void* address, size_t size, int rights, int flags, int file, off_t offset) noexcept {
  if (file >= 0 && nestline::test::fails(SystemCall::mmap)) return MAP_FAILED;
#ifdef __s390x__
  // This processor's kernel takes the arguments from memory.
  std::array<unsigned long, 6> arguments{
      reinterpret_cast<unsigned long>(address), size,
      static_cast<unsigned long>(rights),       static_cast<unsigned long>(flags),
      static_cast<unsigned long>(file),         static_cast<unsigned long>(offset)};
  return reinterpret_cast<void*>(::syscall(SYS_mmap, arguments.data()));
#else
  return reinterpret_cast<void*>(::syscall(SYS_mmap, address, size, rights, flags, file, offset));
#endif
}

int flock(int file, int operation) noexcept {
  if (nestline::test::fails(SystemCall::flock)) return -1;
  return static_cast<int>(::syscall(SYS_flock, file, operation));
}

}  // extern "C"
