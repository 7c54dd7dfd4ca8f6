#include "lib/faces/command/io/query_lines.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lib/faces/command/io/errors.h"
#include "lib/faces/command/io/progress.h"

namespace nestline { inline namespace v0_3 { namespace command {
namespace {

bool next_readable(ShownReader& reader, LineBatch& batch, bool& failed) {
  while (true) {
    try {
      return reader.next(batch);
    } catch (const CommandError& error) {
      reader.bar.erase();
      complain(error.file, error.what());
      failed = true;
    }
  }
}

}  // namespace

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
  output_.write(batch.missing_end(last));
}

int print_lines(const LineChoice& choice, const SelectKeys& select, const PrintSelected& instead) {
  // A bar between the printed lines would spoil both.
  ShownReader reader(choice.inputs.printed_to(choice.count_only ? -1 : STDOUT_FILENO), "query",
                     choice.count_only || !is_terminal(STDOUT_FILENO));
  LinePrinter printer(choice.invert);
  std::vector<std::uint32_t> positions;
  LineBatch batch;
  std::uint64_t selected = 0;
  bool failed = false;
  while (next_readable(reader, batch, failed)) {
    if (positions.size() < batch.keys.size()) positions.resize(batch.keys.size());
    const std::span found = std::span(positions).first(batch.keys.size());
    const std::size_t count = select(batch.keys, found);
    selected += choice.invert ? batch.keys.size() - count : count;
    if (!choice.count_only && instead && !choice.invert) {
      instead(batch, found.first(count), printer.output());
    } else if (!choice.count_only) {
      printer.print(batch, found.first(count));
    }
    if (batch.drained) printer.flush();
  }

  reader.bar.erase();
  if (choice.count_only) print(std::to_string(selected) + "\n");
  if (failed) return kExitError;
  return selected > 0 ? kExitYes : kExitNo;
}

int report_removed(const std::string& file, std::uint64_t removed, std::uint64_t lines) {
  if (removed == lines) return kExitYes;
  complain(file, std::to_string(lines - removed) + " of " + std::to_string(lines) +
                     " lines were not in the filter; nothing was removed for them");
  return kExitNo;
}

}}}  // namespace nestline::command
