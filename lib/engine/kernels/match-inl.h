// Per-target: vectors to bits and back. Which slots of a block hold a fingerprint, and which are
// free; and a batch's answers. A block is four, two or one vector: the loops over them have a
// number that the compiler knows. The one-lane target uses the definitions of layout.h.
#if defined(NESTLINE_LIB_ENGINE_KERNELS_MATCH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_ENGINE_KERNELS_MATCH_INL_H_
#undef NESTLINE_LIB_ENGINE_KERNELS_MATCH_INL_H_
#else
#define NESTLINE_LIB_ENGINE_KERNELS_MATCH_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "lib/engine/engine.h"
#include "lib/engine/place/aging.h"
#include "lib/engine/place/locking.h"

// The vector bodies need little-endian lanes and at least 16 bytes.
#undef NESTLINE_ONE_LANE
#if HWY_TARGET == HWY_SCALAR || HWY_IS_BIG_ENDIAN
#define NESTLINE_ONE_LANE 1
#else
#define NESTLINE_ONE_LANE 0
#endif

// On x86 the targets before AVX2 are for processors from before 2013, and for virtual machines that
// hide AVX2: sources that define NESTLINE_OLDER are compiled for them, and for size, the others for
// the rest.
#undef NESTLINE_IS_OLDER
#define NESTLINE_IS_OLDER (HWY_ARCH_X86 && HWY_TARGET > HWY_AVX2 && (HWY_TARGETS & HWY_AVX2) != 0)
#undef NESTLINE_IS_COMPILED_HERE
#ifdef NESTLINE_OLDER
#define NESTLINE_IS_COMPILED_HERE NESTLINE_IS_OLDER
#else
#define NESTLINE_IS_COMPILED_HERE !NESTLINE_IS_OLDER
#endif

// Where code should be small rather than fast, first looks and evictions of filters with and
// without guest lanes are one too, for all lock policies.
#undef NESTLINE_ANY_PLACEMENT
#define NESTLINE_ANY_PLACEMENT (NESTLINE_ONE_LANE || (HWY_ARCH_X86 && HWY_TARGET > HWY_AVX2))

HWY_BEFORE_NAMESPACE();
namespace nestline { inline namespace v0_3 { namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The layout of operations that are compiled once for both placements, and for all lock policies.
#if NESTLINE_SMALL
template <class L>
using Shared = L;
#else
template <class L>
using Shared = std::conditional_t<L::kHasValues, L, Laned<PlainLayout<L> > >;
#endif
// Whether there are guest lanes: whose policy is not fixed asks for the placement too.
template <class L, class Locks = AnyLocks>
HWY_INLINE bool has_lanes_in([[maybe_unused]] const BlocksView& view) {
  if constexpr (L::kHasGuestLanes && std::is_same_v<Locks, AnyLocks>) {
    return has_guest_lanes(view.geometry);
  }
  return L::kHasGuestLanes;
}
// The layout of first looks at L.
template <class L>
using Compiled = std::conditional_t<NESTLINE_ANY_PLACEMENT, Shared<L>, L>;

// A block that a writer may be changing, ready for plain vector loads: see memory_order.h. Where no
// copy is made, none is declared: it would cost each function that aligns its stack for it.
#if NESTLINE_TSAN
using BlockCopy = Block;
#else
struct BlockCopy {};
#endif
HWY_INLINE const Block& readable_block(const Block& block, BlockCopy& copy) {
#if NESTLINE_TSAN
  copy_shared<kBlockBytes>(block.bytes.data(), copy.bytes.data());
  return copy;
#else
  (void)copy;
  return block;
#endif
}

// Not 0: the block was locked before, or has changed since.
HWY_INLINE std::uint32_t changes(const Block& block, std::uint32_t header) {
  if (NESTLINE_SKIP_VALIDATION) return 0;
  return (block.header_again() ^ header) | (header & kHeaderLock);
}

#if NESTLINE_ONE_LANE

template <class L>
HWY_INLINE std::uint64_t match_first_bytes(const Block& block, std::uint32_t fingerprint) {
  constexpr std::uint32_t kMask =
      L::kForm == Form::halfwords || L::kForm == Form::maplet ? 0xffff : 0xff;
  std::uint64_t slots = 0;
  for (std::uint32_t s = 0; s < L::kSlots; ++s) {
    slots |= std::uint64_t{((L::get(block, s) ^ fingerprint) & kMask) == 0} << s;
  }
  return slots;
}

// Bit s: slot s holds the fingerprint, of bytes and nibbles.
template <class L>
HWY_INLINE std::uint64_t match_parts(const Block& block, std::uint32_t fingerprint) {
  std::uint64_t slots = 0;
  for (std::uint32_t s = 0; s < L::kSlots; ++s) {
    slots |= std::uint64_t{L::get(block, s) == fingerprint} << s;
  }
  return slots;
}

#else  // vectors

template <typename T>
using BlockTag = hn::CappedTag<T, kBlockBytes / sizeof(T)>;

// A mask of at most 64 lanes as bits, read in the size of the largest mask: a move between
// registers. SVE's may be shorter: what StoreMaskBits does not write is 0.
template <class D, class Mask>
HWY_INLINE std::uint64_t bits_of([[maybe_unused]] D d, Mask mask) {
  static_assert(hn::MaxLanes(D()) <= 64);
#if HWY_TARGET == HWY_WASM
  // One instruction there, which Highway 1.0.3 does not use.
  using T = hn::TFromD<D>;
  static_assert(hn::MaxLanes(D()) * sizeof(T) == 16);
  if constexpr (sizeof(T) == 1) return wasm_i8x16_bitmask(mask.raw);
  if constexpr (sizeof(T) == 2) return wasm_i16x8_bitmask(mask.raw);
  if constexpr (sizeof(T) == 4) return wasm_i32x4_bitmask(mask.raw);
  return wasm_i64x2_bitmask(mask.raw);
#else
  std::uint8_t bytes[8] = {};
  hn::StoreMaskBits(d, mask, bytes);
  hwy::UnsignedFromSize<(hn::MaxLanes(D()) + 7) / 8> bits;
  std::memcpy(&bits, bytes, sizeof(bits));
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  // Where g++ 12 is short of registers (ThreadSanitizer, -O1), it stores a mask register of 8 bits
  // to the stack by kmovb and reads 64 bits from there. Not if the mask passes through a register.
  if constexpr (sizeof(bits) < sizeof(std::uint64_t)) {
    std::uint32_t in_register = bits;
    asm("" : "+r"(in_register));
    return in_register;
  }
#endif
  return bits;
#endif
}

// The inverse: the lowest bits as a mask.
template <class D>
HWY_INLINE hn::Mask<D> mask_of(D d, std::uint64_t bits) {
  std::uint8_t bytes[8];  // LoadMaskBits may read 8 bytes
  std::memcpy(bytes, &bits, sizeof(bytes));
  return hn::LoadMaskBits(d, bytes);
}

// Bit i: in the bits of kMask, lane i of the block equals those of `wanted`, which are all equal.
template <auto kMask, typename T>
HWY_INLINE std::uint64_t equal_lanes_in(const T* lanes, hn::Vec<BlockTag<T> > wanted) {
  const BlockTag<T> d;
  const std::size_t step = hn::Lanes(d);
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < kBlockBytes / sizeof(T); i += step) {
    auto part = hn::Load(d, lanes + i);
    if constexpr (kMask != static_cast<T>(~T{0})) part = hn::And(part, hn::Set(d, T{kMask}));
    bits |= bits_of(d, hn::Eq(part, wanted)) << i;
  }
  return bits;
}
template <typename T>
HWY_INLINE std::uint64_t equal_lanes(const T* lanes, hn::Vec<BlockTag<T> > wanted) {
  return equal_lanes_in<static_cast<T>(~T{0})>(lanes, wanted);
}

// The bits of a slot's first part, a byte or a halfword, that belong to its fingerprint.
template <class L>
inline constexpr auto kFingerprintMask = static_cast<EvictionOrder::BucketOffset<L> >(
    L::kForm == Form::halfwords ? (1u << L::kBits) - 1 : 0xff);

// Bit s: the first byte or halfword of slot s is the fingerprint's. Later bits mean nothing.
template <class L>
HWY_INLINE std::uint64_t match_first_bytes(const Block& block, std::uint32_t fingerprint) {
  if constexpr (L::kForm == Form::halfwords) {
    const BlockTag<std::uint16_t> d;
    return equal_lanes_in<kFingerprintMask<L> >(
        reinterpret_cast<const std::uint16_t*>(block.bytes.data()),
        hn::Set(d, static_cast<std::uint16_t>(fingerprint)));
  } else if constexpr (L::kForm == Form::maplet) {
    const hn::CappedTag<std::uint16_t, L::kSlots> d;
    const auto* const lanes = reinterpret_cast<const std::uint16_t*>(block.bytes.data());
    const auto wanted = hn::Set(d, static_cast<std::uint16_t>(fingerprint));
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < L::kSlots; i += hn::Lanes(d)) {
      bits |= bits_of(d, hn::Eq(hn::Load(d, lanes + i), wanted)) << i;
    }
    return bits;
  } else {
    return equal_lanes(block.bytes.data(),
                       hn::Set(BlockTag<std::uint8_t>(), static_cast<std::uint8_t>(fingerprint)));
  }
}

// For each slot of bytes and nibbles: which 32-bit word of the block's last 16, 32 or 64 bytes
// holds its nibble, in the same byte of the word, and where in that byte.
template <class L, std::size_t kLast>
struct NibbleWords {
  alignas(64) std::uint32_t word[16];
  alignas(64) std::uint8_t mask[64];
  constexpr NibbleWords() : word(), mask() {
    static_assert(L::kNibbleByte % 4 == 0 && L::kNibbleRun % 4 == 0);
    for (std::uint32_t s = 0; s < L::kSlots; ++s) {
      const std::uint32_t byte = L::kNibbleByte + s % L::kNibbleRun;
      word[s / 4] = (byte - static_cast<std::uint32_t>(kBlockBytes - kLast)) / 4;
      mask[s] = s < L::kNibbleRun ? 0x0f : 0xf0;
    }
  }
};
template <class L, std::size_t kLast>
inline constexpr NibbleWords<L, kLast> kNibbleWords;
// Whether one shuffle brings nibbles from one end of a block to the other.
inline constexpr bool kShufflesNibbles =
    HWY_ARCH_X86 && hn::MaxLanes(BlockTag<std::uint8_t>()) >= 32;

// The nibbles of slots i, i + 1, ..., each in its half of a byte, beside others of no meaning.
template <class L>
HWY_INLINE hn::Vec<BlockTag<std::uint8_t> > nibbles_beside(const Block& block, std::size_t i) {
  const BlockTag<std::uint8_t> d;
  const hn::Repartition<std::uint32_t, decltype(d)> d32;
  constexpr std::size_t kStep = hn::MaxLanes(BlockTag<std::uint8_t>());
  const auto* const last = block.bytes.data() + kBlockBytes - kStep;
  const auto words = hn::IndicesFromVec(d32, hn::Load(d32, kNibbleWords<L, kStep>.word + i / 4));
  return hn::BitCast(
      d, hn::TableLookupLanes(hn::Load(d32, reinterpret_cast<const std::uint32_t*>(last)), words));
}
// Only what belongs to those slots.
template <class L>
HWY_INLINE hn::Vec<BlockTag<std::uint8_t> > own_halves(hn::Vec<BlockTag<std::uint8_t> > nibbles,
                                                       std::size_t i) {
  const BlockTag<std::uint8_t> d;
  constexpr std::size_t kStep = hn::MaxLanes(BlockTag<std::uint8_t>());
  return hn::And(nibbles, hn::Load(d, kNibbleWords<L, kStep>.mask + i));
}

// Slots that hold a low byte and a nibble, or that nibble beside any byte. Every byte of `low` is
// that byte, and every half of a byte of `high` that nibble. Bits after the last slot mean nothing.
enum class Parts : std::uint8_t { both, nibbles };
template <class L, Parts kParts = Parts::both>
HWY_INLINE std::uint64_t match_parts(const Block& block, hn::Vec<BlockTag<std::uint8_t> > low,
                                     hn::Vec<BlockTag<std::uint8_t> > high) {
  const BlockTag<std::uint8_t> d;
  const std::uint8_t* const bytes = block.bytes.data();
  if constexpr (kShufflesNibbles) {
    // One compare: the nibbles are brought beside their bytes.
    std::uint64_t slots = 0;
    for (std::size_t i = 0; i < L::kSlots; i += hn::Lanes(d)) {
      const auto wrong_nibble = own_halves<L>(hn::Xor(nibbles_beside<L>(block, i), high), i);
      auto wrong = wrong_nibble;
      if constexpr (kParts == Parts::both) {
        wrong = hn::Or(hn::Xor(hn::Load(d, bytes + i), low), wrong_nibble);
      }
      slots |= bits_of(d, hn::Eq(wrong, hn::Zero(d))) << i;
    }
    return slots;
  }
  // Comparing one half of the nibble bytes gives a run of slots in order.
  const std::size_t step = hn::Lanes(d);
  const auto low_half = hn::Set(d, std::uint8_t{0x0f});
  const auto high_half = hn::Set(d, std::uint8_t{0xf0});
  std::uint64_t in_low = 0;
  std::uint64_t in_high = 0;
  // The nibble bytes lie in the second half of the block.
  for (std::size_t i = step < kBlockBytes ? kBlockBytes / 2 : 0; i < kBlockBytes; i += step) {
    const auto difference = hn::Xor(hn::Load(d, bytes + i), high);
    in_low |= bits_of(d, hn::Eq(hn::And(difference, low_half), hn::Zero(d))) << i;
    in_high |= bits_of(d, hn::Eq(hn::And(difference, high_half), hn::Zero(d))) << i;
  }
  constexpr std::uint64_t kRun = (std::uint64_t{1} << L::kNibbleRun) - 1;
  const std::uint64_t slots = (in_low >> L::kNibbleByte & kRun) | (in_high >> L::kNibbleByte & kRun)
                                                                      << L::kNibbleRun;
  return kParts == Parts::both ? slots & equal_lanes(bytes, low) : slots;
}

// Bit s: slot s holds the fingerprint. Bits after the last slot mean nothing.
template <class L>
HWY_INLINE std::uint64_t match_parts(const Block& block, std::uint32_t fingerprint) {
  const BlockTag<std::uint8_t> d;
  return match_parts<L>(block, hn::Set(d, static_cast<std::uint8_t>(fingerprint)),
                        hn::Set(d, static_cast<std::uint8_t>((fingerprint >> 8) * 0x11)));
}

#endif  // NESTLINE_ONE_LANE

// Slots of `among` that hold the fingerprint.
template <class L>
HWY_INLINE std::uint64_t match_among(const Block& shared, std::uint32_t fingerprint,
                                     std::uint64_t among) {
  BlockCopy copy;
  const Block& block = readable_block(shared, copy);
  // Always: a branch on the low byte would be mispredicted as often as keys are present.
  if constexpr (L::kForm == Form::bytes_and_nibbles) {
    return match_parts<L>(block, fingerprint) & among;
  }
  std::uint64_t slots = match_first_bytes<L>(block, fingerprint) & among;
  if constexpr (L::kPlanes > 0) {
    const auto planes = L::planes(block);
    for (std::uint32_t p = 0; p < L::kPlanes; ++p) {
      slots &= planes[p] ^ (std::uint64_t{fingerprint >> (8 + p) & 1} - 1);
    }
  }
  if constexpr (L::kForm == Form::maplet) {
    for (std::uint64_t rest = slots; rest != 0; rest &= rest - 1) {
      const std::uint32_t s = first_slot(rest);
      slots ^= std::uint64_t{L::get(block, s) != fingerprint} << s;
    }
  }
  return slots;
}

// Whether a first part alone does not decide: by high nibbles, planes, or deaths.
template <class L>
inline constexpr bool kHasSecondParts =
    L::kForm == Form::bytes_and_nibbles || L::kPlanes > 0 || L::kExpires;

// The slots that are dead at this tick, and perhaps free ones.
template <class L>
HWY_INLINE std::uint64_t dead_slots(const Block& block, std::uint64_t tick) {
#if NESTLINE_ONE_LANE
  std::uint64_t slots = 0;
  for (std::uint32_t s = 0; s < L::kSlots; ++s) {
    slots |= std::uint64_t{ticks_left(L::value(block, s), tick) == 0} << s;
  }
  return slots;
#else
  static_assert(ticks_left(5, 5) == 0 && ticks_left(4, 5) != 0);
  if constexpr (L::kForm == Form::halfwords) {
    const hn::Vec<BlockTag<std::uint16_t> > death =
        hn::Set(BlockTag<std::uint16_t>(), static_cast<std::uint16_t>((tick & 15) << 12));
    return equal_lanes_in<std::uint16_t{0xf000}>(
        reinterpret_cast<const std::uint16_t*>(block.bytes.data()), death);
  } else {
    const auto death =
        hn::Set(BlockTag<std::uint8_t>(), static_cast<std::uint8_t>((tick & 15) * 0x11));
    return match_parts<L, Parts::nibbles>(block, death, death);
  }
#endif
}

// The slots whose residents are dead at this tick.
template <class L>
HWY_INLINE std::uint64_t dead_residents(const Block& block, std::uint64_t tick) {
  return dead_slots<L>(block, tick) & ~match_first_bytes<L>(block, 0) & L::kAllSlots;
}

// Those of some slots that are not dead. Loads what matched, then the time, then the deaths.
template <class L>
HWY_INLINE std::uint64_t live_among(const BlocksView& view, const Block& shared,
                                    std::uint64_t slots) {
  NESTLINE_TEST_POINT(NESTLINE_POINT_BEFORE_CHECK);
  const std::uint64_t now = tick(view.blocks);
  BlockCopy copy;
  return slots & ~dead_slots<L>(readable_block(shared, copy), now);
}

// match_among, without slots that are dead.
template <class L>
HWY_INLINE std::uint64_t match_live(const BlocksView& view, const Block& shared,
                                    std::uint32_t fingerprint, std::uint64_t among) {
  const std::uint64_t slots = match_among<L>(shared, fingerprint, among);
  if constexpr (L::kExpires) {
    return live_among<L>(view, shared, slots);
  } else {
    return slots;
  }
}

template <class L>
std::uint64_t match(const Block& block, std::uint32_t fingerprint) noexcept {
  return match_among<L>(block, fingerprint, L::kAllSlots);
}

template <class L>
std::uint64_t free_slots(const Block& shared) noexcept {
  BlockCopy copy;
  const Block& block = readable_block(shared, copy);
  return match_first_bytes<L>(block, 0) & L::kAllSlots;
}

// A batch's answers from bits to bytes, and to the positions of the keys that were found.

// Writes 64 bytes, 1 or 0, for the bits of a word.
HWY_INLINE void word_to_bytes(std::uint64_t bits, std::uint8_t* bytes) {
#if NESTLINE_ONE_LANE
  for (std::size_t i = 0; i < 64; ++i) bytes[i] = bits >> i & 1;
#else
  const BlockTag<std::uint8_t> d;
  const std::size_t step = hn::Lanes(d);
  const auto ones = hn::Set(d, std::uint8_t{1});
  for (std::size_t i = 0; i < 64; i += step) {
    hn::StoreU(hn::IfThenElseZero(mask_of(d, bits >> i), ones), d, bytes + i);
  }
#endif
}

inline std::size_t bits_to_bytes(const std::uint64_t* bitmap, std::size_t count,
                                 std::uint8_t* bytes) noexcept {
  std::size_t total = 0;
  for (std::size_t first = 0; first < count; first += 64) {
    const std::uint64_t bits = bitmap[first / 64];
    total += static_cast<std::size_t>(std::popcount(bits));
    if (count - first >= 64) {
      word_to_bytes(bits, bytes + first);
    } else {
      std::uint8_t part[64];
      word_to_bytes(bits, part);
      std::copy_n(part, count - first, bytes + first);
    }
  }
  return total;
}

// The positions are first, first + 1, ... or, with a selection, what it holds at the keys' places.
inline std::size_t bits_to_positions(const std::uint64_t* bitmap, std::size_t count,
                                     const std::uint32_t* selection, std::uint32_t first,
                                     std::uint32_t* positions) noexcept {
  std::uint32_t* to = positions;
  const auto position = [&](std::size_t key) {
    return selection != nullptr ? selection[key] : first + static_cast<std::uint32_t>(key);
  };
  for (std::size_t at = 0; at < count; at += 64) {
    std::uint64_t bits = bitmap[at / 64];
#if !NESTLINE_ONE_LANE && HWY_TARGET != HWY_EMU128  // whose Compress is a loop too
    constexpr int kMany = 12;                       // with fewer, one at a time is faster
    if (std::popcount(bits) >= kMany && count - at >= 64) {
      const hn::CappedTag<std::uint32_t, 16> d;
      const std::size_t step = hn::Lanes(d);
      // Whole vectors are stored, so not to `positions`, which must stay as it is after the last.
      std::uint32_t found[64 + 16];
      std::size_t n = 0;
      for (std::size_t i = 0; i < 64; i += step) {
        const auto from = selection != nullptr
                              ? hn::LoadU(d, selection + at + i)
                              : hn::Iota(d, first + static_cast<std::uint32_t>(at + i));
        hn::StoreU(hn::Compress(from, mask_of(d, bits)), d, found + n);
        n += static_cast<std::size_t>(std::popcount(bits & ((std::uint64_t{1} << step) - 1)));
        bits >>= step;
      }
      to = std::copy_n(found, n, to);
      continue;
    }
#endif
    for (; bits != 0; bits &= bits - 1) *to++ = position(at + first_slot(bits));
  }
  return static_cast<std::size_t>(to - positions);
}

}  // namespace HWY_NAMESPACE
}}  // namespace nestline
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
