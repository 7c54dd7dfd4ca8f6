// What a filter file says of itself beyond what the library's filters tell: how the filter has
// grown and may grow. Read from the header, whose layout is public (FORMAT.md, section 2).
#ifndef NESTLINE_COMMAND_FILE_HEADER_H_
#define NESTLINE_COMMAND_FILE_HEADER_H_

#include <cstdint>
#include <string>

namespace nestline::command {

struct FileHeader {
  std::uint64_t base_blocks;   // blocks before the first doubling
  std::uint32_t doublings;     // how often it has doubled
  std::uint64_t max_capacity;  // up to where it grows by itself; 0: it does not
};

/// Of a file that the library has accepted: nothing is checked again. Throws CommandError.
FileHeader read_header(const std::string& file);

}  // namespace nestline::command

#endif  // NESTLINE_COMMAND_FILE_HEADER_H_
