// Prints the lines of the inputs that a filter of any kind selects, in order, as grep prints
// matches.
//
// Consecutive lines that match are copied to the output in one piece. The output is flushed before
// the reader waits for more input, so answers come as fast as the lines do.
//
// As with grep, an input that cannot be read is reported and skipped; the status is then 2.
#ifndef NESTLINE_LIB_COMMAND_IO_QUERY_LINES_H_
#define NESTLINE_LIB_COMMAND_IO_QUERY_LINES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nestline::command {

/// Which lines to print, and how.
struct LineChoice {
  std::vector<std::string> inputs;
  bool invert = false;      // -v
  bool count_only = false;  // -c
};

/// Writes the positions of the keys that may be in the filter, in ascending order, and returns how
/// many there are.
using SelectKeys =
    std::function<std::size_t(std::span<const std::string_view>, std::span<std::uint32_t>)>;

/// Returns the exit status.
int print_lines(const LineChoice& choice, const SelectKeys& select);

}  // namespace nestline::command

#endif  // NESTLINE_LIB_COMMAND_IO_QUERY_LINES_H_
