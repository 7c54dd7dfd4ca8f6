// Per-target: the residents of a block: which would leave it first, and which could move where.
// Indices and bucket offsets are at most 15: up to 12 bits all residents are one vector of 64
// bytes.
#if defined(NESTLINE_LIB_ENGINE_KERNELS_RESIDENTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_ENGINE_KERNELS_RESIDENTS_INL_H_
#undef NESTLINE_LIB_ENGINE_KERNELS_RESIDENTS_INL_H_
#else
#define NESTLINE_LIB_ENGINE_KERNELS_RESIDENTS_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lib/engine/kernels/match-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nestline { inline namespace v0_3 { namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// One slot after the other: on one lane, and for the few slots of maplets.
template <class L>
std::uint64_t of_ranks_by_slots(const Block& shared, std::uint32_t from,
                                std::uint32_t below) noexcept {
  BlockCopy copy;
  const Block& block = readable_block(shared, copy);
  std::uint64_t slots = 0;
  for (std::uint32_t s = 0; s < L::kSlots; ++s) {
    const std::uint32_t low_byte = L::get(block, s) & 0xff;
    slots |= std::uint64_t{low_byte > from && low_byte <= below} << s;
  }
  return slots;
}

template <class L>
HWY_INLINE std::uint64_t of_ranks(const Block& block, std::uint32_t from,
                                  std::uint32_t below) noexcept;

// The lane of each slot if it is a guest lane, as a class modulo 4, and the slots of residents in
// the guest lanes of their classes. Both mean nothing for classes that have none.
template <class L>
constexpr std::uint32_t guest_lane_at(std::uint32_t slot) {
  const std::uint32_t lane = slot / L::kSlotsPerSegment;
  return lane < 4 ? lane : 0xff;
}
template <class L>
std::uint64_t in_guest_lanes(const Block& block);

// Whether the resident of an open block may be a guest: whom the mark of its other block does not
// cover is a native (lanes.h, G4). That mark is read without its lock. Whoever came from there came
// under the locks of both blocks, after the mark was raised, so a thread that holds this block sees
// it raised; and it has fallen since only if a thread that held that block saw no such guest here.
HWY_INLINE bool may_be_guest(const Block* blocks, const Geometry& geometry, std::uint64_t number,
                             std::uint32_t fingerprint) {
  const std::uint64_t other = alternate_of(geometry, {number, 0, fingerprint, 0});
  return eviction_rank(fingerprint) < blocks[other].overflow_mark();
}
template <class L>
HWY_NOINLINE std::uint64_t unknown_of_open(const Block& block, const GuestLanes<L>& lanes,
                                           const Block* blocks, const Geometry& geometry,
                                           std::uint64_t number) {
  std::uint64_t slots = of_ranks<L>(block, lanes.highest(), 255);
  for (std::uint64_t rest = slots; rest != 0; rest &= rest - 1) {
    if (may_be_guest(blocks, geometry, number, L::get(block, first_slot(rest)))) continue;
    slots &= ~(rest & -rest);
  }
  return slots;
}
// Those of whom it is not known.
template <class L>
HWY_INLINE std::uint64_t unknown_of(const Block& block, const GuestLanes<L>& lanes,
                                    const Block* blocks, const Geometry& geometry,
                                    std::uint64_t number) {
  if (!L::kHasGuestLanes || HWY_LIKELY(!lanes.is_open())) return 0;
  return unknown_of_open<L>(block, lanes, blocks, geometry, number);
}
// The known guests of a block.
template <class L>
HWY_INLINE std::uint64_t guests_of(const Block& block, const GuestLanes<L>& lanes) {
  if (!L::kHasGuestLanes || lanes.highest() == 0) return 0;
  return of_ranks<L>(block, 0, lanes.highest()) & in_guest_lanes<L>(block);
}

template <class L>
void rank_by_slots(const Block& shared, EvictionOrder& order) noexcept {
  BlockCopy copy;
  const Block& block = readable_block(shared, copy);
  for (std::uint32_t s = 0; s < L::kSlots; ++s) {
    const auto bucket_offset =
        static_cast<EvictionOrder::BucketOffset<L>>(L::bucket_offset_at(L::get(block, s), s));
    std::memcpy(order.bucket_offsets + s * sizeof(bucket_offset), &bucket_offset,
                sizeof(bucket_offset));
  }
  const std::uint32_t mark = block.overflow_mark();
  order.below = mark + EvictionOrder::kStep<L>;
  order.free = match_first_bytes<L>(block, 0) & L::kAllSlots;
  order.guests = guests_of<L>(block, GuestLanes<L>(order.classes, block));
  order.covered = of_ranks_by_slots<L>(block, 0, mark) & ~order.guests;
  order.next = of_ranks_by_slots<L>(block, mark, order.below) & ~order.guests;
}

#if NESTLINE_ONE_LANE

template <class L>
std::uint64_t in_guest_lanes(const Block& block) {
  std::uint64_t slots = 0;
  for (std::uint32_t s = 0; s < L::kSlots; ++s) {
    slots |= std::uint64_t{class_of(L::get(block, s)) % 4 == guest_lane_at<L>(s)} << s;
  }
  return slots;
}

template <class L>
HWY_INLINE std::uint64_t of_ranks(const Block& block, std::uint32_t from,
                                  std::uint32_t below) noexcept {
  return of_ranks_by_slots<L>(block, from, below);
}

template <class L>
void rank(const Block& block, EvictionOrder& order) noexcept {
  rank_by_slots<L>(block, order);
}

// Which residents of a block could move where.
template <class L>
class MoveMasks {
 public:
  MoveMasks(const Block& block, const GuestLanes<L>& lanes) {
    for (std::uint32_t s = 0; s < L::kSlots; ++s) {
      buckets_[s] = L::get(block, s) == 0 ? 0 : moves_from<L>(block, lanes, s);
    }
  }
  MoveMasks(const Block& block, const GuestLanes<L>& lanes, const EvictionOrder&)
      : MoveMasks(block, lanes) {}
  // The slots whose residents may move to slot e.
  [[nodiscard]] NESTLINE_SLOT_INLINE std::uint64_t into(std::uint32_t e) const {
    std::uint64_t slots = 0;
    for (std::uint32_t s = 0; s < L::kSlots; ++s) slots |= (buckets_[s] >> e & 1) << s;
    return slots;
  }

 private:
  std::uint64_t buckets_[L::kSlots];
};

#else  // vectors

// Numbers of residents, in vectors with one lane of type T for each slot. Up to 12 bits T is a
// byte, so rotations, which are 16-bit products, are computed for even and odd slots apart.
template <class L>
class ResidentLanes {
 public:
  using T = EvictionOrder::BucketOffset<L>;
  using D = BlockTag<T>;
  using V = hn::Vec<D>;
  using D16 = hn::Repartition<std::uint16_t, D>;
  using V16 = hn::Vec<D16>;
  static constexpr bool kBytes = sizeof(T) == 1;
  static constexpr bool kNibbles = L::kForm == Form::bytes_and_nibbles;
  static constexpr bool kHighParts = kNibbles || L::kPlanes > 0;
  // In place of the bucket offset of a free slot: it has no slot in any lane.
  static constexpr T kNoBucketOffset = 0x40;

  explicit HWY_INLINE ResidentLanes(const Block& block) : block_(block) {
    if constexpr (kNibbles) unpack_nibbles();
    if constexpr (L::kPlanes > 0) unpack_planes();
  }

  // The bucket offsets of slots s, s + 1, ...
  HWY_INLINE V bucket_offsets(std::size_t s) const {
    const D d;
    const V own = rotations(s, hn::Load(D16(), kTables.even_multiplier + s / (2 / sizeof(T))),
                            hn::Load(D16(), kTables.odd_multiplier + s / (2 / sizeof(T))));
    // index - rotation, or that plus R where it is negative (then huge as an unsigned number).
    const V distance = hn::Sub(hn::Load(d, kTables.index + s), own);
    const V bucket_offset = hn::Min(distance, hn::Add(distance, per_lane()));
    const auto free = hn::Eq(first_parts(s), hn::Zero(d));
    return hn::IfThenElse(free, hn::Set(d, kNoBucketOffset), bucket_offset);
  }
  // Where in a lane their slots are.
  HWY_INLINE V indices(std::size_t s, V bucket_offsets, std::uint16_t multiplier) const {
    const auto multipliers = hn::Set(D16(), multiplier);
    const V q = hn::Add(bucket_offsets, rotations(s, multipliers, multipliers));
    return hn::Min(q, hn::Sub(q, per_lane()));
  }
  // All ones where the fingerprint of slot s, s + 1, ... is that which the other block has at its
  // index in a segment. Means nothing for free slots.
  HWY_INLINE V equal_to(std::size_t s, const ResidentLanes& other, std::uint32_t segment,
                        V indices) const {
    static_assert(L::kSlotsPerSegment * sizeof(T) <= 16);
    const D d;
    const hn::Repartition<std::uint8_t, D> bytes;
    const auto take = [&](const T* from) HWY_ATTR {
      auto at = hn::BitCast(bytes, indices);
      if constexpr (!kBytes) {  // both bytes of a halfword
        const V pairs = hn::Mul(indices, hn::Set(d, T{0x0202}));
        at = hn::BitCast(bytes, hn::Add(pairs, hn::Set(d, T{0x0100})));
      }
      const auto all = hn::LoadDup128(d, from + std::size_t{segment} * L::kSlotsPerSegment);
      return hn::BitCast(d, hn::TableLookupBytes(hn::BitCast(bytes, all), at));
    };
    V different = hn::Xor(first_parts(s), take(other.lanes()));
    if constexpr (kHighParts) {
      const V high = hn::Load(d, high_parts_ + s);
      different = hn::Or(different, hn::Xor(high, take(other.high_parts_)));
    }
    return hn::VecFromMask(d, hn::Eq(different, hn::Zero(d)));
  }
  // Each as one number: fingerprint, bucket offset << 16.
  HWY_INLINE void store_pairs(std::size_t s, std::uint32_t* pairs) const {
    const D d;
    const V low = first_parts(s);
    T* const to = reinterpret_cast<T*>(pairs);
    if constexpr (!kBytes) {
      hn::StoreInterleaved2(low, bucket_offsets(s), d, to);
    } else if constexpr (kHighParts) {
      hn::StoreInterleaved4(low, hn::Load(d, high_parts_ + s), bucket_offsets(s), hn::Zero(d), d,
                            to);
    } else {
      hn::StoreInterleaved4(low, hn::Zero(d), bucket_offsets(s), hn::Zero(d), d, to);
    }
  }

 private:
  // For each slot: its index in its lane, and its lane's rotation multiplier. After the last slot:
  // as if there were no fingerprint.
  struct Tables {
    alignas(64) T index[64 / sizeof(T)];
    alignas(64) std::uint16_t even_multiplier[32];  // at 16 bits: of all slots
    alignas(64) std::uint16_t odd_multiplier[32];
    constexpr Tables() : index(), even_multiplier(), odd_multiplier() {
      for (std::uint32_t s = 0; s < 64 / sizeof(T); ++s) {
        const bool is_slot = s < L::kSlots;
        index[s] = is_slot ? static_cast<T>(s % L::kSlotsPerSegment) : kNoBucketOffset;
        auto& multiplier = kBytes && s % 2 != 0 ? odd_multiplier : even_multiplier;
        multiplier[kBytes ? s / 2 : s] = is_slot ? kRotationMultiplier[s / L::kSlotsPerSegment] : 0;
      }
    }
  };
  static constexpr Tables kTables{};
  const T* lanes() const { return reinterpret_cast<const T*>(block_.bytes.data()); }
  // The first parts of slots s, s + 1, ..., without values.
  HWY_INLINE V first_parts(std::size_t s) const {
    const D d;
    const V parts = hn::Load(d, lanes() + s);
    if constexpr (kFingerprintMask<L> == static_cast<T>(~T{0})) return parts;
    return hn::And(parts, hn::Set(d, kFingerprintMask<L>));
  }
  static HWY_INLINE V per_lane() { return hn::Set(D(), static_cast<T>(L::kSlotsPerSegment)); }

  HWY_INLINE V rotations(std::size_t s, V16 even_multipliers, V16 odd_multipliers) const {
    const D16 d16;
    const auto rotate = [](V16 fingerprints, V16 multipliers) HWY_ATTR {
      return hn::MulHigh(hn::Mul(fingerprints, multipliers),
                         hn::Set(D16(), static_cast<std::uint16_t>(L::kSlotsPerSegment)));
    };
    const V16 lanes16 = hn::BitCast(d16, first_parts(s));
    if constexpr (!kBytes) {
      (void)odd_multipliers;
      return rotate(lanes16, even_multipliers);
    } else {
      V16 even = hn::And(lanes16, hn::Set(d16, std::uint16_t{0xff}));
      V16 odd = hn::ShiftRight<8>(lanes16);
      if constexpr (kHighParts) {
        const V16 high = hn::BitCast(d16, hn::Load(D(), high_parts_ + s));
        even = hn::Or(even, hn::ShiftLeft<8>(high));
        odd = hn::Or(odd, hn::AndNot(hn::Set(d16, std::uint16_t{0xff}), high));
      }
      return hn::BitCast(D(), hn::Or(rotate(even, even_multipliers),
                                     hn::ShiftLeft<8>(rotate(odd, odd_multipliers))));
    }
  }

  HWY_INLINE void unpack_planes() {
    const D d;
    const auto planes = L::planes(block_);
    for (std::size_t s = 0; s < L::kSlots; s += hn::Lanes(d)) {
      const auto part = [&](std::uint64_t plane, T bit) HWY_ATTR {
        return hn::IfThenElseZero(mask_of(d, plane >> s), hn::Set(d, bit));
      };
      auto high = part(planes[0], 1);
      if constexpr (L::kPlanes > 1) high = hn::Or(high, part(planes[1], 2));
      hn::Store(high, d, high_parts_ + s);
    }
  }
  // 12 bit: the high nibbles in the order of the slots. Without a shuffle of the whole block 16
  // slots at a time: those from 16 on are the low halves of the last 4 nibble bytes, then the high
  // halves of all 20.
  HWY_INLINE void unpack_nibbles() {
    if constexpr (kShufflesNibbles) {
      const D d;
      for (std::size_t s = 0; s < L::kSlots; s += hn::Lanes(d)) {
        const auto halves = own_halves<L>(nibbles_beside<L>(block_, s), s);
        const auto high = hn::BitCast(d, hn::ShiftRight<4>(hn::BitCast(D16(), halves)));
        hn::Store(hn::And(hn::Or(halves, high), hn::Set(d, T{15})), d, high_parts_ + s);
      }
      return;
    }
    alignas(16) static constexpr std::uint8_t kTail[16] = {
        8, 9, 10, 11, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80};
    alignas(16) static constexpr std::uint8_t kHead[16] = {0x80, 0x80, 0x80, 0x80, 0, 1, 2,  3,
                                                           4,    5,    6,    7,    8, 9, 10, 11};
    const hn::CappedTag<std::uint8_t, 16> d;
    const auto low = hn::Set(d, std::uint8_t{15});
    const auto first = hn::LoadU(d, block_.bytes.data() + L::kNibbleByte);
    const auto last = hn::LoadU(d, block_.bytes.data() + L::kNibbleByte + 8);
    const auto high = [&](auto bytes) {
      const hn::Repartition<std::uint16_t, decltype(d)> wide;
      return hn::And(hn::BitCast(d, hn::ShiftRight<4>(hn::BitCast(wide, bytes))), low);
    };
    hn::Store(hn::And(first, low), d, high_parts_);
    hn::Store(hn::Or(hn::TableLookupBytesOr0(hn::And(last, low), hn::Load(d, kTail)),
                     hn::TableLookupBytesOr0(high(first), hn::Load(d, kHead))),
              d, high_parts_ + 16);
    // Slots 32 to 39; what is behind them is loaded too, but does not count.
    static_assert(L::kNibbleRun == 20 && L::kSlots == 40);
    hn::Store(hn::Zero(d), d, high_parts_ + 32);
    hn::Store(hn::Zero(d), d, high_parts_ + 48);
    hn::StoreU(high(last), d, high_parts_ + 28);
  }

  const Block& block_;
  alignas(64) std::uint8_t high_parts_[kHighParts ? 64 : 1];  // of fingerprints, in bytes
};

// Slots whose residents' low bytes are at most `most`, and free slots.
template <class L>
HWY_INLINE std::uint64_t low_bytes_up_to(const Block& block, std::uint32_t most) {
  using T = EvictionOrder::BucketOffset<L>;
  const BlockTag<T> d;
  const auto low_byte = hn::Set(d, T{0xff});
  const auto limit = hn::Set(d, static_cast<T>(most));
  std::uint64_t slots = 0;
  for (std::size_t s = 0; s < L::kSlots; s += hn::Lanes(d)) {
    auto lanes = hn::Load(d, reinterpret_cast<const T*>(block.bytes.data()) + s);
    if constexpr (L::kForm == Form::halfwords) lanes = hn::And(lanes, low_byte);
    slots |= bits_of(d, hn::Eq(hn::Min(lanes, limit), lanes)) << s;
  }
  return slots & L::kAllSlots;
}

template <class L>
HWY_INLINE std::uint64_t of_ranks(const Block& shared, std::uint32_t from,
                                  std::uint32_t below) noexcept {
  if constexpr (L::kForm == Form::maplet) {
    return of_ranks_by_slots<L>(shared, from, below);
  } else {
    BlockCopy copy;
    const Block& block = readable_block(shared, copy);
    return low_bytes_up_to<L>(block, std::min(below, 255u)) & ~low_bytes_up_to<L>(block, from);
  }
}

// Slots of classes that are `lanes` modulo 4, a vector.
template <class L, class V>
HWY_INLINE std::uint64_t classes_in(const Block& block, std::size_t s, V lanes) {
  using T = EvictionOrder::BucketOffset<L>;
  const BlockTag<T> d;
  const auto classes = hn::Load(d, reinterpret_cast<const T*>(block.bytes.data()) + s);
  return bits_of(d, hn::Eq(hn::And(classes, hn::Set(d, T{3})), lanes)) << s;
}
template <class L>
inline constexpr auto kGuestLaneAt = [] {
  struct alignas(64) {
    EvictionOrder::BucketOffset<L> of[64 / sizeof(EvictionOrder::BucketOffset<L>)];
  } lane{};
  for (std::uint32_t s = 0; s < 64 / sizeof(lane.of[0]); ++s) {
    lane.of[s] = static_cast<EvictionOrder::BucketOffset<L>>(guest_lane_at<L>(s));
  }
  return lane;
}();
template <class L>
std::uint64_t in_guest_lanes(const Block& shared) {
  const BlockTag<EvictionOrder::BucketOffset<L>> d;
  BlockCopy copy;
  const Block& block = readable_block(shared, copy);
  std::uint64_t slots = 0;
  for (std::size_t s = 0; s < L::kSlots; s += hn::Lanes(d)) {
    slots |= classes_in<L>(block, s, hn::Load(d, kGuestLaneAt<L>.of + s));
  }
  return slots & L::kAllSlots;
}

template <class L>
HWY_INLINE void rank_by_vectors(const Block& shared, EvictionOrder& order) {
  using Lanes = ResidentLanes<L>;
  const typename Lanes::D d;
  BlockCopy copy;
  const Block& block = readable_block(shared, copy);
  const Lanes lanes(block);
  auto* const bucket_offsets = reinterpret_cast<typename Lanes::T*>(order.bucket_offsets);
  for (std::size_t s = 0; s < L::kSlots; s += hn::Lanes(d)) {
    hn::Store(lanes.bucket_offsets(s), d, bucket_offsets + s);
  }
  const std::uint32_t mark = block.overflow_mark();
  order.below = mark + EvictionOrder::kStep<L>;
  order.free = match_first_bytes<L>(block, 0) & L::kAllSlots;
  const std::uint64_t up_to_mark = low_bytes_up_to<L>(block, mark);
  order.guests = guests_of<L>(block, GuestLanes<L>(order.classes, block));
  order.covered = up_to_mark & ~order.free & ~order.guests;
  order.next = low_bytes_up_to<L>(block, std::min(order.below, 255u)) & ~up_to_mark & ~order.guests;
}

template <class L>
void rank(const Block& shared, EvictionOrder& order) noexcept {
  if constexpr (L::kForm == Form::maplet) {
    return rank_by_slots<L>(shared, order);
  } else {
    rank_by_vectors<L>(shared, order);
  }
}

// Which residents could move where, computed for two or three slots in most searches.
template <class L>
class MoveMasks {
 public:
  HWY_INLINE MoveMasks(const Block& block, const GuestLanes<L>& lanes)
      : MoveMasks(block, lanes, own_bucket_offsets_) {
    for (std::size_t s = 0; s < L::kSlots; s += hn::Lanes(D())) {
      hn::Store(lanes_.bucket_offsets(s), D(), own_bucket_offsets_ + s);
    }
  }
  HWY_INLINE MoveMasks(const Block& block, const GuestLanes<L>& lanes, const EvictionOrder& order)
      : MoveMasks(block, lanes, reinterpret_cast<const T*>(order.bucket_offsets)) {}
  MoveMasks(const MoveMasks&) = delete;
  MoveMasks& operator=(const MoveMasks&) = delete;

  // The slots whose residents may move to slot e. Bits after the last slot are 0.
  [[nodiscard]] HWY_INLINE std::uint64_t into(std::uint32_t e) const {
    const D d;
    const std::uint32_t lane = e / L::kSlotsPerSegment;
    const auto index = hn::Set(d, static_cast<T>(e - lane * L::kSlotsPerSegment));
    std::uint64_t slots = 0;
    for (std::size_t s = 0; s < L::kSlots; s += hn::Lanes(d)) {
      const auto indices =
          lanes_.indices(s, hn::Load(d, bucket_offsets_ + s), kRotationMultiplier[lane]);
      std::uint64_t some = bits_of(d, hn::Eq(indices, index)) << s;
      if constexpr (L::kHasGuestLanes) {
        some &= ~(low_ & classes_in<L>(block_, s, hn::Set(d, static_cast<T>(lane))));
      }
      slots |= some;
    }
    return L::kHasGuestLanes ? slots & ~guests_ : slots;
  }

 private:
  using T = typename ResidentLanes<L>::T;
  using D = typename ResidentLanes<L>::D;

  HWY_INLINE MoveMasks(const Block& block, const GuestLanes<L>& lanes, const T* bucket_offsets)
      : block_(block), lanes_(block), bucket_offsets_(bucket_offsets) {
    if (!L::kHasGuestLanes || lanes.highest() == 0) return;
    low_ = of_ranks<L>(block, 0, lanes.highest());
    guests_ = low_ & in_guest_lanes<L>(block);
  }

  const Block& block_;
  ResidentLanes<L> lanes_;
  const T* bucket_offsets_;
  std::uint64_t low_ = 0;     // of classes that may have guests: who may not move to their lanes
  std::uint64_t guests_ = 0;  // those of them who are guests, and may not move
  alignas(64) T own_bucket_offsets_[64 / sizeof(T)];
};

#endif  // NESTLINE_ONE_LANE

}  // namespace HWY_NAMESPACE
}}  // namespace nestline
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
