// The tables of command.h in terms of CLI11, which takes long to compile, so that no other file
// includes it. Values are texts to CLI11; this reads them at the end, in the order of the table.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "lib/faces/command/io/command.h"
#include "lib/faces/command/io/errors.h"
#include "nestline/version.h"

namespace nestline { inline namespace v0_3 { namespace command {
namespace {

constexpr char kShield = '\x01';

// CLI11 takes `[a,b]` for a list, `++` for the end of a command, and `--` behind a word for that of
// a subcommand; a shielded word is just a word.
std::string shield(std::string word, bool file, bool behind_mark) {
  if (behind_mark) return kShield + word;
  const bool list = word.size() > 1 && word.front() == '[' && word.back() == ']';
  if (list || word == "++") return (file ? "./" : std::string(1, kShield)) + word;
  return word.starts_with(kShield) ? kShield + word : word;
}

std::string unshield(std::string word) {
  if (word.starts_with(kShield)) word.erase(0, 1);
  return word;
}

// Whether some command has an option of this name with a value.
bool takes_value(const Command& of, std::string_view name) {
  const std::string part = "," + std::string(name) + ",";
  return std::ranges::any_of(of.options,
                             [&](const Option& option) {
                               const std::string names = "," + std::string(option.name) + ",";
                               return !std::holds_alternative<bool*>(option.into) &&
                                      names.find(part) != std::string::npos;
                             }) ||
         std::ranges::any_of(of.commands,
                             [&](const Command& one) { return takes_value(one, name); });
}
// Whether the word is an option, or several letters, whose value would be the next word.
bool lacks_value(const Command& of, std::string_view word) {
  if (word.starts_with("--")) return takes_value(of, word);
  if (!word.starts_with("-")) return false;
  for (std::size_t i = 1; i < word.size(); ++i) {
    if (takes_value(of, std::string("-") + word[i])) return i + 1 == word.size();
  }
  return false;
}

template <typename... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <typename... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

class Parser {
 public:
  explicit Parser(const Command& program)
      : program_(program), app_(program.help.about, program.help.name) {
    app_.set_version_flag("--version", "nestline " NESTLINE_VERSION_STRING,
                          "Print the version and exit");
    define(app_, program);
  }

  Request parse(int argc, const char* const* argv) {
    try {
      // All words of the simple commands that could be taken for something else are files.
      const std::string_view first = argc > 1 ? argv[1] : "";
      const bool files = std::ranges::none_of(program_.commands, [&](const Command& one) {
        return one.help.name == first && !one.commands.empty();
      });
      // In reverse order, as CLI11 expects them.
      std::vector<std::string> words;
      int mark = 1;
      while (mark < argc && std::string_view(argv[mark]) != "--") ++mark;
      if (mark < argc && lacks_value(program_, argv[mark - 1])) {
        throw UsageError(std::string(argv[mark - 1]) + " needs a value");
      }
      for (int i = argc; i-- > 1;) {
        if (i != mark) words.push_back(shield(argv[i], files, i > mark));
      }
      if (argc > 2) put_usual(first, argv[2], words);
      app_.parse(std::move(words));
      const Command& command = *chosen().command;
      for (const Option& option : command.options) read(option);
      if (command.check) command.check();
      return {&command, {}};
    } catch (const CLI::CallForHelp&) {
      // So that a script learns from COMMAND --help whether there is a command.
      if (!chosen().command->commands.empty() && !app_.remaining(true).empty()) check_remaining();
      return {nullptr, app_.help()};
    } catch (const CLI::CallForVersion&) {
      return {nullptr, app_.version() + "\n"};
    } catch (const CLI::ParseError& error) {
      const auto code = static_cast<CLI::ExitCodes>(error.get_exit_code());
      if (code == CLI::ExitCodes::RequiredError || code == CLI::ExitCodes::ExtrasError) {
        check_remaining();
      }
      if (code == CLI::ExitCodes::ArgumentMismatch) check_value(error.what());
      throw UsageError(error.what() + hint());
    } catch (const UsageError& error) {
      throw UsageError(error.what() + hint());
    }
  }

 private:
  // The command that the words name, as far as they do.
  struct Chosen {
    const Command* command;
    std::string words;           // as in "store put "
    std::string unknown_option;  // see Command
  };

  // Where the words lack a command that may be left out, adds it.
  void put_usual(std::string_view group, std::string_view next,
                 std::vector<std::string>& words) const {
    const auto named = [](std::string_view name) {
      return [name](const Command& one) { return one.help.name == name; };
    };
    const auto found = std::ranges::find_if(program_.commands, named(group));
    if (found == program_.commands.end() || found->usual == nullptr) return;
    if (next == "-h" || next == "--help" || std::ranges::any_of(found->commands, named(next)))
      return;
    words.insert(words.end() - 1, found->usual);
  }

  void define(CLI::App& app, const Command& command) {
    const std::string_view footer = command.help.footer;
    const bool has_status = footer.find("Exit status: ") != std::string_view::npos;
    app.footer(command.help.common + std::string(footer) + (has_status ? "" : kExitDone));
    for (const Option& option : command.options) {
      CLI::Option* const defined = define(app, option);
      defined->required(option.required);
      if (option.excludes != nullptr) defined->excludes(app.get_option(option.excludes));
      options_[&option] = defined;
    }
    if (!command.commands.empty()) app.require_subcommand(1);
    for (const Command& one : command.commands)
      define(*app.add_subcommand(one.help.name, one.help.about), one);
  }

  static CLI::Option* define(CLI::App& app, const Option& option) {
    if (const auto* const flag = std::get_if<bool*>(&option.into)) {
      return app.add_flag(option.name, **flag, option.help);
    }
    // A list of words takes all that follow, which the help shows as "...". A word behind an option
    // that may be given several times is another one.
    const bool list = std::holds_alternative<std::vector<std::string>*>(option.into);
    const bool words = list && option.name[0] != '-';
    const int most =
        words ? CLI::detail::expected_max_vector_size : std::numeric_limits<int>::max();
    return app.add_option(option.name)
        ->type_size(1)
        ->expected(1, list ? most : 1)
        ->allow_extra_args(words)
        ->type_name(option.value)
        ->description(option.help);
  }

  void read(const Option& option) const {
    const CLI::Option& given = *options_.at(&option);
    if (given.count() == 0) return;
    const std::string text = unshield(given.results().front());
    std::visit(Overloaded{[](bool* /*written*/) {}, [&](std::string* into) { *into = text; },
                          [&](std::optional<std::string>* into) { *into = text; },
                          [&](std::vector<std::string>* into) {
                            for (const std::string& word : given.results()) {
                              into->push_back(unshield(word));
                            }
                          },
                          [&](const Read& into) { into(given.get_name(), text); }},
               option.into);
  }

  [[nodiscard]] Chosen chosen() const {
    Chosen chosen{&program_, "", ""};
    for (const CLI::App* app = &app_; !app->get_subcommands().empty();) {
      app = app->get_subcommands().front();
      const std::vector<Command>& from = chosen.command->commands;
      chosen.command = &*std::ranges::find_if(
          from, [app](const Command& one) { return one.help.name == app->get_name(); });
      chosen.words += app->get_name() + " ";
      chosen.unknown_option += chosen.command->unknown_option;
    }
    return chosen;
  }

  // Throws when the first word that CLI11 did not understand explains more than its message.
  void check_remaining() const {
    const auto unknown = app_.remaining(true);
    const Chosen within = chosen();
    const bool lacks_command = !within.command->commands.empty();
    if (unknown.empty() && lacks_command) throw UsageError("a command is required" + hint());
    if (unknown.empty()) return;
    const std::string first = unshield(unknown.front());
    const bool option = unknown.front().size() > 1 && unknown.front().front() == '-';
    if (!option) {
      throw UsageError((lacks_command ? "there is no command '" + first
                                      : "there is no use for a further word, '" + first) +
                       "'" + hint());
    }
    throw UsageError("there is no option '" + first + "'" + within.unknown_option + hint());
  }

  // Throws when CLI11's message is that a value is missing, "-o: 1 required FILE missing", or that
  // there are several, "-o: At Most 1 required but received 2".
  void check_value(std::string_view message) const {
    if (const std::size_t name = message.find(": At Most 1 "); name != std::string_view::npos) {
      throw UsageError(std::string(message.substr(0, name)) + " can be given once" + hint());
    }
    constexpr std::string_view kMiddle = ": 1 required ";
    constexpr std::string_view kEnd = " missing";
    const std::size_t at = message.find(kMiddle);
    if (at == std::string_view::npos || !message.ends_with(kEnd)) return;
    const std::size_t value = at + kMiddle.size();
    throw UsageError(std::string(message.substr(0, at)) + " needs a value, " +
                     std::string(message.substr(value, message.size() - value - kEnd.size())) +
                     hint());
  }

  [[nodiscard]] std::string hint() const { return "; see nestline " + chosen().words + "--help"; }

  const Command& program_;
  CLI::App app_;
  std::map<const Option*, CLI::Option*> options_;
};

}  // namespace

Request parse(const Command& program, int argc, const char* const* argv) {
  return Parser(program).parse(argc, argv);
}

}}}  // namespace nestline::command
