// The filter that answers from its file where it lies, without loading it.
#ifndef NESTLINE_MAPPED_FILTER_H_
#define NESTLINE_MAPPED_FILTER_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>

#include "nestline/export.h"
#include "nestline/filter.h"
#include "nestline/format_error.h"
#include "nestline/internal/answers.h"
#include "nestline/internal/home.h"
#include "nestline/internal/memory_resource.h"
#include "nestline/internal/owned_state.h"
#include "nestline/keys.h"

#pragma push_macro("slots")  // Qt's, which is empty
#undef slots

namespace nestline { inline namespace v0_3 {

namespace internal {
class Mapped;  // lib/filters/file/mapped.h
}

/// When the blocks of a mapped file are checked. They lie in sections of 1 MiB, each with a
/// checksum. The header is always checked when the file is opened. The same for filters,
/// maplets and expiring filters, and for bytes in memory.
enum class Verify : std::uint8_t {
  none,  ///< Never. Damaged blocks give wrong answers: a key that was inserted can be missed.
  /// Each section once, when a lookup first needs it. Every key that may lie in a damaged one
  /// counts as present: none is missed. A maplet, which would have to name values, throws
  /// FormatError.
  lazily,
  /// All of them when the file is opened: a damaged file is a FormatError and gives no answers.
  all,
};

/// A filter that answers from a read-only mapping of its file, without reading it first: the system
/// loads the pages that lookups touch, and processes that map the same file share them.
///
/// The const members have the meaning and thread safety of Filter's while the file is whole. Else:
///
///   Verify   open reads     damaged section: may_contain    count               damage()
///   none     the header     wrong either way                wrong either way    nothing
///   lazily   the header     true                            2k, the most        the section
///   all      the file       open throws FormatError
///
/// With Verify::lazily, the first key of a section takes 0.1 to 0.2 ms to check the section, plus
/// the time to read it from the disk; all sections together take one pass over the file, spread
/// over the first lookups. While some section is unchecked or damaged, a lookup takes up to three
/// times as long as after that. Bad bytes never crash the program, whatever the mode.
///
/// The file must not be truncated or written while it is mapped. save and the nestline command
/// never do that: they replace the file, and a mapping keeps the old one. If the disk cannot read
/// the file, the program ends by SIGBUS, as with every mapping; load() reports an error instead.
class NESTLINE_EXPORT MappedFilter {
 public:
  /// Throws FormatError, std::system_error that names the path, and std::bad_alloc.
  static MappedFilter open(const std::filesystem::path& path, Verify verify = Verify::lazily);

  /// A filter that answers from `bytes`, those of a file or of to_bytes, without a copy. They must
  /// begin at a multiple of 64 bytes, else std::invalid_argument, and stay as they are while the
  /// filter is used. Errors name the file "bytes". Throws FormatError, std::bad_alloc. O(1) but for
  /// what `verify` reads.
  static MappedFilter view(std::span<const std::byte> bytes, Verify verify = Verify::lazily);

  MappedFilter(MappedFilter&& other) noexcept;
  MappedFilter& operator=(MappedFilter&& other) noexcept;
  ~MappedFilter();
  /// Reads the whole file and checks all that load checks. Throws FormatError for the first flaw.
  void verify() const;
  /// The first damaged section that lookups have found so far, if any; only with Verify::lazily.
  /// Reads nothing itself. O(sections).
  [[nodiscard]] std::optional<FormatError> damage() const;
  /// What load gives, but always of the mapped file, even when another has taken its name. Checks
  /// everything. Throws FormatError, std::bad_alloc.
  [[nodiscard]] Filter snapshot(std::pmr::memory_resource* memory = nullptr) const;
  [[nodiscard]] NESTLINE_HERE bool may_contain(Key key) const noexcept {
    return may_contain_one(hash_of_(key));
  }
  /// As Filter's. A block in a page that this process has not used yet is not fetched: this neither
  /// waits for the disk nor checks a section.
  [[nodiscard]] NESTLINE_HERE Hash prepare(Key key) const noexcept {
    const Hash hash = hash_of_(key);
    fetch(hash);
    return hash;
  }
  [[nodiscard]] NESTLINE_HERE unsigned count(Key key) const noexcept {
    return count_one(hash_of_(key));
  }

  NESTLINE_HERE std::size_t may_contain(KeySpan keys, std::span<std::uint8_t> out) const {
    return look_up(keys, {out});
  }
  NESTLINE_HERE std::size_t may_contain_bits(KeySpan keys, std::span<std::uint64_t> bitmap) const {
    return look_up(keys, {bitmap});
  }
  NESTLINE_HERE std::size_t select(KeySpan keys, std::span<std::uint32_t> positions) const {
    return look_up(keys, {positions});
  }
  NESTLINE_HERE std::size_t select(KeySpan keys, std::span<const std::uint32_t> selection,
                                   std::span<std::uint32_t> positions) const {
    return look_up(keys, {positions, selection});
  }
  void count(KeySpan keys, std::span<std::uint8_t> out) const;
  // As Filter's; memory_bytes() are those of the file.
  [[nodiscard]] std::uint64_t size() const noexcept;
  [[nodiscard]] std::uint64_t capacity() const noexcept;
  [[nodiscard]] std::uint64_t max_capacity() const noexcept;
  [[nodiscard]] unsigned growth() const noexcept;
  [[nodiscard]] bool turns_over() const noexcept;
  [[nodiscard]] std::uint64_t slots() const noexcept;
  [[nodiscard]] double load_factor() const noexcept;
  [[nodiscard]] double expected_fpr() const noexcept;
  [[nodiscard]] int bits() const noexcept;
  [[nodiscard]] std::uint64_t seed() const noexcept;
  [[nodiscard]] std::uint32_t key_kinds() const noexcept;
  [[nodiscard]] std::size_t memory_bytes() const noexcept;

 private:
  // What the members above become for a key's hash, and the lookups of batches.
  [[nodiscard]] bool may_contain_one(Hash key) const noexcept;
  void fetch(Hash key) const noexcept;
  std::size_t look_up(KeySpan keys, const internal::Answers& answers) const;
  [[nodiscard]] unsigned count_one(Hash key) const noexcept;
  explicit MappedFilter(internal::OwnedState<internal::Mapped> mapped) noexcept;
  internal::OwnedState<internal::Mapped> state_;
  internal::KeyHasher hash_of_;
};

}}  // namespace nestline

#pragma pop_macro("slots")

#endif  // NESTLINE_MAPPED_FILTER_H_
