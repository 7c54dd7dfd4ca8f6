// See commands.h.
#include "lib/command/filter/commands.h"

#include <memory>

namespace nestline::command {

Option filter_file(std::string& file) { return {"FILE", "", "The filter file", &file, kRequired}; }

Command keys_command(const char* name, const char* about, const char* footer,
                     int (*work)(const KeysArguments&), const std::string& when_absent) {
  const auto arguments = std::make_shared<KeysArguments>();
  return {{name, about, footer},
          &arguments->file,
          {filter_file(arguments->file), input_keys(arguments->inputs, when_absent)},
          [arguments, work] { return work(*arguments); }};
}

}  // namespace nestline::command
