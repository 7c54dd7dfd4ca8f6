// Where the answers of a batch of lookups go. Not for direct use.
#ifndef NESTLINE_INTERNAL_ANSWERS_H_
#define NESTLINE_INTERNAL_ANSWERS_H_

#include <cstdint>
#include <span>
#include <variant>

#include "nestline/internal/here.h"

namespace nestline { inline namespace v0_3 { namespace internal {

// Positions, or nothing. As std::optional, without its header.
class Selection {
 public:
  NESTLINE_HERE Selection() = default;
  NESTLINE_HERE Selection(std::span<const std::uint32_t> positions)  // NOLINT: as optional converts
      : positions_(positions), given_(true) {}

  NESTLINE_HERE explicit operator bool() const { return given_; }
  NESTLINE_HERE const std::span<const std::uint32_t>& operator*() const { return positions_; }
  NESTLINE_HERE const std::span<const std::uint32_t>* operator->() const { return &positions_; }

 private:
  std::span<const std::uint32_t> positions_;
  bool given_ = false;
};

struct Answers {
  // A byte for each key, a bit for each key, or the positions of the keys that are found.
  std::variant<std::span<std::uint8_t>, std::span<std::uint64_t>, std::span<std::uint32_t>> to;
  // The positions of the keys that are looked up; without it, all are.
  Selection selection = {};
};

}}}  // namespace nestline::internal

#endif  // NESTLINE_INTERNAL_ANSWERS_H_
