// System calls that fail when a test says so. failing_calls.cc defines the functions of the C
// library that lib/store/system_disk.cc calls, so only programs that link it have them.
#ifndef NESTLINE_TESTS_STORE_FAILING_CALLS_H_
#define NESTLINE_TESTS_STORE_FAILING_CALLS_H_

#include <array>
#include <cstdint>

namespace nestline::test {

enum class SystemCall : std::uint8_t {
  open,
  pread,
  pwrite,
  ftruncate,
  fallocate,
  fdatasync,
  fsync,
  rename,
  unlink,
  mmap,  // of files
  flock,
};
inline constexpr std::array kSystemCalls = {"open",      "pread",     "pwrite", "ftruncate",
                                            "fallocate", "fdatasync", "fsync",  "rename",
                                            "unlink",    "mmap",      "flock"};

// Instead of an error: pread and pwrite do half of what they should.
inline constexpr int kShort = -1;

// While it lives, the call of this kind with this number (the first is 0), of any thread, fails
// with `error`; with `for_ever`, so do all after it.
class FailingCall {
 public:
  FailingCall(SystemCall call, std::uint64_t number, int error, bool for_ever);
  ~FailingCall();
  FailingCall(const FailingCall&) = delete;
  FailingCall& operator=(const FailingCall&) = delete;
  [[nodiscard]] bool has_failed() const;  // whether the call came up
};

// While it lives, fallocate has room for no byte of a file behind this one.
class FullDisk {
 public:
  explicit FullDisk(std::uint64_t bytes_of_a_file);
  ~FullDisk();
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  [[nodiscard]] std::uint64_t refused() const;  // how many calls found no room
};

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_STORE_FAILING_CALLS_H_
