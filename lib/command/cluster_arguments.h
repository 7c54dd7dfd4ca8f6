// The command line of nestline cluster: its commands, their options and help texts.
#ifndef NESTLINE_LIB_COMMAND_CLUSTER_ARGUMENTS_H_
#define NESTLINE_LIB_COMMAND_CLUSTER_ARGUMENTS_H_

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "lib/command/cluster_commands.h"

namespace nestline::command {

class ClusterParser {
 public:
  /// Adds `cluster` to the program.
  explicit ClusterParser(CLI::App& program);
  ~ClusterParser();
  ClusterParser(const ClusterParser&) = delete;
  ClusterParser& operator=(const ClusterParser&) = delete;

  /// The command that was given, once CLI11 has parsed the words; empty if there is none.
  [[nodiscard]] std::string selected_name() const;
  /// Its arguments. Throws UsageError.
  ClusterArguments parse();

 private:
  struct Commands;
  CLI::App* app_;
  std::unique_ptr<Commands> commands_;
};

}  // namespace nestline::command

#endif  // NESTLINE_LIB_COMMAND_CLUSTER_ARGUMENTS_H_
