#include "nestline/format_error.h"

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace nestline { inline namespace v0_3 {

FormatError::FormatError(std::string_view file_, std::uint64_t offset_, std::string_view cause_)
    : std::runtime_error(std::string(file_) + ": at byte " + std::to_string(offset_) + ": " +
                         std::string(cause_)),
      offset(offset_),
      text_(std::make_shared<const std::string>(std::string(file_) + std::string(cause_))) {
  file = std::string_view(*text_).substr(0, file_.size());
  cause = std::string_view(*text_).substr(file_.size());
}

// A program ends when an exception throws while it is copied.
static_assert(std::is_nothrow_copy_constructible_v<FormatError> &&
              std::is_nothrow_copy_assignable_v<FormatError>);

}}  // namespace nestline
