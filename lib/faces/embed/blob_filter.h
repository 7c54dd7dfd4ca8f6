// A filter that answers from its bytes where a caller keeps them, as in a column of a database.
//
// They stay there, at any alignment; a lookup copies the one or two blocks that it needs. So an
// answer always comes from the bytes as they are at that moment.
//
// So it is safe to skip the check of bytes that seem to be those of last time. If is_same was wrong
// and other blocks lie there, the shape is still right, so no lookup leaves the bytes; and a sound
// filter of that shape is answered rightly. Only damage in its blocks would not be reported.
#ifndef NESTLINE_LIB_FACES_EMBED_BLOB_FILTER_H_
#define NESTLINE_LIB_FACES_EMBED_BLOB_FILTER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "nestline/format_error.h"
#include "nestline/internal/home.h"

namespace nestline { inline namespace v0_3 {

struct BlockKernels;

class BlobFilter {
 public:
  // Checks all that load checks. The bytes must stay in place while the filter is used. Throws
  // FormatError, std::bad_alloc.
  explicit BlobFilter(std::span<const std::byte> bytes);
  // Whether these are the bytes that were checked, by place, length, header and checksums. Use the
  // filter only when they are, if the bytes may have gone.
  [[nodiscard]] bool is_same(std::span<const std::byte> bytes) const noexcept;
  // As Filter's.
  [[nodiscard]] bool may_contain(Key key) const noexcept { return copies(key, true) != 0; }
  [[nodiscard]] unsigned count(Key key) const noexcept { return copies(key, false); }

  // The fields of the header and the checksum of all checksums: other for other filters.
  static constexpr std::size_t kFieldBytes = 80;
  using Identity = std::array<std::byte, kFieldBytes + 8>;
  static Identity identity_of(std::span<const std::byte> bytes) noexcept;  // of kFieldBytes or more

 private:
  [[nodiscard]] unsigned copies(Key key, bool any) const noexcept;
  std::span<const std::byte> bytes_;
  internal::Geometry geometry_;
  std::uint64_t seed_ = 0;
  int bits_ = 0;
  const BlockKernels* kernels_ = nullptr;
  Identity identity_{};
};

}}  // namespace nestline

#endif  // NESTLINE_LIB_FACES_EMBED_BLOB_FILTER_H_
