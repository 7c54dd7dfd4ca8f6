// Filters in files and in byte arrays. The format is written down in docs/FORMAT.md.
//
// One format for saving, mapping and shipping. It is little-endian, versioned and checksummed, and
// it names its hash, so a file is read the same by every machine and every later version.
// Every byte that is read is treated as hostile: bad input is a FormatError, never a crash, an
// allocation larger than the input warrants, or a wrong answer.
#ifndef NESTLINE_IO_H_
#define NESTLINE_IO_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "nestline/export.h"
#include "nestline/filter.h"

namespace nestline {

/// Bytes that are not a filter this version can read.
struct NESTLINE_EXPORT FormatError : std::runtime_error {
  FormatError(std::string file, std::uint64_t offset, std::string cause);

  std::string file;      ///< The path, or "bytes" for from_bytes.
  std::uint64_t offset;  ///< Where the wrong byte, field or checksum begins.
  std::string cause;     ///< One sentence without the two above; what() has all three.
};

/// Writes `filter` to `path`, replacing a file there atomically: readers see the old file or the
/// new one, and after a crash or an error the old one is still whole. Needs room for both in the
/// same folder, where a process that is killed meanwhile leaves a file .nestline-*.tmp behind.
///
/// The new file has the owner, group and mode of the old one as far as they can be given (not its
/// other attributes or hard links), or mode 0666 less the umask. A file that may not be written is
/// not replaced. A symbolic link stays and the file it stands for is replaced, or made. A pipe or a
/// device is not replaced: it gets the bytes as they come.
/// Throws std::system_error that names the path.
NESTLINE_EXPORT void save(const Filter& filter, const std::filesystem::path& path);

/// Reads a whole file into memory and checks everything before it returns. The file must be a
/// regular one: a pipe is a FormatError. Throws FormatError, std::system_error that names the path,
/// std::bad_alloc.
NESTLINE_EXPORT Filter load(const std::filesystem::path& path);

/// The bytes that save would write.
NESTLINE_EXPORT std::vector<std::byte> to_bytes(const Filter& filter);

/// The filter in `bytes`, which are copied and checked as load does.
/// Throws FormatError, std::bad_alloc.
NESTLINE_EXPORT Filter from_bytes(std::span<const std::byte> bytes);

/// A filter that answers from a read-only mapping of its file, without reading it first: the system
/// loads the pages that are asked for, and processes that map the same file share them.
///
/// The const members are Filter's, with the same meaning, complexity and thread safety.
/// open checks the header; the blocks are checked by verify() only, so that opening costs no read
/// of the file. Blocks that do not match their checksum can give wrong answers but no crash. The
/// file must not be truncated or written while it is mapped; save and the nestline command never
/// do that, they replace the file and leave mapped ones alone.
class NESTLINE_EXPORT MappedFilter : private Filter {
 public:
  /// Throws FormatError, and std::system_error that names the path.
  static MappedFilter open(const std::filesystem::path& path);

  /// Reads the whole file and compares every checksum. Throws FormatError when one differs.
  void verify() const;

  /// A copy in memory, which can be changed and saved: as load gives, but of the mapped file, also
  /// when another has taken its name. Checks everything. Throws FormatError, std::bad_alloc.
  [[nodiscard]] Filter snapshot() const;

  using Filter::bits;
  using Filter::capacity;
  using Filter::expected_fpr;
  using Filter::growth;
  using Filter::load_factor;
  using Filter::max_capacity;
  using Filter::may_contain_bits;
  using Filter::memory_bytes;
  using Filter::seed;
  using Filter::select;
  using Filter::size;

  // count and may_contain share their names with no changing member, so they come as they are.
  using Filter::count;
  using Filter::may_contain;

 private:
  explicit MappedFilter(Filter&& filter) noexcept;
};

}  // namespace nestline

#endif  // NESTLINE_IO_H_
