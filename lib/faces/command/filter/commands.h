// What the commands about filters in files share. Each is a table (io/command.h) beside what it
// does. They load a whole filter, or map it to look up, and replace a file in one step. Commands
// that change a file lock it (io/file_lock.h).
#ifndef NESTLINE_LIB_FACES_COMMAND_FILTER_COMMANDS_H_
#define NESTLINE_LIB_FACES_COMMAND_FILTER_COMMANDS_H_

#include <cstdint>
#include <string>

#include "lib/faces/command/io/command.h"
#include "nestline/io.h"

namespace nestline { inline namespace v0_3 { namespace command {

struct KeysArguments {
  std::string file;
  LineInputs inputs;
  std::string left_out;  // --left-out: the file; empty: none
  bool copies = false;   // --copies
};

/// FILE; --copies; and a command that has FILE, INPUT, -z and, with a help for --left-out, that and
/// --copies.
Option filter_file(std::string& file);
Option copies_option(bool& copies);
Command keys_command(const char* name, const char* about, const char* footer,
                     int (*work)(const KeysArguments&),
                     const std::string& when_absent = kStandardInput,
                     const char* left_out_help = nullptr);

/// Throws CommandError if the filter names the kinds of its keys (docs/FORMAT.md, section 2) and
/// text, which lines are, is none of them.
void require_text_keys(const std::string& file, std::uint32_t key_kinds);

/// Reports lines or copies that were left out because their key has as many as it can.
void report_copies(const std::string& file, std::uint64_t left_out, const std::string& what,
                   const char* advice);

void print_summary(const std::string& file, const Filter& filter);

}}}  // namespace nestline::command

#endif  // NESTLINE_LIB_FACES_COMMAND_FILTER_COMMANDS_H_
