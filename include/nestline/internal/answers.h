// Where the answers of a batch of lookups go. Not for direct use.
#ifndef NESTLINE_INTERNAL_ANSWERS_H_
#define NESTLINE_INTERNAL_ANSWERS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <variant>

namespace nestline::internal {

struct Answers {
  // A byte for each key, a bit for each key, or the positions of the keys that are found.
  std::variant<std::span<std::uint8_t>, std::span<std::uint64_t>, std::span<std::uint32_t>> to;
  // The positions of the keys that are looked up; without it, all are.
  std::optional<std::span<const std::uint32_t>> selection = {};
};

}  // namespace nestline::internal

#endif  // NESTLINE_INTERNAL_ANSWERS_H_
