// What filters of every kind are that answer from a mapped file or bytes of somebody else.
#ifndef NESTLINE_LIB_FILTERS_FILE_MAPPED_H_
#define NESTLINE_LIB_FILTERS_FILE_MAPPED_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "lib/filters/file/file_format.h"
#include "lib/filters/file/sources.h"
#include "lib/filters/filter/blocks.h"

namespace nestline { inline namespace v0_3 {
namespace internal {

// A byte for each section records whether it has been checked, and the result. Const members are
// for any number of threads; two that reach a section first both check it, with the same result.
class Mapped {
 public:
  // The header is read and not mapped, so that later code uses exactly what was checked. Throws
  // FormatError, std::system_error that names the path, std::bad_alloc.
  Mapped(const std::filesystem::path& path, const KindOfFilter& kind, Verify verify);
  // Bytes that stay as they are. Throws std::invalid_argument unless they are aligned as blocks
  // are, FormatError with the file name "bytes", std::bad_alloc.
  Mapped(std::span<const std::byte> bytes, const KindOfFilter& kind, Verify verify);

  // All bytes of the file.
  [[nodiscard]] MemorySource source() const {
    return {name_of(blocks.path), blocks.storage.bytes()};
  }

  // Whether every section has been checked and is good, or none is to be checked.
  [[nodiscard]] bool all_good() const noexcept { return not_good_ == 0; }

  // Whether the section with this block is good; checks it if no thread has yet.
  [[nodiscard]] bool is_good(std::uint64_t block) const noexcept {
    if (all_good()) return true;
    const std::uint64_t section = block / kSectionBlocks;
    const Verdict verdict = verdicts_[static_cast<std::size_t>(section)];
    return verdict == Verdict::unknown ? check(section) : verdict == Verdict::good;
  }
  // Whether good(block) is true for the blocks that a lookup of a key with this home reads.
  template <typename Good>
  [[nodiscard]] bool all_read(const Place& home, const Good& good) const {
    if (!good(home.block)) return false;
    Place away;
    const std::uint32_t mark = blocks.view.blocks[home.block].overflow_mark();
    return !may_be_away(blocks.view.geometry, mark, home, away) || good(away.block);
  }

  // As the public members of that name.
  void verify() const;
  [[nodiscard]] std::optional<FormatError> damage() const;
  const FileHeader header;
  Blocks blocks;  // its path is the name of the bytes

 private:
  enum class Verdict : std::uint8_t { unknown, good, damaged };
  static constexpr std::uint64_t kSectionBlocks = kSectionBytes / kBlockBytes;
  Mapped(const RegularFile& file, const std::filesystem::path& path, const KindOfFilter& kind,
         Verify verify);
  Mapped(const FileHeader& header, Storage storage, const std::filesystem::path& name,
         Verify verify);
  bool check(std::uint64_t section) const noexcept;
  mutable std::vector<std::atomic<Verdict>> verdicts_;  // none unless Verify::lazily
  mutable std::atomic<std::uint64_t> not_good_;         // sections that are unchecked or damaged
};

}  // namespace internal

using internal::Mapped;

}}  // namespace nestline

#endif  // NESTLINE_LIB_FILTERS_FILE_MAPPED_H_
