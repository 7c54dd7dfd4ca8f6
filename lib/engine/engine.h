// The face of the engine: what can be done with the blocks of a filter, a maplet or an expiring
// filter. What gains by vectors is compiled for every instruction set that Highway offers, in the
// sources of this folder; for each kind of filters a function picks what there is for this
// processor. So a call here is the only indirect call of an operation or of a run of a batch.
// Whoever has blocks keeps the pointer.
//
//   Engine                  of every kind
//     BlockKernels          one block: what tests compare with layout.h, merges and figures
//     LookupOperations      of filters and expiring filters
//     BuildKernels          builds in bulk (kernels/build_kernels.h)
//   FilterEngine            FilterLookups, FilterOperations
//   MapletEngine            MapletLookups, MapletOperations
//   ExpiringEngine          ExpiringOperations
//
// Operations are there once for each lock policy (locking.h).
// None allocates or throws. Neither keys nor growth nor counters are known here.
//
// Where NESTLINE_SMALL is defined, for one thread and as few bytes as possible, much is left out
// and null: bulk builds, updates, overlaps, operations beside threads, and those that change
// filters with guest lanes.
#ifndef NESTLINE_LIB_ENGINE_ENGINE_H_
#define NESTLINE_LIB_ENGINE_ENGINE_H_

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/engine/batch.h"
#include "lib/engine/kernels/paths.h"
#include "lib/engine/place/geometry.h"
#include "lib/engine/place/layout.h"
#include "lib/engine/place/locking.h"
#include "lib/engine/place/shape.h"
#include "nestline/outcome.h"

namespace nestline { inline namespace v0_3 {

// The answer for a key whose blocks change while a lookup reads them (R4 in locking.h).
struct LookupFallback {
  bool (*look)(const LookupFallback& second, std::uint64_t hash) noexcept;
};

// The outcome of an insert or update; empty when other writers overtook it too often and it was not
// done (only with BlockLocks). As std::optional, but a byte: inserts take 5 % fewer instructions.
class Result {
 public:
  constexpr Result() = default;
  constexpr Result(Outcome outcome) : outcome_(outcome) {}
  constexpr Result(std::nullopt_t) {}
  [[nodiscard]] constexpr bool has_value() const { return outcome_ != Outcome{}; }
  constexpr explicit operator bool() const { return has_value(); }
  constexpr Outcome operator*() const { return outcome_; }
  constexpr bool operator==(const Result&) const = default;

 private:
  Outcome outcome_{};
};

// Keys that are located together.
inline constexpr std::size_t kMaxLocated = 64;

// Operations under each lock policy of locking.h.
template <class T>
struct ByPolicy {
  T alone;
  T one_writer;
  T many_writers;
  template <class Locks>
  [[nodiscard]] const T& with() const {
    if constexpr (std::is_same_v<Locks, NoLocks>) return alone;
    if constexpr (std::is_same_v<Locks, OneWriter>) return one_writer;
    if constexpr (std::is_same_v<Locks, BlockLocks>) return many_writers;
  }
};

// One block.
struct BlockKernels {
  // Slots that hold `fingerprint`, as bits. `fingerprint` must not be 0.
  std::uint64_t (*match)(const Block& block, std::uint32_t fingerprint) noexcept;
  // Free slots, as bits.
  std::uint64_t (*free_slots)(const Block& block) noexcept;
  // Fills in `order`, by its classes.
  void (*rank)(const Block& block, EvictionOrder& order) noexcept;
  // The slots whose residents have eviction ranks from `from` on and below `below`, as bits.
  std::uint64_t (*of_ranks)(const Block& block, std::uint32_t from, std::uint32_t below) noexcept;
  // The shortest path from a bucket to a slot of `goals`, or no path. Residents of goal slots do
  // not move, and a path has no free slot but its last. `order`: the block's.
  EvictionPath (*find_path)(const Block& block, const EvictionOrder& order, std::uint64_t bucket,
                            std::uint64_t goals) noexcept;
  // The same to a free slot, for a place whose bucket need not be filled in, and what comes there.
  EvictionPath (*find_path_to_free)(const Block& block, const Place& place, Residence as,
                                    BlockClasses classes) noexcept;
  // Adds the residents of these slots to the candidates for leaving the block (paths.h).
  void (*find_candidates)(const EvictionContext& from, std::uint64_t slots,
                          EvictionCandidates& candidates) noexcept;
  // Of an expiring filter: slots that are dead at this tick, as bits.
  std::uint64_t (*dead)(const Block& block, std::uint64_t tick) noexcept;

  // Slots where there is a copy of a key.
  [[nodiscard]] std::uint64_t copies(const Block& block, const Place& place) const {
    return match(block, place.fingerprint) & place.bucket;
  }
};

// Lookups beside writers, by steps R1 to R3 of locking.h, and what batches of lookups need.
struct LookupOperations {
  bool (*contains)(const BlocksView& view, const LookupFallback& second,
                   std::uint64_t hash) noexcept;
  // A key with its bit in `undecided` has none in `bitmap`. True if any key is undecided.
  bool (*contains_batch)(const BlocksView& view, const Inputs& inputs, std::uint64_t* bitmap,
                         std::uint64_t* undecided) noexcept;
  // Answers of a batch as bytes, 1 or 0, or as the numbers of the keys found: first + i, or
  // selection[i] if given, whose memory `positions`, of `count`, may be. Return how many there are.
  std::size_t (*bits_to_bytes)(const std::uint64_t* bitmap, std::size_t count,
                               std::uint8_t* bytes) noexcept;
  std::size_t (*bits_to_positions)(const std::uint64_t* bitmap, std::size_t count,
                                   const std::uint32_t* selection, std::uint32_t first,
                                   std::uint32_t* positions) noexcept;
  // The homes of up to kMaxLocated keys. `places` has room for kMaxLocated.
  void (*locate)(const BlocksView& view, const Inputs& inputs, Place* places) noexcept;
};

// Lookups while nothing changes.
struct FilterLookups {
  // Whether the key with this hash may be in the filter; and in its alternate.
  bool (*contains)(const BlocksView& view, std::uint64_t hash) noexcept;
  bool (*contains_away)(const BlocksView& view, std::uint64_t hash) noexcept;
  // The same for a batch: bit i % 64 of bitmap[i / 64]. Unused bits of the last word are 0.
  void (*contains_batch)(const BlocksView& view, const Inputs& inputs,
                         std::uint64_t* bitmap) noexcept;
};

// Readers under a lock policy give the filter's Writers, if they may lock (locking.h, R4).
struct FilterOperations {
  // Outcome::stored, full or copies; unique also present: it checks and stores at one instant.
  Result (*insert)(const BlocksView& view, std::uint64_t hash) noexcept;
  Result (*insert_unique)(const BlocksView& view, std::uint64_t hash) noexcept;
  // The same as insert for a key whose hash is gone: its home, with its bucket.
  Result (*insert_at)(const BlocksView& view, const Place& home) noexcept;
  // Clears a copy of the old key and stores the new one, at one instant. `replaced`: whether there
  // was an old one; without it the new key is stored all the same.
  Result (*update)(const BlocksView& view, std::uint64_t old_hash, std::uint64_t new_hash,
                   bool& replaced) noexcept;
  // Clears one copy; false if there is no copy.
  bool (*erase)(const BlocksView& view, std::uint64_t hash) noexcept;
  // Whether there is a copy, and how many there are at home and in the alternate.
  bool (*contains)(const BlocksView& view, std::uint64_t hash, Writers* writers) noexcept;
  unsigned (*count)(const BlocksView& view, const Place& home, Writers* writers) noexcept;
  // Runs of a batch: keys from the front of the inputs, whose first is number `first` of the batch.
  RunEnd (*insert_run)(const BlocksView& view, const Inputs& inputs, const RunLimits& limits,
                       std::size_t first, Record& record) noexcept;
  RunEnd (*insert_unique_run)(const BlocksView& view, const Inputs& inputs, const RunLimits& limits,
                              std::size_t first, Record& record) noexcept;
  void (*erase_run)(const BlocksView& view, const Inputs& inputs, std::size_t first,
                    Record& record) noexcept;
  void (*count_run)(const BlocksView& view, const Inputs& inputs, std::uint8_t* out,
                    Writers* writers) noexcept;
};

// Candidates as a set of values below 64; higher ones and the maplet's highest are `anywhere`.
struct ValueSets {
  std::uint64_t anywhere;
  std::uint64_t highest;
  [[nodiscard]] NESTLINE_INLINE std::uint64_t of(std::uint64_t value) const {
    return value >= 64 || value == highest ? anywhere : std::uint64_t{1} << value;
  }
  [[nodiscard]] std::uint64_t of(std::span<const std::uint64_t> values) const {
    std::uint64_t set = 0;
    for (const std::uint64_t value : values) set |= of(value);
    return set;
  }
};

// Takes the candidates of a batch, of up to kMaxLocated keys at a time: from number `first` on, how
// many each has and all of them in order. Without counts: writers were at their blocks.
class CandidateSink {
 public:
  virtual void take(std::size_t first, std::size_t keys, const std::uint8_t* counts,
                    std::span<const std::uint64_t> values) = 0;

 protected:
  ~CandidateSink() = default;
};

// What becomes of the values from `first` on, one after the other: a new one, or kErased.
struct ValueChange {
  static constexpr std::uint64_t kErased = ~std::uint64_t{0};
  std::uint64_t first;
  std::span<const std::uint64_t> to;
  [[nodiscard]] NESTLINE_INLINE std::uint64_t of(std::uint64_t value) const {
    const std::uint64_t number = value - first;
    return number < to.size() ? to[number] : value;
  }
};

// Lookups of maplets give values.
struct MapletLookups {
  // Puts the values of the key with this hash into the front of `values`, which has room for
  // kMaxCopies and may be written behind the values; returns how many there are. kBusy: writers
  // were at its blocks, and MapletOperations::values has to answer (R3 in locking.h).
  static constexpr std::size_t kBusy = ~std::size_t{0};
  std::size_t (*find)(const BlocksView& view, std::uint64_t hash, std::uint64_t* values) noexcept;
  // The same as a set.
  struct Found {
    std::uint64_t set;
    bool done;  // false in place of kBusy
  };
  Found (*find_set)(const BlocksView& view, std::uint64_t hash, ValueSets sets) noexcept;
  // The same for a batch. A key with its bit in `undecided` has no set; true if there is any.
  bool (*find_sets)(const BlocksView& view, const Inputs& inputs, const ValueSets& sets,
                    std::uint64_t* found, std::uint64_t* undecided) noexcept;
  void (*find_lists)(const BlocksView& view, const Inputs& inputs, CandidateSink& sink);
};

struct MapletOperations {
  using Values = std::span<std::uint64_t, MapletLayout::kMaxCopies>;
  Result (*insert)(const BlocksView& view, std::uint64_t hash, std::uint64_t value) noexcept;
  // The same for a key whose hash is gone: its home, with its bucket.
  Result (*insert_at)(const BlocksView& view, const Place& home, std::uint64_t value) noexcept;
  // Clears one copy that has this value, or gives it another; false if there is none.
  bool (*erase)(const BlocksView& view, std::uint64_t hash, std::uint64_t value) noexcept;
  bool (*replace)(const BlocksView& view, std::uint64_t hash, std::uint64_t old_value,
                  std::uint64_t new_value) noexcept;
  // A run of a batch, as FilterOperations::insert_run, with a value for each key. It also ends, as
  // if the key were overtaken, at the highest value of a key that finds no room.
  RunEnd (*insert_run)(const BlocksView& view, const Inputs& inputs, const std::uint64_t* values,
                       const RunLimits& limits, std::size_t first, Record& record) noexcept;
  // The values of all copies into the front of `values`; returns how many there are.
  std::size_t (*values)(const BlocksView& view, std::uint64_t hash, Values values,
                        Writers* writers) noexcept;
  // How many copies there are.
  unsigned (*count)(const BlocksView& view, const Place& home, Writers* writers) noexcept;
  // Changes the values in all blocks; returns how many it has changed, and how many of them it has
  // erased. Pairs must not move meanwhile: no other writer may be at work.
  std::pair<std::uint64_t, std::uint64_t> (*change_values)(const BlocksView& view,
                                                           const ValueChange& change) noexcept;
};

// To all operations on expiring filters a dead slot holds nothing (aging.h).
struct ExpiringOperations {
  // Makes the key live for `life` more ticks at least: renews the slot that is its own or of a key
  // that looks the same, else stores it. Outcome::stored, present or full. Adds to `emptied` how
  // many dead slots it has emptied.
  Result (*renew)(const BlocksView& view, std::uint64_t hash, std::uint32_t life,
                  std::uint32_t& emptied) noexcept;
  // Whether there is a live copy; and whole ticks that it still lives after this one.
  bool (*contains)(const BlocksView& view, std::uint64_t hash, Writers* writers) noexcept;
  std::uint32_t (*ticks_left)(const BlocksView& view, const Place& home, Writers* writers) noexcept;
  // A run of a batch, up to a key that other writers keep overtaking.
  std::size_t (*renew_run)(const BlocksView& view, const Inputs& inputs, std::uint32_t life,
                           std::size_t first, Record& record, std::uint32_t& emptied) noexcept;
  void (*ticks_left_run)(const BlocksView& view, const Inputs& inputs, std::uint8_t* out,
                         Writers* writers) noexcept;
  // Empties the dead slots of `count` blocks; returns how many there were. Locks a block only where
  // something is dead, or was changing. `exchanges`: also makes each block's mark its next mark, of
  // all blocks (M1).
  std::size_t (*sweep)(const BlocksView& view, std::uint64_t first, std::uint64_t count,
                       std::uint64_t tick, bool exchanges) noexcept;
};

struct BuildKernels;

struct FilterEngine;
struct MapletEngine;
struct ExpiringEngine;

// What there is for one layout of every kind on one target.
struct Engine {
  std::int64_t target;  // Highway's number of the instruction set
  int layout;           // its number
  BlockKernels block;
  LookupOperations lookups;
  // Doubles `count` blocks of a filter or maplet that has grown `growth` times, less than
  // max_growth: block i becomes 2i, for fingerprints whose next bit is 0, and 2i + 1, at the same
  // slots and with the same mark. Every byte of `to` is written; lock and version are 0.
  void (*split)(const Block* from, std::size_t count, std::uint32_t growth, Block* to) noexcept;
  const BuildKernels* build;  // null: not in bulk

  // The rest of it, for who knows the kind.
  [[nodiscard]] const FilterEngine& of_filters() const;
  [[nodiscard]] const MapletEngine& of_maplets() const;
  [[nodiscard]] const ExpiringEngine& of_expiring_filters() const;
};
struct FilterEngine : Engine {
  FilterLookups lookups_alone;
  ByPolicy<FilterOperations> operations;
  // How many residents two filters of one geometry have in common, each with one that looks the
  // same; `any`: or another number above 0. Nothing changes meanwhile (kernels/overlap-inl.h).
  std::uint64_t (*count_common)(const BlocksView& one, const BlocksView& other, bool any) noexcept;
};
struct MapletEngine : Engine {
  MapletLookups values;
  ByPolicy<MapletOperations> operations;
};
struct ExpiringEngine : Engine {
  ByPolicy<ExpiringOperations> operations;
};
inline const FilterEngine& Engine::of_filters() const {
  assert(!is_maplet(layout) && !is_expiring(layout));
  return static_cast<const FilterEngine&>(*this);
}
inline const MapletEngine& Engine::of_maplets() const {
  assert(is_maplet(layout));
  return static_cast<const MapletEngine&>(*this);
}
inline const ExpiringEngine& Engine::of_expiring_filters() const {
  assert(is_expiring(layout));
  return static_cast<const ExpiringEngine&>(*this);
}

// How many copies of a key are at home and in its alternate, or of `any` whether there is one.
// block(number) returns a block.
template <typename BlockOf>
unsigned count_copies(const BlockKernels& kernels, const Geometry& geometry, const Place& home,
                      bool any, BlockOf&& block) {
  const Block& first = block(home.block);
  const auto found = static_cast<unsigned>(std::popcount(kernels.copies(first, home)));
  Place away;
  if ((any && found != 0) || !may_be_away(geometry, first.overflow_mark(), home, away)) {
    return found;
  }
  return found + static_cast<unsigned>(std::popcount(kernels.copies(block(away.block), away)));
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

// The engines of layouts on this processor are filter_engine, maplet_engine and expiring_engine
// (place/shape.h). They are not cached there, so that a test can switch targets (force_target in
// targets.h): keep the result.

// The targets that were compiled and that this processor has, the best first; for tests.
std::vector<std::int64_t> usable_targets();

}}  // namespace nestline

#endif  // NESTLINE_LIB_ENGINE_ENGINE_H_
