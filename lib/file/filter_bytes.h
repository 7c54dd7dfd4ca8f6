// From blocks to the bytes of their file, and from checked bytes to blocks, for filters of all
// kinds.
#ifndef NESTLINE_LIB_FILE_FILTER_BYTES_H_
#define NESTLINE_LIB_FILE_FILTER_BYTES_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/file/file_format.h"
#include "lib/file/sources.h"
#include "lib/filter/blocks.h"
#include "lib/filter/storage.h"
#include "nestline/format_error.h"
#include "nestline/io.h"

namespace nestline {

// Throws the FormatError of a flaw, if there is one.
inline void require(const std::string& name, const std::optional<Flaw>& flaw) {
  if (flaw) throw FormatError(name, flaw->offset, flaw->cause);
}

// Passes the bytes of a filter's file to the sink, piece by piece.
void write_filter(const FileHeader& header, const Blocks& blocks, const ByteSink& sink);
inline void write_filter(const Blocks& blocks, const ByteSink& sink) {
  write_filter({blocks.shape(), blocks.size}, blocks, sink);
}

// The header of a source whose length is known. Throws FormatError.
template <class Source>
FileHeader read_header(const Source& source, Kind kind = Kind::filter) {
  HeaderBytes bytes;
  const auto start = std::span(bytes).first(
      static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), source.size())));
  source.read(0, start);
  FileHeader header;
  require(source.name(), decode_header(start, source.size(), header, kind));
  return header;
}

// Checks everything after the header; section(i) returns the bytes of section i. Throws
// FormatError.
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
  std::unique_ptr<Blocks> blocks;
};

// Of blocks that begin at `offset` of the storage. `path`: of a mapped file.
Stored make_stored(const FileHeader& header, Storage storage, std::size_t offset,
                   std::filesystem::path path = {});

// The checksums in all bytes of a file with this header.
inline std::span<const std::byte> checksums_of(const FileHeader& header,
                                               std::span<const std::byte> file) {
  return file.subspan(static_cast<std::size_t>(header.checksums_offset()));
}

// Which sections of a mapped file are intact, checked when a lookup first needs them.
//
// A byte for each section records whether it has been checked, and the result. Any number of
// threads may call; two that reach a section first at the same time both check it, with the same
// result.
class SectionChecks {
 public:
  // `file`: all bytes of a file with this name and header; they must outlive this object. Throws
  // FormatError when the checksums themselves are damaged, std::bad_alloc.
  SectionChecks(const std::string& name, const FileHeader& header, std::span<const std::byte> file)
      : header_(header),
        file_(file),
        verdicts_(static_cast<std::size_t>(header.sections())),
        not_good_(header.sections()) {
    require(name, ContentCheck(header, checksums_of(header, file)).checksums());
  }

  // Whether every section has been checked and is good. Then no lookup needs this object any more.
  [[nodiscard]] bool all_good() const noexcept { return not_good_ == 0; }

  // Whether the section with this block is good; checks it if no thread has yet.
  [[nodiscard]] bool is_good(std::uint64_t block) noexcept {
    const std::uint64_t section = block / kSectionBlocks;
    const Verdict verdict = verdicts_[static_cast<std::size_t>(section)];
    return verdict == Verdict::unknown ? check(section) : verdict == Verdict::good;
  }

  // The first damaged section found so far, in file order.
  [[nodiscard]] std::optional<Flaw> damage() const {
    for (std::size_t i = 0; i < verdicts_.size(); ++i) {
      if (verdicts_[i] == Verdict::damaged) return damaged_section(header_, i);
    }
    return std::nullopt;
  }

 private:
  enum class Verdict : std::uint8_t { unknown, good, damaged };
  static constexpr std::uint64_t kSectionBlocks = kSectionBytes / kBlockBytes;

  bool check(std::uint64_t section) noexcept {
    const auto at = [&](std::uint64_t offset, std::size_t size) {
      return file_.subspan(static_cast<std::size_t>(offset), size);
    };
    const bool good =
        matches_checksum(at(FileHeader::section_offset(section), header_.section_bytes(section)),
                         at(header_.checksums_offset() + section * kChecksumBytes, kChecksumBytes));
    Verdict known = Verdict::unknown;
    const Verdict found = good ? Verdict::good : Verdict::damaged;
    if (!verdicts_[static_cast<std::size_t>(section)].compare_exchange_strong(known, found)) {
      return known == Verdict::good;
    }
    if (good) --not_good_;
    return good;
  }

  FileHeader header_;
  std::span<const std::byte> file_;
  std::vector<std::atomic<Verdict>> verdicts_;
  std::atomic<std::uint64_t> not_good_;  // sections that are unchecked or damaged
};

// The blocks in a mapping of their file, of which only the header has been checked. The header is
// read and not mapped, so that later code uses exactly what was checked. Throws FormatError,
// std::system_error, std::bad_alloc.
Stored map_filter(const std::filesystem::path& path, Kind kind = Kind::filter);

// Reads a filter of any kind into `memory`, as Options::memory requires, and
// checks everything. Throws FormatError, std::bad_alloc, and what the source throws.
template <class Source>
Stored read_filter(const Source& source, std::pmr::memory_resource* memory,
                   Kind kind = Kind::filter) {
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
    source.read(FileHeader::section_offset(i), section);
    return section;
  });
  return make_stored(header, std::move(storage), head);
}

// The same from a stream, whose checksums come after the blocks and whose length is unknown. It
// trusts only what has arrived, and so allocates memory in steps.
Stored read_filter(StreamSource& source, std::pmr::memory_resource* memory,
                   Kind kind = Kind::filter);

// The same from what a caller gives.
Stored read_filter(const Input& from, std::pmr::memory_resource* memory, Kind kind);

// Gives what produce(sink) passes to the sink to what a caller gives.
void write_to(const Output& to, const std::function<void(const ByteSink&)>& produce);

}  // namespace nestline

#endif  // NESTLINE_LIB_FILE_FILTER_BYTES_H_
