// See line_printer.h.
#include "lib/command/io/line_printer.h"

#include <unistd.h>

namespace nestline::command {

LinePrinter::LinePrinter(bool invert)
    : invert_(invert), output_(STDOUT_FILENO, "standard output") {}

void LinePrinter::print(const LineBatch& batch, std::span<const std::uint32_t> positions) {
  std::size_t next = 0;  // the first line that has not been handled yet
  for (std::size_t i = 0; i < positions.size();) {
    const std::size_t first = positions[i];
    std::size_t last = first;
    while (i < positions.size() && positions[i] == last) ++i, ++last;
    print_range(batch, invert_ ? next : first, invert_ ? first : last);
    next = last;
  }
  if (invert_) print_range(batch, next, batch.keys.size());
}

void LinePrinter::print_range(const LineBatch& batch, std::size_t first, std::size_t last) {
  if (first == last) return;
  output_.write(batch.lines(first, last));
  if (batch.unterminated && last == batch.keys.size()) output_.write("\n");
}

}  // namespace nestline::command
