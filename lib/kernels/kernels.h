// The vectorized work, behind one table of function pointers per target and width.
//
// kernels.cc and the *-inl.h files it includes are compiled once for every instruction set that
// Highway offers; kernels_for picks the table of the best one that this processor has. Code that
// works on blocks keeps the pointer, so dispatch costs one indirect call per operation or batch.
//
// The scalar code of layout.h and geometry.h defines what each function computes. No function
// allocates or throws, and only the first tries of changes lock.
#ifndef NESTLINE_LIB_KERNELS_KERNELS_H_
#define NESTLINE_LIB_KERNELS_KERNELS_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "lib/place/geometry.h"
#include "lib/place/hash.h"
#include "lib/place/layout.h"
#include "lib/place/locking.h"

namespace nestline {

// Ways inside one block: how a newcomer whose bucket is full gets a slot by moving others to slots
// of their own buckets in the same block.
//
//   newcomer -> step 0, its resident -> step 1, ... its resident -> the last step, which is free
//
// A way is found first and walked later, from its end, so that a fingerprint on the move is always
// readable (I3 in lib/table/table.h). A way of one step leads to a free slot: nobody has to move.
//
// In one word: the number of slots in the lowest 4 bits, then 6 bits for each. Where only a longer
// way would do, there is none.
class Way {
 public:
  static constexpr std::uint32_t kMaxSteps = 10;

  constexpr Way() = default;  // no way
  NESTLINE_INLINE explicit constexpr Way(std::uint32_t slot)
      : word_(1 | std::uint64_t{slot} << kCountBits) {}

  [[nodiscard]] NESTLINE_INLINE constexpr std::uint32_t steps() const {
    return static_cast<std::uint32_t>(word_) & ((1u << kCountBits) - 1);
  }
  NESTLINE_INLINE constexpr explicit operator bool() const { return word_ != 0; }
  // The slot of a step, from 0 to steps() - 1.
  [[nodiscard]] NESTLINE_INLINE constexpr std::uint32_t step(std::uint32_t i) const {
    return static_cast<std::uint32_t>(word_ >> (kCountBits + kSlotBits * i)) &
           ((1u << kSlotBits) - 1);
  }
  // The same way with one more step at its end; the way must have fewer than kMaxSteps.
  [[nodiscard]] NESTLINE_INLINE constexpr Way then(std::uint32_t slot) const {
    Way longer;
    longer.word_ = (word_ + 1) | std::uint64_t{slot} << (kCountBits + kSlotBits * steps());
    return longer;
  }

 private:
  static constexpr std::uint32_t kCountBits = 4;
  static constexpr std::uint32_t kSlotBits = 6;
  std::uint64_t word_ = 0;
};

// The bucket of the fingerprint in a slot.
template <class L>
NESTLINE_INLINE std::uint64_t bucket_at(const Block& block, std::uint32_t slot) {
  const std::uint32_t fingerprint = L::get(block, slot);
  return L::bucket(fingerprint, L::phase_at(fingerprint, slot));
}

// Whether the block's residents can still make each step, and the last one is free. (A way may be
// gone when other threads have changed the block since it was found.)
template <class L>
bool is_open(const Block& block, Way way) {
  if (!way) return false;
  const std::uint32_t last = way.steps() - 1;
  for (std::uint32_t i = 0; i < last; ++i) {
    const std::uint32_t slot = way.step(i);
    if (L::get(block, slot) == 0) return false;
    if ((bucket_at<L>(block, slot) >> way.step(i + 1) & 1) == 0) return false;
  }
  return L::get(block, way.step(last)) == 0;
}

// Moves each fingerprint on the way one step, from the way's end back, and stores `fingerprint`,
// with `value` if the layout has values, at its start. It moves what is there now, not what was
// there when the way was found: update may have cleared a slot since.
template <class L>
NESTLINE_INLINE void walk(Block& block, Way way, std::uint32_t fingerprint,
                          typename L::Value value = {}) {
  std::uint32_t to = way.step(way.steps() - 1);
  for (std::uint32_t i = way.steps() - 1; i > 0; --i) {
    const std::uint32_t from = way.step(i - 1);
    L::set(block, to, L::get(block, from), L::value(block, from));
    to = from;
  }
  L::set(block, to, fingerprint, value);
}

// The answer for a key whose blocks change while a lookup reads them (R4 in locking.h).
struct SecondLook {
  bool (*look)(const SecondLook& second, std::uint64_t hash) noexcept;
};

// Whether a batch holds integer keys, which are mixed first, or hashes, which are not.
enum class InputKind : std::uint8_t { integers, hashes };
NESTLINE_INLINE std::uint64_t hash_of(std::uint64_t key, InputKind input,
                                      const MixSecrets& secrets) {
  return input == InputKind::integers ? mix_integer(key, secrets) : key;
}

// The residents of a block in the order in which they would leave it: by spill class, then by slot.
struct alignas(64) Ranks {
  static constexpr std::uint32_t kNumberBits = 6;

  // `number` is the slot's number plus 1. So a rank with number 0 is before all others of its
  // class.
  static constexpr std::uint32_t rank_of(std::uint32_t spill_class, std::uint32_t number) {
    return spill_class << kNumberBits | number;
  }
  // The slot, or kNobody where the number is 0.
  static constexpr std::uint32_t slot_of(std::uint32_t rank) { return (rank - 1) & kNobody; }
  static constexpr std::uint32_t kNobody = (1u << kNumberBits) - 1;

  // A range of classes that has two residents of a full block on average.
  template <class L>
  static constexpr std::uint32_t kStep = 2 * kSpillClasses / L::kSlots;

  // As bits: the free slots; those whose residents' classes the block's mark covers; and those with
  // the next classes, which are below `below`.
  std::uint64_t free;
  std::uint64_t covered;
  std::uint64_t next;
  std::uint32_t below;

  // Phases are as wide as vectors of the block's fingerprints need them: a byte or a halfword.
  // Those of free slots mean nothing.
  template <class L>
  using Phase = std::conditional_t<L::kForm == Form::halfwords, std::uint16_t, std::uint8_t>;
  template <class L>
  [[nodiscard]] std::uint32_t phase(std::uint32_t slot) const {
    Phase<L> phase;
    std::memcpy(&phase, phases + slot * sizeof(phase), sizeof(phase));
    return phase;
  }
  alignas(64) std::uint8_t phases[64];
};

// Candidates for leaving a block, and where they would go.
struct Leavers {
  // As bits: residents by their slots, and bit Ranks::kNobody for a newcomer.
  std::uint64_t all = 0;
  std::uint64_t away;      // those that have another block
  std::uint64_t open;      // those of them for whom there may be room there
  std::uint64_t direct;    // those of them of whose slots there one is free
  std::uint64_t free[64];  // the free slots there
  Place target[64];        // the bucket only where there are free slots
};

// A fingerprint with what follows from it and its phase: fingerprint, phase << 16,
// spill class << 24. Free slots have 0.
using Resident = std::uint32_t;
constexpr std::uint32_t fingerprint_of(Resident resident) { return resident & 0xffff; }
constexpr std::uint32_t phase_of(Resident resident) { return resident >> 16 & 0xff; }
constexpr std::uint32_t class_of(Resident resident) { return resident >> 24; }

// A block that keys are given slots in, with all that this takes at hand. What belongs to free
// slots means nothing, except that their residents are 0. The entries after the last slot are for
// the kernels.
struct alignas(64) UnpackedBlock {
  static constexpr std::size_t kSlots = 72;
  static constexpr std::uint32_t kNobody = 64;  // a number that is no slot's
  std::uint64_t bucket[kSlots];                 // of the resident of each slot
  alignas(64) Resident resident[kSlots];
  std::uint64_t free;  // slots
  // Slots from which a displacement may lead to a free one: all such slots are among these.
  std::uint64_t reach;

  // Makes some more slots free.
  void release(std::uint64_t slots) {
    free |= slots;
    reach = ~std::uint64_t{0};
    for (; slots != 0; slots &= slots - 1) resident[first_slot(slots)] = 0;
  }
};

// A key as one number: block << 20 | phase << 16 | fingerprint. The lowest 20 bits are its pair.
constexpr std::uint64_t located(std::uint64_t block, std::uint32_t pair) {
  return block << 20 | pair;
}
inline constexpr std::uint32_t kPairMask = (1u << 20) - 1;
static_assert(kMaxBlocks <= std::uint64_t{1} << 40);

// Newcomers that `settle` takes for a block at most.
inline constexpr std::size_t kMaxSettled = 64;

// A block and its newcomers. Kernels read and write whole vectors, so beyond the last one.
struct alignas(64) Settling {
  UnpackedBlock block;
  std::uint64_t bucket[kMaxSettled + 64];
  Resident newcomer[kMaxSettled + 64];
  std::size_t count = 0;
  // The numbers of the newcomers that found no slot.
  std::size_t unplaced_count = 0;
  std::uint8_t unplaced[kMaxSettled];
};

// The beginning of changes, at home, under one of the lock policies of locking.h. Most changes end
// there.
struct FirstTries {
  // Stores the key with this hash if there is a way to a free slot of its home. Otherwise nothing
  // is changed.
  bool (*store)(const Block* blocks, const Geometry& geometry, std::uint64_t hash) noexcept;

  // The same for each place in turn, up to the first that has no way; returns how many were stored.
  std::size_t (*store_batch)(const Block* blocks, const Place* places, std::size_t count) noexcept;

  // Clears a copy of the key with this hash at home, if there is one.
  bool (*erase)(const Block* blocks, const Geometry& geometry, std::uint64_t hash) noexcept;
};

struct Kernels {
  std::int64_t target;  // Highway's number of the instruction set

  // For a maplet, only what tables and growth need is there: the functions up to `leavers`, and
  // `split`. The others are null; MapletKernels has its lookups. For an expiring filter, these
  // without `split`, and lookups and what batches need, where a dead slot holds nothing.

  // Slots that hold `fingerprint`, as bits. `fingerprint` must not be 0.
  std::uint64_t (*match)(const Block& block, std::uint32_t fingerprint) noexcept;

  // Slots where there is a copy of a key.
  [[nodiscard]] std::uint64_t copies(const Block& block, const Place& place) const {
    return match(block, place.fingerprint) & place.bucket;
  }

  // Free slots, as bits.
  std::uint64_t (*free_slots)(const Block& block) noexcept;

  // Fills in `ranks`.
  void (*rank)(const Block& block, Ranks& ranks) noexcept;

  // The slots whose residents have spill classes from `from` on and below `below`, as bits.
  std::uint64_t (*of_classes)(const Block& block, std::uint32_t from, std::uint32_t below) noexcept;

  // The shortest way from a bucket to a slot of `goals`, or no way. Residents of goal slots do not
  // move, and a way has no free slot but its last. `ranks`: the block's.
  Way (*find_way)(const Block& block, const Ranks& ranks, std::uint64_t bucket,
                  std::uint64_t goals) noexcept;

  // The same to a free slot, for a place whose bucket need not be filled in.
  Way (*find_free_way)(const Block& block, const Place& place) noexcept;

  // Adds the residents of these slots to the candidates that are there, which is a newcomer whose
  // target is known, or nobody. Open is a candidate that has another block, with a free slot in its
  // bucket; or with a free slot, and no mark or a resident that could move there. `number` is the
  // block's; the hashes' secrets are not needed. Beside writers, all this is a hint.
  void (*leavers)(const BlocksView& view, const Block& block, std::uint64_t number,
                  const Ranks& ranks, std::uint64_t slots, Leavers& leavers) noexcept;

  FirstTries alone;
  FirstTries beside_readers;
  FirstTries beside_writers;
  template <class Locks>
  [[nodiscard]] const FirstTries& first_tries() const {
    if constexpr (std::is_same_v<Locks, NoLocks>) return alone;
    if constexpr (std::is_same_v<Locks, OneWriter>) return beside_readers;
    if constexpr (std::is_same_v<Locks, BlockLocks>) return beside_writers;
  }

  // Whether the key with this hash may be in the filter.
  bool (*contains)(const BlocksView& view, std::uint64_t hash) noexcept;

  // The same for `count` keys: bit i % 64 of bitmap[i / 64]. Unused bits of the last word are 0.
  void (*contains_batch)(const BlocksView& view, const std::uint64_t* keys, std::size_t count,
                         InputKind input, std::uint64_t* bitmap) noexcept;

  // Answers of a batch as bytes, 1 or 0, or as the numbers of the keys found, in order: first + i,
  // or selection[i] if there is a selection. `positions` may be the selection's own memory. Both
  // return how many keys were found. `positions` has room for `count`.
  std::size_t (*bits_to_bytes)(const std::uint64_t* bitmap, std::size_t count,
                               std::uint8_t* bytes) noexcept;
  std::size_t (*bits_to_positions)(const std::uint64_t* bitmap, std::size_t count,
                                   const std::uint32_t* selection, std::uint32_t first,
                                   std::uint32_t* positions) noexcept;

  // The lookups beside writers, by steps R1 to R3 of locking.h.
  bool (*contains_beside)(const BlocksView& view, const SecondLook& second,
                          std::uint64_t hash) noexcept;
  // A key whose bit is set in `undecided` has its bit clear in `bitmap`. True if any key is
  // undecided.
  bool (*contains_batch_beside)(const BlocksView& view, const std::uint64_t* keys,
                                std::size_t count, InputKind input, std::uint64_t* bitmap,
                                std::uint64_t* undecided) noexcept;

  // The homes of up to kMaxLocated keys.
  void (*locate_batch)(const BlocksView& view, const std::uint64_t* keys, std::size_t count,
                       InputKind input, Place* places) noexcept;

  // For each place, the slots of its bucket that hold its fingerprint.
  void (*match_batch)(const BlocksView& view, const Place* places, std::size_t count,
                      std::uint64_t* slots) noexcept;

  // The same homes, each as one number. `to` has room for kMaxLocated.
  void (*locate_pairs)(const BlocksView& view, const std::uint64_t* keys, std::size_t count,
                       InputKind input, std::uint64_t* to) noexcept;

  // The newcomers, up to kMaxSettled, whose pairs are the lowest 20 bits of these numbers, and
  // their buckets. Reads and writes whole vectors.
  void (*complete)(const std::uint32_t* pairs, std::size_t count, Resident* newcomers,
                   std::uint64_t* buckets) noexcept;

  // Which of these 64 residents have at most this spill class, as bits.
  std::uint64_t (*at_most)(const Resident* residents, std::uint32_t spill_class) noexcept;

  // Gives each of up to kMaxLocated keys the lowest free slot of its bucket at home. free[b] are
  // the free slots of block b, as bits: they are not taken from the blocks. Writes the late keys,
  // for whom no slot is free, to `late`, located; returns how many there are. `late` has room for
  // all. In the header of a late key's block, lock and version mean nothing afterwards.
  std::size_t (*place_keys)(const BlocksView& view, Block* blocks, const std::uint64_t* keys,
                            std::size_t count, InputKind input, std::uint64_t* free,
                            std::uint64_t* late) noexcept;
  // The same for any number of keys, each a pair with a block's number above, of which only the
  // bits of `mask` count. Reads whole vectors.
  std::size_t (*place_pairs)(const std::uint32_t* keys, std::size_t count, std::uint32_t mask,
                             Block* blocks, std::uint64_t* free, std::uint32_t* late) noexcept;

  // Gives each newcomer of a block a slot of its bucket, moving residents within their buckets
  // where that is necessary, and reports those for which there is no way.
  void (*settle)(Settling& block) noexcept;

  // Stores one newcomer, by the shortest way from its bucket to one of `goals`; false, nothing
  // being changed, if there is none. Residents of goals are overwritten.
  bool (*settle_one)(UnpackedBlock& block, Resident newcomer, std::uint64_t bucket,
                     std::uint64_t goals) noexcept;

  // From and to the form in which blocks are stored. `pack` sets lock and version to 0.
  void (*unpack)(const Block& block, UnpackedBlock& unpacked) noexcept;
  void (*pack)(const UnpackedBlock& unpacked, std::uint32_t mark, Block& block) noexcept;

  // Doubles `count` blocks of a filter that has grown `growth` times, less than max_growth: block i
  // of `from` becomes blocks 2i and 2i + 1 of `to`. Fingerprints whose next bit is 0 stay at the
  // same slots of 2i, the others at the same slots of 2i + 1; both blocks inherit the mark. Every
  // byte of `to` is written; lock and version are 0.
  void (*split)(const Block* from, std::size_t count, std::uint32_t growth, Block* to) noexcept;
};

inline constexpr std::size_t kMaxLocated = 64;

// How many copies of a key are at home and in its alternate, or of `any` whether there is one.
// block(number) returns a block.
template <typename BlockOf>
unsigned count_copies(const Kernels& kernels, const Geometry& geometry, const Place& home, bool any,
                      BlockOf&& block) {
  const Block& first = block(home.block);
  const auto found = static_cast<unsigned>(std::popcount(kernels.copies(first, home)));
  Place away;
  if ((any && found != 0) || !may_be_away(geometry, first.mark(), home, away)) return found;
  return found + static_cast<unsigned>(std::popcount(kernels.copies(block(away.block), away)));
}

// The keys of a batch of a maplet that are answered together.
struct MapletGroup {
  struct Looked {
    std::uint64_t block;  // home
    std::uint32_t fingerprint;
    std::uint32_t header;  // under which home is read
  };
  Looked keys[kMaxLocated];
  std::size_t count = 0;
};

// What tables of maplets need, and lookups that give values, as Table::values defines them.
struct MapletKernels {
  Kernels table;

  // Puts the values of the key with this hash into the front of `values`, which has room for
  // kMaxCopies and may be written behind the values; returns how many there are. kBusy: writers
  // were at its blocks, and Table::values has to answer (R3 in locking.h).
  static constexpr std::size_t kBusy = ~std::size_t{0};
  std::size_t (*find)(const BlocksView& view, std::uint64_t hash, std::uint64_t* values) noexcept;

  // The same for a group of up to kMaxLocated keys, in two steps, so that the homes of one group
  // are on their way to the cache while another is answered: first the places of the keys, then the
  // values of all in the order of the keys, and how many each key has in `counts`. `values` has
  // room for kMaxCopies of each. Returns how many there are in all, or kBusy if any key's blocks
  // were busy.
  void (*locate)(const BlocksView& view, const std::uint64_t* keys, std::size_t count,
                 InputKind input, MapletGroup& group) noexcept;
  std::size_t (*find_batch)(const BlocksView& view, MapletGroup& group, std::uint8_t* counts,
                            std::uint64_t* values) noexcept;

  // Stores the key with this hash and this value in a free slot at home, if there is one.
  using Store = bool (*)(const Block* blocks, const Geometry& geometry, std::uint64_t hash,
                         std::uint64_t value) noexcept;
  Store store_beside_readers;
  Store store_beside_writers;
  template <class Locks>
  [[nodiscard]] Store store_first() const {
    if constexpr (std::is_same_v<Locks, OneWriter>) return store_beside_readers;
    if constexpr (std::is_same_v<Locks, BlockLocks>) return store_beside_writers;
  }
};

// What a first try of an insert into an expiring filter did. Undecided: nothing.
enum class Renewal : std::uint8_t { undecided, stored, stored_in_place_of_dead, present };

// What expiring filters need besides (lib/place/aging.h).
struct ExpiringKernels : Kernels {
  // Slots that are dead at this tick, as bits.
  std::uint64_t (*dead)(const Block& block, std::uint64_t tick) noexcept;
  // Empties the dead slots of `count` blocks; returns how many there were. Locks a block only where
  // something is dead, or was changing.
  using Sweep = std::size_t (*)(const Block* blocks, std::size_t count,
                                std::uint64_t tick) noexcept;
  Sweep sweep_beside_readers;
  Sweep sweep_beside_writers;
  template <class Locks>
  [[nodiscard]] Sweep sweep() const {
    if constexpr (std::is_same_v<Locks, OneWriter>) return sweep_beside_readers;
    if constexpr (std::is_same_v<Locks, BlockLocks>) return sweep_beside_writers;
  }

  // Renews the key with this hash at home, or stores it there, for `life` ticks.
  using Renew = Renewal (*)(const Block* blocks, const Geometry& geometry, std::uint64_t hash,
                            std::uint32_t life) noexcept;
  // The same for each place in turn, up to the first that is undecided; returns how many were
  // decided.
  using RenewBatch = std::size_t (*)(const Block* blocks, const Place* places, std::size_t count,
                                     std::uint32_t life, Renewal* renewals) noexcept;
  Renew renew_beside_readers;
  Renew renew_beside_writers;
  RenewBatch renew_batch_beside_readers;
  RenewBatch renew_batch_beside_writers;
  template <class Locks>
  [[nodiscard]] Renew renew_first() const {
    if constexpr (std::is_same_v<Locks, OneWriter>) return renew_beside_readers;
    if constexpr (std::is_same_v<Locks, BlockLocks>) return renew_beside_writers;
  }
  template <class Locks>
  [[nodiscard]] RenewBatch renew_batch() const {
    if constexpr (std::is_same_v<Locks, OneWriter>) return renew_batch_beside_readers;
    if constexpr (std::is_same_v<Locks, BlockLocks>) return renew_batch_beside_writers;
  }
};

// All tables of one target but those of expiring filters; filters[i] are those of 8 + 4i bits.
struct TargetKernels {
  const Kernels* (*filters[3])();
  MapletKernels maplet;
};

// Prefetches memory that is about to be read, and a block that is about to be changed. g++ takes a
// function that only prefetches for one without effects and drops the call when it has not inlined
// it; an empty statement that counts as an effect keeps it.
inline void prefetch_bytes(const void* from, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += kBlockBytes) {
    __builtin_prefetch(static_cast<const std::byte*>(from) + i);
  }
  asm volatile("");
}
inline void prefetch_block(const Block& block) {
  __builtin_prefetch(block.bytes.data(), 1);
  asm volatile("");
}

// Prefetches the block that a lookup of the key with this hash reads first.
inline void prefetch_home(const BlocksView& view, std::uint64_t hash) {
  prefetch_bytes(&view.blocks[home_block_of(view.geometry, hash).block], kBlockBytes);
}

// The table for this processor; bits is 8, 12, 16, 20 for a maplet's, or the number of an expiring
// filter's layout. Not cached here, so that a
// test can switch targets (force_target in targets.h): keep the result.
const Kernels& kernels_for(int bits);
const MapletKernels& maplet_kernels();
const ExpiringKernels& expiring_kernels(int layout);

// The targets that were compiled and that this processor has, the best first; for tests.
std::vector<std::int64_t> usable_targets();

}  // namespace nestline

#endif  // NESTLINE_LIB_KERNELS_KERNELS_H_
