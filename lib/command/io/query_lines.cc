// See query_lines.h.
#include "lib/command/io/query_lines.h"

#include <unistd.h>

#include <string>
#include <vector>

#include "lib/command/io/errors.h"
#include "lib/command/io/line_printer.h"
#include "lib/command/io/line_reader.h"
#include "lib/command/io/output.h"
#include "lib/command/io/progress.h"

namespace nestline::command {
namespace {

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

  LinePrinter printer(choice.invert);
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
    if (batch.drained) printer.flush();
    progress.update(reader.bytes(), reader.lines());
  }

  progress.erase();
  if (choice.count_only) print(std::to_string(selected) + "\n");
  if (failed) return kExitError;
  return selected > 0 ? kExitYes : kExitNo;
}

}  // namespace nestline::command
