// Reads keys, one per line, from files and standard input. read(2) fills a large buffer; batches of
// views hand its lines out, so no line is copied. An unfinished line moves to the front before the
// next read. Only a line longer than the buffer makes it grow.
//
//   buffer:  | lines handed out | lines not yet handed out | unfinished line | room |
//            data              begin                                        end     size
//
// A key is a line without its line end, `\n` or `\r\n`. Every other byte is part of the key, also
// NUL and any other `\r`. The last line may end with `\r`, as with half a line end, or with none:
// it is printed with the `\n` that it lacks, and is then read as the same key. With -z a line ends
// in NUL only. Lines of two inputs are never joined.
#ifndef NESTLINE_LIB_FACES_COMMAND_IO_LINE_READER_H_
#define NESTLINE_LIB_FACES_COMMAND_IO_LINE_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/faces/command/io/input_file.h"

namespace nestline { inline namespace v0_3 { namespace command {

struct LineInputs {
  std::vector<std::string> files;  ///< `-` is standard input, and so is an empty list.
  bool zero_terminated = false;    ///< -z
  int output = -1;                 ///< Where lines are printed while they are read; -1: nowhere.

  [[nodiscard]] char line_end() const { return zero_terminated ? '\0' : '\n'; }
  [[nodiscard]] LineInputs printed_to(int descriptor) const {
    LineInputs same = *this;
    same.output = descriptor;
    return same;
  }
};

/// Consecutive lines in the reader's buffer, valid until the next call.
struct LineBatch {
  std::span<const std::string_view> keys;
  const char* end = nullptr;  ///< Just past the last line and its line end.
  char line_end = '\n';       ///< The last byte of each line.
  bool unterminated = false;  ///< The last line lacks it.
  bool drained = false;       ///< No whole line is left: the next call has to read.

  /// The bytes of the lines from `first` up to but excluding `last`, with their line ends.
  [[nodiscard]] std::string_view lines(std::size_t first, std::size_t last) const {
    if (first == last) return {};
    const char* begin = keys[first].data();
    const char* after = last < keys.size() ? keys[last].data() : end;
    return {begin, static_cast<std::size_t>(after - begin)};
  }
  /// The line end that the bytes of the lines up to `last` lack: one, or none.
  [[nodiscard]] std::string_view missing_end(std::size_t last) const {
    return {&line_end, unterminated && last == keys.size() ? std::size_t{1} : 0};
  }
};

class LineReader {
 public:
  /// When the descriptor `wake` becomes readable, the reader ends before it would read again.
  explicit LineReader(LineInputs inputs, int wake = -1);

  /// Never empty; false at the end. After a CommandError, the next call takes the next input.
  bool next(LineBatch& batch);

  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::uint64_t lines() const noexcept { return lines_; }
  [[nodiscard]] std::optional<std::uint64_t> total_bytes() const noexcept { return total_bytes_; }

 private:
  /// The next input. Throws CommandError if it is the output: its end would never come.
  void open_input();
  void skip_input() noexcept;
  /// Waits until there is something to read; false when `wake` is readable.
  [[nodiscard]] bool wait() const noexcept;
  bool fill();
  void make_room();
  bool take_lines(LineBatch& batch);
  void take_last_line(LineBatch& batch);

  LineInputs inputs_;
  int wake_;
  std::size_t current_ = 0;         // position in the files
  std::optional<InputFile> input_;  // the current one, when it is open
  std::unique_ptr<char[]> buffer_;
  std::size_t size_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t searched_ = 0;  // no line end lies between begin_ and here
  std::vector<std::string_view> keys_;
  std::uint64_t bytes_ = 0;
  std::uint64_t lines_ = 0;
  std::optional<std::uint64_t> total_bytes_;
};

}}}  // namespace nestline::command

#endif  // NESTLINE_LIB_FACES_COMMAND_IO_LINE_READER_H_
