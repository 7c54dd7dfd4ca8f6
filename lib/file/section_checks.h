// Which sections of a mapped file are intact, checked when a lookup first needs them.
//
// A byte for each section says whether it has been checked, and the result. Any number of threads
// may call; two that reach a section first at the same time both check it, with the same result.
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
  // must have passed ContentCheck::checksums. Throws std::bad_alloc.
  SectionChecks(const FileHeader& header, std::span<const std::byte> file);

  // Whether every section has been checked and is good. Then no lookup needs this object any more.
  [[nodiscard]] bool all_good() const noexcept { return not_good_ == 0; }

  // Whether the section with this block is good; checks it if no thread has yet.
  [[nodiscard]] bool is_good(std::uint64_t block) noexcept {
    const std::uint64_t section = block / kSectionBlocks;
    const Verdict verdict = verdicts_[static_cast<std::size_t>(section)];
    return verdict == Verdict::unknown ? check(section) : verdict == Verdict::good;
  }

  // The first damaged section found so far, in file order.
  [[nodiscard]] std::optional<Flaw> damage() const;

 private:
  enum class Verdict : std::uint8_t { unknown, good, damaged };
  static constexpr std::uint64_t kSectionBlocks = kSectionBytes / kBlockBytes;

  bool check(std::uint64_t section) noexcept;

  FileHeader header_;
  std::span<const std::byte> file_;
  std::vector<std::atomic<Verdict>> verdicts_;
  std::atomic<std::uint64_t> not_good_;  // sections that are unchecked or damaged
};

}  // namespace nestline

#endif  // NESTLINE_LIB_FILE_SECTION_CHECKS_H_
