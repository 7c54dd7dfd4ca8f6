// nestline: the filter on the command line. Parses the arguments, calls the command, and turns
// every error into one message and exit status 2. Each command has its own file; see commands.h.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <variant>

#include "lib/command/arguments.h"
#include "lib/command/cluster_commands.h"
#include "lib/command/commands.h"
#include "lib/command/errors.h"
#include "lib/command/output.h"
#include "lib/command/store_commands.h"
#include "nestline/io.h"

namespace nestline::command {
namespace {

int show(const ShowText& shown) {
  Output output(STDOUT_FILENO, "standard output");
  output.write(shown.text);
  output.flush();
  return kExitYes;
}

int dispatch(const ShowText& shown) { return show(shown); }
int dispatch(const BuildArguments& arguments) { return build(arguments); }
int dispatch(const QueryArguments& arguments) { return query(arguments); }
int dispatch(const AddCommand& arguments) { return add(arguments); }
int dispatch(const RemoveCommand& arguments) { return remove(arguments); }
int dispatch(const InfoArguments& arguments) { return info(arguments); }
int dispatch(const VerifyCommand& arguments) { return verify(arguments); }
int dispatch(const MergeArguments& arguments) { return merge(arguments); }
int dispatch(const UniqArguments& arguments) { return uniq(arguments); }
int dispatch(const StoreArguments& arguments) { return store(arguments); }
int dispatch(const ClusterArguments& arguments) { return cluster(arguments); }

std::string file_of(const ShowText& /*shown*/) { return {}; }
std::string file_of(const UniqArguments& arguments) { return arguments.state; }
template <typename Arguments>
std::string file_of(const Arguments& arguments) {
  return arguments.file;
}

// Errors from the library are about the filter file, unless they name another file.
int run(const Command& command) {
  const std::string file = std::visit([](const auto& told) { return file_of(told); }, command);
  try {
    return std::visit([](const auto& told) { return dispatch(told); }, command);
  } catch (const CommandError& error) {
    complain(error.file, error.what());
  } catch (const FormatError& error) {
    complain(error.file,
             "at byte " + std::to_string(error.offset) + ": " + std::string(error.cause));
  } catch (const std::system_error& error) {
    complain(file, error.code().message());
  } catch (const std::bad_alloc&) {
    complain(file, "not enough memory for this filter");
  } catch (const UsageError& error) {
    complain({}, error.what());
  } catch (const std::exception& error) {
    complain(file, error.what());
  }
  return kExitError;
}

// Gives a closed standard stream a descriptor that fails in the same way. Otherwise the next file
// that is opened would get its number, and messages would be written into that file.
void occupy_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) >= 0) continue;
    const int mode = descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (::open("/dev/null", mode) < 0) std::_Exit(kExitError);
  }
}

// Overwrites the user and the password of a server's URL where lists of processes find them.
void hide_passwords(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const std::size_t scheme = word.find("://");
    const std::size_t at = word.rfind('@');
    if (scheme == std::string_view::npos || at == std::string_view::npos) continue;
    for (std::size_t j = scheme + 3; j < at; ++j) argv[i][j] = '*';
  }
}

int main(int argc, char** argv) {
  // `nestline query FILE | head` ends quietly, even if the caller ignores the signal.
  std::signal(SIGPIPE, SIG_DFL);
  occupy_standard_descriptors();
  try {
    const Command command = parse_arguments(argc, argv);
    hide_passwords(argc, argv);
    return run(command);
  } catch (const std::exception& error) {
    complain({}, error.what());
    return kExitError;
  }
}

}  // namespace
}  // namespace nestline::command

int main(int argc, char** argv) { return nestline::command::main(argc, argv); }
