// See option_values.h.
#include "lib/command/option_values.h"

#include <charconv>
#include <optional>
#include <string_view>

#include "lib/command/errors.h"

namespace nestline::command {
namespace {

constexpr char kShield = '\x01';

template <typename Number>
std::optional<Number> parse_whole(std::string_view text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

}  // namespace

CLI::Option* text_option(CLI::App* command, const char* name, const char* value,
                         const char* description) {
  return command->add_option(name)->type_size(1)->expected(1)->type_name(value)->description(
      description);
}

CLI::Option* word_option(CLI::App* command, const char* name, const char* description) {
  return command->add_option(name)
      ->type_size(1)
      ->expected(1)
      ->required()
      ->type_name("")
      ->description(description);
}

CLI::Option* flag_option(CLI::App* command, const char* name, const std::string& description) {
  return command->add_flag(name)->description(description);
}

std::string shield(std::string word) {
  const bool list = word.size() > 1 && word.front() == '[' && word.back() == ']';
  return list || word == "++" || word.starts_with(kShield) ? kShield + word : word;
}

std::string unshield(std::string word) {
  if (!word.empty() && word.front() == kShield) word.erase(0, 1);
  return word;
}

std::string value_of(const CLI::Option* option) { return unshield(option->results().front()); }

std::uint64_t parse_count(const CLI::Option* option, std::uint64_t least, std::uint64_t most) {
  const std::string& text = option->results().front();
  const auto value = parse_whole<std::uint64_t>(text);
  if (!value || *value < least || *value > most) {
    throw UsageError(option->get_name() + " takes a whole number from " + std::to_string(least) +
                     " to " + std::to_string(most) + ", not '" + text + "'");
  }
  return *value;
}

double parse_rate(const CLI::Option* option) {
  const std::string& text = option->results().front();
  const auto value = parse_whole<double>(text);
  if (!value || !(*value > 0) || !(*value < 1)) {
    throw UsageError(option->get_name() + " takes a number above 0 and below 1, not '" + text +
                     "'");
  }
  return *value;
}

double parse_load(const CLI::Option* option) {
  const std::string& text = option->results().front();
  const auto value = parse_whole<double>(text);
  if (!value || !(*value >= 0.5) || !(*value <= 0.95)) {
    throw UsageError(option->get_name() + " takes a number from 0.5 to 0.95, not '" + text + "'");
  }
  return *value;
}

int parse_bits(const CLI::Option* option) {
  const std::string& text = option->results().front();
  const auto value = parse_whole<int>(text);
  if (!value || (*value != 8 && *value != 12 && *value != 16)) {
    throw UsageError(option->get_name() + " takes 8, 12 or 16, not '" + text + "'");
  }
  return *value;
}

}  // namespace nestline::command
