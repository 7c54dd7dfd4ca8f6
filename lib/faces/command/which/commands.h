// The commands of nestline which: change.cc has those that change a file, which load all of it and
// replace it in one step, which.cc those that only look.
#ifndef NESTLINE_LIB_FACES_COMMAND_WHICH_COMMANDS_H_
#define NESTLINE_LIB_FACES_COMMAND_WHICH_COMMANDS_H_

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "lib/faces/command/io/command.h"

namespace nestline { inline namespace v0_3 { namespace command {

Command build_named_command();
Command add_named_command();
Command drop_name_command();
Command rename_command();

/// A command on arguments->file whose work is run(*arguments).
template <typename Arguments>
Command on_named(const std::shared_ptr<Arguments>& arguments, const Help& help,
                 std::vector<Option> options, std::function<void()> check = {}) {
  Option file = {"FILE", "", "What nestline which build made", file_name(arguments->file), true};
  options.insert(options.begin(), std::move(file));
  return {help, &arguments->file, std::move(options), [arguments] { return run(*arguments); },
          std::move(check)};
}

}}}  // namespace nestline::command

#endif  // NESTLINE_LIB_FACES_COMMAND_WHICH_COMMANDS_H_
