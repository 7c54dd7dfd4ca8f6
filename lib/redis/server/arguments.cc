#include "lib/redis/server/arguments.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <system_error>

namespace nestline::redis {
namespace {

// Does not depend on the locale: words are ASCII.
constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

template <typename Number>
std::optional<Number> number(const String* argument) {
  const std::string_view all = text(argument);
  Number value{};
  const auto [end, error] = std::from_chars(all.data(), all.data() + all.size(), value);
  if (error != std::errc() || end != all.data() + all.size()) return std::nullopt;
  return value;
}

}  // namespace

std::string_view text(const String* argument) {
  std::size_t length = 0;
  const char* const bytes = api.StringPtrLen(argument, &length);
  return {bytes, length};
}

bool is_word(std::string_view text, std::string_view word) {
  return std::equal(text.begin(), text.end(), word.begin(), word.end(),
                    [](char a, char b) { return lower(a) == lower(b); });
}

std::optional<long long> integer(const String* argument) { return number<long long>(argument); }

std::optional<std::uint64_t> natural(const String* argument) {
  return number<std::uint64_t>(argument);
}

std::optional<double> fraction(const String* argument) {
  const auto value = number<double>(argument);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

}  // namespace nestline::redis
