// A command as a table: its name, help, options with the variables that their values go to, and the
// function that does its work. Options without a value are written while the words are taken apart,
// the others when all words are in place; functions such as count() below then turn a text into a
// value, or word the message for a bad one, before any file is opened.
#ifndef NESTLINE_LIB_FACES_COMMAND_IO_COMMAND_H_
#define NESTLINE_LIB_FACES_COMMAND_IO_COMMAND_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lib/faces/command/io/line_reader.h"

namespace nestline { inline namespace v0_3 { namespace command {

/// Takes the text of an option that was given. Throws UsageError with the option's name.
using Read = std::function<void(const std::string& name, const std::string& text)>;

/// What an option writes. bool: it has no value; vector: it may be given several times.
using Into =
    std::variant<bool*, std::string*, std::optional<std::string>*, std::vector<std::string>*, Read>;

inline constexpr bool kRequired = true;

struct Option {
  const char* name;   ///< "--fpr", "-e,--escaped"; "FILE" for a word that stands by itself.
  const char* value;  ///< What the help calls its value; "" for a word and for an option without.
  std::string help;
  Into into;
  bool required = false;
  const char* excludes = nullptr;  ///< An option, earlier in the table, that cannot be given too.
};

/// A sentence of the library on its options, with their names here: --max-capacity for
/// max_capacity.
std::string with_option_names(std::string_view sentence);

/// The exit statuses of most commands. Those of others are in their footers.
inline constexpr const char* kExitDone = "Exit status: 0 done, 2 error.";

struct Help {
  const char* name;    ///< The word that chooses the command.
  const char* about;   ///< One line.
  const char* footer;  ///< The rest, below the options; without exit statuses it has kExitDone.
  const char* common = "";  ///< What all commands of the group have before it.
};

struct Command {
  Help help;
  std::string* file;  ///< What errors are about: it has its value when the work is done.
  std::vector<Option> options = {};
  std::function<int()> run = {};       ///< Does the work and returns the exit status.
  std::function<void()> check = {};    ///< What concerns several options. Throws UsageError.
  std::vector<Command> commands = {};  ///< Has these commands instead of work of its own.
  const char* usual = nullptr;         ///< The one of them that may be left out.
  const char* unknown_option = "";     ///< What a message about an unknown option of theirs adds.
};

struct Request {
  const Command* command = nullptr;  ///< The command to run; its variables have the values given.
  std::string text;                  ///< Without a command: what --help or --version prints.
};

/// `program` is the table of the whole program. Throws UsageError with a hint to --help.
Request parse(const Command& program, int argc, const char* const* argv);

inline constexpr const char* kStandardInput = "default: standard input";

/// The words after the others: files of keys, and what is read when there are none.
Option input_keys(LineInputs& inputs, const std::string& when_absent = kStandardInput);
Option zero_option(bool& zero_terminated);

// Each throws UsageError that names the option.

/// A whole number from `least` to `most`.
std::uint64_t parse_count(const std::string& name, const std::string& text, std::uint64_t least,
                          std::uint64_t most);
/// A number with a unit, "500ms", "30s", "10m", "24h", "7d", in nanoseconds: 1 ms to a century.
std::uint64_t parse_duration(const std::string& name, const std::string& text);
/// The same in the largest unit that gives a whole number.
std::string duration_text(std::uint64_t nanoseconds);
/// Above 0 and below 1.
double parse_rate(const std::string& name, const std::string& text);

/// Gives the variable what parse(name, text) returns.
Read parsed(auto& into, auto parse) {
  return [&into, parse](const std::string& name, const std::string& text) {
    into = parse(name, text);
  };
}
template <typename Number>
Read count(Number& into, std::uint64_t least, std::uint64_t most) {
  return parsed(into, [least, most](const std::string& name, const std::string& text) {
    return static_cast<Number>(parse_count(name, text, least, most));
  });
}
Read duration(auto& into) { return parsed(into, parse_duration); }
Read rate(auto& into) { return parsed(into, parse_rate); }
/// Of a file; - is none. `instead` ends the message about that.
Read file_name(std::string& into, const char* instead = "");
/// Of a file that is made or replaced.
Read output_name(std::string& into);
/// 0.5 to 0.95.
Read load_factor(double& into);
/// 8, 9, 10, 12 or 16.
Read bits(int& into);

// lib/CMakeLists.txt says which commands the program has: with nestline::parallel uniq and which.
inline constexpr bool kHasParallel = NESTLINE_WITH_PARALLEL;
inline constexpr bool kHasStore = NESTLINE_WITH_STORE;
inline constexpr bool kHasCluster = NESTLINE_WITH_CLUSTER;

// The commands of the program, each in the file of its name.
Command build_command();
Command query_command();
Command add_command();
Command remove_command();
Command fit_command();
Command info_command();
Command verify_command();
Command merge_command();
Command uniq_command();
Command which_command();
Command store_command();
Command cluster_command();

}}}  // namespace nestline::command

#endif  // NESTLINE_LIB_FACES_COMMAND_IO_COMMAND_H_
