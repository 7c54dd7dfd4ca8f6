// What the commands share, and nestline query and verify, which look up keys.
#include "lib/faces/command/filter/commands.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/faces/command/io/errors.h"
#include "lib/faces/command/io/input_file.h"
#include "lib/faces/command/io/progress.h"
#include "lib/faces/command/io/query_lines.h"
#include "lib/faces/command/uniq/state.h"
#include "lib/faces/embed/key_kinds.h"

namespace nestline { inline namespace v0_3 { namespace command {
namespace {

constexpr const char* kQueryFooter =
    "A key is a line without its line end, a line feed or a carriage return and a line feed.\n"
    "Lines that were added are always printed. A few others are printed too, at the rate that\n"
    "nestline info shows. A damaged FILE is refused before anything is printed. An input that\n"
    "cannot be read is reported and skipped, and so is one that is also the output.\n"
    "Exit status: 0 at least one line was selected, 1 none was, 2 error.";

struct QueryArguments : LineChoice {
  std::string file;
};

int query(const QueryArguments& arguments) {
  // Damaged blocks would give answers too, but could deny lines that were added.
  const MappedFilter filter = MappedFilter::open(arguments.file, Verify::all);
  require_text_keys(arguments.file, filter.key_kinds());
  return print_lines(
      arguments, [&filter](std::span<const std::string_view> keys, std::span<std::uint32_t> found) {
        return filter.select(keys, found);
      });
}

#define NESTLINE_ALL_IS_WELL \
  "Prints nothing when all is well. Prints missing keys to standard error, one per line.\n"
#define NESTLINE_STATUS_OF_VERIFY \
  "Exit status: 0 all is well, 1 a key is missing, 2 the file is damaged or another error."
constexpr const char* kVerifyFooter =
    kHasParallel ? NESTLINE_ALL_IS_WELL
        "Without INPUT, FILE may also be a state of nestline uniq.\n" NESTLINE_STATUS_OF_VERIFY
                 : NESTLINE_ALL_IS_WELL NESTLINE_STATUS_OF_VERIFY;

// Prints missing keys to standard error and nothing else, so that they can be saved (2>missing).
int verify_keys(const MappedFilter& filter, const KeysArguments& arguments) {
  ShownReader reader(arguments.inputs.printed_to(STDERR_FILENO), "verify");
  Output output(STDERR_FILENO);
  std::vector<std::uint8_t> found;
  LineBatch batch;
  bool complete = true;
  while (reader.next(batch)) {
    if (found.size() < batch.keys.size()) found.resize(batch.keys.size());
    const std::span flags = std::span(found).first(batch.keys.size());
    if (filter.may_contain(batch.keys, flags) == batch.keys.size()) continue;
    complete = false;
    reader.bar.erase();
    for (std::size_t i = 0; i < flags.size(); ++i) {
      if (flags[i] != 0) continue;
      output.write(batch.lines(i, i + 1));
      output.write(batch.missing_end(i + 1));
    }
    output.flush();
  }
  return complete ? kExitYes : kExitNo;
}

int verify(const KeysArguments& arguments) {
  if constexpr (kHasParallel) {
    if (is_state(arguments.file)) {
      if (!arguments.inputs.files.empty()) {
        throw CommandError(arguments.file,
                           "this is a state of nestline uniq, which is checked "
                           "without any INPUT");
      }
      static_cast<void>(load_state(arguments.file));
      return kExitYes;
    }
  }
  const MappedFilter filter = MappedFilter::open(arguments.file, Verify::all);
  if (arguments.inputs.files.empty()) return kExitYes;
  require_text_keys(arguments.file, filter.key_kinds());
  return verify_keys(filter, arguments);
}

}  // namespace

void require_text_keys(const std::string& file, std::uint32_t key_kinds) {
  if (key_kinds == 0 || (key_kinds & kTextKeys) != 0) return;
  throw CommandError(file,
                     "it was built in a database of keys of kind " + key_kinds_text(key_kinds) +
                         ", and lines are text: ask and change it there, or build it of text");
}

Option filter_file(std::string& file) {
  return {"FILE", "", "The filter file", file_name(file), kRequired};
}

Option copies_option(bool& copies) {
  return {"--copies", "", "Take a line as often as it occurs; default: once", &copies};
}

Command keys_command(const char* name, const char* about, const char* footer,
                     int (*work)(const KeysArguments&), const std::string& when_absent,
                     const char* left_out_help) {
  const auto arguments = std::make_shared<KeysArguments>();
  Command command = {{name, about, footer},
                     &arguments->file,
                     {filter_file(arguments->file), zero_option(arguments->inputs.zero_terminated)},
                     [arguments, work] { return work(*arguments); }};
  if (left_out_help != nullptr) {
    command.options.push_back(copies_option(arguments->copies));
    command.options.push_back(
        {"--left-out", "FILE", left_out_help, file_name(arguments->left_out)});
  }
  command.options.push_back(input_keys(arguments->inputs, when_absent));
  return command;
}

void report_copies(const std::string& file, std::uint64_t left_out, const std::string& what,
                   const char* advice) {
  if (left_out == 0) return;
  const bool one = left_out == 1;
  complain(file, std::to_string(left_out) + " " + what +
                     (one ? " was a further copy of a key that has"
                          : "s were further copies of keys that have") +
                     " the most copies already, or no room for one more; " +
                     (one ? "it is" : "they are") + " still found" + advice);
}

void print_summary(const std::string& file, const Filter& filter) {
  if (!is_terminal(STDERR_FILENO)) return;
  std::string text =
      short_number(filter.size(), "keys") + ", " + short_number(filter.memory_bytes(), "B") + ", ";
  if (filter.size() > 0) {
    text += formatted("%.2f bits per key, ", 8.0 * static_cast<double>(filter.memory_bytes()) /
                                                 static_cast<double>(filter.size()));
  }
  complain(file, text + formatted("expected false-positive rate %.3g", filter.expected_fpr()));
}

Command query_command() {
  const auto arguments = std::make_shared<QueryArguments>();
  return {
      {"query", "Print the lines that may be in a filter", kQueryFooter},
      &arguments->file,
      {filter_file(arguments->file),
       {"-v", "", "Print the other lines: those that are certainly not in it", &arguments->invert},
       {"-c", "", "Print only the number of lines", &arguments->count_only},
       zero_option(arguments->inputs.zero_terminated),
       input_keys(arguments->inputs)},
      [arguments] { return query(*arguments); }};
}

Command verify_command() {
  return keys_command("verify",
                      "Check that a filter file is whole, and that it has the keys of the inputs",
                      kVerifyFooter, verify, "without any, only the file is checked");
}

}}}  // namespace nestline::command
