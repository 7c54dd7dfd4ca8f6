// The lines that a command takes, as hashes: each different one once, or with --copies all of them.
//
// Which lines are new is decided by all 64 bits of their hashes; lines of equal hashes are the same
// to a filter as well. They lie in a table with linear probing, of kParts parts by their highest
// bits: a part that is full becomes half as large again, so the memory is 10 to 15 bytes for each
// different line, also while a part grows.
#ifndef NESTLINE_LIB_FACES_COMMAND_FILTER_LINE_HASHES_H_
#define NESTLINE_LIB_FACES_COMMAND_FILTER_LINE_HASHES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "lib/faces/command/filter/inserter.h"
#include "lib/faces/command/io/progress.h"

namespace nestline { inline namespace v0_3 { namespace command {

/// A set of hashes.
class HashSet {
 public:
  /// Adds a hash; false if it is there already. Throws std::bad_alloc.
  bool insert(Hash hash);
  /// Starts to fetch what insert() reads.
  void prefetch(Hash hash) const noexcept;
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  /// All hashes, ordered by their highest bits. The set is empty afterwards.
  std::vector<Hash> take();

 private:
  static constexpr int kPartBits = 8;
  static constexpr std::size_t kParts = std::size_t{1} << kPartBits;
  struct Part {
    std::vector<std::uint64_t> places;  // 0: free
    std::size_t used = 0;
  };
  static std::size_t place_of(std::uint64_t hash, std::size_t places);
  static bool put(std::vector<std::uint64_t>& places, std::uint64_t hash);
  static void enlarge(Part& part);

  std::array<Part, kParts> parts_;
  bool has_zero_ = false;
  std::uint64_t size_ = 0;
};

class LineHashes {
 public:
  LineHashes(std::uint64_t seed, bool copies) : seed_(seed), copies_(copies) {}

  /// The hashes of those lines that are taken. What it returned before becomes invalid.
  std::span<const Hash> take(std::span<const std::string_view> lines);
  /// Their positions in what take() was given last.
  [[nodiscard]] std::span<const std::uint32_t> positions() const noexcept { return positions_; }
  /// How many lines were taken.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

  /// The set of the lines taken; empty with --copies.
  [[nodiscard]] HashSet& set() noexcept { return set_; }

 private:
  std::uint64_t seed_;
  bool copies_;
  std::uint64_t size_ = 0;
  HashSet set_;
  std::vector<Hash> hashes_;
  std::vector<std::uint32_t> positions_;
};

/// Takes the lines that are left in the inputs; false, and none, if their size is not known: a pipe
/// may never end.
bool take_rest(ShownReader& reader, LineHashes& lines);

/// The hashes of all lines with --copies: 8 bytes each, in chunks. A growing vector would need room
/// for its old and new copy at once.
class HashStore {
 public:
  void append(std::span<const Hash> hashes);
  /// All hashes in order. Needs memory for one more chunk. The store is empty afterwards.
  std::vector<Hash> take();

 private:
  std::vector<std::vector<Hash>> chunks_;
  std::uint64_t size_ = 0;
};

/// Inserts hashes piece by piece. With `copies_last`, every key once, then as many copies as have
/// room: slower, but copies cannot take the place of another key, so it is false only when there
/// are too many keys.
[[nodiscard]] bool insert_all(std::span<const Hash> hashes, Inserter& inserter, Progress& progress,
                              bool copies_last);

}}}  // namespace nestline::command

#endif  // NESTLINE_LIB_FACES_COMMAND_FILTER_LINE_HASHES_H_
