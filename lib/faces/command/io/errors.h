// How the command fails. Every message has the form `nestline: FILE: what is wrong`. One about the
// command line has no file: `nestline: what is wrong`, then a hint to --help.
#ifndef NESTLINE_LIB_FACES_COMMAND_IO_ERRORS_H_
#define NESTLINE_LIB_FACES_COMMAND_IO_ERRORS_H_

#include <unistd.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace nestline { inline namespace v0_3 { namespace command {

/// Exit statuses, the same as those of grep.
inline constexpr int kExitYes = 0;    // done; query: a line was selected
inline constexpr int kExitNo = 1;     // the answer is no: no line selected, or a key was missing
inline constexpr int kExitError = 2;  // the command could not do its work

struct CommandError : std::runtime_error {
  CommandError(std::string concerned, const std::string& cause)
      : std::runtime_error(cause), file(std::move(concerned)) {}

  std::string file;
};

/// The result of the work. What the system refuses in it concerns this file.
auto concerning(const std::string& file, const auto& work) {
  try {
    return work();
  } catch (const std::system_error& error) {
    throw CommandError(file, error.code().message());
  }
}

struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline std::string error_text(int error_number) {
  return std::generic_category().message(error_number);
}

/// In one write; FILE may be empty. If it cannot be written, the exit status still shows the error.
inline void complain(std::string_view file, std::string_view sentence) {
  std::string text = "nestline: ";
  if (!file.empty()) text.append(file).append(": ");
  text.append(sentence).append("\n");
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

}}}  // namespace nestline::command

#endif  // NESTLINE_LIB_FACES_COMMAND_IO_ERRORS_H_
