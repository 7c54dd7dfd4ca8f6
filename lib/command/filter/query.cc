// nestline query: prints the lines that may be in the filter; see query_lines.h.
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "lib/command/filter/commands.h"
#include "lib/command/io/query_lines.h"
#include "nestline/io.h"

namespace nestline::command {
namespace {

constexpr const char* kQueryFooter =
    "A key is a line without its line end, a line feed or a carriage return and a line feed.\n"
    "Lines that were added are always printed. A few others are printed too, at the rate that\n"
    "nestline info shows. A damaged FILE is refused before anything is printed. An input that\n"
    "cannot be read is reported and skipped.\n"
    "Exit status: 0 at least one line was selected, 1 none was, 2 error.";

struct QueryArguments : LineChoice {
  std::string file;
};

int query(const QueryArguments& arguments) {
  // Damaged blocks would give answers too, but could deny lines that were added.
  const MappedFilter filter = MappedFilter::open(arguments.file, Verify::all);
  return print_lines(
      arguments, [&filter](std::span<const std::string_view> keys, std::span<std::uint32_t> found) {
        return filter.select(keys, found);
      });
}

}  // namespace

Command query_command() {
  const auto arguments = std::make_shared<QueryArguments>();
  return {
      {"query", "Print the lines that may be in a filter", kQueryFooter},
      &arguments->file,
      {filter_file(arguments->file),
       {"-v", "", "Print the other lines: those that are certainly not in it", &arguments->invert},
       {"-c", "", "Print only the number of lines", &arguments->count_only},
       input_keys(arguments->inputs)},
      [arguments] { return query(*arguments); }};
}

}  // namespace nestline::command
