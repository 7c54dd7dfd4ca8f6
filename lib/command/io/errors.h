// How the command fails: its two exceptions and the one function that prints a message.
//
// Every message has the form `nestline: FILE: what is wrong`. A message about the command line has
// no file: `nestline: what is wrong`, then a hint to --help.
#ifndef NESTLINE_LIB_COMMAND_IO_ERRORS_H_
#define NESTLINE_LIB_COMMAND_IO_ERRORS_H_

#include <stdexcept>
#include <string>
#include <string_view>

namespace nestline::command {

/// Exit statuses, the same as those of grep.
inline constexpr int kExitYes = 0;    // done; query: a line was selected
inline constexpr int kExitNo = 1;     // the answer is no: no line selected, or a key was missing
inline constexpr int kExitError = 2;  // the command could not do its work

/// Something is wrong with a file; the message names it.
struct CommandError : std::runtime_error {
  CommandError(std::string concerned, const std::string& cause)
      : std::runtime_error(cause), file(std::move(concerned)) {}

  std::string file;
};

/// The command line is wrong.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The system's message for an errno value.
std::string error_text(int error_number);

/// Writes `nestline: FILE: SENTENCE` to standard error, in one write. Leaves FILE out when it is
/// empty.
void complain(std::string_view file, std::string_view sentence);

}  // namespace nestline::command

#endif  // NESTLINE_LIB_COMMAND_IO_ERRORS_H_
