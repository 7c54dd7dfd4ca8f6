// Buffered output for lines that are printed by the million: unlike stdio, it takes many lines in
// one call, writes long runs without copying them, and turns every failure into a message. The
// owner calls flush() at the end: it may throw, and a destructor must not.
#ifndef NESTLINE_LIB_FACES_COMMAND_IO_OUTPUT_H_
#define NESTLINE_LIB_FACES_COMMAND_IO_OUTPUT_H_

#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace nestline { inline namespace v0_3 { namespace command {

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

void print(std::string_view text);

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

}}}  // namespace nestline::command

#endif  // NESTLINE_LIB_FACES_COMMAND_IO_OUTPUT_H_
