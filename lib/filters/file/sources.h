// Open files, and where a filter's bytes come from. A source has a name for errors, and read(),
// which fills `to`. Those of known length have size() and are read at any offset.
#ifndef NESTLINE_LIB_FILTERS_FILE_SOURCES_H_
#define NESTLINE_LIB_FILTERS_FILE_SOURCES_H_

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "nestline/io.h"

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
  // False on an error. The file is closed in any case, even when a signal interrupts the call.
  bool close() {
    const int number = std::exchange(number_, -1);
    return number < 0 || ::close(number) == 0 || errno == EINTR;
  }

 private:
  int number_;
};

// A regular file. It is read with pread, not through a mapping: a file that is written to or
// truncated meanwhile fails the checks, but cannot end the program.
class RegularFile {
 public:
  // Throws std::system_error; FormatError if it is not a regular file.
  explicit RegularFile(const std::filesystem::path& path);
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] int descriptor() const { return file_.number(); }
  // Throws std::system_error; FormatError where the file ends too early.
  void read(std::uint64_t offset, std::span<std::byte> to) const;

 private:
  std::string name_;
  FileDescriptor file_;
  std::uint64_t size_ = 0;
};

// Bytes in memory.
class MemorySource {
 public:
  MemorySource(std::string name, std::span<const std::byte> bytes)
      : name_(std::move(name)), bytes_(bytes) {}

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::uint64_t size() const { return bytes_.size(); }
  [[nodiscard]] std::span<const std::byte> at(std::uint64_t offset, std::size_t size) const {
    return bytes_.subspan(static_cast<std::size_t>(offset), size);
  }
  void read(std::uint64_t offset, std::span<std::byte> to) const {
    std::copy_n(at(offset, to.size()).begin(), to.size(), to.begin());
  }

 private:
  std::string name_;
  std::span<const std::byte> bytes_;
};

// The bytes from a caller's function. Never requests bytes after the filter.
class StreamSource {
 public:
  explicit StreamSource(const ByteSource& give) : give_(give) {}
  [[nodiscard]] const std::string& name() const { return name_; }
  // Fills `to` from the front; returns how many bytes came before the end. Throws
  // std::invalid_argument when the function claims more bytes than requested, and what it throws.
  std::size_t read_some(std::span<std::byte> to);
  // Fills all of `to`. Throws FormatError when the end comes before byte `wanted` of the filter.
  void read(std::span<std::byte> to, std::uint64_t wanted);

 private:
  std::string name_ = "stream";
  const ByteSource& give_;
  std::uint64_t offset_ = 0;
};

}}  // namespace nestline

#endif  // NESTLINE_LIB_FILTERS_FILE_SOURCES_H_
