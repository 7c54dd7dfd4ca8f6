#include "lib/file/mapped.h"

#include <stdexcept>
#include <string>
#include <utility>

#include "lib/file/filter_bytes.h"

namespace nestline::internal {
namespace {

std::span<const std::byte> require_aligned(std::span<const std::byte> bytes) {
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % kBlockBytes != 0) {
    throw std::invalid_argument(
        "the bytes of a filter that stay where they are must begin at a "
        "multiple of 64 bytes");
  }
  return bytes;
}

}  // namespace

Mapped::Mapped(const std::filesystem::path& path, FileContent content, Verify verify)
    : Mapped(FileSource(path), path, content, verify) {}

Mapped::Mapped(const FileSource& file, const std::filesystem::path& path, FileContent content,
               Verify verify)
    // In this order: an empty file has no header, and cannot be mapped.
    : Mapped{read_header(file, content), Storage::map(file.descriptor(), file.size(), path), path,
             content, verify} {}

Mapped::Mapped(std::span<const std::byte> bytes, FileContent content, Verify verify)
    : Mapped(read_header(MemorySource("bytes", require_aligned(bytes)), content),
             Storage::view(bytes), "bytes", content, verify) {}

Mapped::Mapped(const FileHeader& header_, Storage storage, const std::filesystem::path& name,
               FileContent content, Verify verify)
    : header(header_),
      blocks(header.bits, header.geometry, header.seed, header.capacity, std::move(storage),
             kHeaderBytes),
      content_(content),
      verdicts_(verify == Verify::lazily ? static_cast<std::size_t>(header.sections()) : 0),
      not_good_(verdicts_.size()) {
  blocks.size = header.keys;
  blocks.max_capacity = header.max_capacity;
  blocks.path = name;
  if (verify == Verify::all) this->verify();
  if (verify == Verify::lazily) {
    const MemorySource all = source();
    require(all.name(),
            ContentCheck(header, checksums_of(header, all.at(0, all.size()))).checksums());
  }
}

bool Mapped::check(std::uint64_t section) const noexcept {
  const auto at = [&](std::uint64_t offset, std::size_t size) {
    return std::span<const std::byte>(blocks.storage.bytes())
        .subspan(static_cast<std::size_t>(offset), size);
  };
  const bool good =
      matches_checksum(at(FileHeader::section_offset(section), header.section_bytes(section)),
                       at(header.checksums_offset() + section * kChecksumBytes, kChecksumBytes));
  Verdict known = Verdict::unknown;
  const Verdict found = good ? Verdict::good : Verdict::damaged;
  if (!verdicts_[static_cast<std::size_t>(section)].compare_exchange_strong(known, found)) {
    return known == Verdict::good;
  }
  if (good) --not_good_;
  return good;
}

void Mapped::verify() const {
  const MemorySource all = source();
  const FileHeader now = read_header(all, content_);
  check_content(all.name(), now, checksums_of(now, all.at(0, all.size())), [&](std::uint64_t i) {
    return all.at(FileHeader::section_offset(i), now.section_bytes(i));
  });
}

std::optional<FormatError> Mapped::damage() const {
  for (std::size_t i = 0; i < verdicts_.size(); ++i) {
    if (verdicts_[i] != Verdict::damaged) continue;
    const Flaw flaw = damaged_section(header, i);
    return FormatError(source().name(), flaw.offset, flaw.cause);
  }
  return std::nullopt;
}

}  // namespace nestline::internal
