// Open files, and how system errors are reported.
#ifndef NESTLINE_LIB_FILE_DESCRIPTOR_H_
#define NESTLINE_LIB_FILE_DESCRIPTOR_H_

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

namespace nestline {

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
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  [[nodiscard]] bool is_open() const { return number_ >= 0; }
  [[nodiscard]] int number() const { return number_; }
  // False on an error. The file is closed in any case, even when a signal interrupts the call.
  bool close() {
    const int number = std::exchange(number_, -1);
    return number < 0 || ::close(number) == 0 || errno == EINTR;
  }

 private:
  int number_;
};

}  // namespace nestline

#endif  // NESTLINE_LIB_FILE_DESCRIPTOR_H_
