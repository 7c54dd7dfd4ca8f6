// Where other threads look up in a value while its own thread goes on changing it.
//
// A View is made by the value's thread. It has the filters of all sub-filters at that moment, and
// the hashes that the ledger named. From then on each filter of the View is in one of two states:
// the sub-filter still has it, and it follows its changes; or the sub-filter has another one (it
// grew, was compacted, merged, cleared, dropped), and the one of the View stays as it was at that
// moment. An answer for one filter is linearizable (nestline/concurrent_filter.h). An answer from
// several filters, one after the other, can be wrong if fingerprints move meanwhile.
//
// The value announces what may disturb such an answer by two numbers (Notices):
//   erases   advanced before and after each erase that begins while there are several sub-filters:
//            odd while one is under way
//   lists    advanced when a sub-filter comes, or gets another filter
// A View answers for a chunk of hashes only where these numbers show that nothing disturbed it. It
// leaves all else open; the value's own thread then answers. So "no" is given in two cases:
//
//   time ----------->  View is made         before the chunk    after the chunk
//
//   N1  erases              n  ................................  n
//   N2  erases              n    n+1    n+2   ...     e  .......  e
//       lists               m  ................................  m
//       the erase E that advanced erases to e:      |=====...........>  may still be under way
//
//   N1  No erase has chosen between sub-filters since the View was made.
//   N2  No erase has begun during the chunk, and the View has the filters of all sub-filters.
//
// A yes needs no argument: it is right when it is read, and may be wrong as that of any filter may.
//
// Why a "no" for an item x is right at some instant since the View was made. Suppose x is in the
// value all the time. If the ledger named x, the answer is left open; so it did not. Then a slot of
// the View shows x when the View is made. From then on some slot of the sub-filters shows x:
//   - copies that go to the ledger later take none out of a slot;
//   - an erased copy that waits in the ledger still stands in its slot;
//   - an erase takes a slot that shows x only if another slot shows x, or if x itself is erased and
//     leaves.
// All of that is in one family: a copy is relabelled only within a family (lineage.h,
// sub_filter_list.h). So let "sub-filters" mean those of x's family. It is left to show that one of
// the slots that show x is where the View looks.
//
//   N1  Every erase so far began while the value had one sub-filter only. Let M be the sub-filter
//       whose filter had x when the View was made. As long as M has that filter, it keeps x: within
//       one filter, erasing another item keeps x, and adding moves fingerprints, but a reader does
//       not miss them. When M gets another filter, the one in the View stays as it is. (A dropped
//       sub-filter is empty; one that is emptied in place held erased items only.)
//   N2  Let E be the erase, if any, that advanced `erases` to e. It began before the chunk. Every
//       erase before E has ended, and the View's thread sees what it did, since it read e
//       (acquire). Of an erase after E it has seen nothing: it would have seen `erases` advance,
//       since each store to a block is a release, each look at one ends with an acquire, and
//       `erases` is read again after that. So between what it saw first and last lie additions,
//       which only add slots, and the rest of E, which only takes out. When E has ended, a slot
//       shows x. Either it showed x all the time since before E, or it was added since E, by the
//       same thread, so after E ended. If the latter held for all slots, no slot would have shown x
//       between E's end and that addition. So one filter shows x from before E until after the
//       chunk, and the View looks it up in between. (Where there are guest lanes, the rest of E may
//       bring guests home and lower marks. Readers do not miss a guest that moves, and what a
//       filter shows then it has shown before.)
//
// Where neither holds there may be no such filter: let x be in the older of two related filters.
// The View looks into the newer one, without x. Then y, which looks the same, is added there and
// erased, which takes the copy in the older one; the copy in the newer one now stands for x. The
// View looks into the older one: no x.
//
// Why a count is right at some instant. It is given only when `erases` is even and the same before
// and after the chunk, and `lists` what it was when the View was made. With one sub-filter it is
// one filter's. With several, the chunk saw additions only: each filter's count rises by ones, so
// their sum, though read one after the other, was the true sum at some instant between. Slots alone
// count at least the copies that were there: an item that the ledger named since had all in slots
// before.
#ifndef NESTLINE_LIB_FACES_EMBED_VALUE_VIEW_H_
#define NESTLINE_LIB_FACES_EMBED_VALUE_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lib/faces/embed/value/ledger.h"
#include "lib/faces/embed/value/sub_filter_list.h"

namespace nestline { inline namespace v0_3 { namespace redis {

/// See the head of this file. Any threads may look up at the same time, and any may destroy it.
class View {
 public:
  static constexpr std::size_t kMaxBatch = kMaxHashes;  ///< The most hashes of one call.
  /// The most entries of a ledger that a View copies.
  static constexpr std::size_t kMaxNamed = 1024;

  /// Of the sub-filters of a value, which become shared, and its ledger, of at most kMaxNamed
  /// entries. To be made by the value's thread, between two changes. Throws std::bad_alloc.
  View(std::span<SubFilter> sub_filters, const Ledger& ledger,
       const std::shared_ptr<Notices>& notices);

  /// Whether each is in the value: out[i] is 1 or 0. Where it is left open, open[i] is 1, else 0,
  /// and out[i] is 0. All three are equally long, at most kMaxBatch. Allocates nothing.
  void exists(std::span<const std::uint64_t> hashes, std::span<std::uint8_t> out,
              std::span<std::uint8_t> open) const;
  /// The same for the number of copies, at most 255.
  void count(std::span<const std::uint64_t> hashes, std::span<std::uint8_t> out,
             std::span<std::uint8_t> open) const;

 private:
  void leave_named_open(std::span<const std::uint64_t> hashes, std::span<std::uint8_t> out,
                        std::span<std::uint8_t> open) const;

  std::vector<SharedFilter::Reader> filters_;  // oldest first
  std::vector<std::uint64_t> named_;           // by the ledger, ascending
  std::shared_ptr<const Notices> notices_;
  std::uint64_t erases_;  // when it was made
  std::uint64_t lists_;
};

}}}  // namespace nestline::redis

#endif  // NESTLINE_LIB_FACES_EMBED_VALUE_VIEW_H_
