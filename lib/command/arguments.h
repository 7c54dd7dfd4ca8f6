// The command line: from argv to what one command is told, and the help texts.
//
// Every value is checked here, before any file is opened, so a wrong one is named by its option.
#ifndef NESTLINE_LIB_COMMAND_ARGUMENTS_H_
#define NESTLINE_LIB_COMMAND_ARGUMENTS_H_

#include <string>
#include <variant>

#include "lib/command/commands.h"

namespace nestline::command {

/// A command that is a function of its own, so that two with the same arguments stay apart.
struct AddCommand : KeysArguments {};
struct RemoveCommand : KeysArguments {};
struct VerifyCommand : KeysArguments {};

/// --help or --version: a text for standard output.
struct ShowText {
  std::string text;
};

using Command = std::variant<ShowText, BuildArguments, QueryArguments, AddCommand, RemoveCommand,
                             InfoArguments, VerifyCommand, MergeArguments>;

/// Throws UsageError, with the hint to --help in it.
Command parse_arguments(int argc, const char* const* argv);

}  // namespace nestline::command

#endif  // NESTLINE_LIB_COMMAND_ARGUMENTS_H_
