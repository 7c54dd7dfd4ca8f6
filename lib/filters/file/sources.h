// Where a filter's bytes come from. A source has a name for errors, and read(), which fills `to`.
// Those of known length have size() and are read at any offset, as RegularFile does.
#ifndef NESTLINE_LIB_FILTERS_FILE_SOURCES_H_
#define NESTLINE_LIB_FILTERS_FILE_SOURCES_H_

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "lib/system/system.h"
#include "nestline/io.h"

namespace nestline { inline namespace v0_3 {

// Bytes in memory.
class MemorySource {
 public:
  MemorySource(std::string name, std::span<const std::byte> bytes)
      : name_(std::move(name)), bytes_(bytes) {}

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::uint64_t size() const { return bytes_.size(); }
  [[nodiscard]] std::span<const std::byte> at(std::uint64_t offset, std::size_t size) const {
    return bytes_.subspan(static_cast<std::size_t>(offset), size);
  }
  void read(std::uint64_t offset, std::span<std::byte> to) const {
    std::copy_n(at(offset, to.size()).begin(), to.size(), to.begin());
  }

 private:
  std::string name_;
  std::span<const std::byte> bytes_;
};

// The bytes from a caller's function. Never requests bytes after the filter.
class StreamSource {
 public:
  explicit StreamSource(const ByteSource& give) : give_(give) {}
  [[nodiscard]] const std::string& name() const { return name_; }
  // Fills `to` from the front; returns how many bytes came before the end. Throws
  // std::invalid_argument when the function claims more bytes than requested, and what it throws.
  std::size_t read_some(std::span<std::byte> to);
  // Fills all of `to`. Throws FormatError when the end comes before byte `wanted` of the filter.
  void read(std::span<std::byte> to, std::uint64_t wanted);

 private:
  std::string name_ = "stream";
  const ByteSource& give_;
  std::uint64_t offset_ = 0;
};

}}  // namespace nestline

#endif  // NESTLINE_LIB_FILTERS_FILE_SOURCES_H_
