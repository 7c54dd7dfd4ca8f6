// Per-target: one block at a time. Which slots hold a fingerprint, which are free, and where every
// resident could be instead.
//
// A block is four 16-byte, two 32-byte or one 64-byte vector; the loops below are over that number,
// which the compiler knows. The one-lane target does the same by the definitions of layout.h.
#if defined(NESTLINE_LIB_MATCH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_MATCH_INL_H_
#undef NESTLINE_LIB_MATCH_INL_H_
#else
#define NESTLINE_LIB_MATCH_INL_H_
#endif

#include <hwy/highway.h>

#include <cstring>

#include "kernels.h"
#include "memory_order.h"

// The vector bodies take little-endian lanes and at least 16 bytes; anything else takes the scalar
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

// A block that a writer may be changing, to be read with plain vector loads: see memory_order.h.
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
    residents.spill_class[s] = static_cast<std::uint8_t>(spill_class(fingerprint, phase));
    for (std::uint32_t lane = 0; lane < L::kLanes; ++lane) {
      residents.slot_in_lane[lane][s] =
          static_cast<std::uint8_t>(L::slot(fingerprint, phase, lane));
    }
  }
}

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

// A mask of at most 64 lanes as bits. Read back in the mask's own size, which compilers turn into a
// move between registers.
template <class D, class Mask>
HWY_INLINE std::uint64_t bits_of(D d, Mask mask) {
  std::uint8_t bytes[8];
  if constexpr (hn::MaxLanes(D()) == 64) {
    std::uint64_t bits;
    hn::StoreMaskBits(d, mask, bytes);
    std::memcpy(&bits, bytes, sizeof(bits));
    return bits;
  } else if constexpr (hn::MaxLanes(D()) == 32) {
    std::uint32_t bits;
    hn::StoreMaskBits(d, mask, bytes);
    std::memcpy(&bits, bytes, sizeof(bits));
    return bits;
  } else {
    std::uint16_t bits;
    static_assert(hn::MaxLanes(D()) <= 16);
    hn::StoreMaskBits(d, mask, bytes);
    std::memcpy(&bits, bytes, sizeof(bits));
    return bits & ((1u << hn::Lanes(d)) - 1);
  }
}

// Bit i: lane i of the block, taken as lanes of T, equals `value`.
template <typename T>
HWY_INLINE std::uint64_t equal_lanes(const T* lanes, T value) {
  const BlockTag<T> d;
  const std::size_t step = hn::Lanes(d);
  const auto wanted = hn::Set(d, value);
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < kBlockBytes / sizeof(T); i += step) {
    bits |= bits_of(d, hn::Eq(hn::Load(d, lanes + i), wanted)) << i;
  }
  return bits;
}

HWY_INLINE std::uint64_t equal_bytes(const std::uint8_t* bytes, std::uint8_t value) {
  return equal_lanes<std::uint8_t>(bytes, value);
}

// Bit s: the first byte (8 and 12 bit) or halfword (16 bit) of slot s is the fingerprint's. Bits
// behind the last slot mean nothing.
template <class L>
HWY_INLINE std::uint64_t match_first_bytes(const Block& block, std::uint32_t fingerprint) {
  if constexpr (L::kBits == 16) {
    return equal_lanes(reinterpret_cast<const std::uint16_t*>(block.bytes.data()),
                       static_cast<std::uint16_t>(fingerprint));
  } else {
    return equal_lanes(block.bytes.data(), static_cast<std::uint8_t>(fingerprint));
  }
}

// Bit s: the high nibble of 12-bit slot s is `nibble`. Either half of the nibble bytes, compared by
// itself, gives a run of slots in order.
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

// Per slot: its index in its lane, and its lane's rotation multiplier.
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

template <class L>
void find_residents(const Block& shared, Residents& residents) noexcept {
  Block copy;
  const Block& block = readable_block(shared, copy);
  static constexpr SlotTables<L> kTables;
  const hn::CappedTag<std::uint16_t, 32> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::Rebind<std::uint8_t, decltype(d)> dh;
  const std::size_t step = hn::Lanes(d);
  const auto per_lane = hn::Set(d, static_cast<std::uint16_t>(L::kSlotsPerLane));

  alignas(64) std::uint16_t unpacked[64];
  const std::uint16_t* const fingerprints = unpack_fingerprints<L>(block, unpacked);
  const auto store = [&](auto v, std::uint8_t* to)
                         HWY_ATTR { hn::StoreU(hn::DemoteTo(dh, hn::BitCast(di, v)), dh, to); };
  for (std::size_t s = 0; s < L::kSlots; s += step) {
    const auto f = hn::Load(d, fingerprints + s);
    const auto own = hn::MulHigh(hn::Mul(f, hn::Load(d, kTables.multiplier + s)), per_lane);
    // index - rotation, or that plus R where it is negative (then huge as an unsigned number).
    const auto distance = hn::Sub(hn::Load(d, kTables.index + s), own);
    const auto phase = hn::Min(distance, hn::Add(distance, per_lane));
    store(phase, residents.phase + s);
    const auto mixed = hn::Add(hn::Mul(f, hn::Set(d, kClassFingerprintMultiplier)),
                               hn::Mul(phase, hn::Set(d, kClassPhaseMultiplier)));
    store(hn::MulHigh(mixed, hn::Set(d, static_cast<std::uint16_t>(kSpillClasses))),
          residents.spill_class + s);
    for (std::uint32_t lane = 0; lane < L::kLanes; ++lane) {
      const auto multiplier = hn::Set(d, kRotationMultiplier[lane]);
      const auto q = hn::Add(phase, hn::MulHigh(hn::Mul(f, multiplier), per_lane));
      const auto wrapped = hn::Min(q, hn::Sub(q, per_lane));
      store(hn::Add(wrapped, hn::Set(d, static_cast<std::uint16_t>(lane * L::kSlotsPerLane))),
            residents.slot_in_lane[lane] + s);
    }
  }
}

#endif  // NESTLINE_ONE_LANE

// Slots of `among` that hold the fingerprint.
template <class L>
HWY_INLINE std::uint64_t match_among(const Block& shared, std::uint32_t fingerprint,
                                     std::uint64_t among) {
  Block copy;
  const Block& block = readable_block(shared, copy);
  std::uint64_t slots = match_first_bytes<L>(block, fingerprint) & among;
  if constexpr (L::kBits == 12) {
    // Of absent keys one in 70 gets here, of present ones all: a branch that predicts well.
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

// Backwards from the goals: who can move into slot e of lane j are the residents whose candidate in
// lane j is e, one compare of 64 bytes. `next` remembers where each would go.
template <class L>
void displace(const Residents& residents, std::uint64_t bucket, std::uint64_t goals,
              Displacement& path) noexcept {
  std::uint8_t next[64];
  std::uint8_t queue[64];
  std::uint32_t head = 0;
  std::uint32_t tail = 0;
  std::uint64_t unseen = L::kAllSlots & ~goals;
  for (std::uint64_t rest = goals; rest != 0; rest &= rest - 1) {
    queue[tail++] = static_cast<std::uint8_t>(first_slot(rest));
  }
  path.steps = 0;
  while (head < tail) {
    const std::uint8_t e = queue[head++];
    std::uint64_t movers = equal_bytes(residents.slot_in_lane[e / L::kSlotsPerLane], e) & unseen;
    if ((movers & bucket) != 0) {
      path.step[0] = static_cast<std::uint8_t>(first_slot(movers & bucket));
      path.step[1] = e;
      path.steps = 2;
      for (std::uint8_t s = e; (goals >> s & 1) == 0; ++path.steps) {
        s = next[s];
        path.step[path.steps] = s;
      }
      return;
    }
    unseen &= ~movers;
    for (; movers != 0; movers &= movers - 1) {
      const std::uint32_t s = first_slot(movers);
      next[s] = e;
      queue[tail++] = static_cast<std::uint8_t>(s);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace nestline
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
