// The command line in terms of CLI11; see arguments.h. store_arguments.h has the commands of
// nestline store, cluster_arguments.h those of nestline cluster.
#include "lib/command/arguments.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>

#include "lib/command/cluster_arguments.h"
#include "lib/command/errors.h"
#include "lib/command/option_values.h"
#include "lib/command/store_arguments.h"
#include "lib/command/uniq_arguments.h"
#include "nestline/version.h"

namespace nestline::command {
namespace {

constexpr std::uint64_t kMaxCapacity = std::uint64_t{1} << 53;
constexpr std::uint64_t kMaxThreads = 1024;

// The options of build whose values are checked after CLI11 has parsed the command line.
struct BuildOptions {
  CLI::Option* capacity;
  CLI::Option* fpr;
  CLI::Option* bits;
  CLI::Option* max_capacity;
  CLI::Option* load;
  CLI::Option* seed;

  [[nodiscard]] Options parse() const {
    Options options;
    if (*capacity) options.capacity = parse_count(capacity, 1, kMaxCapacity);
    if (*fpr) options.fpr = parse_rate(fpr);
    if (*bits) options.bits = parse_bits(bits);
    if (*max_capacity) {
      options.max_capacity = parse_count(max_capacity, 1, kMaxCapacity);
      if (options.max_capacity < options.capacity) {
        throw UsageError("--max-capacity must not be below --capacity");
      }
    }
    if (*load) options.load = parse_load(load);
    if (*seed) {
      options.seed = parse_count(seed, 0, std::numeric_limits<std::uint64_t>::max());
    }
    return options;
  }
};

// CLI11 takes `[a,b]` for a list and `++` for the end of a command; here both are file names.
std::string protect(std::string word) {
  const bool list = word.size() > 1 && word.front() == '[' && word.back() == ']';
  return list || word == "++" ? "./" + word : word;
}

void define_file(CLI::App& command, std::string& file) {
  command.add_option("FILE", file, "The filter file")->required()->type_name("");
}

void define_inputs(CLI::App& command, std::vector<std::string>& inputs, const char* when_absent) {
  command
      .add_option("INPUT", inputs,
                  std::string("Files with one key per line; - is standard input; ") + when_absent)
      ->type_name("");
}

constexpr const char* kAbsentIsInput = "default: standard input";

constexpr const char* kBuildFooter =
    "Without --capacity, nestline counts the lines first. This takes 8 bytes of memory per line.\n"
    "--threads above 1 needs this memory too. FILE then gives the same answers for these keys,\n"
    "but its bytes may differ from one build to the next.\n"
    "With --max-capacity, nestline add and merge can go beyond --capacity: the filter doubles by\n"
    "itself and keeps the wanted false-positive rate up to that number of keys.\n"
    "A key is a line without its line end, a line feed or a carriage return and a line feed.\n"
    "A line that occurs n times is n copies of its key. A filter holds at most 8 copies of a key\n"
    "(10 at 16 bits). It leaves out further copies; the key is still found. To store every key\n"
    "once, in a smaller filter, build it from the output of sort -u.\n"
    "Exit status: 0 done, 2 error. FILE is written only on success.";

constexpr const char* kQueryFooter =
    "A key is a line without its line end, a line feed or a carriage return and a line feed.\n"
    "Lines that were added are always printed. A few others are printed too, at the rate that\n"
    "nestline info shows. A damaged FILE is refused before anything is printed. An input that\n"
    "cannot be read is reported and skipped.\n"
    "Exit status: 0 at least one line was selected, 1 none was, 2 error.";

constexpr const char* kAddFooter =
    "FILE is replaced in one step, or left unchanged when the keys do not fit. A filter that was\n"
    "built with --max-capacity grows up to that number of keys. Commands that change the same\n"
    "file wait for each other.\n"
    "Exit status: 0 done, 2 error.";

constexpr const char* kRemoveFooter =
    "Only remove keys that were added. A key that was not added may look the same as one that\n"
    "was; removing it removes the other key, which is then not found. Each line removes one copy.\n"
    "FILE is replaced in one step. Commands that change the same file wait for each other.\n"
    "Exit status: 0 done, 1 some lines were not in the filter (the others were removed), 2 error.";

constexpr const char* kVerifyFooter =
    "Prints nothing when all is well. Prints missing keys to standard error, one per line.\n"
    "Without INPUT, FILE may also be a state of nestline uniq.\n"
    "Exit status: 0 all is well, 1 a key is missing, 2 the file is damaged or another error.";

constexpr const char* kMergeFooter =
    "All filters must have been built with the same --bits or --fpr, --seed, --capacity,\n"
    "--max-capacity and --load. The keys are not needed. Filters that have grown less are grown\n"
    "to match. When the keys do not fit and the first filter was built with --max-capacity, the\n"
    "result grows. Copies add up. FILE may be one of the inputs; it is replaced in one step.\n"
    "Exit status: 0 done, 2 error. FILE is written only on success.";

// The command line and the variables that its values go to.
class Parser {
 public:
  Parser() {
    app_.name("nestline");
    app_.require_subcommand(1);
    app_.set_version_flag("--version", "nestline " NESTLINE_VERSION_STRING,
                          "Print the version and exit");
    app_.footer(
        "A key is a line without its line end. For details, see nestline COMMAND --help.\n"
        "Exit status: 0 yes or done, 1 no, 2 error.");
    define_build();
    define_query();
    define_keys_command(add_, "add", "Add keys to a filter", kAbsentIsInput, kAddFooter);
    define_keys_command(remove_, "remove", "Remove keys from a filter", kAbsentIsInput,
                        kRemoveFooter);
    define_info();
    define_keys_command(verify_, "verify",
                        "Check that a filter file is whole, and that it has the keys of the inputs",
                        "without any, only the file is checked", kVerifyFooter);
    define_merge();
    uniq_ = std::make_unique<UniqParser>(app_);
    store_ = std::make_unique<StoreParser>(app_);
    cluster_ = std::make_unique<ClusterParser>(app_);
  }

  Command parse(int argc, const char* const* argv) {
    try {
      // In reverse order, as CLI11 expects them.
      std::vector<std::string> words;
      const std::string_view first = argc > 1 ? argv[1] : "";
      const bool has_commands = first == "store" || first == "cluster";
      while (argc > 1) {
        const char* const word = argv[--argc];
        words.push_back(has_commands ? shield(word) : protect(word));
      }
      app_.parse(std::move(words));
      return selected();
    } catch (const CLI::CallForHelp&) {
      return ShowText{app_.help()};
    } catch (const CLI::CallForVersion&) {
      return ShowText{app_.version() + "\n"};
    } catch (const CLI::RequiredError& error) {
      check_remaining();
      throw UsageError(error.what() + hint());
    } catch (const CLI::ExtrasError& error) {
      check_remaining();
      throw UsageError(error.what() + hint());
    } catch (const CLI::ParseError& error) {
      throw UsageError(error.what() + hint());
    } catch (const UsageError& error) {
      throw UsageError(error.what() + hint());
    }
  }

 private:
  // Throws when the first word that CLI11 did not understand says more than its message.
  void check_remaining() const {
    const auto unknown = app_.remaining(true);
    if (unknown.empty()) return;
    const std::string& first = unknown.front();
    const bool option = first.size() > 1 && first.front() == '-';
    if (!option && (full_name().empty() || full_name() == "store" || full_name() == "cluster")) {
      throw UsageError("there is no command '" + first + "'" + hint());
    }
    if (option && selected_name() == "store") {
      throw UsageError("there is no option '" + first +
                       "'; -- goes before a KEY or VALUE that begins with -" + hint());
    }
  }

  void define_build() {
    CLI::App* command = app_.add_subcommand("build", "Build a filter from keys");
    command->add_option("-o", build_.file, "The filter file to write or replace")
        ->required()
        ->type_name("FILE");
    // Plain texts at first: parse() checks them and words the messages for bad values.
    options_.capacity =
        text_option(command, "--capacity", "N",
                    "Number of keys it must hold; default: as many as the inputs have");
    options_.fpr = text_option(command, "--fpr", "P",
                               "Wanted false-positive rate, above 0 and below 1;\ndefault: 0.01");
    options_.bits = text_option(command, "--bits", "B", "Fingerprint width: 8, 12 or 16");
    options_.fpr->excludes(options_.bits);
    options_.max_capacity = text_option(command, "--max-capacity", "N",
                                        "Number of keys up to which it grows by itself");
    options_.load =
        text_option(command, "--load", "L",
                    "How full it is at its capacity, from 0.5 to 0.95: less takes more\n"
                    "memory and is faster to fill; default: 0.95");
    options_.seed =
        text_option(command, "--seed", "S",
                    "Seed of the hash; filters with different seeds err on different keys");
    threads_ = text_option(command, "--threads", "T",
                           "Threads that fill the filter, at most one per core; default: 1");
    define_inputs(*command, build_.inputs, kAbsentIsInput);
    command->footer(kBuildFooter);
  }

  void define_query() {
    CLI::App* command = app_.add_subcommand("query", "Print the lines that may be in a filter");
    define_file(*command, query_.file);
    command->add_flag("-v", query_.invert,
                      "Print the other lines: those that are certainly not in it");
    command->add_flag("-c", query_.count_only, "Print only the number of lines");
    define_inputs(*command, query_.inputs, kAbsentIsInput);
    command->footer(kQueryFooter);
  }

  void define_info() {
    CLI::App* command = app_.add_subcommand("info", "Show what is in a filter file");
    define_file(*command, info_.file);
    command->add_flag("--json", info_.json, "Print one JSON object");
    command->footer(
        "Does not check the whole file; nestline verify does. FILE may also be a state of "
        "nestline\n"
        "uniq.\n"
        "Exit status: 0 done, 2 error.");
  }

  void define_merge() {
    CLI::App* command =
        app_.add_subcommand("merge", "Combine filters into one, without their keys");
    command->add_option("-o", merge_.file, "The filter file to write or replace")
        ->required()
        ->type_name("FILE");
    command->add_option("INPUT", merge_.inputs, "Filter files, two or more")
        ->required()
        ->type_name("");
    command->footer(kMergeFooter);
  }

  void define_keys_command(KeysArguments& arguments, const char* name, const char* description,
                           const char* when_absent, const char* footer) {
    CLI::App* command = app_.add_subcommand(name, description);
    define_file(*command, arguments.file);
    define_inputs(*command, arguments.inputs, when_absent);
    command->footer(footer);
  }

  [[nodiscard]] std::string selected_name() const {
    const auto commands = app_.get_subcommands();
    return commands.empty() ? "" : commands.front()->get_name();
  }

  // All words of the command, as in "store put" and "cluster add".
  [[nodiscard]] std::string full_name() const {
    const std::string name = selected_name();
    std::string within;
    if (name == "store") within = store_->selected_name();
    if (name == "cluster") within = cluster_->selected_name();
    return name + (within.empty() ? "" : " " + within);
  }

  Command selected() {
    const std::string name = selected_name();
    if (name == "store") return store_->parse();
    if (name == "cluster") return cluster_->parse();
    if (name == "uniq") return uniq_->parse();
    if (name == "query") return query_;
    if (name == "add") return add_;
    if (name == "remove") return remove_;
    if (name == "info") return info_;
    if (name == "verify") return verify_;
    if (name == "merge") {
      if (merge_.inputs.size() < 2) throw UsageError("merge takes two or more filter files");
      return merge_;
    }
    build_.options = options_.parse();
    if (*threads_) build_.threads = parse_count(threads_, 1, kMaxThreads);
    return build_;
  }

  [[nodiscard]] std::string hint() const {
    const std::string name = full_name();
    return "; see nestline " + (name.empty() ? "" : name + " ") + "--help";
  }

  CLI::App app_{
      "Approximate sets of keys in files: no false negatives, few false positives.\n"
      "Exact keys with values: nestline store. Filters on Redis servers: nestline cluster."};
  BuildOptions options_{};
  CLI::Option* threads_ = nullptr;
  BuildArguments build_;
  QueryArguments query_;
  AddCommand add_;
  RemoveCommand remove_;
  InfoArguments info_;
  VerifyCommand verify_;
  MergeArguments merge_;
  std::unique_ptr<UniqParser> uniq_;
  std::unique_ptr<StoreParser> store_;
  std::unique_ptr<ClusterParser> cluster_;
};

}  // namespace

Command parse_arguments(int argc, const char* const* argv) { return Parser().parse(argc, argv); }

}  // namespace nestline::command
