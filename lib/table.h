// The operations on blocks, without keys and without counters: placing, finding, erasing.
//
// Invariants, cited by number elsewhere:
//   I1  A stored key is in its bucket at home, or in its bucket in the alternate block and then its
//       spill class is below home's mark.
//   I2  A mark never falls, except when everything is cleared.
//   I3  A fingerprint on the move is readable in at least one place at every instant.
//   I4  An insert that fails leaves every byte as it was.
//   I5  No operation loses a key of somebody else: there is no victim slot and no random loss.
//   I6  Every outcome is a function of the blocks and the operation: no random numbers.
//
// Why erasing by fingerprint keeps I1 although two keys x and y may have equal (f, p) and be each
// other's home and alternate (home of x: A, of y: B): their copies are interchangeable. Let a and b
// be the copies in A and B, x and y also stand for how many there are of each. I1 says: a + b = x +
// y; if A's mark does not cover the class then a >= x, and likewise b >= y. Erasing an x takes from
// A when it can: then a and x fall together and b >= y is untouched. It takes from B only when a =
// 0, so only when A's mark covers the class (else a >= x > 0); then b = x + y before, so b >= y
// after.
#ifndef NESTLINE_LIB_TABLE_H_
#define NESTLINE_LIB_TABLE_H_

#include <cstddef>
#include <cstdint>

#include "geometry.h"
#include "kernels.h"
#include "layout.h"
#include "nestline/filter.h"

namespace nestline {

// Does not own the blocks. One writer at a time; const members in any number of threads meanwhile
// not.
template <class L>
class Table {
 public:
  Table(Block* blocks, const Geometry& geometry, const Kernels& kernels)
      : blocks_(blocks), geometry_(geometry), kernels_(kernels) {}

  [[nodiscard]] Place home(std::uint64_t hash) const { return home_of<L>(geometry_, hash); }

  // Outcome::stored, full or copies.
  Outcome insert(const Place& home);
  // Clears one copy; false when there is none.
  bool erase(const Place& home);
  // Copies at home and in the alternate, at most L::kMaxCopies.
  [[nodiscard]] unsigned count(const Place& home) const;

 private:
  Outcome spill(const Place& home);
  [[nodiscard]] bool only_copies(const Place& place) const { return copies(place) == place.bucket; }
  [[nodiscard]] std::uint64_t copies(const Place& place) const {
    return kernels_.match(blocks_[place.block], place.fingerprint) & place.bucket;
  }
  // Whether the alternate has to be asked, and which block it is.
  [[nodiscard]] bool may_be_away(const Place& home, Place& away) const;

  Block* blocks_;
  Geometry geometry_;
  const Kernels& kernels_;
};

}  // namespace nestline

#endif  // NESTLINE_LIB_TABLE_H_
