// nestline uniq: prints the lines that were not seen before, in order. A pipeline of three stages
// on at most three threads: reading and hashing a batch, choosing its new lines (seen_lines.h),
// printing. The output is flushed when no batch is on its way, so before the command waits for more
// input, and after all lines of a read, so that a source that never pauses does not hold it back.
//
// With -d the seen lines go through a second set, which lets each pass once. Its hashes are hashes
// of the first one's, so that lines which look alike in one set do not in the other.
//
// The state counts exactly the lines that were printed, or dropped in favour of a printed one: it
// is saved when all output has been written. When the reader of a pipe goes away, or the command is
// killed, the file stays as it was: also absent, but that a kill leaves an empty one. SIGINT,
// SIGTERM and SIGHUP end an endless input instead.
#include <tbb/global_control.h>
#include <tbb/parallel_pipeline.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/faces/command/io/command.h"
#include "lib/faces/command/io/errors.h"
#include "lib/faces/command/io/progress.h"
#include "lib/faces/command/io/query_lines.h"
#include "lib/faces/command/uniq/state.h"
#include "lib/faces/command/uniq/wake_pipe.h"

namespace nestline { inline namespace v0_3 { namespace command {
namespace {

constexpr const char* kFooter =
    "A line that is printed was not seen before: no line is printed twice, apart from --window\n"
    "and --within. A false positive is a new line that is taken for a seen one and left out. P\n"
    "is the share of new lines to which this happens at most, at any length of the input.\n"
    "Without --capacity, the memory grows with the number of different lines. With it, all memory\n"
    "is taken at once, and the output ends with an error where it would have line N + 1. A new\n"
    "line that is left out by a false positive takes no room: a few more than N different lines\n"
    "may pass. A line takes 2 to 4 bytes for most P, in --window 8 more, with -d twice that for\n"
    "those that repeat.\n"
    "With --window, a line is left out if it is one of the last N that were new. A line that is\n"
    "seen again keeps its place.\n"
    "With --within, a line is left out if it was read less than TIME ago, by the clock; each time\n"
    "it is read counts. It is remembered for TIME at least and a fourteenth of TIME more at most.\n"
    "Memory grows with the most lines in that time, at 3 to 5 bytes a line. --capacity is then\n"
    "the number of different lines in TIME and a fourteenth. With --state, the time between two\n"
    "runs counts too.\n"
    "-d prints the lines that are left out without it, each once: of a line that occurs more than\n"
    "once, its second occurrence. P is then the share of lines that occur once and are printed,\n"
    "and also that of lines that repeat and are left out.\n"
    "-c prints how many lines would be printed. Occurrences of single lines are not counted.\n"
    "With --state, lines that earlier runs have read count too. FILE is made if it is not there,\n"
    "has the options of the first run, and is replaced in one step when all output is written.\n"
    "After SIGINT, SIGTERM or SIGHUP it is saved too. If the reader of a pipe goes away, the disk\n"
    "is full, or the command is killed, FILE stays as it was: the next run prints these lines\n"
    "again. Runs with the same FILE wait for each other.\n"
    "An input that is also the output is reported and skipped.\n"
    "Exit status: 0 at least one line was selected, 1 none was, 2 error.";

struct UniqArguments {
  std::optional<std::uint64_t> capacity;
  std::optional<std::uint64_t> window;
  std::optional<std::uint64_t> within;  // nanoseconds
  std::optional<double> fpr;
  std::optional<std::uint64_t> seed;
  std::string state;        // the file; empty: none
  bool repeated = false;    // -d
  bool count_only = false;  // -c
  LineInputs inputs;
};

template <typename Value>
void check_same(const std::string& file, const char* option, const std::optional<Value>& given,
                Value kept, const std::string& shown) {
  if (!given || *given == kept) return;
  throw CommandError(file, std::string("the state was begun ") +
                               (kept == Value{} ? std::string("without ") + option
                                                : std::string("with ") + option + " " + shown) +
                               "; leave the option out, or begin another state");
}

SeenOptions options_of(const UniqArguments& arguments) {
  SeenOptions options;
  options.capacity = arguments.capacity.value_or(0);
  options.window = arguments.window.value_or(0);
  options.within = arguments.within.value_or(0);
  options.fpr = arguments.fpr.value_or(options.fpr);
  options.seed = arguments.seed.value_or(0);
  return options;
}

UniqState begin(const UniqArguments& arguments, const std::optional<StateFile>& state_file) {
  std::optional<UniqState> kept;
  if (state_file) kept = load_state(arguments.state);
  if (!kept && state_file && !state_file->made()) {
    complain(arguments.state, "this file is empty; a new state begins");
  }
  if (!kept) return {options_of(arguments), arguments.repeated};
  const SeenOptions& options = kept->options;
  const std::string& file = arguments.state;
  check_same(file, "--capacity", arguments.capacity, options.capacity,
             std::to_string(options.capacity));
  check_same(file, "--window", arguments.window, options.window, std::to_string(options.window));
  check_same(file, "--within", arguments.within, options.within, duration_text(options.within));
  check_same(file, "--fpr", arguments.fpr, options.fpr, formatted("%.10g", options.fpr));
  check_same(file, "--seed", arguments.seed, options.seed, std::to_string(options.seed));
  if (arguments.repeated != kept->again.has_value()) {
    throw CommandError(file, arguments.repeated
                                 ? "the state was begun without -d; begin another state"
                                 : "the state was begun with -d; give -d too");
  }
  return std::move(*kept);
}

// A batch of lines in memory of its own, so that the next can be read meanwhile; or an error.
struct Batch {
  std::optional<CommandError> error;  // then there are no lines
  LineBatch batch;                    // of the memory below
  std::vector<char> bytes;
  std::vector<std::string_view> keys;
  std::vector<Hash> hashes;
  std::vector<std::uint8_t> repeats;  // as ChunkRepeats marks them
  std::uint64_t bytes_read = 0;       // of all inputs, after this batch
  std::uint64_t lines_read = 0;
  std::vector<std::uint32_t> positions;  // the first `chosen` are those of the lines to print
  std::size_t chosen = 0;
};

class Chooser {
 public:
  explicit Chooser(UniqState& state) : state_(state) {}

  void choose(Batch& batch) {
    const std::span<const Hash> lines = batch.hashes;
    batch.chosen = 0;
    if (full_) return;
    state_.forget();
    if (batch.positions.size() < lines.size()) batch.positions.resize(lines.size());
    const auto [fresh, taken] = state_.seen.select_new(lines, batch.repeats, batch.positions);
    full_ = taken < lines.size();
    batch.chosen = fresh;
    if (state_.again) choose_again(batch, lines.first(taken));
  }

  // Whether there was a line that the capacity has no room for. Lines from there on were left out.
  [[nodiscard]] bool full() const noexcept { return full_; }

 private:
  void choose_again(Batch& batch, std::span<const Hash> lines) {
    const std::uint64_t seed = state_.options.seed + 1;
    std::span<const std::uint32_t> fresh = std::span(batch.positions).first(batch.chosen);
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
    repeats_.resize(hashes_.size());
    chunk_repeats_.mark(hashes_, repeats_);
    const auto [count, taken] = state_.again->select_new(hashes_, repeats_, batch.positions);
    full_ = full_ || taken < hashes_.size();
    for (std::uint32_t& position : std::span(batch.positions).first(count)) {
      position = repeated_[position];
    }
    batch.chosen = count;
  }

  UniqState& state_;
  bool full_ = false;
  std::vector<std::uint32_t> repeated_;
  std::vector<Hash> hashes_;
  std::vector<std::uint8_t> repeats_;
  ChunkRepeats chunk_repeats_;
};

class Pipeline {
 public:
  Pipeline(const UniqArguments& arguments, UniqState& state, WakePipe& wake)
      : count_only_(arguments.count_only),
        wake_(wake),
        seed_(state.options.seed),
        reader_(arguments.inputs.printed_to(arguments.count_only ? -1 : STDOUT_FILENO),
                wake.descriptor()),
        chooser_(state),
        // A bar between the printed lines would spoil both.
        progress_("uniq", reader_.total_bytes(),
                  arguments.count_only || !is_terminal(STDOUT_FILENO)) {}

  // Throws CommandError when the output cannot be written, and what SeenLines throws.
  void run() {
    constexpr auto kInOrder = tbb::filter_mode::serial_in_order;
    const tbb::global_control allow(tbb::global_control::max_allowed_parallelism, kStages);
    tbb::parallel_pipeline(
        kBatches,
        tbb::make_filter<void, Batch*>(kInOrder, [this](tbb::flow_control& control) {
          return read(control);
        }) & tbb::make_filter<Batch*, Batch*>(kInOrder, [this](Batch* batch) {
          choose(*batch);
          return batch;
        }) & tbb::make_filter<Batch*, void>(kInOrder, [this](Batch* batch) { print(*batch); }));
    printer_.flush();
    progress_.erase();
  }

  [[nodiscard]] std::uint64_t printed() const noexcept { return printed_; }
  [[nodiscard]] bool failed() const noexcept { return failed_; }
  [[nodiscard]] bool full() const noexcept { return chooser_.full(); }

 private:
  static constexpr std::size_t kStages = 3;
  static constexpr std::size_t kBatches = 4;

  Batch* read(tbb::flow_control& control) {
    // The stages are in order, so this batch was printed before.
    Batch& batch = batches_[read_ % kBatches];
    if (ended_ || !read(batch)) {
      control.stop();
      return nullptr;
    }
    ++read_;
    return &batch;
  }

  bool read(Batch& to) {
    LineBatch from;
    to.error.reset();
    try {
      if (!reader_.next(from)) return false;
    } catch (const CommandError& error) {
      to.error = error;
      from = {};
    }
    const char* const begin = from.keys.empty() ? from.end : from.keys.front().data();
    to.bytes.assign(begin, from.end);
    to.keys.resize(from.keys.size());
    to.hashes.resize(from.keys.size());
    to.repeats.resize(from.keys.size());
    for (std::size_t i = 0; i < from.keys.size(); ++i) {
      const std::string_view key = from.keys[i];
      to.keys[i] = {to.bytes.data() + (key.data() - begin), key.size()};
      to.hashes[i] = hash_key(key, seed_);
    }
    repeats_.mark(to.hashes, to.repeats);
    to.batch = from;
    to.batch.keys = to.keys;
    to.batch.end = to.bytes.data() + to.bytes.size();
    to.bytes_read = reader_.bytes();
    to.lines_read = reader_.lines();
    return true;
  }

  void choose(Batch& batch) {
    or_end([&] { chooser_.choose(batch); });
    if (chooser_.full()) end();
  }

  void print(const Batch& batch) {
    if (batch.error) {
      progress_.erase();
      complain(batch.error->file, batch.error->what());
      failed_ = true;
    }
    printed_ += batch.chosen;
    ++done_;
    or_end([&] {
      if (!count_only_) printer_.print(batch.batch, std::span(batch.positions).first(batch.chosen));
      if (batch.batch.drained || done_ == read_) printer_.flush();
    });
    progress_.update(batch.bytes_read, batch.lines_read);
  }

  // Lets the stage that reads end, even while it waits for input.
  void end() {
    ended_ = true;
    wake_.wake();
  }

  void or_end(const auto& work) {
    try {
      work();
    } catch (...) {
      end();
      throw;
    }
  }

  const bool count_only_;
  WakePipe& wake_;
  const std::uint64_t seed_;
  LineReader reader_;
  ChunkRepeats repeats_;
  Chooser chooser_;
  LinePrinter printer_;
  Progress progress_;
  std::array<Batch, kBatches> batches_;
  std::atomic<std::size_t> read_{0};  // batches
  std::size_t done_ = 0;
  std::atomic<bool> ended_{false};
  std::uint64_t printed_ = 0;
  bool failed_ = false;
};

int run(const UniqArguments& arguments) {
  std::optional<StateFile> state_file;
  if (!arguments.state.empty()) state_file.emplace(arguments.state);
  UniqState state = begin(arguments, state_file);
  WakePipe wake;
  if (state_file) wake.wake_at_signals();
  Pipeline pipeline(arguments, state, wake);
  pipeline.run();
  if (arguments.count_only) print(std::to_string(pipeline.printed()) + "\n");
  if (state_file) save_state(state, arguments.state);
  WakePipe::raise_signal();
  if (pipeline.full()) {
    throw CommandError(arguments.state,
                       "there are more different lines than the capacity of " +
                           std::to_string(state.options.capacity) +
                           "; the output ends before the first of them; give a larger "
                           "--capacity, or " +
                           (state.options.within > 0 ? "none" : "--window"));
  }
  if (pipeline.failed()) return kExitError;
  return pipeline.printed() > 0 ? kExitYes : kExitNo;
}

int uniq(const UniqArguments& arguments) {
  try {
    return run(arguments);
  } catch (const CommandError&) {
    // The reader of the output went away. Now the state's file is as it was before.
    if (WakePipe::signal() == SIGPIPE) WakePipe::raise_signal();
    throw;
  }
}

void check_rate(const UniqArguments& arguments) {
  const SeenOptions options = options_of(arguments);
  if (options.fpr >= least_fpr(options)) return;
  if (options.within > 0) {
    throw UsageError(options.capacity > 0
                         ? "--fpr must be at least 0.000002 with --within"
                         : "--fpr must be at least 0.0002 with --within, or 0.000002 with "
                           "--capacity too");
  }
  throw UsageError(
      options.capacity > 0 || options.window > 0
          ? "--fpr must be at least 0.00000001"
          : "--fpr must be at least 0.000001, or 0.00000001 with --capacity or --window");
}

}  // namespace

Command uniq_command() {
  const auto arguments = std::make_shared<UniqArguments>();
  return {
      {"uniq", "Print the lines that were not seen before, in order", kFooter},
      &arguments->state,
      {{"--capacity", "N", "Number of different lines to take memory for; default: it grows",
        count(arguments->capacity, 1, kMaxLines)},
       {"--fpr", "P",
        "Share of new lines that may be left out, from 0.000001 to below 1, or with\n"
        "--capacity or --window from 0.00000001; default: 0.001",
        rate(arguments->fpr)},
       {"--window", "N", "Forget a line when N others are newer",
        count(arguments->window, 1, kMaxLines), false, "--capacity"},
       {"--within", "TIME",
        "Forget a line when it was not read for so long: 500ms, 30s, 10m, 24h, 7d",
        duration(arguments->within), false, "--window"},
       {"--seed", "S", "Seed of the hash; other seeds err on other lines",
        count(arguments->seed, 0, std::numeric_limits<std::uint64_t>::max())},
       {"--state", "FILE", "Go on where the last run with FILE ended", file_name(arguments->state)},
       {"-d", "", "Print the lines that repeat, each once", &arguments->repeated},
       {"-c", "", "Print only the number of lines", &arguments->count_only},
       zero_option(arguments->inputs.zero_terminated),
       {"INPUT", "", "Files of lines; - is standard input; default: standard input",
        &arguments->inputs.files}},
      [arguments] { return uniq(*arguments); },
      [arguments] { check_rate(*arguments); }};
}

}}}  // namespace nestline::command
