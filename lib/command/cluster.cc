// nestline cluster: calls its commands; see cluster_commands.h. Finds the password, and turns the
// errors of the library into messages.
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <variant>

#include "lib/command/cluster_commands.h"
#include "lib/command/errors.h"
#include "lib/command/input_file.h"

namespace nestline::command {
namespace {

constexpr std::size_t kLongestPassword = std::size_t{1} << 16;

std::string password_of(const ClusterArguments& arguments) {
  if (!arguments.password_file.empty()) {
    const std::string text = read_all(arguments.password_file, kLongestPassword);
    const std::string line = text.substr(0, text.find_first_of("\r\n"));
    if (line.empty()) throw CommandError(arguments.password_file, "its first line is empty");
    return line;
  }
  const char* const variable = std::getenv("NESTLINE_CLUSTER_PASSWORD");
  return variable == nullptr ? "" : variable;
}

}  // namespace

int cluster(const ClusterArguments& arguments) {
  try {
    ClusterPlace place = {.servers = arguments.servers, .name = arguments.file};
    place.servers.password = password_of(arguments);
    return std::visit([&](const auto& work) { return run(place, work); }, arguments.work);
  } catch (const ClusterError& error) {
    throw CommandError(arguments.file, error.what());
  } catch (const std::invalid_argument& error) {
    throw UsageError(std::string(error.what()) + "; see nestline cluster --help");
  } catch (const std::bad_alloc&) {
    throw CommandError(arguments.file, "not enough memory");
  }
}

}  // namespace nestline::command
