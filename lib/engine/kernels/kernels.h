// The vectorized work, behind tables of function pointers: one of each kind per target and layout.
//
//   TableKernels      one block, paths and candidates: what Table needs, of every layout
//     LookupKernels   lookups beside writers and what batches need: of filters and expiring filters
//       FilterKernels, ExpiringKernels
//     MapletKernels
//   BuildKernels      builds in bulk, of filters (build_kernels.h)
//
// kernels.cc is compiled once for every instruction set that Highway offers; kernels_for picks the
// table of the best one that this processor has. Code that works on blocks keeps the pointer: one
// indirect call per operation or batch. layout.h and geometry.h define what each function computes.
// None allocates or throws, and only the first tries of changes lock.
#ifndef NESTLINE_LIB_ENGINE_KERNELS_KERNELS_H_
#define NESTLINE_LIB_ENGINE_KERNELS_KERNELS_H_

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "lib/engine/kernels/paths.h"
#include "lib/engine/place/locking.h"

namespace nestline { inline namespace v0_3 {

// The answer for a key whose blocks change while a lookup reads them (R4 in locking.h).
struct LookupFallback {
  bool (*look)(const LookupFallback& second, std::uint64_t hash) noexcept;
};

// Whether a batch holds integer keys, which are mixed first, or hashes, which are not.
enum class InputKind : std::uint8_t { integers, hashes };
NESTLINE_INLINE std::uint64_t hash_of(std::uint64_t key, InputKind input,
                                      const MixSecrets& secrets) {
  return input == InputKind::integers ? mix_integer(key, secrets) : key;
}

// Doubles `count` blocks of a filter or maplet that has grown `growth` times, less than max_growth:
// block i becomes 2i, for fingerprints whose next bit is 0, and 2i + 1, at the same slots and with
// the same mark. Every byte of `to` is written; lock and version are 0.
using Split = void (*)(const Block* from, std::size_t count, std::uint32_t growth,
                       Block* to) noexcept;
inline constexpr std::size_t kMaxLocated = 64;

struct LookupKernels;
struct FilterKernels;
struct ExpiringKernels;

struct TableKernels {
  std::int64_t target;  // Highway's number of the instruction set
  int layout;           // its number
  // The whole table, of which this is the beginning; the layout must be of that kind.
  [[nodiscard]] const LookupKernels& lookups() const;
  [[nodiscard]] const FilterKernels& of_filter() const;
  [[nodiscard]] const ExpiringKernels& of_expiring() const;
  [[nodiscard]] Split split() const;  // of a filter or maplet
  // Slots that hold `fingerprint`, as bits. `fingerprint` must not be 0.
  std::uint64_t (*match)(const Block& block, std::uint32_t fingerprint) noexcept;

  // Slots where there is a copy of a key.
  [[nodiscard]] std::uint64_t copies(const Block& block, const Place& place) const {
    return match(block, place.fingerprint) & place.bucket;
  }

  // Free slots, as bits.
  std::uint64_t (*free_slots)(const Block& block) noexcept;
  // Fills in `ranks`.
  void (*rank)(const Block& block, EvictionOrder& ranks) noexcept;
  // The slots whose residents have eviction ranks from `from` on and below `below`, as bits.
  std::uint64_t (*of_ranks)(const Block& block, std::uint32_t from, std::uint32_t below) noexcept;
  // The shortest path from a bucket to a slot of `goals`, or no path. Residents of goal slots do
  // not move, and a path has no free slot but its last. `ranks`: the block's.
  EvictionPath (*find_path)(const Block& block, const EvictionOrder& ranks, std::uint64_t bucket,
                            std::uint64_t goals) noexcept;
  // The same to a free slot, for a place whose bucket need not be filled in.
  EvictionPath (*find_path_to_free)(const Block& block, const Place& place) noexcept;
  // Adds the residents of these slots to the candidates, of which one, a newcomer whose target is
  // known, may be there. Open is one that has another block, with a free slot in its bucket; or
  // with a free slot, and no mark or a resident that could move there. Beside writers a hint.
  void (*candidates)(const EvictionContext& from, std::uint64_t slots,
                     EvictionCandidates& candidates) noexcept;
};

struct LookupKernels : TableKernels {
  // The lookups beside writers, by steps R1 to R3 of locking.h.
  bool (*contains_concurrent)(const BlocksView& view, const LookupFallback& second,
                              std::uint64_t hash) noexcept;
  // A key with its bit in `undecided` has none in `bitmap`. True if any key is undecided.
  bool (*contains_batch_concurrent)(const BlocksView& view, const std::uint64_t* keys,
                                    std::size_t count, InputKind input, std::uint64_t* bitmap,
                                    std::uint64_t* undecided) noexcept;
  // Answers of a batch as bytes, 1 or 0, or as the numbers of the keys found: first + i, or
  // selection[i] if given, whose memory `positions`, of `count`, may be. Return how many there are.
  std::size_t (*bits_to_bytes)(const std::uint64_t* bitmap, std::size_t count,
                               std::uint8_t* bytes) noexcept;
  std::size_t (*bits_to_positions)(const std::uint64_t* bitmap, std::size_t count,
                                   const std::uint32_t* selection, std::uint32_t first,
                                   std::uint32_t* positions) noexcept;
  // The homes of up to kMaxLocated keys.
  void (*locate_batch)(const BlocksView& view, const std::uint64_t* keys, std::size_t count,
                       InputKind input, Place* places) noexcept;
};

// What there is for each lock policy of locking.h beside other threads.
template <class T>
struct Concurrent {
  T readers;
  T writers;
  template <class Locks>
  [[nodiscard]] const T& with() const {
    if constexpr (std::is_same_v<Locks, OneWriter>) return readers;
    if constexpr (std::is_same_v<Locks, BlockLocks>) return writers;
  }
};

// The beginning of changes, at home, under one of the lock policies. Most changes end there.
struct FirstTries {
  // Stores the key with this hash if there is a path to a free slot of its home.
  bool (*store)(const Block* blocks, const Geometry& geometry, std::uint64_t hash) noexcept;
  // The same for each place in turn, up to the first that has no path; returns how many were
  // stored.
  std::size_t (*store_batch)(const Block* blocks, const Place* places, std::size_t count) noexcept;
  // Clears a copy of the key with this hash at home, if there is one.
  bool (*erase)(const Block* blocks, const Geometry& geometry, std::uint64_t hash) noexcept;
};

struct FilterKernels : LookupKernels {
  // Whether the key with this hash may be in the filter.
  bool (*contains)(const BlocksView& view, std::uint64_t hash) noexcept;
  // Whether it may be in its alternate.
  bool (*contains_away)(const BlocksView& view, std::uint64_t hash) noexcept;
  // The same for `count` keys: bit i % 64 of bitmap[i / 64]. Unused bits of the last word are 0.
  void (*contains_batch)(const BlocksView& view, const std::uint64_t* keys, std::size_t count,
                         InputKind input, std::uint64_t* bitmap) noexcept;
  // For each place, the slots of its bucket that hold its fingerprint.
  void (*match_batch)(const BlocksView& view, const Place* places, std::size_t count,
                      std::uint64_t* slots) noexcept;
  FirstTries alone;
  Concurrent<FirstTries> beside;
  template <class Locks>
  [[nodiscard]] const FirstTries& first_tries() const {
    if constexpr (std::is_same_v<Locks, NoLocks>) {
      return alone;
    } else {
      return beside.with<Locks>();
    }
  }

  Split doubles;
};

// How many copies of a key are at home and in its alternate, or of `any` whether there is one.
// block(number) returns a block.
template <typename BlockOf>
unsigned count_copies(const TableKernels& kernels, const Geometry& geometry, const Place& home,
                      bool any, BlockOf&& block) {
  const Block& first = block(home.block);
  const auto found = static_cast<unsigned>(std::popcount(kernels.copies(first, home)));
  Place away;
  if ((any && found != 0) || !may_be_away(geometry, first.overflow_mark(), home, away))
    return found;
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

// Lookups of maplets give values, as Table::values defines them.
struct MapletKernels : TableKernels {
  // Puts the values of the key with this hash into the front of `values`, which has room for
  // kMaxCopies and may be written behind the values; returns how many there are. kBusy: writers
  // were at its blocks, and Table::values has to answer (R3 in locking.h).
  static constexpr std::size_t kBusy = ~std::size_t{0};
  std::size_t (*find)(const BlocksView& view, std::uint64_t hash, std::uint64_t* values) noexcept;
  // The same for up to kMaxLocated keys, in two steps, so that the homes of one group are fetched
  // while another is answered: the places, then the values in the order of the keys, and how many
  // each has in `counts`. `values` has room for kMaxCopies of each. kBusy if any key's blocks were
  // busy.
  void (*locate)(const BlocksView& view, const std::uint64_t* keys, std::size_t count,
                 InputKind input, MapletGroup& group) noexcept;
  std::size_t (*find_batch)(const BlocksView& view, MapletGroup& group, std::uint8_t* counts,
                            std::uint64_t* values) noexcept;
  // Stores the key with this hash and this value in a free slot at home, if there is one.
  using Store = bool (*)(const Block* blocks, const Geometry& geometry, std::uint64_t hash,
                         std::uint64_t value) noexcept;
  Concurrent<Store> store;
  Split doubles;
};

// What a first try of an insert into an expiring filter did. Undecided: nothing.
enum class Renewal : std::uint8_t { undecided, stored, stored_in_place_of_dead, present };

// What expiring filters need besides (aging.h). To all their kernels a dead slot holds nothing.
struct ExpiringKernels : LookupKernels {
  // Slots that are dead at this tick, as bits.
  std::uint64_t (*dead)(const Block& block, std::uint64_t tick) noexcept;
  // Empties the dead slots of `count` blocks; returns how many there were. Locks a block only where
  // something is dead, or was changing.
  using Sweep = std::size_t (*)(const Block* blocks, std::size_t count,
                                std::uint64_t tick) noexcept;
  Concurrent<Sweep> sweep;
  // Renews the key with this hash, or stores it, for `life` ticks, unless others have to leave
  // their blocks for it. Adds to `emptied` how many dead slots it has emptied.
  using Renew = Renewal (*)(const Block* blocks, const Geometry& geometry, std::uint64_t hash,
                            std::uint32_t life, std::uint32_t& emptied) noexcept;
  Concurrent<Renew> renew;
  // The same for each place up to the first that is undecided; returns how many were decided.
  using RenewBatch = std::size_t (*)(const Block* blocks, const Geometry& geometry,
                                     const Place* places, std::size_t count, std::uint32_t life,
                                     Renewal* renewals, std::uint32_t& emptied) noexcept;
  Concurrent<RenewBatch> renew_batch;
};

inline const LookupKernels& TableKernels::lookups() const {
  assert(layout != kMapletBits);
  return static_cast<const LookupKernels&>(*this);
}
inline const FilterKernels& TableKernels::of_filter() const {
  assert(layout != kMapletBits && !is_expiring(layout));
  return static_cast<const FilterKernels&>(*this);
}
inline const ExpiringKernels& TableKernels::of_expiring() const {
  assert(is_expiring(layout));
  return static_cast<const ExpiringKernels&>(*this);
}

inline Split TableKernels::split() const {
  return layout == kMapletBits ? static_cast<const MapletKernels&>(*this).doubles
                               : of_filter().doubles;
}

// Prefetch memory that is to be read, and a block that is to be changed. g++ drops calls of a
// function that only prefetches, as without effects, unless an empty statement counts as one.
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

// The tables for this processor, by the number of the layout. Not cached here, so that a test can
// switch targets (force_target in targets.h): keep the result.
const TableKernels& kernels_for(int layout);
const FilterKernels& filter_kernels(int bits);
const MapletKernels& maplet_kernels();
const ExpiringKernels& expiring_kernels(int layout);
// The targets that were compiled and that this processor has, the best first; for tests.
std::vector<std::int64_t> usable_targets();

}}  // namespace nestline

#endif  // NESTLINE_LIB_ENGINE_KERNELS_KERNELS_H_
