// Messages on standard error; see errors.h. A message that cannot be written is lost; the exit
// status still shows the error.
#include "lib/command/io/errors.h"

#include <unistd.h>

#include <system_error>

namespace nestline::command {

std::string error_text(int error_number) { return std::generic_category().message(error_number); }

void complain(std::string_view file, std::string_view sentence) {
  std::string text = "nestline: ";
  if (!file.empty()) text.append(file).append(": ");
  text.append(sentence).append("\n");
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace nestline::command
