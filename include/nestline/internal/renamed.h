// A member of a struct under the name that it had before. Not for direct use.
#ifndef NESTLINE_INTERNAL_RENAMED_H_
#define NESTLINE_INTERNAL_RENAMED_H_

#include <optional>

#include "nestline/internal/here.h"

namespace nestline { inline namespace v0_3 { namespace internal {

// Reading and writing it warns; the struct's copies do not, as they would for a deprecated member.
template <class T>
class Renamed {
 public:
  NESTLINE_HERE constexpr Renamed() noexcept = default;
  [[deprecated(
      "this member has a new name, which the header states")]] NESTLINE_HERE constexpr Renamed(T value) noexcept  // NOLINT: as the member converts
      : value_(value) {}
  [[deprecated("this member has a new name, which the header states")]] NESTLINE_HERE constexpr
  operator T() const noexcept {  // NOLINT: as the member converts
    return value_.value_or(T{});
  }

  // For the library.
  NESTLINE_HERE void set(T value) noexcept { value_ = value; }
  [[nodiscard]] NESTLINE_HERE std::optional<T> given() const noexcept { return value_; }

 private:
  std::optional<T> value_;
};

}}}  // namespace nestline::internal

#endif  // NESTLINE_INTERNAL_RENAMED_H_
