// Filters in files, in byte arrays, and over streams. docs/FORMAT.md describes the format.
//
// One format for saving, mapping and shipping. It is little-endian, versioned and checksummed, and
// it names its hash, so every machine and every later version reads a file the same way. Every byte
// that is read is treated as hostile: bad input is a FormatError, never a crash, an allocation
// larger than the input warrants, or a wrong answer.
//
// To save a ConcurrentFilter while other threads use it, save its snapshot().
#ifndef NESTLINE_IO_H_
#define NESTLINE_IO_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <memory_resource>
#include <span>
#include <vector>

#include "nestline/export.h"
#include "nestline/filter.h"
#include "nestline/format_error.h"
#include "nestline/mapped_filter.h"

namespace nestline {

/// Writes `filter` to `path`, and replaces a file there atomically: readers see the old file or the
/// new one, and after a crash or an error the old one is still whole. Needs room for both in the
/// same folder. A process that is killed during the call leaves a file .nestline-*.tmp there.
///
/// The new file has the owner, group and mode of the old one as far as they can be given (not its
/// other attributes or hard links), or mode 0666 less the umask. A file that may not be written is
/// not replaced. A symbolic link stays, and the file it points to is replaced or created. A pipe or
/// a device is not replaced: the bytes are written to it. Throws std::system_error that names the
/// path.
NESTLINE_EXPORT void save(const Filter& filter, const std::filesystem::path& path);

/// Removes a file that save has written, and returns when it cannot come back after the power has
/// failed. False if there is none. Throws std::system_error that names the path, also when the
/// folder cannot be opened to sync it.
NESTLINE_EXPORT bool remove_saved(const std::filesystem::path& path);

/// Reads a whole file into memory and checks everything before it returns. The file must be a
/// regular one: a pipe is a FormatError. Throws FormatError, std::system_error that names the path,
/// std::bad_alloc. The blocks come from `memory`, here and below, as Options::memory requires.
NESTLINE_EXPORT Filter load(const std::filesystem::path& path,
                            std::pmr::memory_resource* memory = nullptr);

// Streams and callbacks: the same bytes, for sockets, archives, databases and the like. Reading a
// filter takes exactly its own bytes, so other data may come before and after it.

/// Takes the bytes of a filter. Called with one piece after another, in order.
using ByteSink = std::function<void(std::span<const std::byte>)>;
/// Gives the bytes of a filter: fills the span, or the front of it, and returns the number of
/// bytes; 0 only at the end.
using ByteSource = std::function<std::size_t(std::span<std::byte>)>;

/// Writes `filter` to a stream, which must be binary (std::ios::binary where that matters), and
/// flushes it. Throws std::system_error with std::io_errc::stream when the stream fails, or what
/// the stream itself is set to throw; part of the filter may have been written by then.
NESTLINE_EXPORT void save(const Filter& filter, std::ostream& stream);

/// Gives the bytes of `filter` to `sink`, in pieces of up to 1 MiB. Exceptions of `sink` are passed
/// on.
NESTLINE_EXPORT void save(const Filter& filter, const ByteSink& sink);

/// Reads a filter from the stream's present position and checks everything before it returns.
/// Afterwards the stream is at the first byte after the filter.
///
/// The length of the stream is not known, so its header is not trusted: memory is allocated in
/// steps, never more than 16 MiB or twice what the stream has given; while one step is copied to
/// the next, both exist. For a file, load(path) needs less. Throws FormatError with the file name
/// "stream", std::bad_alloc, std::system_error with std::io_errc::stream when the stream fails, or
/// what the stream itself is set to throw. Some of the stream's bytes have been read by then.
NESTLINE_EXPORT Filter load(std::istream& stream, std::pmr::memory_resource* memory = nullptr);

/// The same from a function. Its exceptions are passed on; throws std::invalid_argument when it
/// returns more than was requested.
NESTLINE_EXPORT Filter load(const ByteSource& source, std::pmr::memory_resource* memory = nullptr);

/// The bytes that save would write.
NESTLINE_EXPORT std::vector<std::byte> to_bytes(const Filter& filter);

/// The filter in `bytes`, which are copied and checked as load does.
/// Throws FormatError, std::bad_alloc.
NESTLINE_EXPORT Filter from_bytes(std::span<const std::byte> bytes,
                                  std::pmr::memory_resource* memory = nullptr);

}  // namespace nestline

#endif  // NESTLINE_IO_H_
