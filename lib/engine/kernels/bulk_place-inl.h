// Per-target: giving many keys their slots at once, for builds in bulk. Most find a free slot of
// their bucket: `place` gives it to them, for many blocks in any order, by a word of free slots a
// block. Late ones get a slot block by block: first by one move of a resident, without branches,
// then by the search below.
//
// place_by_search searches backwards: level 0 is the goals, level n + 1 is level n with every slot
// whose resident has a slot of level n in its bucket: a few vector operations. The search ends at
// the first level that a resident of the newcomer's bucket can move to, or without a path at a
// level that equals the one before. That last step, of four or five slots, is scalar: half of the
// searches need no level then.
#if defined(NESTLINE_LIB_ENGINE_KERNELS_BULK_PLACE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_ENGINE_KERNELS_BULK_PLACE_INL_H_
#undef NESTLINE_LIB_ENGINE_KERNELS_BULK_PLACE_INL_H_
#else
#define NESTLINE_LIB_ENGINE_KERNELS_BULK_PLACE_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include "lib/engine/kernels/build_kernels.h"
#include "lib/engine/kernels/locate-inl.h"
#include "lib/engine/kernels/match-inl.h"
#include "lib/engine/kernels/paths-inl.h"
#include "lib/engine/kernels/residents-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nestline { inline namespace v0_3 { namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Guests may have the slots of their buckets that are in their guest lanes.
template <class L>
HWY_INLINE void keep_to_lanes(const Resident* newcomers, std::size_t count, Residence as,
                              std::uint64_t* buckets) {
  if (!L::kHasGuestLanes || as != Residence::guest) return;
  for (std::size_t i = 0; i < count; ++i) {
    buckets[i] &= GuestLanes<L>::inside(fingerprint_of(newcomers[i]));
  }
}

template <class L>
void locate_pairs_each(const BlocksView& view, const std::uint64_t* keys, std::size_t count,
                       InputKind input, std::uint64_t* to) {
  for (std::size_t i = 0; i < count; ++i) {
    const Home home = home_block_of(view.geometry, hash_of(keys[i], input, view.secrets));
    to[i] =
        located(home.block, L::fingerprint_of(home.rest) | L::bucket_offset_of(home.rest) << 16);
  }
}

#if NESTLINE_ONE_LANE

template <class L>
void locate_pairs(const BlocksView& view, const std::uint64_t* keys, std::size_t count,
                  InputKind input, std::uint64_t* to) noexcept {
  locate_pairs_each<L>(view, keys, count, input, to);
}

template <class L>
void complete(const std::uint32_t* pairs, std::size_t count, Residence as, Resident* newcomers,
              std::uint64_t* buckets) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t pair = pairs[i] & kPairMask;
    const std::uint32_t fingerprint = pair & 0xffff;
    newcomers[i] = pair | eviction_rank(fingerprint) << 24;
    buckets[i] = L::bucket(fingerprint, pair >> 16);
  }
  keep_to_lanes<L>(newcomers, count, as, buckets);
}

template <class L>
void find_pairs(const Block& block, std::uint32_t* pairs) {
  for (std::uint32_t s = 0; s < L::kSlots; ++s) {
    const std::uint32_t fingerprint = L::get(block, s);
    pairs[s] = fingerprint | L::bucket_offset_at(fingerprint, s) << 16;
  }
}

// Writes the slots' bytes of a block; fingerprints of free slots are 0.
template <class L>
void write_fingerprints(const Resident* residents, Block& block) {
  block = {};  // 9 bits leave bits that belong to no slot
  for (std::uint32_t s = 0; s < L::kSlots; ++s) L::set(block, s, fingerprint_of(residents[s]));
}

inline std::uint64_t at_most(const Resident* residents, std::uint32_t eviction_rank) noexcept {
  std::uint64_t found = 0;
  for (std::uint32_t i = 0; i < 64; ++i) {
    found |= std::uint64_t{rank_of_resident(residents[i]) <= eviction_rank} << i;
  }
  return found;
}

// The slots whose buckets share a slot with `slots`.
template <class L>
std::uint64_t sharing(const std::uint64_t* buckets, std::uint64_t slots) {
  std::uint64_t found = 0;
  for (std::uint32_t s = 0; s < L::kSlots; ++s) {
    found |= std::uint64_t{(buckets[s] & slots) != 0} << s;
  }
  return found;
}

#else  // vectors

// Reads `count` keys rounded up to whole vectors, so up to kMaxLocated.
template <class L, InputKind kInput>
HWY_INLINE void locate_all_pairs(const BlocksView& view, const std::uint64_t* keys,
                                 std::size_t count, std::uint64_t* to) {
  const D64 d;
  const D16 d16;
  const D8 d8;
  const auto bases = hn::Set(d, view.geometry.base_blocks);
  const auto child_ends = static_cast<int>(32 - view.geometry.growth);
  constexpr std::uint64_t kFingerprint = (std::uint64_t{1} << L::kBits) - 1;
  const auto per_lane = hn::BitCast(d16, hn::Set(d, std::uint64_t{L::kSlotsPerSegment}));
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    auto h = hn::LoadU(d, keys + i);
    if constexpr (kInput == InputKind::integers) h = mix_integers(h, view.secrets);
    h = base_and_rest(h, bases);
    const auto block = hn::ShiftRightSame(h, child_ends);
    // All in the lowest bits of a lane.
    const auto highest = hn::And(hn::ShiftRight<32 - L::kBits>(h), hn::Set(d, kFingerprint));
    const auto f = hn::BitCast(
        d, hn::Max(hn::BitCast(d8, highest), hn::BitCast(d8, hn::Set(d, std::uint64_t{1}))));
    const auto below = hn::And(hn::ShiftRight<16 - L::kBits>(h), hn::Set(d, std::uint64_t{0xffff}));
    const auto p = hn::BitCast(d, hn::MulHigh(hn::BitCast(d16, below), per_lane));
    const auto pair = hn::Or(f, hn::ShiftLeft<16>(p));
    hn::StoreU(hn::Or(pair, hn::ShiftLeft<20>(block)), d, to + i);
  }
}

template <class L>
void locate_pairs(const BlocksView& view, const std::uint64_t* keys, std::size_t count,
                  InputKind input, std::uint64_t* to) noexcept {
  if (HWY_UNLIKELY(view.geometry.base_blocks > std::numeric_limits<std::uint32_t>::max())) {
    return locate_pairs_each<L>(view, keys, count, input, to);
  }
  alignas(64) std::uint64_t padded[kMaxLocated];
  if (count < kMaxLocated) {
    std::copy_n(keys, count, padded);
    std::fill(padded + count, padded + kMaxLocated, 0);
    keys = padded;
  }
  if (input == InputKind::integers) {
    locate_all_pairs<L, InputKind::integers>(view, keys, count, to);
  } else {
    locate_all_pairs<L, InputKind::hashes>(view, keys, count, to);
  }
}

template <class L>
void complete(const std::uint32_t* pairs, std::size_t count, Residence as, Resident* newcomers,
              std::uint64_t* buckets) noexcept {
  const D32 d32;
  const D8 d8;
  static constexpr BothHalves kFingerprints(0, 1);
  static constexpr BothHalves kPhases(2, 3);
  const auto fingerprints = hn::LoadDup128(d8, kFingerprints.bytes);
  const auto bucket_offsets = hn::LoadDup128(d8, kPhases.bytes);
  for (std::size_t i = 0; i < count; i += hn::Lanes(d32)) {
    const auto pair = hn::And(hn::LoadU(d32, pairs + i), hn::Set(d32, kPairMask));
    const auto classes = hn::Sub(pair, hn::Set(d32, 1));  // in the low byte
    hn::StoreU(hn::Or(pair, hn::ShiftLeft<24>(classes)), d32, newcomers + i);
    const auto bytes = hn::BitCast(d8, pair);
    BlockLocator<L>::store_buckets(hn::BitCast(D16(), hn::TableLookupBytes(bytes, fingerprints)),
                                   hn::BitCast(D16(), hn::TableLookupBytes(bytes, bucket_offsets)),
                                   buckets + i);
  }
  keep_to_lanes<L>(newcomers, count, as, buckets);
}

template <class L>
HWY_INLINE void find_pairs(const Block& block, std::uint32_t* pairs) {
  using Lanes = ResidentLanes<L>;
  const Lanes lanes(block);
  for (std::size_t s = 0; s < L::kSlots; s += hn::Lanes(typename Lanes::D())) {
    lanes.store_pairs(s, pairs + s);
  }
}

// Writes the lowest bits of the residents, shifted right, as lanes of T one after the other.
template <typename T, int kShift, class D>
HWY_INLINE auto demoted(D d, const Resident* residents) {
  const hn::RebindToSigned<D> signed_d;
  const hn::Rebind<T, D> d_to;
  constexpr std::uint32_t kMask = kShift != 0 ? 0xf : sizeof(T) == 1 ? 0xff : 0xffff;
  const auto bits = hn::And(hn::ShiftRight<kShift>(hn::LoadU(d, residents)), hn::Set(d, kMask));
  return hn::DemoteTo(d_to, hn::BitCast(signed_d, bits));
}

// Bit s: the fingerprint in slot s has this bit.
template <class L>
HWY_INLINE std::uint64_t plane_of(const Resident* residents, std::uint32_t bit) {
  const BlockTag<std::uint32_t> d;
  std::uint64_t plane = 0;
  for (std::size_t s = 0; s < L::kSlots; s += hn::Lanes(d)) {
    plane |= bits_of(d, hn::TestBit(hn::LoadU(d, residents + s), hn::Set(d, 1u << bit))) << s;
  }
  return plane & L::kAllSlots;
}

// Also overwrites the header: but for 12 bits no detour of the bytes, since a vector that is
// loaded soon after its parts were stored waits for them. Values become 0.
template <class L>
HWY_INLINE void write_fingerprints(const Resident* residents, Block& block) {
  using T = EvictionOrder::BucketOffset<L>;
  const BlockTag<std::uint32_t> d;
  const hn::Rebind<T, decltype(d)> d_to;
  const std::size_t step = hn::Lanes(d);
  const auto write = [&](T* to) {
    for (std::size_t s = 0; s < kBlockBytes / sizeof(T) && s < L::kSlots; s += step) {
      hn::StoreU(demoted<T, 0>(d, residents + s), d_to, to + s);
    }
  };
  if constexpr (L::kForm != Form::bytes_and_nibbles) {
    write(reinterpret_cast<T*>(block.bytes.data()));
    if constexpr (L::kPlanes == 1) L::set_planes(block, {plane_of<L>(residents, 8), 0});
    if constexpr (L::kPlanes == 2) {
      L::set_planes(block, {plane_of<L>(residents, 8), plane_of<L>(residents, 9)});
    }
    if constexpr (L::kHasValues) {
      constexpr std::size_t kFingerprintBytes = L::kSlots * sizeof(T);
      std::memset(block.bytes.data() + kFingerprintBytes, 0, kBlockBytes - kFingerprintBytes);
    }
  } else {
    alignas(64) T to[128] = {};
    write(to);
    for (std::size_t s = 0; s < L::kNibbleRun; s += step) {
      const auto low = demoted<T, 8>(d, residents + s);
      const auto high = demoted<T, 8>(d, residents + L::kNibbleRun + s);
      hn::StoreU(hn::Or(low, hn::ShiftLeft<4>(high)), d_to, to + L::kNibbleByte + s);
    }
    std::memcpy(block.bytes.data(), to, kBlockBytes);
  }
}

inline std::uint64_t at_most(const Resident* residents, std::uint32_t eviction_rank) noexcept {
  const BlockTag<std::uint32_t> d;
  const hn::RebindToSigned<decltype(d)> signed_d;
  const auto above = hn::Set(signed_d, static_cast<std::int32_t>(eviction_rank + 1));
  std::uint64_t found = 0;
  for (std::size_t i = 0; i < 64; i += hn::Lanes(d)) {
    const auto classes = hn::BitCast(signed_d, hn::ShiftRight<24>(hn::LoadU(d, residents + i)));
    found |= bits_of(signed_d, hn::Lt(classes, above)) << i;
  }
  return found;
}

template <class L>
HWY_INLINE std::uint64_t sharing(const std::uint64_t* buckets, std::uint64_t slots) {
  const BlockTag<std::uint64_t> d;
  const std::size_t step = hn::Lanes(d);
  const auto wanted = hn::Set(d, slots);
  std::uint64_t found = 0;
  for (std::size_t s = 0; s < L::kSlots; s += step) {
    const auto shared = hn::And(hn::Load(d, buckets + s), wanted);
    found |= bits_of(d, hn::Ne(shared, hn::Zero(d))) << s;
  }
  return found & L::kAllSlots;
}

#endif  // NESTLINE_ONE_LANE

// Gives a native a free slot of its bucket, if there is one, the best one; mispredicts nothing,
// having no branches.
template <class L, class Lanes>
HWY_INLINE bool place_one(Block& block, const Lanes& lanes, std::uint64_t& free,
                          std::uint64_t bucket, std::uint32_t fingerprint) {
  const std::uint64_t open = lanes.best_of_native(fingerprint, free & bucket);
  const std::uint64_t choice = open & (~open + 1);
  free ^= choice;
  L::fill(block, choice, fingerprint);
  return open != 0;
}

template <class L>
std::size_t place_keys(const BlocksView& view, Block* blocks, const std::uint64_t* keys,
                       std::size_t count, InputKind input, std::uint64_t* free,
                       std::uint64_t* deferred) noexcept {
  Group group;
  locate<PlainLayout<L> >(view, keys, count, input, group);
  const GuestLanes<L> no_guests(0, 0);
  std::size_t n = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t number = group.number(view, i);
    deferred[n] = located(number, group.pair[i]);
    n += !place_one<L>(blocks[number], no_guests, free[number], group.bucket[i],
                       group.fingerprint(i));
  }
  return n;
}

template <class L>
std::size_t place_pairs(const std::uint32_t* keys, std::size_t count, std::uint32_t mask,
                        Block* blocks, std::uint64_t* free, std::uint32_t* deferred) noexcept {
  std::size_t n = 0;
  Resident ignored[kGroup];
  std::uint64_t bucket[kGroup];
  const GuestLanes<L> no_guests(0, 0);
  for (std::size_t first = 0; first < count; first += kGroup) {
    const std::size_t end = std::min(kGroup, count - first);
    complete<L>(keys + first, end, Residence::native, ignored, bucket);
    for (std::size_t i = 0; i < end; ++i) {
      const std::uint32_t key = keys[first + i];
      const std::uint32_t number = key >> 20 & mask;
      deferred[n] = key;
      n += !place_one<L>(blocks[number], no_guests, free[number], bucket[i], key & 0xffff);
    }
  }
  return n;
}

// As place_by_search. Without a path, `reach` is set to all slots from which there is one.
template <class L>
HWY_INLINE bool place_by_search_in(UnpackedBlock& block, Resident newcomer, std::uint64_t bucket,
                                   std::uint64_t goals, std::uint64_t& reach) {
  // The slots that residents of the bucket could move to: the step that meets the bucket.
  std::uint64_t next = 0;
  for (std::uint64_t slots = bucket & ~block.free; slots != 0; slots &= slots - 1) {
    next |= block.bucket[first_slot(slots)];
  }
  std::uint64_t level[L::kSlots + 1];
  level[0] = goals;
  std::uint32_t n = 0;
  const auto swap_with = [&](std::uint32_t slot) {
    std::swap(newcomer, block.resident[slot]);
    std::swap(bucket, block.bucket[slot]);
  };
  if ((goals & bucket) == 0) {
    while ((level[n] & next) == 0) {
      level[n + 1] = level[n] | (sharing<L>(block.bucket, level[n]) & ~block.free);
      if (level[n + 1] == level[n]) {
        reach = level[n];
        return false;
      }
      ++n;
    }
    std::uint64_t slots = bucket & ~block.free;
    while ((block.bucket[first_slot(slots)] & level[n]) == 0) slots &= slots - 1;
    swap_with(first_slot(slots));
  }
  // The newcomer takes a slot of the highest level, its resident one of the level below, and so on.
  for (;; --n) {
    while (n != 0 && (level[n - 1] & bucket) != 0) --n;
    const std::uint32_t slot = first_slot(level[n] & bucket);
    swap_with(slot);
    if (n != 0) continue;
    block.free &= ~(std::uint64_t{1} << slot);
    return true;
  }
}

template <class L>
bool place_by_search(UnpackedBlock& block, Resident newcomer, std::uint64_t bucket,
                     std::uint64_t goals) noexcept {
  std::uint64_t reach = 0;
  return place_by_search_in<L>(block, newcomer, bucket, goals, reach);
}

// Stores a newcomer by the search, or notes that there is no path.
template <class L>
HWY_INLINE void place_far(BulkPlacement& placement, std::size_t number) {
  UnpackedBlock& block = placement.block;
  const std::uint64_t bucket = placement.bucket[number];
  // What has led to no free slot leads to none later, when fewer are free.
  if ((bucket & block.reach) == 0 ||
      !place_by_search_in<L>(block, placement.newcomer[number], bucket, block.free, block.reach)) {
    placement.unplaced[placement.unplaced_count++] = static_cast<std::uint8_t>(number);
  }
}

// As place_one, or the slot of a resident that moves to a free one.
template <class L>
HWY_INLINE bool place_one_hop(UnpackedBlock& block, std::uint64_t& free, Resident newcomer,
                              std::uint64_t bucket) {
  // By the newcomer itself; by the resident of its slot in each lane; by nobody.
  std::uint32_t slot[L::kChoices + 2];
  std::uint64_t open[L::kChoices + 2];
  std::uint32_t ways = 1u << (L::kChoices + 1);
  open[0] = bucket & free;
  slot[0] = first_slot(open[0]);
  ways |= open[0] != 0;
  std::uint64_t rest = bucket;
  for (std::uint32_t lane = 1; lane <= L::kChoices; ++lane, rest &= rest - 1) {
    slot[lane] = first_slot(rest);  // kNobody where the bucket has no slot in some lanes
    open[lane] = block.bucket[slot[lane]] & free;
    if constexpr (L::kHasGuestLanes) open[lane] &= -std::uint64_t{rest != 0};
    ways |= std::uint32_t{open[lane] != 0} << lane;
  }
  slot[L::kChoices + 1] = UnpackedBlock::kNobody;
  open[L::kChoices + 1] = 0;
  const std::uint32_t path = first_slot(ways);
  const std::uint32_t from = slot[path];
  std::uint64_t to = open[path];
  to &= ~to + 1;
  free ^= to;
  const std::uint32_t end = first_slot(to);  // kNobody if there is none
  block.bucket[end] = block.bucket[from];
  block.resident[end] = block.resident[from];
  block.bucket[from] = bucket;
  block.resident[from] = newcomer;
  return to != 0;
}

template <class L>
void place_bulk(BulkPlacement& placement) noexcept {
  UnpackedBlock& block = placement.block;
  std::uint64_t free = block.free;
  std::uint8_t far[kMaxBulkPlaced];
  std::size_t count = 0;
  for (std::size_t n = 0; n < placement.count; ++n) {
    far[count] = static_cast<std::uint8_t>(n);
    count += !place_one_hop<L>(block, free, placement.newcomer[n], placement.bucket[n]);
  }
  block.free = free;
  placement.unplaced_count = 0;
  for (std::size_t i = 0; i < count; ++i) place_far<L>(placement, far[i]);
}

template <class L>
void unpack(const Block& block, BlockClasses classes, UnpackedBlock& unpacked) noexcept {
  alignas(64) std::uint32_t pairs[64];
  find_pairs<PlainLayout<L> >(block, pairs);
  complete<L>(pairs, L::kSlots, Residence::anywhere, unpacked.resident, unpacked.bucket);
  if constexpr (L::kHasGuestLanes) {
    const GuestLanes<L> lanes(classes, block);
    for (std::uint64_t low = of_ranks<L>(block, 0, lanes.highest()); low != 0; low &= low - 1) {
      const std::uint32_t slot = first_slot(low);
      unpacked.bucket[slot] &= lanes.of_resident(L::get(block, slot), slot);
    }
  }
  unpacked.free = free_slots<L>(block);
  unpacked.reach = L::kAllSlots;
}

template <class L>
bool is_in_guest_lane(Resident resident, std::size_t slot) noexcept {
  return GuestLanes<L>::is_in_lane(fingerprint_of(resident), static_cast<std::uint32_t>(slot));
}

template <class L>
void pack(const UnpackedBlock& unpacked, std::uint32_t header, Block& block) noexcept {
  write_fingerprints<L>(unpacked.resident, block);
  header = Block::to_header(header);
  std::memcpy(block.bytes.data() + kOverflowMarkByte, &header, sizeof(header));
}

template <class L>
constexpr BuildKernels build_kernels() {
  using Plain = PlainLayout<L>;
  return {
      L::kSlots,      L::kMaxCopies, locate_pairs<Plain>,    complete<L>, at_most,    place_keys<L>,
      place_pairs<L>, place_bulk<L>, place_by_search<Plain>, unpack<L>,   pack<Plain>};
}

}  // namespace HWY_NAMESPACE
}}  // namespace nestline
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
