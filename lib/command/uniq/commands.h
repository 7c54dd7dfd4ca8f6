// nestline uniq, a table of uniq.cc.
#ifndef NESTLINE_LIB_COMMAND_UNIQ_COMMANDS_H_
#define NESTLINE_LIB_COMMAND_UNIQ_COMMANDS_H_

#include "lib/command/io/command.h"

namespace nestline::command {

/// Prints the lines that were not seen before.
Command uniq_command();

}  // namespace nestline::command

#endif  // NESTLINE_LIB_COMMAND_UNIQ_COMMANDS_H_
