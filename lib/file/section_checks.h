// Which sections of a mapped file are as they were written: found out when an answer needs them.
//
// A byte for each section says whether it has been checked and what came of it. Any number of
// threads may ask; two that come first to a section both check it, and find the same.
#ifndef NESTLINE_LIB_FILE_SECTION_CHECKS_H_
#define NESTLINE_LIB_FILE_SECTION_CHECKS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lib/file/file_format.h"

namespace nestline {

class SectionChecks {
 public:
  // `file`: all bytes of a file with this header; they must outlive this object. Their checksums
  // must have been found to be right (ContentCheck::checksums). Throws std::bad_alloc.
  SectionChecks(const FileHeader& header, std::span<const std::byte> file);

  // Whether every section has been checked and is good. Then there is nothing left to ask here.
  [[nodiscard]] bool all_good() const noexcept { return not_good_ == 0; }

  // Whether the section that the block lies in is good; checks it when nobody has.
  [[nodiscard]] bool is_good(std::uint64_t block) noexcept {
    const std::uint64_t section = block / kSectionBlocks;
    const Verdict verdict = verdicts_[static_cast<std::size_t>(section)];
    return verdict == Verdict::unknown ? check(section) : verdict == Verdict::good;
  }

  // The first of the sections that were found damaged so far.
  [[nodiscard]] std::optional<Flaw> damage() const;

 private:
  enum class Verdict : std::uint8_t { unknown, good, damaged };
  static constexpr std::uint64_t kSectionBlocks = kSectionBytes / kBlockBytes;

  bool check(std::uint64_t section) noexcept;

  FileHeader header_;
  std::span<const std::byte> file_;
  std::vector<std::atomic<Verdict>> verdicts_;
  std::atomic<std::uint64_t> not_good_;  // sections that are unknown or damaged
};

}  // namespace nestline

#endif  // NESTLINE_LIB_FILE_SECTION_CHECKS_H_
