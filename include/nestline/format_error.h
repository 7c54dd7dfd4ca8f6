// The error of bytes that are not a filter.
#ifndef NESTLINE_FORMAT_ERROR_H_
#define NESTLINE_FORMAT_ERROR_H_

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "nestline/export.h"
#include "nestline/internal/here.h"

namespace nestline { inline namespace v0_3 {

/// Bytes that are not a filter this version can read. what() names where they came from, which byte
/// is wrong and why; the members say the same one by one. Copying it never throws.
struct NESTLINE_EXPORT FormatError : std::runtime_error {
  FormatError(std::string_view file, std::uint64_t offset, std::string_view cause);
  NESTLINE_HERE FormatError(const FormatError& other) noexcept = default;
  NESTLINE_HERE FormatError& operator=(const FormatError& other) noexcept = default;

  // The views are good as long as this error or a copy of it is there.

  std::string_view file;   ///< The path, or "bytes" or "stream" for what has none.
  std::uint64_t offset;    ///< Where the wrong byte, field or checksum begins.
  std::string_view cause;  ///< One sentence.

 private:
  std::shared_ptr<const std::string> text_;  // what the views look at: file, then cause
};

}}  // namespace nestline

#endif  // NESTLINE_FORMAT_ERROR_H_
