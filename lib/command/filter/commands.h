// The commands about filters in files. Each is a table of the file of its name, beside what it
// does.
#ifndef NESTLINE_LIB_COMMAND_FILTER_COMMANDS_H_
#define NESTLINE_LIB_COMMAND_FILTER_COMMANDS_H_

#include <string>
#include <vector>

#include "lib/command/io/command.h"

namespace nestline::command {

/// Makes a filter of the keys and saves it; on an error, writes no file.
Command build_command();
/// Prints the lines that may be in the filter.
Command query_command();
/// Adds the keys to the filter in the file; on an error the file is unchanged.
Command add_command();
/// Removes one copy of each key.
Command remove_command();
/// Prints what is in the file.
Command info_command();
/// Checks the file, then checks that every key is found.
Command verify_command();
/// Merges the filters into one and saves it; on an error, writes no file.
Command merge_command();

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

}  // namespace nestline::command

#endif  // NESTLINE_LIB_COMMAND_FILTER_COMMANDS_H_
