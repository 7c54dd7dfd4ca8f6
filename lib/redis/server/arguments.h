// From the strings of a command to words and numbers. Nothing here replies.
#ifndef NESTLINE_LIB_REDIS_SERVER_ARGUMENTS_H_
#define NESTLINE_LIB_REDIS_SERVER_ARGUMENTS_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "lib/redis/server/module_api.h"

namespace nestline::redis {

// The bytes of an argument; they live as long as the argument.
std::string_view text(const String* argument);

// Whether `text` is `word`, in any case of letters.
bool is_word(std::string_view text, std::string_view word);
inline bool is_word(const String* argument, std::string_view word) {
  return is_word(text(argument), word);
}

// A decimal number that takes the whole argument: digits, and a minus for those below 0. None when
// it is something else or does not fit.
std::optional<long long> integer(const String* argument);
std::optional<std::uint64_t> natural(const String* argument);

// A finite decimal fraction that takes the whole argument, "0.001" or "1e-3".
std::optional<double> fraction(const String* argument);

}  // namespace nestline::redis

#endif  // NESTLINE_LIB_REDIS_SERVER_ARGUMENTS_H_
