#include "lib/faces/command/io/command.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "lib/faces/command/io/errors.h"

namespace nestline { inline namespace v0_3 { namespace command {
namespace {

template <typename Number>
std::optional<Number> parse_whole(std::string_view text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

// Largest first.
struct Unit {
  std::string_view name;
  std::uint64_t nanoseconds;
};
constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kDay = 86400 * kSecond;
constexpr std::array<Unit, 5> kUnits = {{{"d", kDay},
                                         {"h", 3600 * kSecond},
                                         {"m", 60 * kSecond},
                                         {"s", kSecond},
                                         {"ms", kSecond / 1000}}};
constexpr std::uint64_t kCentury = 36525 * kDay;

[[noreturn]] void refuse(const std::string& name, const std::string& wanted,
                         const std::string& text) {
  throw UsageError(name + " takes " + wanted + ", not '" + text + "'");
}

}  // namespace

std::string with_option_names(std::string_view sentence) {
  // The longer one before its own end.
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kNames = {
      {{"max_capacity", "--max-capacity"},
       {"capacity", "--capacity"},
       {"fpr", "--fpr"},
       {"bits must", "--bits must"}}};
  std::string text;
  while (!sentence.empty()) {
    const auto* const name = std::ranges::find_if(
        kNames, [&](const auto& one) { return sentence.starts_with(one.first); });
    const bool found = name != kNames.end();
    text += found ? name->second : sentence.substr(0, 1);
    sentence.remove_prefix(found ? name->first.size() : 1);
  }
  return text;
}

Option input_keys(LineInputs& inputs, const std::string& when_absent) {
  return {"INPUT", "", "Files with one key per line; - is standard input; " + when_absent,
          &inputs.files};
}

Option zero_option(bool& zero_terminated) {
  return {"-z,--zero-terminated", "",
          "A line ends in a zero byte, in input and output, and not in a line feed",
          &zero_terminated};
}

std::uint64_t parse_count(const std::string& name, const std::string& text, std::uint64_t least,
                          std::uint64_t most) {
  const auto value = parse_whole<std::uint64_t>(text);
  if (value && *value >= least && *value <= most) return *value;
  refuse(name, "a whole number from " + std::to_string(least) + " to " + std::to_string(most),
         text);
}

std::uint64_t parse_duration(const std::string& name, const std::string& text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto value = parse_whole<std::uint64_t>(std::string_view(text).substr(0, digits));
  for (const Unit& unit : kUnits) {
    if (!value || std::string_view(text).substr(digits) != unit.name) continue;
    if (*value >= 1 && *value <= kCentury / unit.nanoseconds) return *value * unit.nanoseconds;
  }
  refuse(name, "a time from 1ms to 36525d, such as 500ms, 30s, 10m, 24h or 7d", text);
}

std::string duration_text(std::uint64_t nanoseconds) {
  for (const Unit& unit : kUnits) {
    if (nanoseconds % unit.nanoseconds == 0) {
      return std::to_string(nanoseconds / unit.nanoseconds) + std::string(unit.name);
    }
  }
  return std::to_string(nanoseconds) + "ns";
}

double parse_rate(const std::string& name, const std::string& text) {
  const auto value = parse_whole<double>(text);
  if (value && *value > 0 && *value < 1) return *value;
  refuse(name, "a number above 0 and below 1", text);
}

Read file_name(std::string& into, const char* instead) {
  return [&into, instead](const std::string& name, const std::string& text) {
    if (text.empty()) throw UsageError(name + " takes the name of a file");
    if (text == "-") throw UsageError(name + " takes the name of a file, not '-'" + instead);
    into = text;
  };
}

Read output_name(std::string& into) { return file_name(into, "; /dev/stdout is standard output"); }

Read load_factor(double& into) {
  return parsed(into, [](const std::string& name, const std::string& text) {
    const auto value = parse_whole<double>(text);
    if (value && *value >= 0.5 && *value <= 0.95) return *value;
    refuse(name, "a number from 0.5 to 0.95", text);
  });
}

Read bits(int& into) {
  return parsed(into, [](const std::string& name, const std::string& text) {
    const auto value = parse_whole<int>(text);
    constexpr std::array kWidths = {8, 9, 10, 12, 16};
    if (value && std::ranges::find(kWidths, *value) != kWidths.end()) return *value;
    refuse(name, "8, 9, 10, 12 or 16", text);
  });
}

}}}  // namespace nestline::command
