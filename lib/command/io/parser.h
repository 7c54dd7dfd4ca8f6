// Reads a command line by the tables of command.h.
#ifndef NESTLINE_LIB_COMMAND_IO_PARSER_H_
#define NESTLINE_LIB_COMMAND_IO_PARSER_H_

#include <string>

#include "lib/command/io/command.h"

namespace nestline::command {

/// What a command line asks for.
struct Request {
  const Command* command = nullptr;  ///< The command to run; its variables have the values given.
  std::string text;                  ///< Without a command: what --help or --version prints.
};

/// `program` is the table of the whole program. Throws UsageError with a hint to --help.
Request parse(const Command& program, int argc, const char* const* argv);

}  // namespace nestline::command

#endif  // NESTLINE_LIB_COMMAND_IO_PARSER_H_
