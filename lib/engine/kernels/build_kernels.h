// The vectorized work of builds in bulk (lib/filters/filter/bulk_build.h): a table per target and
// width.
#ifndef NESTLINE_LIB_ENGINE_KERNELS_BUILD_KERNELS_H_
#define NESTLINE_LIB_ENGINE_KERNELS_BUILD_KERNELS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "lib/engine/engine.h"

namespace nestline { inline namespace v0_3 {

// A fingerprint, its bucket offset << 16 and its eviction rank << 24. Free slots have 0.
using Resident = std::uint32_t;
constexpr std::uint32_t fingerprint_of(Resident resident) { return resident & 0xffff; }
constexpr std::uint32_t bucket_offset_of(Resident resident) { return resident >> 16 & 0xff; }
constexpr std::uint32_t rank_of_resident(Resident resident) { return resident >> 24; }

// A block while keys are given its slots. What belongs to free slots means nothing, but their
// residents are 0. The entries after the last slot are for the kernels.
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

// A key as one number: block << 20 | bucket offset << 16 | fingerprint. The lowest 20 bits are its
// pair.
constexpr std::uint64_t located(std::uint64_t block, std::uint32_t pair) {
  return block << 20 | pair;
}
inline constexpr std::uint32_t kPairMask = (1u << 20) - 1;
static_assert(kMaxBlocks <= std::uint64_t{1} << 40);
// Newcomers that `place_bulk` takes for a block at most.
inline constexpr std::size_t kMaxBulkPlaced = 64;

// A block and its newcomers. Kernels read and write whole vectors, so beyond the last one.
struct alignas(64) BulkPlacement {
  UnpackedBlock block;
  std::uint64_t bucket[kMaxBulkPlaced + 64];
  Resident newcomer[kMaxBulkPlaced + 64];
  std::size_t count = 0;
  // The numbers of the newcomers that found no slot.
  std::size_t unplaced_count = 0;
  std::uint8_t unplaced[kMaxBulkPlaced];
};

// Makes the mark of `to` that of `from` at least (F1 in folding.h).
inline void raise_mark(const Block& from, Block& to) {
  to.set_overflow_mark(std::max(to.overflow_mark(), from.overflow_mark()));
}
// The pairs of a fold's residents that do not keep their slots: those that are not known to be
// guests, and those that are and go home. There is room for all residents and 64 more.
struct FoldRest {
  std::uint32_t* native;
  std::uint32_t* guest;
  std::size_t natives;
  std::size_t guests;
};

// Of one width on one target.
struct BuildKernels {
  std::uint32_t slots;       // of a block
  std::uint32_t max_copies;  // of one key
  // The homes of up to kMaxLocated keys, located. `to` has room for kMaxLocated.
  void (*locate_pairs)(const BlocksView& view, const std::uint64_t* keys, std::size_t count,
                       InputKind input, std::uint64_t* to) noexcept;
  // The newcomers, up to kMaxBulkPlaced, whose pairs are the lowest 20 bits of these numbers, and
  // the slots of their buckets that they may have. Reads and writes whole vectors.
  void (*complete)(const std::uint32_t* pairs, std::size_t count, Residence as, Resident* newcomers,
                   std::uint64_t* buckets) noexcept;
  // Which of these 64 residents have at most this eviction rank, as bits.
  std::uint64_t (*at_most)(const Resident* residents, std::uint32_t eviction_rank) noexcept;
  // Gives each of up to kMaxLocated keys the lowest free slot of its bucket at home. free[b] are
  // the free slots of block b, as bits: they are not taken from the blocks. Writes the deferred
  // keys, for whom no slot is free, to `deferred`, located; returns how many there are. `deferred`
  // has room for all. In the header of a deferred key's block, lock and version mean nothing
  // afterwards.
  std::size_t (*place_keys)(const BlocksView& view, Block* blocks, const std::uint64_t* keys,
                            std::size_t count, InputKind input, std::uint64_t* free,
                            std::uint64_t* deferred) noexcept;
  // The same for any number of keys, each a pair with a block's number above, of which only the
  // bits of `mask` count. Reads whole vectors.
  std::size_t (*place_pairs)(const std::uint32_t* keys, std::size_t count, std::uint32_t mask,
                             Block* blocks, std::uint64_t* free, std::uint32_t* deferred) noexcept;
  // Gives each newcomer a slot of its bucket, by paths where necessary; reports those without a
  // path.
  void (*place_bulk)(BulkPlacement& block) noexcept;
  // Stores one newcomer, by the shortest path from its bucket to one of `goals`; false, nothing
  // being changed, if there is none. Residents of goals are overwritten.
  bool (*place_by_search)(UnpackedBlock& block, Resident newcomer, std::uint64_t bucket,
                          std::uint64_t goals) noexcept;
  // From and to the form in which blocks are stored. `pack` overwrites the header. With guest
  // lanes, buckets are what their residents may move to.
  void (*unpack)(const Block& block, BlockClasses classes, UnpackedBlock& unpacked) noexcept;
  void (*pack)(const UnpackedBlock& unpacked, std::uint32_t header, Block& block) noexcept;
  // Of a filter: whether a resident is in the guest lane of its class.
  bool (*is_in_guest_lane)(Resident resident, std::size_t slot) noexcept = nullptr;
  // Raises the guest level of a block; false if natives cannot leave their guest lanes. Then it is
  // as before, but natives may have other slots.
  bool (*raise_guest_level)(Block& block, BlockClasses classes,
                            std::uint32_t level) noexcept = nullptr;
  // Opens a block for the class of a fingerprint, or else for all.
  void (*open)(Block& block, BlockClasses classes, std::uint32_t fingerprint) noexcept = nullptr;
  // Of a block of a filter that has just doubled, and that nobody else has: lets guests of classes
  // above `class_` come home, and closes it if it is open and no resident may be a guest.
  void (*settle)(const BlocksView& view, std::uint64_t block,
                 std::uint32_t class_) noexcept = nullptr;
  // Makes a block of hash version 3 one of version 4. `has_unknown`: whether a resident above class
  // kOlderLanesTop may be a guest.
  void (*take_over_version_3)(Block& block, BlockClasses classes,
                              bool has_unknown) noexcept = nullptr;
  // Of a filter: fills an empty block with the residents of `count` blocks, of which `first` is the
  // first one's number, by F1 and F2 of folding.h; with guest lanes it may be open, and have a
  // mark. `free`: the slots that are free afterwards.
  void (*fold_block)(const BlocksView& from, std::uint64_t first, std::size_t count, Block& to,
                     std::uint64_t& free, FoldRest& rest) noexcept = nullptr;
  // Of a maplet: gives each of these keys, which all have a slot, its value. A bit of assigned[b]
  // is set for a slot of block b that has got its value, where a lookup finds several.
  void (*assign_values)(const BlocksView& view, Block* blocks, const Inputs& inputs,
                        const std::uint64_t* values, std::uint64_t* assigned) noexcept = nullptr;
};

}}  // namespace nestline

#endif  // NESTLINE_LIB_ENGINE_KERNELS_BUILD_KERNELS_H_
