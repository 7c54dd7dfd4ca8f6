// nestline uniq: prints the lines that were not seen before, in order.
//
// seen_lines.h tells new lines from seen ones, hashed_lines.h reads beside that. The output is
// flushed before the command waits for more input.
//
// With -d the lines that the first set has seen go through a second set, which lets each of them
// pass once. Its hashes are hashes of the first one's, so that lines which look alike in one set do
// not in the other.
//
// The state of a run counts exactly the lines that were printed, or dropped in favour of a printed
// one: it is saved when all output has been written. When the reader of a pipe goes away, or the
// command is killed, the file stays as it was. SIGINT, SIGTERM and SIGHUP end the input instead, so
// that a run over an endless input can be ended.
#include <unistd.h>

#include <csignal>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "lib/command/commands.h"
#include "lib/command/errors.h"
#include "lib/command/file_lock.h"
#include "lib/command/hashed_lines.h"
#include "lib/command/line_printer.h"
#include "lib/command/output.h"
#include "lib/command/progress.h"
#include "lib/command/seen_lines.h"
#include "lib/command/uniq_state.h"
#include "lib/command/wake_pipe.h"

namespace nestline::command {
namespace {

template <typename Value>
void check_same(const std::string& file, const char* option, const std::optional<Value>& given,
                Value kept, const std::string& shown) {
  if (!given || *given == kept) return;
  throw CommandError(file, std::string("the state was begun ") +
                               (kept == Value{} ? std::string("without ") + option
                                                : std::string("with ") + option + " " + shown) +
                               "; leave the option out, or begin another state");
}

std::string shown(double rate) {
  std::string text = std::to_string(rate);
  std::array<char, 32> digits{};
  std::snprintf(digits.data(), digits.size(), "%.10g", rate);
  return digits.data();
}

SeenOptions options_of(const UniqArguments& arguments) {
  SeenOptions options;
  options.capacity = arguments.capacity.value_or(0);
  options.window = arguments.window.value_or(0);
  options.fpr = arguments.fpr.value_or(options.fpr);
  options.seed = arguments.seed.value_or(0);
  return options;
}

UniqState begin(const UniqArguments& arguments) {
  std::optional<UniqState> kept;
  if (!arguments.state.empty()) kept = load_state(arguments.state);
  if (!kept) return {options_of(arguments), arguments.repeated};
  const SeenOptions& options = kept->seen.options();
  const std::string& file = arguments.state;
  check_same(file, "--capacity", arguments.capacity, options.capacity,
             std::to_string(options.capacity));
  check_same(file, "--window", arguments.window, options.window, std::to_string(options.window));
  check_same(file, "--fpr", arguments.fpr, options.fpr, shown(options.fpr));
  check_same(file, "--seed", arguments.seed, options.seed, std::to_string(options.seed));
  if (arguments.repeated != kept->again.has_value()) {
    throw CommandError(file, arguments.repeated
                                 ? "the state was begun without -d; begin another state"
                                 : "the state was begun with -d; give -d too");
  }
  return std::move(*kept);
}

// Chooses the lines to print.
class Chooser {
 public:
  explicit Chooser(UniqState& state) : state_(state) {}

  // The positions of the lines to print, good until the next call.
  std::span<const std::uint32_t> choose(std::span<const Hash> lines) {
    if (positions_.size() < lines.size()) positions_.resize(lines.size());
    const auto [fresh, taken] = state_.seen.select_new(lines, positions_);
    full_ = taken < lines.size();
    const std::span chosen = std::span(positions_).first(fresh);
    return state_.again ? choose_again(lines.first(taken), chosen) : chosen;
  }

  // Whether there was a line that the capacity has no room for. Lines from there on were left out.
  [[nodiscard]] bool full() const noexcept { return full_; }

 private:
  std::span<const std::uint32_t> choose_again(std::span<const Hash> lines,
                                              std::span<const std::uint32_t> fresh) {
    const std::uint64_t seed = state_.seen.options().seed + 1;
    repeated_.clear();
    hashes_.clear();
    for (std::uint32_t i = 0; i < lines.size(); ++i) {
      if (!fresh.empty() && fresh.front() == i) {
        fresh = fresh.subspan(1);
        continue;
      }
      repeated_.push_back(i);
      hashes_.push_back(hash_key(lines[i].value, seed));
    }
    chosen_.resize(repeated_.size());
    const auto [count, taken] = state_.again->select_new(hashes_, chosen_);
    full_ = full_ || taken < hashes_.size();
    for (std::uint32_t& position : std::span(chosen_).first(count)) position = repeated_[position];
    return std::span(chosen_).first(count);
  }

  UniqState& state_;
  bool full_ = false;
  std::vector<std::uint32_t> positions_, repeated_, chosen_;
  std::vector<Hash> hashes_;
};

}  // namespace

int uniq(const UniqArguments& arguments) {
  std::optional<FileLock> lock;
  if (!arguments.state.empty()) {
    prepare_state(arguments.state);
    lock.emplace(arguments.state);
  }
  UniqState state = begin(arguments);
  WakePipe wake;
  if (lock) wake.wake_at_signals();
  HashedLineReader reader(arguments.inputs, state.seen.options().seed, wake);
  // A bar between the printed lines would spoil both.
  Progress progress("uniq", arguments.count_only || ::isatty(STDOUT_FILENO) != 1);
  progress.begin(Progress::Unit::bytes, reader.total_bytes());

  Chooser chooser(state);
  LinePrinter printer;
  std::uint64_t printed = 0;
  bool failed = false;
  while (const HashedLines* lines = reader.next()) {
    if (lines->error) {
      progress.erase();
      complain(lines->error->file, lines->error->what());
      failed = true;
      continue;
    }
    const auto chosen = chooser.choose(lines->hashes);
    printed += chosen.size();
    if (!arguments.count_only) printer.print(lines->batch, chosen);
    if (chooser.full()) break;
    if (!reader.ready()) printer.flush();
    progress.update(lines->bytes_read, lines->lines_read);
  }
  printer.flush();
  progress.erase();
  if (arguments.count_only) {
    Output output(STDOUT_FILENO, "standard output");
    output.write(std::to_string(printed) + "\n");
    output.flush();
  }
  if (lock) save_state(state, arguments.state);
  if (WakePipe::signal() != 0) std::raise(WakePipe::signal());
  if (chooser.full()) {
    throw CommandError(arguments.state,
                       "there are more different lines than the capacity of " +
                           std::to_string(state.seen.options().capacity) +
                           "; the output ends before the first of them; give a larger "
                           "--capacity, or --window");
  }
  if (failed) return kExitError;
  return printed > 0 ? kExitYes : kExitNo;
}

}  // namespace nestline::command
