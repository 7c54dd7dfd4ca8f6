#include "lib/filters/file/mapped.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include "lib/filters/file/filter_bytes.h"

namespace nestline { inline namespace v0_3 { namespace internal {
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

Mapped::Mapped(const std::filesystem::path& path, const KindOfFilter& kind, Verify verify)
    : Mapped(RegularFile(path), path, kind, verify) {}

Mapped::Mapped(const RegularFile& file, const std::filesystem::path& path, const KindOfFilter& kind,
               Verify verify)
    // In this order: an empty file has no header, and cannot be mapped.
    : Mapped{read_header(file, kind), Storage::map(file), path, verify} {}

Mapped::Mapped(std::span<const std::byte> bytes, const KindOfFilter& kind, Verify verify)
    : Mapped(read_header(MemorySource("bytes", require_aligned(bytes)), kind), Storage::view(bytes),
             "bytes", verify) {}

Mapped::Mapped(const FileHeader& header_, Storage storage, const std::filesystem::path& name,
               Verify verify)
    : header(header_),
      blocks(header, std::move(storage), header.header_bytes()),
      verdicts_(verify == Verify::lazily ? static_cast<std::size_t>(header.sections()) : 0),
      not_good_(verdicts_.size()) {
  blocks.size = header.keys;
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
      matches_checksum(at(header.section_offset(section), header.section_bytes(section)),
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
  const FileHeader now = read_header(all, *header.kind);
  check_content(all.name(), now, checksums_of(now, all.at(0, all.size())), [&](std::uint64_t i) {
    return all.at(now.section_offset(i), now.section_bytes(i));
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

}}}  // namespace nestline::internal
