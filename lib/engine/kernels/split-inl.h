// Per-target: splitting blocks in two, the single pass that makes a filter grow.
//
// A block is loaded once and stored twice, masked: what has 1 as the next bit of its fingerprint is
// kept in the second copy and cleared in the first; the mark is in both. At 9, 10 and 12 bits that
// bit is in the high part, a plane or a nibble, during the first doublings, then in the low byte: a
// mask of the low bytes comes first, and that of the high parts from it. From kStreamBytes on, more
// than caches keep, copies are written past them (non-temporal stores): the old content of their
// lines need not be read.
#if defined(NESTLINE_LIB_ENGINE_KERNELS_SPLIT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_ENGINE_KERNELS_SPLIT_INL_H_
#undef NESTLINE_LIB_ENGINE_KERNELS_SPLIT_INL_H_
#else
#define NESTLINE_LIB_ENGINE_KERNELS_SPLIT_INL_H_
#endif

#include <hwy/cache_control.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lib/engine/kernels/match-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nestline { inline namespace v0_3 { namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Mark and guest level, in the header's bytes.
inline constexpr std::array<std::uint8_t, 4> kHeaderKept = {Block::kHeaderKept & 0xff,
                                                            Block::kHeaderKept >> 8 & 0xff, 0, 0};

// One slot after the other: for maplets too.
template <class L>
void split_slots(const Block* from, std::size_t count, std::uint32_t growth, Block* to) noexcept {
  const std::uint32_t next_bit = static_cast<std::uint32_t>(L::kBits) - 1 - growth;
  for (std::size_t i = 0; i < count; ++i) {
    BlockCopy copy;  // a reader may take the lock of a block meanwhile
    const Block& block = readable_block(from[i], copy);
    Block children[2] = {};
    for (Block& child : children) {
      for (std::size_t b = 0; b < kHeaderKept.size(); ++b) {
        child.bytes[kOverflowMarkByte + b] = block.bytes[kOverflowMarkByte + b] & kHeaderKept[b];
      }
    }
    for (std::uint32_t s = 0; s < L::kSlots; ++s) {
      const std::uint32_t fingerprint = L::get(block, s);
      L::set(children[fingerprint >> next_bit & 1], s, fingerprint, L::value(block, s));
    }
    to[2 * i] = children[0];
    to[2 * i + 1] = children[1];
  }
}

#if NESTLINE_ONE_LANE

template <class L>
void split(const Block* from, std::size_t count, std::uint32_t growth, Block* to) noexcept {
  split_slots<L>(from, count, growth, to);
}

#else  // vectors

inline constexpr std::size_t kStreamBytes = std::size_t{4} << 20;

// Stores a part of a block, past the caches or through them.
template <bool kStream, class D, class V>
HWY_INLINE void put_lanes(D d, V v, hn::TFromD<D>* to) {
  if constexpr (kStream) {
    hn::Stream(v, d, to);
  } else {
    hn::Store(v, d, to);
  }
}

// Per lane: the bit that decides, none in the header; and the bits that may go to the copies.
template <typename T>
struct SplitMasks {
  static constexpr std::size_t kChoices = kBlockBytes / sizeof(T);
  static constexpr std::size_t kMarkLane = kOverflowMarkByte / sizeof(T);
  alignas(64) T decides[kChoices] = {};
  alignas(64) T kept[kChoices] = {};
  explicit SplitMasks(std::uint32_t next_bit) {
    for (std::size_t i = 0; i < kMarkLane; ++i) {
      decides[i] = static_cast<T>(1u << next_bit);
      kept[i] = static_cast<T>(~T{0});
    }
    std::memcpy(kept + kMarkLane, kHeaderKept.data(), kHeaderKept.size());
  }
};

// Fingerprints of one lane each: 8 and 16 bits.
template <typename T, bool kStream>
HWY_INLINE void split_lanes(const Block* from, std::size_t count, std::uint32_t next_bit,
                            Block* to) {
  const BlockTag<T> d;
  const std::size_t step = hn::Lanes(d);
  constexpr std::size_t kChoices = kBlockBytes / sizeof(T);
  const SplitMasks<T> masks(next_bit);
  for (std::size_t i = 0; i < count; ++i) {
    BlockCopy copy;  // a reader may take the lock of a block meanwhile
    const auto* const block = reinterpret_cast<const T*>(&readable_block(from[i], copy));
    auto* const low = reinterpret_cast<T*>(to + 2 * i);
    auto* const high = low + kChoices;
    for (std::size_t lane = 0; lane < kChoices; lane += step) {
      const auto all = hn::And(hn::Load(d, block + lane), hn::Load(d, masks.kept + lane));
      const auto bit = hn::And(all, hn::Load(d, masks.decides + lane));
      const auto chosen = hn::Ne(bit, hn::Zero(d));
      put_lanes<kStream>(d, hn::IfThenZeroElse(chosen, all), low + lane);
    }
    for (std::size_t lane = 0; lane < kChoices; lane += step) {
      const auto all = hn::And(hn::Load(d, block + lane), hn::Load(d, masks.kept + lane));
      const auto decides = hn::Load(d, masks.decides + lane);
      // True for the mark's lane too, where no bit decides. Not an Or of two masks: with Highway
      // 1.0.3 and g++ 12, that of 256-bit SVE is right in the first 16 byte lanes only.
      const auto kept = hn::Eq(hn::And(all, decides), decides);
      put_lanes<kStream>(d, hn::IfThenElseZero(kept, all), high + lane);
    }
  }
}

// The others, in the four 16-byte quarters of a block: a, b, c and e. A chooser turns their bytes
// into what belongs to the second copy: all ones, or of shared bytes the bits, and 0 for the
// header. It keeps no vectors: those of SVE have no size, so no class can have them.
using D128 = hn::CappedTag<std::uint8_t, 16>;
using Quarter = hn::Vec<D128>;
HWY_INLINE Quarter first_bytes(std::size_t bytes) {
  const D128 d;
  return hn::VecFromMask(d, hn::FirstN(d, bytes));
}
HWY_INLINE Quarter have_bit(Quarter bytes, Quarter bit) {
  const D128 d;
  return hn::VecFromMask(d, hn::Ne(hn::And(bytes, bit), hn::Zero(d)));
}
HWY_INLINE Quarter set_bit(std::uint32_t bit) {
  return hn::Set(D128(), static_cast<std::uint8_t>(1u << bit % 8));
}

// 12 bits: low bytes of slots 0..15, 16..31, 32..39 and nibbles 0..7, nibbles 8..19 and the header.
template <bool kNibbleDecides>
struct NibbleChooser {
  std::uint32_t next_bit;
  HWY_INLINE void operator()(const Block&, Quarter& a, Quarter& b, Quarter& c, Quarter& e) const {
    static_assert(FilterLayout<12>::kNibbleByte == 40 && FilterLayout<12>::kNibbleRun == 20);
    const D128 d;
    const auto in_4 = first_bytes(4);
    const auto in_8 = first_bytes(8);
    const auto in_12 = first_bytes(12);
    const auto low_half = hn::Set(d, std::uint8_t{0x0f});
    const auto low_bit = set_bit(next_bit);
    // Which low bytes are chosen. Only the first 8 bytes of c count.
    if constexpr (kNibbleDecides) {
      // Nibble bytes: the low half belongs to slots 0..19, the high half to the others.
      const auto high_bit = set_bit(next_bit + 4);
      const auto mixed_bit = hn::Or(hn::And(in_4, low_bit), hn::AndNot(in_4, high_bit));
      const auto nibbles = hn::CombineShiftRightBytes<8>(d, e, c);            // 0..15
      const auto for_b = hn::Or(hn::And(in_4, hn::ShiftRightBytes<8>(d, e)),  // 16..19, 0..11
                                hn::ShiftLeftBytes<4>(d, nibbles));
      a = have_bit(nibbles, low_bit);
      b = have_bit(for_b, mixed_bit);
      c = have_bit(hn::ShiftRightBytes<4>(d, e), high_bit);  // 12..19
    } else {
      a = have_bit(a, low_bit);
      b = have_bit(b, low_bit);
      c = have_bit(c, low_bit);
    }
    c = hn::And(c, in_8);
    // The nibbles of the chosen slots: nibble byte s holds those of slots s and 20 + s.
    const auto nibbles_of = [&](auto low, auto high) HWY_ATTR {
      return hn::Or(hn::And(low, low_half), hn::AndNot(low_half, high));
    };
    c = hn::Or(
        c, nibbles_of(hn::ShiftLeftBytes<8>(d, a), hn::AndNot(in_8, hn::ShiftLeftBytes<4>(d, b))));
    e = hn::And(in_12, nibbles_of(hn::CombineShiftRightBytes<8>(d, b, a),
                                  hn::CombineShiftRightBytes<12>(d, c, b)));
  }
};

// 9 and 10 bits: low bytes in the first three quarters and at 9 bits in 4 bytes more, then planes.
template <class L>
struct PlaneChooser {
  std::uint32_t next_bit;
  HWY_INLINE void operator()(const Block& block, Quarter& a, Quarter& b, Quarter& c,
                             Quarter& e) const {
    static_assert(L::kPlaneByte >= 48);
    const D128 d;
    std::uint64_t slots = 0;
    if (next_bit >= 8) {
      slots = L::planes(block)[next_bit - 8] & L::kAllSlots;
      a = masked(slots);
      b = masked(slots >> 16);
      c = masked(slots >> 32);
      e = masked(slots >> 48);
    } else {
      const auto bit = set_bit(next_bit);
      a = have_bit(a, bit);
      b = have_bit(b, bit);
      c = have_bit(c, bit);
      e = have_bit(hn::And(e, first_bytes(L::kPlaneByte - 48)), bit);
      const auto bits = [&](Quarter quarter)
                            HWY_ATTR { return bits_of(d, hn::Ne(quarter, hn::Zero(d))); };
      slots = bits(a) | bits(b) << 16 | bits(c) << 32 | bits(e) << 48;
    }
    e = hn::Or(e, in_planes(slots));
  }

  static HWY_INLINE Quarter masked(std::uint64_t bits) {
    return hn::VecFromMask(D128(), mask_of(D128(), bits));
  }
  // The slots' bits where the last quarter has its planes.
  static HWY_INLINE Quarter in_planes(std::uint64_t slots) {
    constexpr std::uint32_t kFirst = 8 * (L::kPlaneByte - 48);
    std::uint64_t low = slots << kFirst;
    std::uint64_t high = kFirst == 0 ? 0 : slots >> (64 - kFirst) % 64;
    if constexpr (L::kPlanes > 1) {
      low |= slots << L::kSlots;
      high |= slots >> (64 - L::kSlots);
    }
    const hn::Repartition<std::uint64_t, D128> d;
    return hn::BitCast(D128(), hn::InterleaveLower(d, hn::Set(d, low), hn::Set(d, high)));
  }
};

template <bool kStream, class Chooser>
HWY_INLINE void split_quarters(const Block* from, std::size_t count, const Chooser& choose,
                               Block* to) {
  const D128 d;
  alignas(16) std::uint8_t kept[16];
  std::fill_n(kept, 12, std::uint8_t{0xff});
  std::copy(kHeaderKept.begin(), kHeaderKept.end(), kept + 12);
  const auto in_block = hn::Load(d, kept);
  const auto header = hn::AndNot(first_bytes(12), in_block);
  for (std::size_t i = 0; i < count; ++i) {
    BlockCopy copy;
    const Block& block = readable_block(from[i], copy);
    const auto load = [&](std::size_t byte)
                          HWY_ATTR { return hn::Load(d, block.bytes.data() + byte); };
    const Quarter a = load(0);
    const Quarter b = load(16);
    const Quarter c = load(32);
    const Quarter e = hn::And(load(48), in_block);
    Quarter chosen_a = a;
    Quarter chosen_b = b;
    Quarter chosen_c = c;
    Quarter chosen_e = e;
    choose(block, chosen_a, chosen_b, chosen_c, chosen_e);
    std::uint8_t* const low = to[2 * i].bytes.data();
    put_lanes<kStream>(d, hn::AndNot(chosen_a, a), low);
    put_lanes<kStream>(d, hn::AndNot(chosen_b, b), low + 16);
    put_lanes<kStream>(d, hn::AndNot(chosen_c, c), low + 32);
    put_lanes<kStream>(d, hn::AndNot(chosen_e, e), low + 48);
    std::uint8_t* const high = to[2 * i + 1].bytes.data();
    put_lanes<kStream>(d, hn::And(chosen_a, a), high);
    put_lanes<kStream>(d, hn::And(chosen_b, b), high + 16);
    put_lanes<kStream>(d, hn::And(chosen_c, c), high + 32);
    put_lanes<kStream>(d, hn::And(hn::Or(chosen_e, header), e), high + 48);
  }
}

template <class L, bool kStream>
HWY_INLINE void split_blocks(const Block* from, std::size_t count, std::uint32_t next_bit,
                             Block* to) {
  if constexpr (L::kBits == 8) {
    split_lanes<std::uint8_t, kStream>(from, count, next_bit, to);
  } else if constexpr (L::kBits == 16) {
    split_lanes<std::uint16_t, kStream>(from, count, next_bit, to);
  } else if constexpr (L::kPlanes > 0) {
    split_quarters<kStream>(from, count, PlaneChooser<L>{next_bit}, to);
  } else if (next_bit >= 8) {
    split_quarters<kStream>(from, count, NibbleChooser<true>{next_bit}, to);
  } else {
    split_quarters<kStream>(from, count, NibbleChooser<false>{next_bit}, to);
  }
}

template <class L>
void split(const Block* from, std::size_t count, std::uint32_t growth, Block* to) noexcept {
  const std::uint32_t next_bit = static_cast<std::uint32_t>(L::kBits) - 1 - growth;
  if (2 * count * kBlockBytes < kStreamBytes) {
    split_blocks<L, false>(from, count, next_bit, to);
  } else {
    split_blocks<L, true>(from, count, next_bit, to);
    hwy::FlushStream();  // so that every thread that gets the new blocks sees them
  }
}

#endif  // NESTLINE_ONE_LANE

}  // namespace HWY_NAMESPACE
}}  // namespace nestline
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
