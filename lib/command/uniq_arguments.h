// The command line of nestline uniq: its options and its help text.
#ifndef NESTLINE_LIB_COMMAND_UNIQ_ARGUMENTS_H_
#define NESTLINE_LIB_COMMAND_UNIQ_ARGUMENTS_H_

#include <CLI/CLI.hpp>

#include "lib/command/commands.h"

namespace nestline::command {

class UniqParser {
 public:
  /// Adds `uniq` to the program.
  explicit UniqParser(CLI::App& program);

  /// Its arguments, once CLI11 has parsed the words. Throws UsageError.
  [[nodiscard]] UniqArguments parse() const;

 private:
  UniqArguments arguments_;  // what CLI11 writes itself
  CLI::Option* capacity_;
  CLI::Option* fpr_;
  CLI::Option* window_;
  CLI::Option* seed_;
  CLI::Option* state_;
};

}  // namespace nestline::command

#endif  // NESTLINE_LIB_COMMAND_UNIQ_ARGUMENTS_H_
