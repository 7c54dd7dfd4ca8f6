// Prints the lines that a filter selects, flushed before the reader waits for more input. As with
// grep, an input that cannot be read is reported and skipped; the status is then 2.
#ifndef NESTLINE_LIB_FACES_COMMAND_IO_QUERY_LINES_H_
#define NESTLINE_LIB_FACES_COMMAND_IO_QUERY_LINES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "lib/faces/command/io/line_reader.h"
#include "lib/faces/command/io/output.h"

namespace nestline { inline namespace v0_3 { namespace command {

/// Prints consecutive lines in one piece. Throws CommandError for standard output.
class LinePrinter {
 public:
  explicit LinePrinter(bool invert = false) : invert_(invert) {}

  /// `positions` are in ascending order. A last line gets the line end that it lacks.
  void print(const LineBatch& batch, std::span<const std::uint32_t> positions);
  void flush() { output_.flush(); }
  [[nodiscard]] Output& output() { return output_; }

 private:
  void print_range(const LineBatch& batch, std::size_t first, std::size_t last);

  bool invert_;
  Output output_;
};

struct LineChoice {
  LineInputs inputs;
  bool invert = false;      // -v
  bool count_only = false;  // -c
};

/// Writes the positions of keys that may be there, in ascending order, and returns their number.
using SelectKeys =
    std::function<std::size_t(std::span<const std::string_view>, std::span<std::uint32_t>)>;

/// Prints something else in place of the lines at these positions, those that were just selected.
using PrintSelected =
    std::function<void(const LineBatch&, std::span<const std::uint32_t>, Output&)>;

int print_lines(const LineChoice& choice, const SelectKeys& select,
                const PrintSelected& instead = {});

/// Reports lines for which no key was removed, and returns the exit status.
int report_removed(const std::string& file, std::uint64_t removed, std::uint64_t lines);

}}}  // namespace nestline::command

#endif  // NESTLINE_LIB_FACES_COMMAND_IO_QUERY_LINES_H_
