// The file format as pure functions on bytes. docs/FORMAT.md documents every byte.
//
//    0   header: magic, fields, and the checksum of all that
//        blocks
//        one checksum for each section of the blocks: 1 MiB, the last one may be shorter
//        the checksum of those checksums
//
// Version 1 has a header of a page, for files; version 2 has the same in as few bytes as keep
// blocks aligned: what lies at a multiple of 64 bytes is used in place in both. All else is the
// same.
//
// Reading treats its bytes as hostile. The header is checked first, alone and against the length of
// the file, so that allocations for the rest are no larger. This code opens no file (sources.h).
#ifndef NESTLINE_LIB_FILTERS_FILE_FILE_FORMAT_H_
#define NESTLINE_LIB_FILTERS_FILE_FILE_FORMAT_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "lib/engine/engine.h"
#include "lib/engine/place/shape.h"

namespace nestline { inline namespace v0_3 {

inline constexpr std::uint32_t kPageVersion = 1;
inline constexpr std::uint32_t kSmallVersion = 2;
inline constexpr std::size_t kPageHeaderBytes = 4096;
inline constexpr std::size_t kLeastHeaderBytes = 64;  // of version 2, without times
inline constexpr std::size_t kSectionBytes = std::size_t{1} << 20;
inline constexpr std::size_t kChecksumBytes = 8;

// What the header states about the filter and the rest of the file.
struct FileHeader : Shape {
  std::uint64_t keys = 0;
  std::uint32_t version = kPageVersion;

  // In version 2 what stands before the blocks in memory stands there too.
  [[nodiscard]] std::size_t header_bytes() const {
    if (version == kPageVersion) return kPageHeaderBytes;
    return kLeastHeaderBytes + static_cast<std::size_t>(head_blocks() * kBlockBytes);
  }
  [[nodiscard]] std::uint64_t sections() const {
    return (stored_bytes() + kSectionBytes - 1) / kSectionBytes;
  }
  // Where section i begins, from the beginning of the file, and how long it is.
  [[nodiscard]] std::uint64_t section_offset(std::uint64_t i) const {
    return header_bytes() + i * kSectionBytes;
  }
  [[nodiscard]] std::size_t section_bytes(std::uint64_t i) const {
    return static_cast<std::size_t>(
        std::min<std::uint64_t>(kSectionBytes, stored_bytes() - i * kSectionBytes));
  }
  [[nodiscard]] std::uint64_t checksums_offset() const { return header_bytes() + stored_bytes(); }
  // Of all sections' checksums and their own checksum.
  [[nodiscard]] std::uint64_t checksums_bytes() const { return (sections() + 1) * kChecksumBytes; }
  [[nodiscard]] std::uint64_t file_bytes() const { return checksums_offset() + checksums_bytes(); }
};

// What is wrong, and at which byte of the file: FormatError without the name of the file.
struct Flaw {
  std::uint64_t offset;
  std::string cause;
};

// Whether width, growth, blocks, keys, capacities, and times if it expires, are in their ranges.
std::optional<Flaw> check_fields(const FileHeader& header, Kind kind = Kind::filter);

using HeaderBytes = std::array<std::byte, kPageHeaderBytes>;
// The header's bytes, in `room`.
std::span<const std::byte> encode_header(const FileHeader& header, HeaderBytes& room);
// How long the header is that begins with these kLeastHeaderBytes.
std::size_t header_bytes_of(std::span<const std::byte> start);
// Reads and checks the header of a file that is `file_bytes` long; `start` is its first 4096 bytes,
// or all of it if it has fewer; for a stream only header_bytes_of(). Use `header` only when there
// is no flaw: then header.file_bytes()
// == file_bytes, unless the length is unknown, as for a stream.
std::optional<Flaw> decode_header(std::span<const std::byte> start,
                                  std::optional<std::uint64_t> file_bytes, FileHeader& header,
                                  const KindOfFilter& kind = kFilters);
// The flaw of a file that ends after `file_bytes` of `wanted` bytes.
Flaw ends_too_early(std::uint64_t file_bytes, std::uint64_t wanted);

using ChecksumBytes = std::array<std::byte, kChecksumBytes>;
ChecksumBytes encode_checksum(std::span<const std::byte> bytes);
// Whether the kChecksumBytes of `checksum` are those of `bytes`.
bool matches_checksum(std::span<const std::byte> bytes,
                      std::span<const std::byte> checksum) noexcept;
// The flaw of section i when its checksum does not match.
Flaw damaged_section(const FileHeader& header, std::uint64_t i);

// Checks everything after the header: first checksums(), then every section in order, then keys().
// If none of them finds a flaw, the content is sound.
class ContentCheck {
 public:
  // `checksums`: the header.checksums_bytes() bytes after the blocks; must outlive this object.
  ContentCheck(const FileHeader& header, std::span<const std::byte> checksums);
  // Whether the checksums themselves are intact.
  [[nodiscard]] std::optional<Flaw> checksums() const;
  // Whether section i is intact, and its blocks are as a filter leaves them: lock and version 0,
  // free slots all zero, each fingerprint in a block where lookups can find it. Counts the keys.
  // `bytes` must be aligned like blocks.
  std::optional<Flaw> section(std::uint64_t i, std::span<const std::byte> bytes);
  // The same for blocks from number `first` on, without their checksum.
  std::optional<Flaw> blocks(std::uint64_t first, std::span<const Block> blocks);
  // Keys counted so far.
  [[nodiscard]] std::uint64_t counted() const { return counted_; }
  // Whether the header has the number of keys that section() counted.
  [[nodiscard]] std::optional<Flaw> keys() const;

 private:
  std::optional<Flaw> block(std::uint64_t index, const Block& block);
  std::optional<Flaw> next_marks(std::uint64_t index, const Block& block) const;
  FileHeader header_;
  const Engine& engine_;
  std::span<const std::byte> checksums_;
  std::uint64_t counted_ = 0;
};

}}  // namespace nestline

#endif  // NESTLINE_LIB_FILTERS_FILE_FILE_FORMAT_H_
