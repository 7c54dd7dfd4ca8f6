// How the command fails: the two exceptions of its own and the one place that prints a message.
//
// Every message has the form `nestline: FILE: what is wrong`, FILE being the file concerned. A
// wrong command line has no file: `nestline: what is wrong`, then a hint to --help.
#ifndef NESTLINE_LIB_COMMAND_ERRORS_H_
#define NESTLINE_LIB_COMMAND_ERRORS_H_

#include <stdexcept>
#include <string>
#include <string_view>

namespace nestline::command {

/// Exit statuses, as grep has them.
inline constexpr int kExitYes = 0;    // done; query: a line was printed
inline constexpr int kExitNo = 1;     // the answer is no: nothing printed, or a key was missing
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

/// The system's sentence for an errno value.
std::string error_text(int error_number);

/// Writes `nestline: FILE: SENTENCE` to standard error, in one write; without the file if it is
/// empty.
void complain(std::string_view file, std::string_view sentence);

}  // namespace nestline::command

#endif  // NESTLINE_LIB_COMMAND_ERRORS_H_
