// The hashes of all lines, for a build that must count its keys before it makes the filter: 8 bytes
// per key, in chunks. A growing vector would need room for its old and new copy at once.
#ifndef NESTLINE_LIB_COMMAND_FILTER_HASH_STORE_H_
#define NESTLINE_LIB_COMMAND_FILTER_HASH_STORE_H_

#include "lib/command/filter/inserter.h"
#include "lib/command/io/progress.h"

namespace nestline::inline v0_2::command {

class HashStore {
 public:
  void append(std::span<const std::string_view> keys, std::uint64_t seed);

  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

  /// All hashes in order, in one span. Needs memory for one more chunk while it copies.
  std::span<const Hash> joined();

  /// With `copies_last`, inserts every key once, then as many copies as have room: slower, but
  /// copies cannot take the place of another key, so it is false only when there are too many keys.
  [[nodiscard]] bool insert(Inserter& inserter, Progress& progress, bool copies_last) const;

 private:
  std::vector<std::vector<Hash>> chunks_;
  std::uint64_t size_ = 0;
};

}  // namespace nestline::inline v0_2::command

#endif  // NESTLINE_LIB_COMMAND_FILTER_HASH_STORE_H_
