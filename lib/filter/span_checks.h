// The checks on a batch's spans before anything is changed, with one wording for all filters.
#ifndef NESTLINE_LIB_FILTER_SPAN_CHECKS_H_
#define NESTLINE_LIB_FILTER_SPAN_CHECKS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>

namespace nestline {

inline void check_length(const char* span, std::size_t length, std::size_t wanted) {
  if (length != wanted) {
    throw std::invalid_argument(std::string("the span '") + span + "' has " +
                                std::to_string(length) + " elements, but the keys need " +
                                std::to_string(wanted));
  }
}

inline void check_optional_length(const char* span, std::size_t length, std::size_t wanted) {
  if (length != 0) check_length(span, length, wanted);
}

inline void check_selection(std::span<const std::uint32_t> selection, std::size_t keys) {
  const auto outside = std::find_if(selection.begin(), selection.end(),
                                    [&](std::uint32_t position) { return position >= keys; });
  if (outside != selection.end()) {
    throw std::invalid_argument("the selection has position " + std::to_string(*outside) +
                                ", but there are only " + std::to_string(keys) + " keys");
  }
}

inline void check_positions(std::size_t keys) {
  if (keys != 0 && keys - 1 > std::numeric_limits<std::uint32_t>::max()) {
    throw std::invalid_argument("a selection has 32-bit positions: at most 2^32 keys a batch");
  }
}

}  // namespace nestline

#endif  // NESTLINE_LIB_FILTER_SPAN_CHECKS_H_
