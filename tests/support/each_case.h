// NESTLINE_EACH: of many cases that are alike each of so many, where all take long and a few of
// them reach the same memory, as under sanitizers.
#ifndef NESTLINE_TESTS_SUPPORT_EACH_CASE_H_
#define NESTLINE_TESTS_SUPPORT_EACH_CASE_H_

#include <cstddef>
#include <cstdlib>
#include <string>

namespace nestline::test {

inline std::size_t case_step() {
  const char* const asked = std::getenv("NESTLINE_EACH");
  return asked != nullptr ? std::stoul(asked) : 1;
}

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_SUPPORT_EACH_CASE_H_
