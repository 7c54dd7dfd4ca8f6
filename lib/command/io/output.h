// Buffered output to a file descriptor, for lines that are printed by the million.
//
// Unlike stdio, it takes many lines in one call, writes long runs without copying them, and turns
// every failure into a message. It does not flush by itself at the end: flush() may throw and a
// destructor must not, so the owner calls flush().
#ifndef NESTLINE_LIB_COMMAND_IO_OUTPUT_H_
#define NESTLINE_LIB_COMMAND_IO_OUTPUT_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace nestline::command {

/// Throws CommandError with this name when the bytes cannot be written.
class Output {
 public:
  Output(int descriptor, std::string name);

  void write(std::string_view bytes);
  void flush();

 private:
  void write_through(std::string_view bytes);

  int descriptor_;
  std::string name_;
  std::unique_ptr<char[]> buffer_;
  std::size_t used_ = 0;
};

/// Writes the text to standard output at once.
void print(std::string_view text);

}  // namespace nestline::command

#endif  // NESTLINE_LIB_COMMAND_IO_OUTPUT_H_
