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

// Whether `text` is `word`, in upper or lower case.
bool is_word(std::string_view text, std::string_view word);
inline bool is_word(const String* argument, std::string_view word) {
  return is_word(text(argument), word);
}

// The argument as a decimal number: digits, with a minus sign if it is negative. Nothing if the
// argument is something else or the number does not fit.
std::optional<long long> integer(const String* argument);
std::optional<std::uint64_t> natural(const String* argument);

// The argument as a finite decimal fraction, such as "0.001" or "1e-3".
std::optional<double> fraction(const String* argument);

}  // namespace nestline::redis

#endif  // NESTLINE_LIB_REDIS_SERVER_ARGUMENTS_H_
