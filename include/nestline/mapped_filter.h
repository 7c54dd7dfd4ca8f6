// The filter that answers from its file where it lies, without loading it.
#ifndef NESTLINE_MAPPED_FILTER_H_
#define NESTLINE_MAPPED_FILTER_H_

#include <filesystem>
#include <memory_resource>

#include "nestline/export.h"
#include "nestline/filter.h"
#include "nestline/format_error.h"

namespace nestline {

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
  /// when another has taken its name. Checks everything. `memory` as for load. Throws FormatError,
  /// std::bad_alloc.
  [[nodiscard]] Filter snapshot(std::pmr::memory_resource* memory = nullptr) const;

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

#endif  // NESTLINE_MAPPED_FILTER_H_
