// Filters in files, in byte arrays, and over streams. docs/FORMAT.md describes the format.
//
// One format for saving, mapping and shipping. It is little-endian, versioned and checksummed, and
// it names its hash, so every machine and every later version reads a file the same way. Every byte
// that is read is treated as hostile: bad input is a FormatError, never a crash, an allocation
// larger than the input warrants, or a wrong answer.
//
//   nestline::save(filter, "users.nest");
//   const nestline::Filter filter = nestline::Filter::load("users.nest");
//
// All kinds have the same members and functions. Each kind is refused where another is wanted.
#ifndef NESTLINE_IO_H_
#define NESTLINE_IO_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "nestline/export.h"
#include "nestline/filter.h"
#include "nestline/format_error.h"
#include "nestline/internal/memory_resource.h"
#include "nestline/mapped_filter.h"

namespace nestline { inline namespace v0_3 {

/// Takes the bytes of a filter. Called with one piece after another, of up to 1 MiB, in order.
using ByteSink = std::function<void(std::span<const std::byte>)>;
/// Gives a filter's bytes: fills the front of the span; returns their number, 0 only at the end.
using ByteSource = std::function<std::size_t(std::span<std::byte>)>;

/// Where load reads: a path, bytes or a std::istream, which stay the caller's, or a ByteSource.
///
/// Of a file or bytes, everything is the filter: other bytes after it are a FormatError. A file
/// must be a regular one: a pipe is a FormatError. Errors of a file name its path.
///
/// A stream must be binary. It and a function give exactly the filter's own bytes, so other data
/// may come before and after it. Their length is not known, so the header is not trusted: memory is
/// allocated in steps, never more than 16 MiB or twice what has been given; while one step is
/// copied to the next, both exist. FormatErrors have the file name "stream". std::system_error
/// with std::io_errc::stream when a stream fails, or what it is set to throw; exceptions of a
/// function are passed on, and one that returns more than was requested is a
/// std::invalid_argument. Some of the bytes have been read by then.
class Input {
 public:
  using From = std::variant<std::filesystem::path, std::span<const std::byte>,
                            std::reference_wrapper<std::istream>, ByteSource>;
  template <typename Given>
  requires(!std::same_as<std::remove_cvref_t<Given>, Input> &&
           std::convertible_to<Given&&, From>) NESTLINE_HERE
      Input(Given&& given)  // NOLINT: made implicitly
      : from_(std::forward<Given>(given)) {}

  [[nodiscard]] NESTLINE_HERE const From& from() const noexcept { return from_; }

 private:
  From from_;
};

/// How the bytes of a filter begin. Both are read and mapped alike; the rest is the same.
enum class Head : std::uint8_t {
  page,     ///< With 4096 bytes, so that the blocks of a file begin at a page.
  compact,  ///< With 64, or 128 of an expiring filter. Versions before 0.3 refuse it by name.
};

/// Where save writes: a path, a std::ostream, or a ByteSink; and with which head.
///
/// A file is replaced atomically: readers see the old file or the new one, and after a crash or an
/// error the old one is still whole. Needs room for both in the same folder. A process that is
/// killed during the call leaves a file .nestline-*.tmp there. The new file has the owner, group
/// and mode of the old one as far as they can be given (not its other attributes or hard links), or
/// mode 0666 less the umask. A file that may not be written is not replaced. A symbolic link stays,
/// and the file it points to is replaced or created. A pipe or a device is not replaced: the bytes
/// are written to it. Errors are a std::system_error that names the path. On Windows a new file has
/// the access list of the old one, an error may say that another process has the old one open, and
/// after a loss of power the old one may be back.
///
/// A stream must be binary (std::ios::binary where that matters), and is flushed. When it fails,
/// std::system_error with std::io_errc::stream, or what it is set to throw; exceptions of a
/// function are passed on. Part of the filter may have been written by then.
class Output {
 public:
  using To = std::variant<std::filesystem::path, std::reference_wrapper<std::ostream>, ByteSink>;

  template <typename Given>
  requires(!std::same_as<std::remove_cvref_t<Given>, Output> &&
           std::convertible_to<Given&&, To>) NESTLINE_HERE
      Output(Given&& given, Head head = Head::page)  // NOLINT: made implicitly
      : to_(std::forward<Given>(given)), head_(head) {}

  [[nodiscard]] NESTLINE_HERE const To& to() const noexcept { return to_; }
  [[nodiscard]] NESTLINE_HERE Head head() const noexcept { return head_; }

 private:
  To to_;
  Head head_;
};

/// Removes a file that save has written, and returns when no loss of power can bring it back. False
/// if there is none. Throws std::system_error, also when the folder cannot be opened to sync it. On
/// Windows a loss of power may bring it back.
NESTLINE_EXPORT bool remove_saved(const std::filesystem::path& path);

/// The bytes that save would write with a small head, of a filter of any kind: those of its blocks,
/// and of an expiring filter its memory_bytes(); 80 more up to 1 MiB of blocks, and 8 for each MiB
/// or part of one beyond. Throws what save throws.
template <class AnyFilter>
requires requires(const AnyFilter& filter, const Output& to) { save(filter, to); }
[[nodiscard]] NESTLINE_HERE std::vector<std::byte> to_bytes(const AnyFilter& filter) {
  const std::size_t blocks = filter.memory_bytes();
  std::vector<std::byte> bytes;
  bytes.reserve(blocks + blocks / 65536 + 256);  // and a head, and checksums
  const ByteSink sink = [&](std::span<const std::byte> piece) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  };
  save(filter, {sink, Head::compact});
  return bytes;
}

}}  // namespace nestline

#endif  // NESTLINE_IO_H_
