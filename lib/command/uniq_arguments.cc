// See uniq_arguments.h.
#include "lib/command/uniq_arguments.h"

#include <limits>

#include "lib/command/errors.h"
#include "lib/command/option_values.h"
#include "lib/command/seen_plan.h"

namespace nestline::command {
namespace {

constexpr const char* kFooter =
    "A line that is printed was not seen before: no line is printed twice, apart from --window. A\n"
    "false positive is a new line that is taken for a seen one and left out. P is the share of\n"
    "new lines to which this happens at most, at any length of the input.\n"
    "Without --capacity, the memory grows with the number of different lines. With it, all memory\n"
    "is taken at once, and the output ends with an error before different line N + 1. A line "
    "takes\n"
    "2 to 4 bytes for most P, in --window 8 more, with -d twice that for those that repeat.\n"
    "With --window, a line is left out if it is one of the last N that were new. A line that is\n"
    "seen again keeps its place.\n"
    "-d prints the lines that are left out without it, each once: of a line that occurs more than\n"
    "once, its second occurrence. P is then the share of lines that occur once and are printed,\n"
    "and also that of lines that repeat and are left out.\n"
    "-c prints how many lines would be printed. Occurrences of single lines are not counted.\n"
    "With --state, lines that earlier runs have read count too. FILE is made if it is not there,\n"
    "has the options of the first run, and is replaced in one step when all output is written.\n"
    "After SIGINT, SIGTERM or SIGHUP it is saved too. If the reader of a pipe goes away, or the\n"
    "command is killed, FILE stays as it was: the next run prints these lines again. Runs with "
    "the\n"
    "same FILE wait for each other.\n"
    "Exit status: 0 at least one line was selected, 1 none was, 2 error.";

}  // namespace

UniqParser::UniqParser(CLI::App& program) {
  CLI::App* command =
      program.add_subcommand("uniq", "Print the lines that were not seen before, in order");
  capacity_ = text_option(command, "--capacity", "N",
                          "Number of different lines to take memory for; default: it grows");
  fpr_ =
      text_option(command, "--fpr", "P", "Share of new lines that may be left out; default: 0.001");
  window_ = text_option(command, "--window", "N", "Forget a line when N others are newer");
  window_->excludes(capacity_);
  seed_ = text_option(command, "--seed", "S", "Seed of the hash; other seeds err on other lines");
  state_ = text_option(command, "--state", "FILE", "Go on where the last run with FILE ended");
  command->add_flag("-d", arguments_.repeated, "Print the lines that repeat, each once");
  command->add_flag("-c", arguments_.count_only, "Print only the number of lines");
  command
      ->add_option("INPUT", arguments_.inputs,
                   "Files of lines; - is standard input; default: standard input")
      ->type_name("");
  command->footer(kFooter);
}

UniqArguments UniqParser::parse() const {
  UniqArguments arguments = arguments_;
  SeenOptions options;
  if (*capacity_) arguments.capacity = options.capacity = parse_count(capacity_, 1, kMostLines);
  if (*window_) arguments.window = options.window = parse_count(window_, 1, kMostLines);
  if (*fpr_) {
    arguments.fpr = parse_rate(fpr_);
    if (*arguments.fpr < least_fpr(options)) {
      throw UsageError(options.capacity > 0 || options.window > 0
                           ? "--fpr must be at least 0.00000001"
                           : "--fpr must be at least 0.000001, or 0.00000001 with --capacity");
    }
  }
  if (*seed_) arguments.seed = parse_count(seed_, 0, std::numeric_limits<std::uint64_t>::max());
  if (*state_) {
    arguments.state = state_->results().front();
    if (arguments.state.empty()) throw UsageError("--state takes the name of a file");
  }
  return arguments;
}

}  // namespace nestline::command
