// See query_lines.h.
#include "lib/command/query_lines.h"

#include <unistd.h>

#include <string>
#include <vector>

#include "lib/command/errors.h"
#include "lib/command/line_reader.h"
#include "lib/command/output.h"
#include "lib/command/progress.h"

namespace nestline::command {
namespace {

class Printer {
 public:
  explicit Printer(bool invert) : invert_(invert) {}

  // Prints the lines at `positions`, which are in ascending order; when inverted, all others.
  void print(const LineBatch& batch, std::span<const std::uint32_t> positions) {
    std::size_t next = 0;  // the first line that has not been handled yet
    for (std::size_t i = 0; i < positions.size();) {
      const std::size_t first = positions[i];
      std::size_t last = first;
      while (i < positions.size() && positions[i] == last) ++i, ++last;
      print_range(batch, invert_ ? next : first, invert_ ? first : last);
      next = last;
    }
    if (invert_) print_range(batch, next, batch.keys.size());
    if (batch.drained) output_.flush();
  }

 private:
  void print_range(const LineBatch& batch, std::size_t first, std::size_t last) {
    if (first == last) return;
    output_.write(batch.lines(first, last));
    if (batch.unterminated && last == batch.keys.size()) output_.write("\n");
  }

  bool invert_;
  Output output_{STDOUT_FILENO, "standard output"};
};

// Skips inputs that cannot be read, and sets `failed` when there was one.
bool next_readable(LineReader& reader, LineBatch& batch, Progress& progress, bool& failed) {
  while (true) {
    try {
      return reader.next(batch);
    } catch (const CommandError& error) {
      progress.erase();
      complain(error.file, error.what());
      failed = true;
    }
  }
}

}  // namespace

int print_lines(const LineChoice& choice, const SelectKeys& select) {
  LineReader reader(choice.inputs);
  // A bar between the printed lines would spoil both.
  Progress progress("query", choice.count_only || ::isatty(STDOUT_FILENO) != 1);
  progress.begin(Progress::Unit::bytes, reader.total_bytes());

  Printer printer(choice.invert);
  std::vector<std::uint32_t> positions;
  LineBatch batch;
  std::uint64_t selected = 0;
  bool failed = false;
  while (next_readable(reader, batch, progress, failed)) {
    if (positions.size() < batch.keys.size()) positions.resize(batch.keys.size());
    const std::span found = std::span(positions).first(batch.keys.size());
    const std::size_t count = select(batch.keys, found);
    selected += choice.invert ? batch.keys.size() - count : count;
    if (!choice.count_only) printer.print(batch, found.first(count));
    progress.update(reader.bytes(), reader.lines());
  }

  progress.erase();
  if (choice.count_only) {
    Output output(STDOUT_FILENO, "standard output");
    output.write(std::to_string(selected) + "\n");
    output.flush();
  }
  if (failed) return kExitError;
  return selected > 0 ? kExitYes : kExitNo;
}

}  // namespace nestline::command
