// What a call throws, for tests that look at it.
#ifndef NESTLINE_TESTS_SUPPORT_ERRORS_H_
#define NESTLINE_TESTS_SUPPORT_ERRORS_H_

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace nestline::test {

// The error of this kind that the call throws. Without one, the test fails.
template <class Error, typename Call>
std::optional<Error> error_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return std::nullopt;
}

template <class Error, typename Call>
std::string message_of(Call&& call) {
  const std::optional<Error> error = error_of<Error>(call);
  return error ? error->what() : "";
}

// The call throws an error of this kind with `part` in its message.
template <class Error, typename Call>
void expect_error(Call&& call, const std::string& part) {
  const std::string message = message_of<Error>(call);
  EXPECT_NE(message.find(part), std::string::npos)
      << "the message: " << message << "\nits missing part: " << part;
}

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_SUPPORT_ERRORS_H_
