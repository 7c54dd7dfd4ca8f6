// Buffered output to a file descriptor, for lines that are printed by the million.
//
// Unlike stdio it takes a run of lines in one call, writes long runs from where they lie, and turns
// every failure into a message. It does not flush by itself at the end: flush() may throw, a
// destructor may not, so the owner calls it.
#ifndef NESTLINE_LIB_COMMAND_OUTPUT_H_
#define NESTLINE_LIB_COMMAND_OUTPUT_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace nestline::command {

/// Throws CommandError under the name given when the bytes cannot be written.
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

}  // namespace nestline::command

#endif  // NESTLINE_LIB_COMMAND_OUTPUT_H_
