#include "lib/file/section_checks.h"

namespace nestline {

SectionChecks::SectionChecks(const FileHeader& header, std::span<const std::byte> file)
    : header_(header),
      file_(file),
      verdicts_(static_cast<std::size_t>(header.sections())),
      not_good_(header.sections()) {}

bool SectionChecks::check(std::uint64_t section) noexcept {
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

std::optional<Flaw> SectionChecks::damage() const {
  for (std::size_t i = 0; i < verdicts_.size(); ++i) {
    if (verdicts_[i] == Verdict::damaged) return damaged_section(header_, i);
  }
  return std::nullopt;
}

}  // namespace nestline
