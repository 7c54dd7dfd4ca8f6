// The hashes of the keys of an aggregate, whose number is not known before the last row.
//
// Of equal hashes a filter keeps a few copies. So when the memory is full, and at the end, copies
// beyond kCopies are dropped, if there are many of them: that takes sorting. What is kept decides
// the memory, not the number of rows: 8 bytes a hash, up to 16 when there is room to spare, 24
// while the memory is enlarged.
//
// To find out whether there are many, the hashes below 2^58 serve as a sample: 1 distinct key of 64
// with all its copies. If few of those can be dropped, and the sample is about as large as it
// should be, so that no key outside it has a large share of the rows, the hashes stay as they are.
#ifndef NESTLINE_LIB_SQLITE_HASH_COLLECTOR_H_
#define NESTLINE_LIB_SQLITE_HASH_COLLECTOR_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "nestline/keys.h"

namespace nestline::sqlite {

class HashCollector {
 public:
  // The most copies that a filter of any width has of one key.
  static constexpr std::size_t kCopies = 10;

  // Throws std::bad_alloc, and TooBig when more than `most` are kept.
  void add(Hash hash, std::uint64_t most) {
    if (hashes_.size() == hashes_.capacity()) make_room(most);
    hashes_.push_back(hash);
  }

  // All hashes but surplus copies.
  const std::vector<Hash>& finish();

 private:
  void make_room(std::uint64_t most);
  [[nodiscard]] bool has_much_surplus() const;

  std::vector<Hash> hashes_;
};

}  // namespace nestline::sqlite

#endif  // NESTLINE_LIB_SQLITE_HASH_COLLECTOR_H_
