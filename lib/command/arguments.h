// The command line: turns argv into the arguments of one command. The help texts are here too.
//
// Every value is checked here, before any file is opened, so a message about a wrong value can name
// its option.
#ifndef NESTLINE_LIB_COMMAND_ARGUMENTS_H_
#define NESTLINE_LIB_COMMAND_ARGUMENTS_H_

#include <string>
#include <variant>

#include "lib/command/cluster_commands.h"
#include "lib/command/commands.h"
#include "lib/command/store_commands.h"

namespace nestline::command {

/// One type per command, so that commands with the same arguments stay distinct.
struct AddCommand : KeysArguments {};
struct RemoveCommand : KeysArguments {};
struct VerifyCommand : KeysArguments {};

/// --help or --version: a text for standard output.
struct ShowText {
  std::string text;
};

using Command =
    std::variant<ShowText, BuildArguments, QueryArguments, AddCommand, RemoveCommand, InfoArguments,
                 VerifyCommand, MergeArguments, UniqArguments, StoreArguments, ClusterArguments>;

/// Throws UsageError; its text includes the hint to --help.
Command parse_arguments(int argc, const char* const* argv);

}  // namespace nestline::command

#endif  // NESTLINE_LIB_COMMAND_ARGUMENTS_H_
