// Per-target: from the keys of a group to their places and buckets, and to their alternates:
// geometry.h and layout.h for many keys at a time. A bucket is a 64-bit mask made without a shift
// per lane: byte lookups turn slot numbers into bits. Hashing takes two 64-bit products, made of
// 32-bit ones.
#if defined(NESTLINE_LIB_ENGINE_KERNELS_LOCATE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_ENGINE_KERNELS_LOCATE_INL_H_
#undef NESTLINE_LIB_ENGINE_KERNELS_LOCATE_INL_H_
#else
#define NESTLINE_LIB_ENGINE_KERNELS_LOCATE_INL_H_
#endif

#include <hwy/cache_control.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "lib/engine/kernels/match-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nestline { inline namespace v0_3 { namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kGroup = kMaxLocated;
static_assert(kGroup == 64, "a group's answers are one 64-bit word");

// What the probe needs of 64 keys.
struct alignas(64) Group {
  std::uint64_t address[kGroup];  // of the block
  std::uint64_t bucket[kGroup];
  std::uint32_t pair[kGroup];  // fingerprint, bucket offset << 16
  std::uint32_t
      repeated[kGroup];        // the fingerprint's low byte, 4 times; of halfwords all of it, twice
  std::uint32_t high[kGroup];  // of bytes and nibbles: the high nibble, 8 times
  std::uint8_t low_byte[kGroup];  // of the fingerprint
  [[nodiscard]] std::uint32_t fingerprint(std::size_t i) const { return pair[i] & 0xffff; }
  [[nodiscard]] std::uint64_t number(const BlocksView& view, std::size_t i) const {
    return (address[i] - reinterpret_cast<std::uintptr_t>(view.blocks)) / kBlockBytes;
  }
};

// The parts of a pair. Where all slots are in every bucket there is no bucket offset, but there are
// more bits of the fingerprint.
template <class L>
HWY_INLINE std::uint32_t fingerprint_of_pair(std::uint32_t pair) {
  return L::kForm == Form::maplet ? pair : pair & 0xffff;
}
template <class L>
HWY_INLINE std::uint32_t bucket_offset_of_pair(std::uint32_t pair) {
  return L::kForm == Form::maplet ? 0 : pair >> 16;
}

HWY_INLINE std::uint64_t address_of(const BlocksView& view, std::uint64_t block) {
  return reinterpret_cast<std::uintptr_t>(view.blocks) + block * kBlockBytes;
}

HWY_INLINE const Block& block_at(std::uint64_t address) {
  return *reinterpret_cast<const Block*>(address);
}

// Any address may be prefetched: nothing is read.
HWY_INLINE void prefetch_at(std::uint64_t address) {
  hwy::Prefetch(reinterpret_cast<const Block*>(address));
}

// Into the second-level cache, to which more blocks may be on their way at once than to the first,
// whose few buffers stay taken until memory answers. To read from there takes a little longer.
HWY_INLINE void prefetch_far(std::uint64_t address) {
  __builtin_prefetch(reinterpret_cast<const Block*>(address), 0, 2);
}

// Slots that hold key i's fingerprint, or of planes what is in bytes of it, in its bucket or not.
// To repeat it is only a load.
template <class L>
HWY_INLINE std::uint64_t match_repeated(const Block& shared, const Group& group, std::size_t i) {
  BlockCopy copy;
  const Block& block = readable_block(shared, copy);
#if NESTLINE_ONE_LANE
  return match_among<L>(block, fingerprint_of_pair<L>(group.pair[i]), L::kAllSlots);
#else
  if constexpr (L::kForm == Form::maplet) {
    return match_among<L>(block, fingerprint_of_pair<L>(group.pair[i]), L::kAllSlots);
  }
  using T = EvictionOrder::BucketOffset<L>;
  const BlockTag<T> d;
  const hn::Repartition<std::uint32_t, BlockTag<T> > d32;
  const auto wanted = hn::BitCast(d, hn::Set(d32, group.repeated[i]));
  if constexpr (L::kForm == Form::bytes_and_nibbles) {
    const auto high = hn::BitCast(d, hn::Set(d32, group.high[i]));
    return match_parts<L>(block, wanted, high);
  }
  return equal_lanes_in<kFingerprintMask<L> >(reinterpret_cast<const T*>(block.bytes.data()),
                                              wanted);
#endif
}

template <class L>
void locate_each(const BlocksView& view, const std::uint64_t* keys, std::size_t count,
                 InputKind input, Group& group) {
  for (std::size_t i = 0; i < count; ++i) {
    const Place place = home_of<L>(view.geometry, hash_of(keys[i], input, view.secrets));
    group.address[i] = address_of(view, place.block);
    group.bucket[i] = place.bucket;
    group.pair[i] = place.fingerprint | place.bucket_offset << 16;
    group.repeated[i] = L::kForm == Form::halfwords ? place.fingerprint * 0x00010001u
                                                    : (place.fingerprint & 0xff) * 0x01010101u;
    group.high[i] = (place.fingerprint >> 8 & 15) * 0x11111111u;
    group.low_byte[i] = static_cast<std::uint8_t>(place.fingerprint);
  }
}

#if NESTLINE_ONE_LANE

template <class L>
void locate(const BlocksView& view, const std::uint64_t* keys, std::size_t count, InputKind input,
            Group& group) {
  locate_each<L>(view, keys, count, input, group);
}

#else  // vectors

using D64 = hn::ScalableTag<std::uint64_t>;
using D32 = hn::Repartition<std::uint32_t, D64>;
using D16 = hn::Repartition<std::uint16_t, D64>;
using D8 = hn::Repartition<std::uint8_t, D64>;

// Low 32 bits of a times low 32 bits of b, in full.
template <class V>
HWY_INLINE V multiply_low_halves(V a, V b) {
  const D32 d32;
  return hn::MulEven(hn::BitCast(d32, a), hn::BitCast(d32, b));
}

// The low 64 bits of v * m, lane by lane.
template <class V>
HWY_INLINE V multiply64(V v, std::uint64_t m) {
  const hn::DFromV<V> d;
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  return hn::Mul(v, hn::Set(d, m));
#else
  const V factor = hn::Set(d, m);
  const V cross = hn::Add(multiply_low_halves(hn::ShiftRight<32>(v), factor),
                          multiply_low_halves(v, hn::Set(d, m >> 32)));
  return hn::Add(multiply_low_halves(v, factor), hn::ShiftLeft<32>(cross));
#endif
}

// mix_integer, lane by lane.
template <class V>
HWY_INLINE V mix_integers(V key, const MixSecrets& secrets) {
  V h = hn::Xor(key, hn::Set(D64(), secrets.before));
  h = hn::Xor(h, hn::ShiftRight<kMixShift>(h));
  h = multiply64(h, secrets.multiplier);
  h = hn::Xor(h, hn::ShiftRight<32>(h));
  return multiply64(h, kMixMultiplier2);
}

// Bits 32..95 of h * bases, for bases below 2^32: the base above its rest (hash.h).
template <class V>
HWY_INLINE V base_and_rest(V h, V bases) {
  const V low = hn::ShiftRight<32>(multiply_low_halves(h, bases));
  return hn::Add(multiply_low_halves(hn::ShiftRight<32>(h), bases), low);
}

// 1 << i in the low, and in the high byte of a 16-bit word, for i in [0, 16).
alignas(16) constexpr std::uint8_t kLowBit[16] = {1, 2, 4, 8, 16, 32, 64, 128};
alignas(16) constexpr std::uint8_t kHighBit[16] = {0, 0, 0, 0, 0,  0,  0,  0,
                                                   1, 2, 4, 8, 16, 32, 64, 128};
// Byte lookups that put two bytes of each 32-bit lane into both of its halves; kNone gives 0.
constexpr std::uint8_t kNone = 0x80;
struct BothHalves {
  alignas(16) std::uint8_t bytes[16];
  constexpr BothHalves(std::uint8_t low, std::uint8_t high) : bytes() {
    for (std::uint8_t i = 0; i < 16; i += 2) {
      bytes[i] = static_cast<std::uint8_t>(low + i / 4 * 4);
      bytes[i + 1] = static_cast<std::uint8_t>(high + (high == kNone ? 0 : i / 4 * 4));
    }
  }
};

// Fingerprint, bucket offset, eviction rank and bucket of keys, one 32-bit lane for each.
template <class L>
struct BlockLocator {
  using V32 = hn::Vec<D32>;
  using V16 = hn::Vec<D16>;
  using V8 = hn::Vec<D8>;

  static HWY_INLINE V16 pair(std::uint32_t even, std::uint32_t odd) {
    return hn::BitCast(D16(), hn::Set(D32(), even | odd << 16));
  }
  static HWY_INLINE V16 both(std::uint32_t value) { return pair(value, value); }
  static HWY_INLINE V8 bytes(std::uint32_t b0, std::uint32_t b1, std::uint32_t b2,
                             std::uint32_t b3) {
    return hn::BitCast(D8(), hn::Set(D32(), b0 | b1 << 8 | b2 << 16 | b3 << 24));
  }
  static HWY_INLINE V8 table(const std::uint8_t* bytes) { return hn::LoadDup128(D8(), bytes); }

  // From the rests of the hashes (hash.h) to group entries i, i + 1, ...
  static HWY_INLINE void locate(V32 rest, Group& group, std::size_t i) {
    // In both halves of a lane, so that one product gives two lanes' rotations.
    const auto f = fingerprints(rest);
    const auto p = hn::MulHigh(in_both_halves<16 - L::kBits>(rest), both(L::kSlotsPerSegment));
    const auto f_and_p = hn::BitCast(D32(), hn::OddEven(p, f));
    hn::StoreU(f_and_p, D32(), group.pair + i);
    hn::StoreU(hn::BitCast(D32(), repeated(f)), D32(), group.repeated + i);
    if constexpr (L::kForm == Form::bytes_and_nibbles) {
      const auto nibbles = hn::Mul(hn::ShiftRight<8>(f), both(0x1111));
      hn::StoreU(hn::BitCast(D32(), nibbles), D32(), group.high + i);
    }
    store_low_bytes(f_and_p, group.low_byte + i);

    store_buckets(f, p, group.bucket + i);
  }

  // The buckets of fingerprints and bucket offsets that are in both halves of their lanes.
  static HWY_INLINE void store_buckets(V16 f, V16 p, std::uint64_t* to) {
    const auto product02 = hn::Mul(f, pair(0, kRotationMultiplier[2]));
    const auto product13 = hn::Mul(f, pair(kRotationMultiplier[1], kRotationMultiplier[3]));
    const auto at02 = rotate(p, hn::MulHigh(product02, both(L::kSlotsPerSegment)));
    const auto at13 = rotate(p, hn::MulHigh(product13, both(L::kSlotsPerSegment)));
    if constexpr (L::kForm == Form::halfwords) {
      const auto product4 = hn::Mul(f, both(kRotationMultiplier[4]));
      const auto at4 = rotate(p, hn::MulHigh(product4, both(L::kSlotsPerSegment)));
      store_shifted_bits(at02, at13, at4, to);
    } else {
      // Four bytes a key: the index in lane 0, 1, 2, 3.
      const auto at = hn::Or(at02, hn::ShiftLeft<8>(at13));
      store_looked_up_bits(hn::BitCast(D8(), at), to);
    }
  }

 private:
  // Bits kShift to kShift + 15 of each lane, in both of its halves.
  template <int kShift>
  static HWY_INLINE V16 in_both_halves(V32 v) {
    constexpr std::uint8_t kByte = kShift / 8;
    static constexpr BothHalves kBytes(kByte, kByte + 1);
    const auto shifted = hn::BitCast(D8(), hn::ShiftRight<kShift % 8>(v));
    return hn::BitCast(D16(), hn::TableLookupBytes(shifted, table(kBytes.bytes)));
  }
  // The highest bits of each lane, in both halves. One maximum of bytes turns a low byte of 0 to 1.
  static HWY_INLINE V16 fingerprints(V32 rest) {
    V16 highest;
    if constexpr (L::kBits == 8) {
      static constexpr BothHalves kBytes(3, kNone);
      highest =
          hn::BitCast(D16(), hn::TableLookupBytesOr0(hn::BitCast(D8(), rest), table(kBytes.bytes)));
    } else {
      highest = hn::ShiftRight<16 - L::kBits>(in_both_halves<16>(rest));
    }
    return hn::BitCast(D16(), hn::Max(hn::BitCast(D8(), highest), bytes(1, 0, 1, 0)));
  }

  static HWY_INLINE V16 repeated(V16 fingerprints) {
    if constexpr (L::kForm == Form::halfwords) return fingerprints;
    const V16 low = L::kBits == 8 ? fingerprints : hn::And(fingerprints, both(0xff));
    return hn::Or(low, hn::ShiftLeft<8>(low));
  }

  static HWY_INLINE V16 rotate(V16 bucket_offset, V16 rotation) {
    const auto q = hn::Add(bucket_offset, rotation);
    return hn::Min(q, hn::Sub(q, both(L::kSlotsPerSegment)));
  }

  static HWY_INLINE void store_low_bytes(V32 v, std::uint8_t* to) {
    const hn::Rebind<std::uint8_t, D32> d;
    hn::StoreU(hn::TruncateTo(d, v), d, to);
  }

  // Halfwords: the bucket fits a 32-bit lane, where one shift per index is cheap enough.
  static HWY_INLINE void store_shifted_bits(V16 at02, V16 at13, V16 at4, std::uint64_t* to) {
    const D32 d;
    constexpr std::uint32_t kR = L::kSlotsPerSegment;
    const auto low = hn::BitCast(d, pair(0xffff, 0));
    const auto q02 = hn::BitCast(d, at02);
    const auto q13 = hn::BitCast(d, at13);
    const auto q4 = hn::BitCast(d, at4);
    auto bits = hn::Shl(hn::Set(d, 1u << 0), hn::And(q02, low));
    bits = hn::Or(bits, hn::Shl(hn::Set(d, 1u << kR), hn::And(q13, low)));
    bits = hn::Or(bits, hn::Shl(hn::Set(d, 1u << 2 * kR), hn::ShiftRight<16>(q02)));
    bits = hn::Or(bits, hn::Shl(hn::Set(d, 1u << 3 * kR), hn::ShiftRight<16>(q13)));
    if constexpr (L::kChoices > 4) {
      bits = hn::Or(bits, hn::Shl(hn::Set(d, 1u << 4 * kR), hn::And(q4, low)));
    }
    hn::StoreInterleaved2(bits, hn::Zero(d), d, reinterpret_cast<std::uint32_t*>(to));
  }

  // Bytes: byte lookups turn an index into the two bytes that its bit may be in.
  static HWY_INLINE void store_looked_up_bits(V8 at, std::uint64_t* to) {
    const D32 d32;
    const auto low_bit = table(kLowBit);
    const auto high_bit = table(kHighBit);
    if constexpr (L::kSlotsPerSegment == 10) {
      // Lane j begins at bit 10j = 8j + 2j: so at bit 2j of byte j, and ends within byte j + 1.
      const auto s = hn::Add(at, bytes(0, 2, 4, 6));
      const auto low = hn::BitCast(d32, hn::TableLookupBytesOr0(low_bit, s));
      const auto high = hn::BitCast(d32, hn::TableLookupBytesOr0(high_bit, s));
      hn::StoreInterleaved2(hn::Or(low, hn::ShiftLeft<8>(high)), hn::ShiftRight<24>(high), d32,
                            reinterpret_cast<std::uint32_t*>(to));
    } else {
      // Lane j begins at bit Rj = 16j - (16 - R)j: so at bit q - (16 - R)j of word j; where that is
      // negative, at bit 16 more of word j - 1: at 15 slots a lane always in the high byte.
      constexpr std::uint32_t kBack = 16 - L::kSlotsPerSegment;
      static_assert(3 * kBack <= 12);
      const auto s = hn::Sub(at, bytes(0, kBack, 2 * kBack, 3 * kBack));
      auto low = hn::TableLookupBytesOr0(low_bit, s);
      auto high = hn::TableLookupBytesOr0(high_bit, s);
      const auto below =
          hn::And(hn::Xor(s, bytes(0x80, 0x80, 0x80, 0x80)), bytes(0x8f, 0x8f, 0x8f, 0x8f));
      const auto carried = [&](V8 table) HWY_ATTR {
        const auto bits = hn::BitCast(d32, hn::TableLookupBytesOr0(table, below));
        return hn::BitCast(D8(), hn::ShiftRight<8>(bits));
      };
      if constexpr (3 * kBack > 8) low = hn::Or(low, carried(low_bit));
      high = hn::Or(high, carried(high_bit));
      hn::StoreInterleaved2(low, high, D8(), reinterpret_cast<std::uint8_t*>(to));
    }
  }
};

// Reads `count` keys rounded up to whole vectors, so up to kGroup.
template <class L, InputKind kInput>
HWY_INLINE void locate_all(const BlocksView& view, const std::uint64_t* keys, std::size_t count,
                           Group& group) {
  const D64 d;
  const D32 d32;
  const std::size_t step = hn::Lanes(d);
  const auto bases = hn::Set(d, view.geometry.base_blocks);
  const auto first = hn::Set(d, address_of(view, 0));
  // The child is the rest's highest bits: right below the base.
  const auto child_ends = static_cast<int>(32 - view.geometry.growth);
  static_assert(kBlockBytes == 1 << 6);
  for (std::size_t i = 0; i < count; i += 2 * step) {
    auto a = hn::LoadU(d, keys + i);
    auto b = hn::LoadU(d, keys + i + step);
    if constexpr (kInput == InputKind::integers) {
      a = mix_integers(a, view.secrets);
      b = mix_integers(b, view.secrets);
    }
    a = base_and_rest(a, bases);
    b = base_and_rest(b, bases);
    const auto offset_a = hn::ShiftLeft<6>(hn::ShiftRightSame(a, child_ends));
    const auto offset_b = hn::ShiftLeft<6>(hn::ShiftRightSame(b, child_ends));
    hn::Store(hn::Add(offset_a, first), d, group.address + i);
    hn::Store(hn::Add(offset_b, first), d, group.address + i + step);
    BlockLocator<L>::locate(hn::ConcatEven(d32, hn::BitCast(d32, b), hn::BitCast(d32, a)), group,
                            i);
  }
}

// Whether keys are located in vectors.
template <class L>
HWY_INLINE bool has_vector_places(const BlocksView& view) {
  return L::kForm != Form::maplet && HWY_TARGET != HWY_WASM &&
         HWY_LIKELY(view.geometry.base_blocks <= std::numeric_limits<std::uint32_t>::max());
}

template <class L>
HWY_NOINLINE void locate(const BlocksView& view, const std::uint64_t* keys, std::size_t count,
                         InputKind input, Group& group) {
  if (!has_vector_places<L>(view)) {
    locate_each<L>(view, keys, count, input, group);
    return;
  }
  if constexpr (L::kForm != Form::maplet && HWY_TARGET != HWY_WASM) {
    alignas(64) std::uint64_t padded[kGroup];
    if (count < kGroup) {
      std::copy_n(keys, count, padded);
      std::fill(padded + count, padded + kGroup, 0);
      keys = padded;
    }
    if (input == InputKind::integers) {
      locate_all<L, InputKind::integers>(view, keys, count, group);
    } else {
      locate_all<L, InputKind::hashes>(view, keys, count, group);
    }
  }
}

#endif  // NESTLINE_ONE_LANE

// alternate_of for homes at these addresses and pairs as a group has them, to addresses. The arrays
// are aligned, and have room for whole vectors.
template <class L>
HWY_NOINLINE void locate_alternates(const BlocksView& view, const std::uint64_t* home,
                                    const std::uint32_t* pairs, std::size_t count,
                                    std::uint64_t* alternate) {
  const Geometry& geometry = view.geometry;
#if !NESTLINE_ONE_LANE
  if (L::kForm != Form::maplet &&
      HWY_LIKELY(geometry.base_blocks <= std::numeric_limits<std::uint32_t>::max())) {
    const D64 d;
    const hn::RebindToSigned<D64> signed_d;
    const hn::Rebind<std::uint32_t, D64> d_pair;
    const auto growth = static_cast<int>(geometry.growth);
    const auto bases = hn::Set(d, geometry.base_blocks);
    const auto first = hn::Set(d, address_of(view, 0));
    const auto counts = hn::Set(d, pair_mask(geometry.placement));
    for (std::size_t n = 0; n < count; n += hn::Lanes(d)) {
      const auto pair = hn::PromoteTo(d, hn::Load(d_pair, pairs + n));
      const auto fingerprint = hn::And(pair, hn::Set(d, 0xffff));
      auto x = hn::Or(hn::ShiftLeft<4>(fingerprint), hn::ShiftRight<16>(pair));
      x = multiply64(hn::And(x, counts), kPairMultiplier1);
      x = multiply64(hn::Xor(x, hn::ShiftRight<32>(x)), kPairMultiplier2);
      const auto sum = hn::ShiftRight<32>(base_and_rest(x, bases));
      const auto number = hn::ShiftRight<6>(hn::Sub(hn::Load(d, home + n), first));
      const auto base = hn::ShiftRightSame(number, growth);
      const auto child = hn::Sub(number, hn::ShiftLeftSame(base, growth));
      const auto difference = hn::Sub(sum, base);
      const auto negative = hn::BitCast(d, hn::BroadcastSignBit(hn::BitCast(signed_d, difference)));
      const auto other = hn::Add(difference, hn::And(negative, bases));
      const auto block = hn::Add(hn::ShiftLeftSame(other, growth), child);
      hn::Store(hn::Add(first, hn::ShiftLeft<6>(block)), d, alternate + n);
    }
    return;
  }
#endif
  for (std::size_t n = 0; n < count; ++n) {
    const std::uint64_t block = (home[n] - address_of(view, 0)) / kBlockBytes;
    const Place place = {block, 0, fingerprint_of_pair<L>(pairs[n]),
                         bucket_offset_of_pair<L>(pairs[n])};
    alternate[n] = address_of(view, alternate_of(geometry, place));
  }
}

}  // namespace HWY_NAMESPACE
}}  // namespace nestline
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
