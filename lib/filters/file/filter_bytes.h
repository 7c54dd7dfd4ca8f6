// From blocks to the bytes of their file, and back with checks, for filters of all kinds.
#ifndef NESTLINE_LIB_FILTERS_FILE_FILTER_BYTES_H_
#define NESTLINE_LIB_FILTERS_FILE_FILTER_BYTES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/filters/file/file_format.h"
#include "lib/filters/file/sources.h"
#include "lib/filters/filter/blocks.h"

namespace nestline { inline namespace v0_3 {

// Throws the FormatError of a flaw, if there is one.
inline void require(const std::string& name, const std::optional<Flaw>& flaw) {
  if (flaw) throw FormatError(name, flaw->offset, flaw->cause);
}

// Passes the bytes of a filter's file to the sink, piece by piece.
void write_filter(const FileHeader& header, const Blocks& blocks, const ByteSink& sink);
// Gives them to what a caller gives, with the header that this asks for. `shape` has the filter's
// time, if it has one.
void write_filter(const Output& to, const Shape& shape, const Blocks& blocks);

// The header of a source whose length is known. Throws FormatError.
template <class Source>
FileHeader read_header(const Source& source, const KindOfFilter& kind = kFilters) {
  HeaderBytes bytes;
  const auto start = std::span(bytes).first(
      static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), source.size())));
  source.read(0, start);
  FileHeader header;
  require(source.name(), decode_header(start, source.size(), header, kind));
  return header;
}

// Checks all after the header; section(i) returns the bytes of section i. Throws FormatError.
template <typename Section>
void check_content(const std::string& name, const FileHeader& header,
                   std::span<const std::byte> checksums, Section&& section) {
  ContentCheck check(header, checksums);
  require(name, check.checksums());
  for (std::uint64_t i = 0; i < header.sections(); ++i) require(name, check.section(i, section(i)));
  require(name, check.keys());
}

// What a file holds: a filter of any kind.
struct Stored {
  FileHeader header;
  OwnedBlocks blocks;
};

// Of blocks that begin at `offset` of the storage. They become blocks of the newest hash version.
Stored make_stored(FileHeader header, Storage storage, std::size_t offset);

// The checksums in all bytes of a file with this header.
inline std::span<const std::byte> checksums_of(const FileHeader& header,
                                               std::span<const std::byte> file) {
  return file.subspan(static_cast<std::size_t>(header.checksums_offset()));
}

// Reads a filter of any kind and checks everything. `memory` as for load. Throws FormatError,
// std::bad_alloc, and what the source throws.
template <class Source>
Stored read_filter(const Source& source, std::pmr::memory_resource* memory,
                   const KindOfFilter& kind = kFilters) {
  const FileHeader header = read_header(source, kind);
  // From here on the lengths in the header match the source.
  std::vector<std::byte> checksums(static_cast<std::size_t>(header.checksums_bytes()));
  source.read(header.checksums_offset(), checksums);
  Storage storage = Storage::allocate(header.head_blocks() + header.stored_blocks(), memory);
  const auto head = static_cast<std::size_t>(header.head_blocks() * kBlockBytes);
  // Checks each section while it is in the cache.
  check_content(source.name(), header, checksums, [&](std::uint64_t i) {
    const auto section = storage.bytes().subspan(head + static_cast<std::size_t>(i) * kSectionBytes,
                                                 header.section_bytes(i));
    source.read(header.section_offset(i), section);
    return section;
  });
  return make_stored(header, std::move(storage), head);
}

// The same from a stream, whose checksums come after the blocks and whose length is unknown. It
// trusts only what has arrived, and so allocates memory in steps.
Stored read_filter(StreamSource& source, std::pmr::memory_resource* memory,
                   const KindOfFilter& kind = kFilters);
// The same from what a caller gives.
Stored read_filter(const Input& from, std::pmr::memory_resource* memory, const KindOfFilter& kind);

}}  // namespace nestline

#endif  // NESTLINE_LIB_FILTERS_FILE_FILTER_BYTES_H_
