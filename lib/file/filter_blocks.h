// For other formats: what a program that stores filters in its own format needs beyond the public
// headers. scripts/lint lists which rooms use this, and what else of the library's internals.
//
// A filter is its shape, from which make_empty makes it again, and its blocks, bytes that can be
// read and replaced in ranges. Both may be hostile: shapes and blocks that no filter can have are
// refused, and then nothing is changed.
//
// Two headers are included on purpose: one for Storage, and one for get and put.
//
// Filters of one lineage can also be united without their keys. They have the same width, seed and
// number of blocks before the first doubling, however often each has doubled since. A key has the
// same base, fingerprint and phase in all of them, so what is stored in one can be moved to another
// without the key, and keys that look the same in one of them look the same in each.
//
// Together they are like one filter: a key is in one of them, wherever, and it is found by asking
// all. Moving keeps that, and so does erasing, if among several that show the key the right one is
// chosen. What can go wrong is a key y whose home B is the alternate of x's home A, with the same
// fingerprint and phase. Say that filter i has a copies in A and b in B, of x_i and y_i keys that
// were stored as x and as y; by I1 (table.h): a + b = x_i + y_i, b >= y_i if B's mark does not
// cover the class, a >= x_i if A's does not. Erasing an x from filter i keeps it where x_i > 0, as
// shown there. Where x_i = 0, the copy that goes is a y's, and a y of i has to change its name with
// an x of another filter j: x_j and y_i fall, y_j rises, which needs b_j >= y_j + 1 unless B is
// covered in j. Erasing picks, in this order:
//
//   sure   a > 0, and B's mark does not cover the class: then y_i <= b, so x_i >= a > 0.
//   home   a > 0, in no filter surely. If x_i = 0, an x is in some j. There either a_j > 0 and B is
//          covered, or a_j = 0 and b_j = x_j + y_j >= y_j + 1.
//   away   b > 0 and A's mark covers the class, and a = 0 in all of them: if x_i = 0, an x is in
//          some j with a_j = 0, as before.
#ifndef NESTLINE_LIB_FILE_FILTER_BLOCKS_H_
#define NESTLINE_LIB_FILE_FILTER_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>

#include "lib/filter/storage.h"
#include "lib/place/layout.h"
#include "lib/place/little_endian.h"
#include "nestline/filter.h"

namespace nestline {

struct FilterShape {
  int bits = 0;                   // of a fingerprint
  std::uint64_t base_blocks = 0;  // before the first doubling
  unsigned growth = 0;            // doublings
  std::uint64_t seed = 0;
  std::uint64_t capacity = 0;

  [[nodiscard]] std::uint64_t block_bytes() const { return (base_blocks << growth) * kBlockBytes; }
};

// Whether a filter of this shape can hold this many keys. If so, block_bytes() does not overflow.
bool can_exist(const FilterShape& shape, std::uint64_t keys);

FilterShape shape_of(const Filter& filter);

// An empty filter, which does not grow automatically. `memory` as in Options. Throws
// std::invalid_argument when it cannot exist, std::bad_alloc.
Filter make_empty(const FilterShape& shape, std::pmr::memory_resource* memory);

// Fills an empty filter: see fill_in_bulk in bulk_build.h.
void fill(Filter& filter, KeySpan keys, std::span<Outcome> outcomes);

// All blocks; they stay in place until the filter grows, merges, moves or is destroyed.
std::span<const std::byte> block_bytes(const Filter& filter);

// Overwrites the blocks from byte `offset` on and adjusts size(). False, and nothing is changed,
// when offset or length is not a multiple of kBlockBytes, the range lies outside the blocks, or no
// filter of this shape can have these bytes there. Throws std::bad_alloc.
bool replace_blocks(Filter& filter, std::uint64_t offset, std::span<const std::byte> blocks);

// Whether the two are of one lineage.
bool are_related(const Filter& a, const Filter& b) noexcept;

// How a filter shows a key, in the order of the choice above.
enum class Standing : std::uint8_t {
  none,  // not at all
  away,  // in its alternate only
  home,  // at home
  sure,  // at home, where nobody whose home is the alternate can be
};
Standing standing_of(const internal::Blocks& state, std::uint64_t key) noexcept;
Standing standing_of(const Filter& filter, std::uint64_t key) noexcept;

// Whether an insert of the key would have to search for room, which takes long, although there are
// as many copies of it as its bucket has slots, or one less.
bool is_crowded(const internal::Blocks& state, std::uint64_t key) noexcept;
bool is_crowded(const Filter& filter, std::uint64_t key) noexcept;

// What part of a filter's fingerprints is to be moved: `some` of `all`, evenly over its blocks, and
// over several filters one after the other when the same object is used for them.
class Share {
 public:
  Share(std::uint64_t some, std::uint64_t all) : some_(some), all_(all) {}
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
enum class Surplus : std::uint8_t { stays, goes };

// Moves a share of the fingerprints of `from` to `to`, another filter of its lineage. Those that
// find no room there stay. One pass over both.
void pour(Filter& from, Filter& to, Share& share, Surplus surplus = Surplus::stays) noexcept;

// Asks for the memory that a lookup of the key reads first.
void prefetch_home(const Filter& filter, std::uint64_t key) noexcept;

// Bytes that a filter takes beside its blocks and the Filter itself.
std::size_t bytes_beside_blocks() noexcept;

// The false-positive rate of a filter that inserts have filled to 95 % after each of its doublings.
double fpr_when_full(int bits, unsigned growth);

// Items that a filter of so many blocks in the beginning has room for after so many doublings.
std::uint64_t capacity_of(int bits, std::uint64_t base_blocks, unsigned growth);

// The version of hash_key and of what follows from a hash (docs/FORMAT.md).
std::uint32_t hash_version() noexcept;

// XXH3-64, the checksum of all our formats.
std::uint64_t checksum(std::span<const std::byte> bytes) noexcept;

}  // namespace nestline

#endif  // NESTLINE_LIB_FILE_FILTER_BLOCKS_H_
