// Per-target: one block at a time. Which slots hold a fingerprint, which are free, and where each
// resident could move.
//
// A block is four 16-byte, two 32-byte or one 64-byte vector; the loops below run over that number,
// which the compiler knows. The one-lane target does the same through the definitions of layout.h.
#if defined(NESTLINE_LIB_KERNELS_MATCH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_KERNELS_MATCH_INL_H_
#undef NESTLINE_LIB_KERNELS_MATCH_INL_H_
#else
#define NESTLINE_LIB_KERNELS_MATCH_INL_H_
#endif

#include <hwy/highway.h>

#include <cstring>

#include "lib/kernels/kernels.h"
#include "lib/place/memory_order.h"

// The vector bodies need little-endian lanes and at least 16 bytes; other targets use the scalar
// bodies.
#undef NESTLINE_ONE_LANE
#if HWY_TARGET == HWY_SCALAR || HWY_IS_BIG_ENDIAN
#define NESTLINE_ONE_LANE 1
#else
#define NESTLINE_ONE_LANE 0
#endif

HWY_BEFORE_NAMESPACE();
namespace nestline {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A block that a writer may be changing, ready for plain vector loads: see memory_order.h.
HWY_INLINE const Block& readable_block(const Block& block, Block& copy) {
#if NESTLINE_TSAN
  copy_shared<kBlockBytes>(block.bytes.data(), copy.bytes.data());
  return copy;
#else
  (void)copy;
  return block;
#endif
}

#if NESTLINE_ONE_LANE

template <class L>
HWY_INLINE std::uint64_t match_first_bytes(const Block& block, std::uint32_t fingerprint) {
  constexpr std::uint32_t kMask = L::kBits == 16 ? 0xffff : 0xff;
  std::uint64_t slots = 0;
  for (std::uint32_t s = 0; s < L::kSlots; ++s) {
    slots |= std::uint64_t{((L::get(block, s) ^ fingerprint) & kMask) == 0} << s;
  }
  return slots;
}

template <class L>
void find_residents(const Block& shared, Residents& residents) noexcept {
  Block copy;
  const Block& block = readable_block(shared, copy);
  for (std::uint32_t s = 0; s < L::kSlots; ++s) {
    const std::uint32_t fingerprint = L::get(block, s);
    const std::uint32_t phase = L::phase_at(fingerprint, s);
    residents.phase[s] = static_cast<std::uint8_t>(phase);
    residents.spill_class[s] = static_cast<std::uint8_t>(spill_class(fingerprint));
  }
}

// Which residents of a block could move where.
template <class L>
class Movers {
 public:
  explicit Movers(const Block& block) {
    for (std::uint32_t s = 0; s < L::kSlots; ++s) {
      const std::uint32_t fingerprint = L::get(block, s);
      buckets_[s] = L::bucket(fingerprint, L::phase_at(fingerprint, s));
    }
  }
  // The slots whose residents have slot e in their buckets.
  std::uint64_t into(std::uint32_t e) {
    std::uint64_t slots = 0;
    for (std::uint32_t s = 0; s < L::kSlots; ++s) slots |= (buckets_[s] >> e & 1) << s;
    return slots;
  }

 private:
  std::uint64_t buckets_[L::kSlots];
};

// Bit s: bytes[s] equals `value`, for 64 aligned bytes.
HWY_INLINE std::uint64_t equal_bytes(const std::uint8_t* bytes, std::uint8_t value) {
  std::uint64_t bits = 0;
  for (std::uint32_t s = 0; s < 64; ++s) bits |= std::uint64_t{bytes[s] == value} << s;
  return bits;
}

// Bit s: the high nibble of 12-bit slot s is `nibble`.
template <class L>
HWY_INLINE std::uint64_t match_nibbles(const Block& block, std::uint32_t nibble) {
  std::uint64_t slots = 0;
  for (std::uint32_t s = 0; s < L::kSlots; ++s) {
    slots |= std::uint64_t{L::get(block, s) >> 8 == nibble} << s;
  }
  return slots;
}

#else  // vectors

template <typename T>
using BlockTag = hn::CappedTag<T, kBlockBytes / sizeof(T)>;

// A mask of at most 64 lanes as bits. It is read back in the size of this target's largest mask,
// which compilers turn into a move between registers. The processor's mask may be shorter, since
// SVE does not fix the length of vectors: what StoreMaskBits does not write is 0.
template <class D, class Mask>
HWY_INLINE std::uint64_t bits_of(D d, Mask mask) {
  static_assert(hn::MaxLanes(D()) <= 64);
  std::uint8_t bytes[8] = {};
  hn::StoreMaskBits(d, mask, bytes);
  hwy::UnsignedFromSize<(hn::MaxLanes(D()) + 7) / 8> bits;
  std::memcpy(&bits, bytes, sizeof(bits));
  return bits;
}

// Bit i: lane i of the block, taken as lanes of T, equals those of `wanted`, which are all equal.
template <typename T>
HWY_INLINE std::uint64_t equal_lanes(const T* lanes, hn::Vec<BlockTag<T> > wanted) {
  const BlockTag<T> d;
  const std::size_t step = hn::Lanes(d);
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < kBlockBytes / sizeof(T); i += step) {
    bits |= bits_of(d, hn::Eq(hn::Load(d, lanes + i), wanted)) << i;
  }
  return bits;
}

HWY_INLINE std::uint64_t equal_bytes(const std::uint8_t* bytes, std::uint8_t value) {
  return equal_lanes(bytes, hn::Set(BlockTag<std::uint8_t>(), value));
}

// Bit s: the first byte (8 and 12 bit) or halfword (16 bit) of slot s is the fingerprint's. Bits
// after the last slot mean nothing.
template <class L>
HWY_INLINE std::uint64_t match_first_bytes(const Block& block, std::uint32_t fingerprint) {
  if constexpr (L::kBits == 16) {
    const BlockTag<std::uint16_t> d;
    return equal_lanes(reinterpret_cast<const std::uint16_t*>(block.bytes.data()),
                       hn::Set(d, static_cast<std::uint16_t>(fingerprint)));
  } else {
    return equal_bytes(block.bytes.data(), static_cast<std::uint8_t>(fingerprint));
  }
}

// Bit s: the high nibble of 12-bit slot s is `nibble`. Comparing one half of the nibble bytes gives
// a run of slots in order.
template <class L>
HWY_INLINE std::uint64_t match_nibbles(const Block& block, std::uint32_t nibble) {
  const BlockTag<std::uint8_t> d;
  const std::size_t step = hn::Lanes(d);
  const auto low = hn::Set(d, std::uint8_t{0x0f});
  const auto high = hn::Set(d, std::uint8_t{0xf0});
  const auto wanted_low = hn::Set(d, static_cast<std::uint8_t>(nibble));
  const auto wanted_high = hn::Set(d, static_cast<std::uint8_t>(nibble << 4));
  std::uint64_t in_low = 0;
  std::uint64_t in_high = 0;
  // The nibble bytes lie in the second half of the block.
  for (std::size_t i = step < kBlockBytes ? kBlockBytes / 2 : 0; i < kBlockBytes; i += step) {
    const auto bytes = hn::Load(d, block.bytes.data() + i);
    in_low |= bits_of(d, hn::Eq(hn::And(bytes, low), wanted_low)) << i;
    in_high |= bits_of(d, hn::Eq(hn::And(bytes, high), wanted_high)) << i;
  }
  constexpr std::uint64_t kRun = (std::uint64_t{1} << L::kNibbleRun) - 1;
  return (in_low >> L::kNibbleByte & kRun) | (in_high >> L::kNibbleByte & kRun) << L::kNibbleRun;
}

// Fingerprints as 16-bit lanes, slot after slot.
template <class L>
HWY_INLINE const std::uint16_t* unpack_fingerprints(const Block& block, std::uint16_t* halfwords) {
  if constexpr (L::kBits == 16) {
    return reinterpret_cast<const std::uint16_t*>(block.bytes.data());
  } else {
    const hn::CappedTag<std::uint16_t, 32> d;
    const hn::Rebind<std::uint8_t, decltype(d)> dh;
    const std::size_t step = hn::Lanes(d);
    for (std::size_t s = 0; s < kBlockBytes; s += step) {
      hn::Store(hn::PromoteTo(d, hn::LoadU(dh, block.bytes.data() + s)), d, halfwords + s);
    }
    if constexpr (L::kBits == 12) {
      for (std::uint32_t i = 0; i < L::kNibbleRun; ++i) {
        const std::uint32_t nibbles = block.bytes[L::kNibbleByte + i];
        halfwords[i] = static_cast<std::uint16_t>(halfwords[i] | (nibbles & 15) << 8);
        halfwords[L::kNibbleRun + i] =
            static_cast<std::uint16_t>(halfwords[L::kNibbleRun + i] | nibbles >> 4 << 8);
      }
    }
    return halfwords;
  }
}

// For each slot: its index in its lane, and its lane's rotation multiplier.
template <class L>
struct SlotTables {
  alignas(64) std::uint16_t index[64];
  alignas(64) std::uint16_t multiplier[64];
  constexpr SlotTables() : index(), multiplier() {
    for (std::uint32_t s = 0; s < L::kSlots; ++s) {
      index[s] = static_cast<std::uint16_t>(s % L::kSlotsPerLane);
      multiplier[s] = kRotationMultiplier[s / L::kSlotsPerLane];
    }
  }
};

// Fingerprints and phases of all residents, in 16-bit lanes.
template <class L>
class ResidentLanes {
 public:
  using D = hn::CappedTag<std::uint16_t, 32>;
  using V = hn::Vec<D>;

  explicit HWY_INLINE ResidentLanes(const Block& block)
      : fingerprints_(unpack_fingerprints<L>(block, unpacked_)) {}

  HWY_INLINE V fingerprints(std::size_t s) const { return hn::Load(D(), fingerprints_ + s); }
  HWY_INLINE V phases(std::size_t s) const {
    static constexpr SlotTables<L> kTables;
    const V own = rotations(fingerprints(s), hn::Load(D(), kTables.multiplier + s));
    // index - rotation, or that plus R where it is negative (then huge as an unsigned number).
    const V distance = hn::Sub(hn::Load(D(), kTables.index + s), own);
    return hn::Min(distance, hn::Add(distance, per_lane()));
  }
  static HWY_INLINE V rotations(V fingerprints, V multipliers) {
    return hn::MulHigh(hn::Mul(fingerprints, multipliers), per_lane());
  }
  static HWY_INLINE V per_lane() {
    return hn::Set(D(), static_cast<std::uint16_t>(L::kSlotsPerLane));
  }
  static HWY_INLINE void store_bytes(V v, std::uint8_t* to) {
    const hn::RebindToSigned<D> di;
    const hn::Rebind<std::uint8_t, D> dh;
    hn::StoreU(hn::DemoteTo(dh, hn::BitCast(di, v)), dh, to);
  }

 private:
  alignas(64) std::uint16_t unpacked_[64];
  const std::uint16_t* fingerprints_;
};

template <class L>
void find_residents(const Block& shared, Residents& residents) noexcept {
  using Lanes = ResidentLanes<L>;
  const typename Lanes::D d;
  Block copy;
  const Lanes lanes(readable_block(shared, copy));
  for (std::size_t s = 0; s < L::kSlots; s += hn::Lanes(d)) {
    const auto phase = lanes.phases(s);
    Lanes::store_bytes(phase, residents.phase + s);
    const auto low_bytes = hn::And(lanes.fingerprints(s), hn::Set(d, std::uint16_t{0xff}));
    Lanes::store_bytes(hn::SaturatedSub(low_bytes, hn::Set(d, std::uint16_t{1})),
                       residents.spill_class + s);
  }
}

// Which residents of a block could move where. Most searches need only one or two lanes, so each is
// computed when first needed.
template <class L>
class Movers {
 public:
  explicit HWY_INLINE Movers(const Block& block) : lanes_(block) {
    for (std::size_t s = 0; s < L::kSlots; s += hn::Lanes(D())) {
      hn::Store(lanes_.phases(s), D(), phases_ + s);
    }
  }
  // The slots whose residents have slot e in their buckets. Bits after the last slot mean nothing.
  HWY_INLINE std::uint64_t into(std::uint32_t e) {
    const std::uint32_t lane = e / L::kSlotsPerLane;
    if ((known_ >> lane & 1) == 0) compute(lane);
    return equal_bytes(index_in_lane_[lane], static_cast<std::uint8_t>(e % L::kSlotsPerLane));
  }

 private:
  using D = typename ResidentLanes<L>::D;

  HWY_INLINE void compute(std::uint32_t lane) {
    const auto multiplier = hn::Set(D(), kRotationMultiplier[lane]);
    for (std::size_t s = 0; s < L::kSlots; s += hn::Lanes(D())) {
      const auto q =
          hn::Add(hn::Load(D(), phases_ + s), lanes_.rotations(lanes_.fingerprints(s), multiplier));
      const auto wrapped = hn::Min(q, hn::Sub(q, lanes_.per_lane()));
      lanes_.store_bytes(wrapped, index_in_lane_[lane] + s);
    }
    known_ |= 1u << lane;
  }

  ResidentLanes<L> lanes_;
  std::uint32_t known_ = 0;
  alignas(64) std::uint16_t phases_[64];
  alignas(64) std::uint8_t index_in_lane_[L::kLanes][64];
};

#endif  // NESTLINE_ONE_LANE

// Slots of `among` that hold the fingerprint.
template <class L>
HWY_INLINE std::uint64_t match_among(const Block& shared, std::uint32_t fingerprint,
                                     std::uint64_t among) {
  Block copy;
  const Block& block = readable_block(shared, copy);
  std::uint64_t slots = match_first_bytes<L>(block, fingerprint) & among;
  if constexpr (L::kBits == 12) {
    // One in 70 absent keys gets here, and every present key: the branch predicts well.
    if (slots != 0) slots &= match_nibbles<L>(block, fingerprint >> 8);
  }
  return slots;
}

template <class L>
std::uint64_t match(const Block& block, std::uint32_t fingerprint) noexcept {
  return match_among<L>(block, fingerprint, L::kAllSlots);
}

template <class L>
std::uint64_t free_slots(const Block& shared) noexcept {
  Block copy;
  const Block& block = readable_block(shared, copy);
  return match_first_bytes<L>(block, 0) & L::kAllSlots;
}

// Backwards from the goals: which residents can move into slot e, then which can move into their
// slots.
template <class L>
void displace(const Block& shared, std::uint64_t bucket, std::uint64_t goals,
              Displacement& path) noexcept {
  // Slots that lead to a goal: the goals themselves, then those whose residents can move `into` a
  // slot of the entry `parent`.
  struct Entry {
    std::uint64_t slots;
    std::uint32_t parent;
    std::uint32_t into;
  };
  Entry entries[L::kSlots + 1];
  entries[0] = {goals, 0, 0};
  std::uint32_t count = 1;
  Block copy;
  Movers<L> movers(readable_block(shared, copy));
  std::uint64_t unseen = L::kAllSlots & ~goals;
  path.steps = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    for (std::uint64_t rest = entries[i].slots; rest != 0; rest &= rest - 1) {
      const std::uint32_t e = first_slot(rest);
      const std::uint64_t found = movers.into(e) & unseen;
      if ((found & bucket) != 0) {
        path.step[0] = static_cast<std::uint8_t>(first_slot(found & bucket));
        path.step[1] = static_cast<std::uint8_t>(e);
        path.steps = 2;
        for (; i != 0; i = entries[i].parent) {
          path.step[path.steps++] = static_cast<std::uint8_t>(entries[i].into);
        }
        return;
      }
      unseen &= ~found;
      entries[count] = {found, i, e};
      count += found != 0;
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace nestline
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
