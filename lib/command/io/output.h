// Buffered output to a file descriptor, for lines that are printed by the million.
//
// Unlike stdio, it takes many lines in one call, writes long runs without copying them, and turns
// every failure into a message. It does not flush by itself at the end: flush() may throw and a
// destructor must not, so the owner calls flush().
#ifndef NESTLINE_LIB_COMMAND_IO_OUTPUT_H_
#define NESTLINE_LIB_COMMAND_IO_OUTPUT_H_

#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace nestline::command {

/// To standard output or standard error. Throws CommandError when the bytes cannot be written.
class Output {
 public:
  explicit Output(int descriptor = STDOUT_FILENO);

  void write(std::string_view bytes);
  void flush();

 private:
  void write_through(std::string_view bytes);

  int descriptor_;
  std::unique_ptr<char[]> buffer_;
  std::size_t used_ = 0;
};

/// Writes the text to standard output at once.
void print(std::string_view text);

/// Whether a person looks at what is written there.
inline bool is_terminal(int descriptor) { return ::isatty(descriptor) == 1; }

/// The values as printf prints them, up to 255 bytes.
template <typename... Values>
std::string formatted(const char* pattern, Values... values) {
  char text[256];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

/// Throws CommandError if save() of the file would fail, before there is any work to lose.
void check_target(const std::string& file);

}  // namespace nestline::command

#endif  // NESTLINE_LIB_COMMAND_IO_OUTPUT_H_
