// Filters of one lineage can be united without their keys. They have the same width, seed and
// number of blocks before the first doubling, however often each has doubled since. A key has the
// same base, fingerprint and bucket offset in all of them. So what is stored in one can be moved to
// another without the key, and keys that look the same in one of them look the same in each.
//
// Together they answer as one filter: a key is in one of them, no matter which, and it is found by
// asking all. Moving fingerprints keeps that. Erasing keeps it too, if among several filters that
// show the key the right one is chosen:
//
// Let x be the key to erase, with home A and alternate B. Let y be a key with the same fingerprint
// and bucket offset and home B; its alternate is A. Of filter i let
//
//   a_i, b_i   be the copies in A and in B of which no slot tells whose they are,
//   s_i, t_i   the copies that surely are of x, and of y: with guest lanes (lanes.h), where
//              a block is not open for the class, natives and guests are known,
//   x_i, y_i   the number of keys that were stored in i as x and as y.
//
// By I1 (table-inl.h): a_i + b_i = (x_i - s_i) + (y_i - t_i), neither below 0; a_i >= x_i - s_i
// unless A's mark covers the rank; b_i >= y_i - t_i unless B's does.
//
// Erasing an x from filter i keeps this where x_i > 0, as shown in table-inl.h; it takes a sure
// copy where there is one, and never one of y's. Where x_i = 0, the copy that goes is a y's, and
// the keys have to be relabelled. Unknown copies of x and y are bit-identical, so one may decide
// afterwards which key a copy stands for: an x of another filter j becomes a y, in place of the
// y of i. So y_i and x_j fall by 1, and y_j rises by 1. That needs an x_j > s_j, and, unless B's
// mark covers the rank in j, b_j > y_j - t_j. Erasing takes the first of these cases that some
// filter i is in:
//
//   case   condition                                      why I1 is kept
//   sure   s_i > 0, or a_i > 0 and B's mark does not      y_i - t_i <= b_i, so x_i >= s_i + a_i > 0
//          cover the rank
//   home   a_i > 0, and no filter is sure                 if x_i = 0, some x_j > 0 = s_j. Either
//                                                         a_j > 0, then B's mark covers the rank in
//                                                         j. Or a_j = 0, then b_j > y_j - t_j
//   away   b_i > 0, A's mark covers the rank, and         if x_i = 0, some x_j > 0 = s_j, with
//          a_j = 0 in every j                             a_j = 0 as before
#ifndef NESTLINE_LIB_FACES_EMBED_LINEAGE_H_
#define NESTLINE_LIB_FACES_EMBED_LINEAGE_H_

#include <cstdint>

#include "lib/faces/embed/bytes.h"

namespace nestline { inline namespace v0_3 {

// Whether filters of these shapes are of one lineage.
bool are_related(const Shape& a, const Shape& b) noexcept;

// How a filter shows a key, in the order of the choice above.
enum class MatchConfidence : std::uint8_t {
  none,  // not at all, or by copies that surely are another key's
  away,  // in its alternate only
  home,  // at home
  sure,  // by a copy that no key can have whose home is the alternate
};
MatchConfidence match_confidence_of(const internal::Blocks& blocks, std::uint64_t key) noexcept;
// Whether the bucket has as many copies of the key as slots, or one less, and an insert would have
// to search for room, which takes long.
bool is_crowded(const internal::Blocks& blocks, std::uint64_t key) noexcept;

// What part of a filter's fingerprints is to be moved: `some` of `all`, evenly over its blocks, and
// over several filters one after the other when the same object is used for them.
class Quota {
 public:
  Quota(std::uint64_t some, std::uint64_t all) : some_(some), all_(all) {}
  // Whether the next one is to be moved.
  bool takes_next() {
    sum_ += some_;
    if (sum_ < all_) return false;
    sum_ -= all_;
    return true;
  }

 private:
  std::uint64_t some_;  // at most all_
  std::uint64_t all_;   // below 2^63
  std::uint64_t sum_ = 0;
};

// What becomes of a fingerprint that finds no room in the target, which has copies of it already:
// it stays where it is, or it is dropped. Lookups in the target find its key either way. What was
// dropped can no longer be counted or erased.
enum class IfFull : std::uint8_t { stays, goes };

// Moves a share of the fingerprints of `from` to `to`, another filter of its lineage. Those that
// find no room there stay. One pass over both.
void migrate(Filter& from, Filter& to, Quota& share, IfFull surplus = IfFull::stays) noexcept;

}}  // namespace nestline

#endif  // NESTLINE_LIB_FACES_EMBED_LINEAGE_H_
