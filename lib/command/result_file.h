// The file that build and merge make: whether it can be written, and what is said of it at the end.
#ifndef NESTLINE_LIB_COMMAND_RESULT_FILE_H_
#define NESTLINE_LIB_COMMAND_RESULT_FILE_H_

#include <string>

#include "nestline/filter.h"

namespace nestline::command {

/// Finds what would make save() fail, before there is any work to lose. Throws CommandError.
void check_target(const std::string& file);

/// Tells of a filter that was saved there, when standard error is a terminal.
void print_summary(const std::string& file, const Filter& filter);

}  // namespace nestline::command

#endif  // NESTLINE_LIB_COMMAND_RESULT_FILE_H_
