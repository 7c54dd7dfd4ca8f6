// Values of options and odd words, in terms of CLI11.
//
// Options take their values as text at first. When the command line has been parsed, these
// functions turn the text into a value and word the message for a bad one.
#ifndef NESTLINE_LIB_COMMAND_OPTION_VALUES_H_
#define NESTLINE_LIB_COMMAND_OPTION_VALUES_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

namespace nestline::command {

/// An option that is given at most once and has one value, called `value` in the help.
CLI::Option* text_option(CLI::App* command, const char* name, const char* value,
                         const char* description);

/// A word that must be given, such as a key.
CLI::Option* word_option(CLI::App* command, const char* name, const char* description);

/// An option without a value.
CLI::Option* flag_option(CLI::App* command, const char* name, const std::string& description);

/// A word of the command line in a form in which CLI11 sees nothing special in it: it takes `[a,b]`
/// for a list and `++` for the end of a command, and both can be keys.
std::string shield(std::string word);
/// The word that was shielded.
std::string unshield(std::string word);
/// The value of an option that was given, unshielded.
std::string value_of(const CLI::Option* option);

// Each throws UsageError that names the option.

/// A whole number from `least` to `most`.
std::uint64_t parse_count(const CLI::Option* option, std::uint64_t least, std::uint64_t most);
/// Above 0 and below 1.
double parse_rate(const CLI::Option* option);
/// 0.5 to 0.95.
double parse_load(const CLI::Option* option);
/// 8, 12 or 16.
int parse_bits(const CLI::Option* option);

}  // namespace nestline::command

#endif  // NESTLINE_LIB_COMMAND_OPTION_VALUES_H_
