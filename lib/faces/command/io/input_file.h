// An input that is read as bytes: a file, or standard input when it is called -. Large reads go
// past the buffer, which is only made for small ones. Lines are the matter of line_reader.h.
#ifndef NESTLINE_LIB_FACES_COMMAND_IO_INPUT_FILE_H_
#define NESTLINE_LIB_FACES_COMMAND_IO_INPUT_FILE_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/system/posix.h"

namespace nestline { inline namespace v0_3 { namespace command {

struct FileId {
  ::dev_t device;
  ::ino_t number;

  bool operator==(const FileId&) const = default;
};
/// Which regular file it is; no value for anything else.
std::optional<FileId> regular_file(int descriptor);
/// Of an input; - is standard input.
std::optional<FileId> regular_file(const std::string& input);
/// How states of nestline uniq and files of nestline which begin: the bytes, lowest first.
inline constexpr std::uint64_t kStateMagic = 0x0a1a0a0d51554e8e;       // 8e 4e 55 51 0d 0a 1a 0a
inline constexpr std::uint64_t kNamedLinesMagic = 0x0a1a0a0d48574e8e;  // 8e 4e 57 48 0d 0a 1a 0a
/// Whether a file begins so. False for one that cannot be read. Programs without these commands
/// know their files too.
bool is_state(const std::string& file);
bool is_named_lines(const std::string& file);
/// Whether a regular file is one of the inputs; an empty list is standard input.
bool is_input(const std::string& file, const std::vector<std::string>& inputs);

/// All members throw CommandError with the input's name when it cannot be read.
class InputFile {
 public:
  explicit InputFile(const std::string& name);

  /// Fills the front of `to` and returns the number of bytes; 0 only at the end.
  std::size_t read(std::span<char> to);
  /// Fills all of `to`, or less of it only at the end.
  std::size_t read_all(std::span<char> to);
  /// Reads once, past the buffer, which must be empty.
  std::size_t read_through(std::span<char> to);

  /// The next byte, from a buffer; -1 at the end.
  int next_byte() {
    if (begin_ == end_ && !fill()) return -1;
    return static_cast<unsigned char>(buffer_[begin_++]);
  }

  [[nodiscard]] std::uint64_t bytes() const noexcept { return read_ - (end_ - begin_); }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

 private:
  bool fill();

  std::string name_;
  std::optional<FileDescriptor> file_;  // none: standard input
  int descriptor_;
  std::unique_ptr<char[]> buffer_;  // made when it is needed
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t read_ = 0;
};

/// What is left of an input in bytes; no value unless that is a regular file.
std::optional<std::uint64_t> bytes_left(const std::string& input);
/// The total size of inputs in bytes; no value unless what is left of each is a regular file.
std::optional<std::uint64_t> total_bytes(std::span<const std::string> inputs);

/// All bytes of the input. Throws CommandError for more than `most`, the most of what it is.
std::string read_all(const std::string& name, std::size_t most, const char* what);

}}}  // namespace nestline::command

#endif  // NESTLINE_LIB_FACES_COMMAND_IO_INPUT_FILE_H_
