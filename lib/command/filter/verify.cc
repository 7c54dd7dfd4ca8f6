// nestline verify: checks every checksum of a filter file, then looks up the keys, if any are
// given.
//
// It prints nothing when all is well. It prints missing keys to standard error, one per line and
// nothing else, so that they can be saved: nestline verify FILE keys 2>missing.
#include <unistd.h>

#include <span>

#include "lib/command/filter/commands.h"
#include "lib/command/io/errors.h"
#include "lib/command/io/line_reader.h"
#include "lib/command/io/output.h"
#include "lib/command/io/progress.h"
#include "lib/command/uniq/state.h"
#include "nestline/io.h"

namespace nestline::command {
namespace {

constexpr const char* kVerifyFooter =
    "Prints nothing when all is well. Prints missing keys to standard error, one per line.\n"
    "Without INPUT, FILE may also be a state of nestline uniq.\n"
    "Exit status: 0 all is well, 1 a key is missing, 2 the file is damaged or another error.";

int verify_keys(const MappedFilter& filter, const KeysArguments& arguments) {
  LineReader reader(arguments.inputs);
  Progress progress("verify");
  progress.begin(Progress::Unit::bytes, reader.total_bytes());
  Output output(STDERR_FILENO, "standard error");
  std::vector<std::uint8_t> found;
  LineBatch batch;
  bool complete = true;
  while (reader.next(batch)) {
    if (found.size() < batch.keys.size()) found.resize(batch.keys.size());
    const std::span flags = std::span(found).first(batch.keys.size());
    if (filter.may_contain(batch.keys, flags) < batch.keys.size()) {
      complete = false;
      progress.erase();
      for (std::size_t i = 0; i < flags.size(); ++i) {
        if (flags[i] != 0) continue;
        output.write(batch.lines(i, i + 1));
        if (batch.unterminated) output.write("\n");
      }
      output.flush();
    }
    progress.update(reader.bytes(), reader.lines());
  }
  return complete ? kExitYes : kExitNo;
}

int verify(const KeysArguments& arguments) {
  if (is_state(arguments.file)) {
    if (!arguments.inputs.empty()) {
      throw CommandError(arguments.file,
                         "this is a state of nestline uniq, which is checked "
                         "without any INPUT");
    }
    static_cast<void>(load_state(arguments.file));
    return kExitYes;
  }
  const MappedFilter filter = MappedFilter::open(arguments.file, Verify::all);
  return arguments.inputs.empty() ? kExitYes : verify_keys(filter, arguments);
}

}  // namespace

Command verify_command() {
  return keys_command("verify",
                      "Check that a filter file is whole, and that it has the keys of the inputs",
                      kVerifyFooter, verify, "without any, only the file is checked");
}

}  // namespace nestline::command
