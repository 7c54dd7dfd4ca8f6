// Filters of one lineage can be united without their keys. They have the same width, seed and
// number of blocks before the first doubling, however often each has doubled since. A key has the
// same base, fingerprint and bucket offset in all of them, so what is stored in one can be moved to
// another without the key, and keys that look the same in one of them look the same in each.
//
// Together they are like one filter: a key is in one of them, wherever, and it is found by asking
// all. Moving keeps that, and so does erasing, if among several that show the key the right one is
// chosen. What can go wrong is a key y whose home B is the alternate of x's home A, with the same
// fingerprint and bucket offset. Say that filter i has a copies in A and b in B, of x_i and y_i
// keys that were stored as x and as y; by I1 (table.h): a + b = x_i + y_i, b >= y_i if B's mark
// does not cover the class, a >= x_i if A's does not. Erasing an x from filter i keeps it where x_i
// > 0, as shown there. Where x_i = 0, the copy that goes is a y's, and a y of i has to change its
// name with an x of another filter j: x_j and y_i fall, y_j rises, which needs b_j >= y_j + 1
// unless B is covered in j. Erasing picks, in this order:
//
//   sure   a > 0, and B's mark does not cover the class: then y_i <= b, so x_i >= a > 0.
//   home   a > 0, in no filter surely. If x_i = 0, an x is in some j. There either a_j > 0 and B is
//          covered, or a_j = 0 and b_j = x_j + y_j >= y_j + 1.
//   away   b > 0 and A's mark covers the class, and a = 0 in all of them: if x_i = 0, an x is in
//          some j with a_j = 0, as before.
#ifndef NESTLINE_LIB_FACES_EMBED_LINEAGE_H_
#define NESTLINE_LIB_FACES_EMBED_LINEAGE_H_

#include "lib/faces/embed/bytes.h"

namespace nestline { inline namespace v0_3 {

// Whether filters of these shapes are of one lineage.
bool are_related(const Shape& a, const Shape& b) noexcept;

// How a filter shows a key, in the order of the choice above.
enum class MatchConfidence : std::uint8_t {
  none,  // not at all
  away,  // in its alternate only
  home,  // at home
  sure,  // at home, where no key can be whose home is the alternate
};
MatchConfidence match_confidence_of(const internal::Blocks& blocks, std::uint64_t key) noexcept;
// Whether an insert of the key would have to search for room, which takes long, although there are
// as many copies of it as its bucket has slots, or one less.
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
