// The command line of nestline store: its commands, their options and help texts.
#ifndef NESTLINE_LIB_COMMAND_STORE_ARGUMENTS_H_
#define NESTLINE_LIB_COMMAND_STORE_ARGUMENTS_H_

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "lib/command/store_commands.h"

namespace nestline::command {

class StoreParser {
 public:
  /// Adds `store` to the program.
  explicit StoreParser(CLI::App& program);
  ~StoreParser();
  StoreParser(const StoreParser&) = delete;
  StoreParser& operator=(const StoreParser&) = delete;

  /// The command that was given, once CLI11 has parsed the words; empty if there is none.
  [[nodiscard]] std::string selected_name() const;
  /// Its arguments. Throws UsageError.
  StoreArguments parse();

 private:
  struct Commands;
  CLI::App* app_;
  std::unique_ptr<Commands> commands_;
};

}  // namespace nestline::command

#endif  // NESTLINE_LIB_COMMAND_STORE_ARGUMENTS_H_
