// Items of the tests.
#ifndef NESTLINE_TESTS_REDIS_VALUE_ITEMS_H_
#define NESTLINE_TESTS_REDIS_VALUE_ITEMS_H_

#include <cstdint>
#include <string>

namespace nestline::redis {

inline std::string name(std::uint64_t i) { return "item:" + std::to_string(i); }

}  // namespace nestline::redis

#endif  // NESTLINE_TESTS_REDIS_VALUE_ITEMS_H_
