// What the commands about filters in files share. Each is a table beside what it does.
#ifndef NESTLINE_LIB_COMMAND_FILTER_COMMANDS_H_
#define NESTLINE_LIB_COMMAND_FILTER_COMMANDS_H_

#include <string>
#include <vector>

#include "lib/command/io/command.h"
#include "nestline/filter.h"

namespace nestline::command {

/// What most of them take.
struct KeysArguments {
  std::string file;
  std::vector<std::string> inputs;
};

/// FILE, and a command that has this, INPUT and no other options.
Option filter_file(std::string& file);
Command keys_command(const char* name, const char* about, const char* footer,
                     int (*work)(const KeysArguments&),
                     const std::string& when_absent = kStandardInput);

/// Prints a summary of the filter that was saved, when standard error is a terminal.
void print_summary(const std::string& file, const Filter& filter);

}  // namespace nestline::command

#endif  // NESTLINE_LIB_COMMAND_FILTER_COMMANDS_H_
