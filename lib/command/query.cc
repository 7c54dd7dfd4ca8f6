// nestline query: prints the lines that may be in the filter; see query_lines.h.
#include <cstdint>
#include <span>
#include <string_view>

#include "lib/command/commands.h"
#include "lib/command/query_lines.h"
#include "nestline/io.h"

namespace nestline::command {

int query(const QueryArguments& arguments) {
  // Damaged blocks would give answers too, but could deny lines that were added.
  const MappedFilter filter = MappedFilter::open(arguments.file, Verify::all);
  return print_lines(
      arguments, [&filter](std::span<const std::string_view> keys, std::span<std::uint32_t> found) {
        return filter.select(keys, found);
      });
}

}  // namespace nestline::command
