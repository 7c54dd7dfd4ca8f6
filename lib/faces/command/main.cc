// nestline: the filter on the command line. Every error becomes one message and exit status 2. The
// commands are tables (io/command.h), each in the file of what it does.
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <functional>
#include <new>
#include <string>
#include <string_view>
#include <system_error>

#include "lib/faces/command/io/command.h"
#include "lib/faces/command/io/errors.h"
#include "lib/faces/command/io/input_file.h"
#include "lib/faces/command/io/output.h"
#include "nestline/format_error.h"

namespace nestline { inline namespace v0_3 { namespace command { namespace {

Command program() {
  Command all{
      .help = {"nestline",
               "Approximate sets of keys in files: no false negatives, few false positives.",
               "A key is a line without its line end. For details, see nestline COMMAND --help.\n"
               "Exit status: 0 yes or done, 1 no, 2 error."},
      .file = nullptr,
      .commands = {build_command(), query_command(), add_command(), remove_command(),
                   info_command(), verify_command(), merge_command(), fit_command()},
  };
  if constexpr (kHasParallel) {
    all.commands.push_back(uniq_command());
    all.commands.push_back(which_command());
  }
  if constexpr (kHasStore) all.commands.push_back(store_command());
  if constexpr (kHasCluster) all.commands.push_back(cluster_command());
  return all;
}

void refuse_absent(std::string_view command) {
  const bool is_absent = (!kHasParallel && (command == "uniq" || command == "which")) ||
                         (!kHasStore && command == "store") ||
                         (!kHasCluster && command == "cluster");
  if (is_absent) throw UsageError("this build of nestline has no " + std::string(command));
}

// What else a file is that is not a filter.
const char* other_kind(const std::string& file) {
  if (is_state(file)) {
    return kHasParallel
               ? "this is a state of nestline uniq, and no filter"
               : "this is a state of nestline uniq, and this build of nestline has no uniq";
  }
  if (is_named_lines(file)) {
    return kHasParallel
               ? "this is a file of nestline which"
               : "this is a file of nestline which, and this build of nestline has no which";
  }
  return nullptr;
}

// Errors from the library are about the filter file, unless they name another file.
int run(const std::string& file, const std::function<int()>& work) {
  try {
    return work();
  } catch (const CommandError& error) {
    complain(error.file, error.what());
  } catch (const FormatError& error) {
    const char* const kind = error.offset == 0 ? other_kind(std::string(error.file)) : nullptr;
    if (kind != nullptr) {
      complain(error.file, kind);
    } else {
      complain(error.file,
               "at byte " + std::to_string(error.offset) + ": " + std::string(error.cause));
    }
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

// Otherwise the next opened file would get a closed stream's number, and receive messages.
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
  // A limit on the size of files is an error of the write, so that nothing is left half written.
  std::signal(SIGXFSZ, SIG_IGN);
  occupy_standard_descriptors();
  try {
    if (argc > 1) refuse_absent(argv[1]);
    const Command commands = program();
    const Request request = parse(commands, argc, argv);
    hide_passwords(argc, argv);
    if (request.command != nullptr) return run(*request.command->file, request.command->run);
    return run({}, [&request] {
      print(request.text);
      return kExitYes;
    });
  } catch (const std::exception& error) {
    complain({}, error.what());
    return kExitError;
  }
}

}  // namespace
}}}  // namespace nestline::command

int main(int argc, char** argv) { return nestline::command::main(argc, argv); }
