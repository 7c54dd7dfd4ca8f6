// The file that build and merge write: checks that it can be written, and prints a summary at the
// end.
#ifndef NESTLINE_LIB_COMMAND_IO_RESULT_FILE_H_
#define NESTLINE_LIB_COMMAND_IO_RESULT_FILE_H_

#include <string>

#include "nestline/filter.h"

namespace nestline::command {

/// Throws CommandError if save() would fail, before there is any work to lose.
void check_target(const std::string& file);

/// Prints a summary of the filter that was saved, when standard error is a terminal.
void print_summary(const std::string& file, const Filter& filter);

}  // namespace nestline::command

#endif  // NESTLINE_LIB_COMMAND_IO_RESULT_FILE_H_
