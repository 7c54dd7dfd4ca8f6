// Open files of POSIX, for what is built on such systems alone. All of it is inline.
#ifndef NESTLINE_LIB_SYSTEM_POSIX_H_
#define NESTLINE_LIB_SYSTEM_POSIX_H_

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

namespace nestline { inline namespace v0_3 {

// Throws the std::system_error of an errno value; `file` is its text.
[[noreturn]] inline void fail(const std::string& file, int error) {
  throw std::system_error(error, std::generic_category(), file);
}

// Repeats a system call while signals interrupt it.
template <typename Call>
auto uninterrupted(Call&& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

// Owns an open file.
class FileDescriptor {
 public:
  FileDescriptor(const std::filesystem::path& path, int flags, ::mode_t mode = 0)
      : number_(uninterrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC, mode); })) {}
  ~FileDescriptor() { close(); }
  FileDescriptor& operator=(FileDescriptor&&) = delete;
  [[nodiscard]] bool is_open() const { return number_ >= 0; }
  [[nodiscard]] const int& number() const { return number_; }
  // The file, which the caller closes.
  int release() { return std::exchange(number_, -1); }
  // False on an error. The file is closed in any case, even when a signal interrupts the call.
  bool close() {
    const int number = release();
    return number < 0 || ::close(number) == 0 || errno == EINTR;
  }

 private:
  int number_;
};

}}  // namespace nestline

#endif  // NESTLINE_LIB_SYSTEM_POSIX_H_
