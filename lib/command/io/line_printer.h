// Prints lines of a batch that are chosen by position. Consecutive ones are copied to the output in
// one piece.
#ifndef NESTLINE_LIB_COMMAND_IO_LINE_PRINTER_H_
#define NESTLINE_LIB_COMMAND_IO_LINE_PRINTER_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/command/io/line_reader.h"
#include "lib/command/io/output.h"

namespace nestline::command {

/// Throws CommandError for standard output.
class LinePrinter {
 public:
  explicit LinePrinter(bool invert = false);

  /// Prints the lines at `positions`, which are in ascending order; when inverted, all others. A
  /// last line without a line end gets one.
  void print(const LineBatch& batch, std::span<const std::uint32_t> positions);
  void flush() { output_.flush(); }

 private:
  void print_range(const LineBatch& batch, std::size_t first, std::size_t last);

  bool invert_;
  Output output_;
};

}  // namespace nestline::command

#endif  // NESTLINE_LIB_COMMAND_IO_LINE_PRINTER_H_
