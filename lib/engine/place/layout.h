// The block: 64 bytes, 64-byte aligned. Every bit position of the library is in this file or, for
// what callers inline, in nestline/internal/block.h and buckets.h.
//
//   byte    0                                                      59 60    61..63
//    8 bit  | 60 fingerprints of a byte                              | mark | lock, version |
//    9 bit  | 52 low bytes                | plane of bit 8, 7 bytes, 0 | mark | lock, version |
//   10 bit  | 48 low bytes                | planes of bits 8 and 9     | mark | lock, version |
//   12 bit  | 40 low bytes             | 20 bytes of two high nibbles | mark | lock, version |
//   16 bit  | 30 little-endian halfwords                             | mark | lock, version |
//   20 bit  | 8 halfwords | 8 values of 40 bits | 8 nibbles          | mark | lock, version |
//  8 + 4    | 40 fingerprints of a byte | 20 bytes of two values     | mark | lock, version |
// 12 + 4    | 30 halfwords, each a fingerprint and a value           | mark | lock, version |
//  8 + 8    | the same                                               | mark | lock, version |
// 12 + 8    | 24 halfwords, the same | 12 bytes of two high nibbles  | mark | lock, version |
// 16 + 16   | 15 halfwords           | 15 halfwords, each a value    | mark | lock, version |
//
// 9 and 10 bit: slot s has its low byte at byte s, and bit 8 + p in bit s of plane p, a
// little-endian number: one load and two instructions compare a bit of all slots. Planes lie behind
// the low bytes, one after the other; what is left of byte 58 and byte 59 is 0 at 9 bits.
//
// 12 bit: slot s has its low byte at byte s, and its high nibble in byte 40 + s % 20, in the low
// half for s < 20 and in the high half for the others: a vector compare of either half gives the
// bits of 20 slots in order.
//
// 20 bit, a maplet: slot s has the low 16 bits of its fingerprint at bytes 2s and 2s + 1, its value
// at bytes 16 + 5s to 20 + 5s (0 if free), and the fingerprint's high nibble in byte 56 + s / 2, in
// the low half for even s. All slots are a key's bucket, 8 segments of one slot: nothing moves
// inside a block.
//
// 8 + 4 and so on, a maplet of small values: beside each fingerprint lies its value, 0 if free. 8 +
// 4: where the high nibbles of 12 bit lie. The others: in the highest bits of the halfword, and
// what does not fit there behind the halfwords, in the order of the slots; of nibbles, that of an
// even slot in the low half of a byte. 8 + 4 and 12 + 4 are also expiring filters: a value is a
// death, the tick from which on it counts as absent, mod 16.
//
// Bytes 60..63, the header, are one little-endian 32-bit word: overflow mark (bits 0..7), writer
// lock (bit 8), guest level (bits 9..12), version (bits 13..31). In a filter without locks, lock
// and version are 0, and in one without guest lanes (lanes.h) the guest level is 0. A bulk build is
// the exception while it runs: the header of a block with deferred keys means nothing until pack()
// rewrites it (fill, below).
//
// Other threads may see each store at once (memory_order.h): the header's one; for a slot one at 8,
// 16, 12 + 4 and 8 + 8 bits, two at 9, 12, 8 + 4, 12 + 8 and 16 + 16, three at 10; at 20 bits two,
// and one or two for its value.
//
// The low byte of a fingerprint is never 0: so a slot is free when its low byte is 0. Segment j is
// the slots [j * R, (j + 1) * R). A key has one candidate slot in each segment: its bucket.
#ifndef NESTLINE_LIB_ENGINE_PLACE_LAYOUT_H_
#define NESTLINE_LIB_ENGINE_PLACE_LAYOUT_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lib/engine/place/hash.h"
#include "lib/engine/place/memory_order.h"
#include "nestline/internal/block.h"

// What reads a slot is inlined also where code is compiled for size, but for the smallest program,
// which would be 6 % larger.
#if defined(NESTLINE_SMALL) && NESTLINE_SMALL
#define NESTLINE_SLOT_INLINE NESTLINE_HERE
#else
#define NESTLINE_SLOT_INLINE NESTLINE_INLINE
#endif

namespace nestline { inline namespace v0_3 {

using internal::ComputedBuckets;
using internal::Form;
using internal::kBlockBytes;
using internal::kHeaderGuestLevel;
using internal::kHeaderLock;
using internal::kHeaderOverflowMark;
using internal::kHeaderVersion;
using internal::kOverflowMarkByte;
using internal::TurnedBuckets8;

struct alignas(kBlockBytes) internal::Block {
  std::array<std::uint8_t, kBlockBytes> bytes;

  // Keys of ranks below the mark may be away in their alternates; 0: no key is away.
  [[nodiscard]] std::uint32_t overflow_mark() const {
    return to_header(load_relaxed(header_word())) & kHeaderOverflowMark;
  }
  // Makes the mark cover `eviction_rank`. A mark never falls, except in an expiring filter
  // (aging.h) and where guests come home (homecoming-inl.h).
  void raise_overflow_mark(std::uint32_t eviction_rank) {
    if (overflow_mark() <= eviction_rank) set_overflow_mark(eviction_rank + 1);
  }
  void set_overflow_mark(std::uint32_t mark) {
    const std::uint32_t header = to_header(load_relaxed(header_word()));
    store_release(header_word(), to_header((header & ~kHeaderOverflowMark) | mark));
  }
  // Up to which classes the block may have guests (lanes.h).
  [[nodiscard]] std::uint32_t guest_level() const {
    return guest_level_of(to_header(load_relaxed(header_word())));
  }
  void set_guest_level(std::uint32_t level) {
    const std::uint32_t header = to_header(load_relaxed(header_word()));
    store_release(header_word(), to_header((header & ~kHeaderGuestLevel) | level << 9));
  }
  static constexpr std::uint32_t guest_level_of(std::uint32_t header) {
    return (header & kHeaderGuestLevel) >> 9;
  }
  static constexpr std::uint32_t header_of(std::uint32_t mark, std::uint32_t guest_level) {
    return mark | guest_level << 9;
  }
  // What remains of a header in a filter without locks, and in files.
  static constexpr std::uint32_t kHeaderKept = kHeaderOverflowMark | kHeaderGuestLevel;

  // The header as a reader beside writers loads it, before the rest of the block and after.
  [[nodiscard]] std::uint32_t header() const { return to_header(load_acquire(header_word())); }
  [[nodiscard]] std::uint32_t header_again() const { return to_header(load_again(header_word())); }

  // For memory_order.h to load and store; to_header converts between its stored form and numbers.
  [[nodiscard]] const SharedWord& header_word() const {
    return *reinterpret_cast<const SharedWord*>(bytes.data() + kOverflowMarkByte);
  }
  [[nodiscard]] SharedWord& header_word() {
    return *reinterpret_cast<SharedWord*>(bytes.data() + kOverflowMarkByte);
  }
  static constexpr std::uint32_t to_header(std::uint32_t word) {
    return std::endian::native == std::endian::little ? word : __builtin_bswap32(word);
  }
};
using internal::Block;
static_assert(sizeof(Block) == kBlockBytes && kEvictionRanks <= 255,
              "a mark above the highest rank must fit its byte");

// Eight bytes of a block as a number, the first one the lowest.
constexpr std::uint64_t little_endian(std::uint64_t word) {
  return std::endian::native == std::endian::little ? word : __builtin_bswap64(word);
}
inline std::uint64_t word_at(const Block& block, std::size_t byte) {
  std::uint64_t word;
  std::memcpy(&word, block.bytes.data() + byte, sizeof(word));
  return little_endian(word);
}
inline void set_word_at(Block& block, std::size_t byte, std::uint64_t word) {
  word = little_endian(word);
  std::memcpy(block.bytes.data() + byte, &word, sizeof(word));
}

// The lowest slot of a set that is not empty.
inline std::uint32_t first_slot(std::uint64_t slots) {
  return static_cast<std::uint32_t>(std::countr_zero(slots));
}

// A layout's number in files and kernels: its fingerprints' bits, and 32 more if it is expiring, or
// 32 for each bit of a small value.
constexpr int expiring_layout(int bits) { return 32 + bits; }
constexpr int small_maplet_layout(int bits, int value_bits) { return 32 * value_bits + bits; }
constexpr bool is_expiring(int number) { return number / 32 == 1; }
constexpr int fingerprint_bits(int number) { return number % 32; }

// The value of a layout without values.
struct NoValue {
  bool operator==(const NoValue&) const = default;
};

// What all layouts have: the numbers of segments and slots, and how a hash becomes a fingerprint.
// Each layout adds where a slot's bits are, and what value it carries. Buckets: of buckets.h.
template <class Buckets, std::uint32_t kFingerprintCount>
struct LayoutShape : Buckets {
  static constexpr int kNumber = Buckets::kBits;
  using Buckets::kChoices;
  using Buckets::kSlots;
  using Buckets::kSlotsPerSegment;
  static constexpr std::uint32_t kFingerprints = kFingerprintCount;
  static constexpr std::uint64_t kAllSlots = (std::uint64_t{1} << kSlots) - 1;
  static constexpr std::uint32_t kMaxCopies = 2 * kChoices;  // of one key, in home and alternate
  static constexpr bool kExpires = false;
  static constexpr bool kHasGuestLanes = false;
  using Value = NoValue;
  static constexpr bool kHasValues = false;
  static constexpr Value value(const Block&, std::uint32_t) { return {}; }
  static constexpr void set_value(Block&, std::uint32_t, Value) {}

  // The bucket offset of a fingerprint found in a slot: the inverse of slot().
  NESTLINE_SLOT_INLINE static constexpr std::uint32_t bucket_offset_at(std::uint32_t fingerprint,
                                                                       std::uint32_t slot) {
    return Buckets::bucket_offset_with(fingerprint, slot / kSlotsPerSegment,
                                       slot % kSlotsPerSegment);
  }
};

// A filter's blocks.
template <int kBits>
struct FilterLayout;

// Bytes, and the bits above them in planes.
template <int kBits>
struct PlanesLayout : LayoutShape<internal::FilterSlots<kBits>, (255u << kBits) / 256> {
  using Base = LayoutShape<internal::FilterSlots<kBits>, (255u << kBits) / 256>;
  using Base::kPlaneByte;
  using Base::kPlaneBytes;
  using Base::kPlanes;
  using Base::kSecondShift;
  using typename Base::Planes;
  using typename Base::Value;

  NESTLINE_SLOT_INLINE static std::uint32_t get(const Block& block, std::uint32_t slot) {
    std::uint32_t fingerprint = block.bytes[slot];
    for (std::uint32_t p = 0; p < kPlanes; ++p) {
      fingerprint |= (block.bytes[plane_byte(p, slot)] >> slot % 8 & 1u) << (8 + p);
    }
    return fingerprint;
  }
  static void set(Block& block, std::uint32_t slot, std::uint32_t fingerprint, Value = {}) {
    for (std::uint32_t p = 0; p < kPlanes; ++p) {
      const std::uint32_t bit = fingerprint >> (8 + p) & 1;
      std::uint8_t& bits = block.bytes[plane_byte(p, slot)];
      const std::uint32_t others = bits & ~(1u << slot % 8);
      store_shared(bits, static_cast<std::uint8_t>(others | bit << slot % 8));
    }
    store_shared(block.bytes[slot], static_cast<std::uint8_t>(fingerprint));
  }
  // Stores in the lowest of `slots`, which are free. If `slots` is empty, the store may go to bytes
  // 62 and 63 of the header instead of a branch, which would be mispredicted. Only bulk builds call
  // this: a key without a slot is deferred, and pack() rewrites the header of every block that has
  // deferred keys.
  NESTLINE_INLINE static void fill(Block& block, std::uint64_t slots, std::uint32_t fingerprint) {
    const std::uint32_t slot = first_slot(slots | std::uint64_t{1} << 63);
    for (std::uint32_t p = 0; p < kPlanes; ++p) {
      const std::uint32_t bit = fingerprint >> (8 + p) & std::uint32_t{slots != 0};
      std::uint8_t& bits = block.bytes[plane_byte(p, slot)];
      store_shared(bits, static_cast<std::uint8_t>(bits | bit << slot % 8));
    }
    store_shared(block.bytes[slot], static_cast<std::uint8_t>(fingerprint));
  }
  // The byte with a slot's bit of a plane.
  static constexpr std::uint32_t plane_byte(std::uint32_t plane, std::uint32_t slot) {
    return kPlaneByte + plane * kPlaneBytes + slot / 8;
  }
  NESTLINE_INLINE static Planes planes(const Block& block) {
    return Base::planes_of([&](std::size_t byte) { return word_at(block, byte); });
  }
  // The same the other way round, of a block that no other thread sees. Bits after the last slot
  // must be 0.
  static void set_planes(Block& block, const Planes& planes) {
    if constexpr (kPlanes == 1) set_word_at(block, kPlaneByte, planes[0]);
    if constexpr (kPlanes == 2) {
      set_word_at(block, kPlaneByte, planes[0] | planes[1] << Base::kSlots);
      set_word_at(block, kOverflowMarkByte - 8,
                  planes[0] >> (Base::kSlots - kSecondShift) | planes[1] << kSecondShift);
    }
  }
};

template <>
struct FilterLayout<8> : PlanesLayout<8> {};
template <>
struct FilterLayout<9> : PlanesLayout<9> {};
template <>
struct FilterLayout<10> : PlanesLayout<10> {};

// 40 nibbles in 20 bytes: of the high bits of fingerprints, or of deaths.
struct Nibbles {
  static constexpr std::uint32_t kNibbleByte = 40;
  static constexpr std::uint32_t kNibbleRun = 20;  // those of a byte are so many slots apart
  // Which half of a byte holds a slot's nibble; a branch would be mispredicted every other time.
  static constexpr std::uint32_t nibble_shift(std::uint32_t slot) {
    return ((kNibbleRun - 1 - slot) >> 31) * 4;  // 0 for the first run, 4 for the second
  }
  NESTLINE_SLOT_INLINE static constexpr std::uint32_t nibble_byte(std::uint32_t slot) {
    return kNibbleByte + slot - kNibbleRun / 4 * nibble_shift(slot);
  }
  NESTLINE_SLOT_INLINE static std::uint32_t nibble(const Block& block, std::uint32_t slot) {
    return static_cast<std::uint32_t>(block.bytes[nibble_byte(slot)]) >> nibble_shift(slot) & 15;
  }
  NESTLINE_HERE static void set_nibble(Block& block, std::uint32_t slot, std::uint32_t nibble);
};

// Where a slot's nibble lies, and that byte's other half: two loads, not ten instructions.
struct NibblePlace {
  std::uint8_t byte;
  std::uint8_t others;
};
inline constexpr auto kNibblePlaces = [] {
  std::array<NibblePlace, std::size_t{2} * Nibbles::kNibbleRun> all{};
  for (std::uint32_t slot = 0; slot < all.size(); ++slot) {
    all[slot] = {static_cast<std::uint8_t>(Nibbles::nibble_byte(slot)),
                 static_cast<std::uint8_t>(0xf0u >> Nibbles::nibble_shift(slot))};
  }
  return all;
}();

NESTLINE_INLINE void Nibbles::set_nibble(Block& block, std::uint32_t slot, std::uint32_t nibble) {
  const auto [byte, others] = kNibblePlaces[slot];
  std::uint8_t& nibbles = block.bytes[byte];
  store_shared(nibbles, static_cast<std::uint8_t>((nibbles & others) |
                                                  (nibble * 0x11 & ~std::uint32_t{others})));
}

template <>
struct FilterLayout<12> : LayoutShape<internal::TurnedBuckets<12, 4, 10>, 255 * 16>, Nibbles {
  static constexpr Form kForm = Form::bytes_and_nibbles;
  NESTLINE_SLOT_INLINE static std::uint32_t get(const Block& block, std::uint32_t slot) {
    return nibble(block, slot) << 8 | block.bytes[slot];
  }
  static void set(Block& block, std::uint32_t slot, std::uint32_t fingerprint, Value = {}) {
    set_nibble(block, slot, fingerprint >> 8);
    store_shared(block.bytes[slot], static_cast<std::uint8_t>(fingerprint));
  }
  NESTLINE_INLINE static void fill(Block& block, std::uint64_t slots, std::uint32_t fingerprint) {
    // Nothing at slot 0 if there is none.
    const std::uint32_t slot = first_slot(slots | std::uint64_t{slots == 0});
    fingerprint &= 0 - std::uint32_t{slots != 0};
    std::uint8_t& low = block.bytes[slot];
    std::uint8_t& nibbles = block.bytes[nibble_byte(slot)];
    store_shared(low, static_cast<std::uint8_t>(low | fingerprint));
    store_shared(nibbles,
                 static_cast<std::uint8_t>(nibbles | fingerprint >> 8 << nibble_shift(slot)));
  }
};

template <>
struct FilterLayout<16> : LayoutShape<ComputedBuckets<16, 5, 6>, 255 * 256> {
  static constexpr Form kForm = Form::halfwords;
  NESTLINE_SLOT_INLINE static std::uint32_t get(const Block& block, std::uint32_t slot) {
    const std::uint8_t* const at = block.bytes.data() + 2 * std::size_t{slot};
    return at[0] | static_cast<std::uint32_t>(at[1]) << 8;  // one load
  }
  static void set(Block& block, std::uint32_t slot, std::uint32_t fingerprint, Value = {}) {
    set_halfword(block, slot, fingerprint);
  }
  NESTLINE_INLINE static void fill(Block& block, std::uint64_t slots, std::uint32_t fingerprint) {
    set(block, first_slot(slots | std::uint64_t{1} << 31), fingerprint);
  }
  static void set_halfword(Block& block, std::uint32_t slot, std::uint32_t halfword) {
    const auto low_first =
        static_cast<std::uint16_t>(std::endian::native == std::endian::little
                                       ? halfword
                                       : (halfword & 0xff) << 8 | (halfword >> 8 & 0xff));
    store_shared(*reinterpret_cast<SharedHalfword*>(block.bytes.data() + 2 * std::size_t{slot}),
                 low_first);
  }
};

// Nibbles from this byte on, in the order of the slots: an even slot's in the low half of a byte.
template <std::size_t kByte>
struct NibblesInOrder {
  NESTLINE_SLOT_INLINE static std::uint32_t nibble(const Block& block, std::uint32_t slot) {
    return std::uint32_t{block.bytes[kByte + slot / 2]} >> slot % 2 * 4 & 15;
  }
  static void set_nibble(Block& block, std::uint32_t slot, std::uint32_t nibble) {
    std::uint8_t& two = block.bytes[kByte + slot / 2];
    const std::uint32_t shift = slot % 2 * 4;
    store_shared(two, static_cast<std::uint8_t>((two & (0xf0u >> shift)) | nibble << shift));
  }
};

struct MapletLayout : LayoutShape<ComputedBuckets<20, 8, 1>, 255 * 4096> {
  static constexpr Form kForm = Form::maplet;
  using Value = std::uint64_t;
  static constexpr bool kHasValues = true;
  static constexpr int kValueBits = 40;
  static constexpr std::uint64_t kValueMask = (std::uint64_t{1} << kValueBits) - 1;
  static constexpr std::size_t kValueByte = 16;
  using High = NibblesInOrder<56>;
  static constexpr std::uint32_t bucket_offset_of(std::uint32_t) { return 0; }
  NESTLINE_SLOT_INLINE static constexpr std::uint32_t bucket_offset_at(std::uint32_t,
                                                                       std::uint32_t) {
    return 0;
  }
  static constexpr std::uint64_t bucket(std::uint32_t, std::uint32_t) { return kAllSlots; }
  static constexpr bool kIsComputed = false;

  NESTLINE_SLOT_INLINE static std::uint32_t get(const Block& block, std::uint32_t slot) {
    return High::nibble(block, slot) << 16 | FilterLayout<16>::get(block, slot);
  }
  static Value value(const Block& block, std::uint32_t slot) {
    // Eight bytes from the value's first on are all inside the block.
    return word_at(block, kValueByte + 5 * std::size_t{slot}) & kValueMask;
  }
  static void set(Block& block, std::uint32_t slot, std::uint32_t fingerprint, Value value = 0) {
    set_value(block, slot, value);
    High::set_nibble(block, slot, fingerprint >> 16);
    FilterLayout<16>::set_halfword(block, slot, fingerprint & 0xffff);
  }
  // Stores the one or two aligned words that contain the value: only a block's holder stores to it.
  static void set_value(Block& block, std::uint32_t slot, Value value) {
    const std::size_t byte = kValueByte + 5 * std::size_t{slot};
    const std::size_t bit = byte % 8 * 8;
    value &= kValueMask;
    change_word(block, byte / 8, value << bit, kValueMask << bit);
    if (bit + kValueBits > 64)
      change_word(block, byte / 8 + 1, value >> (64 - bit), kValueMask >> (64 - bit));
  }

 private:
  static void change_word(Block& block, std::size_t number, std::uint64_t bits,
                          std::uint64_t mask) {
    auto& word = reinterpret_cast<SharedLongword*>(block.bytes.data())[number];
    store_shared(word, little_endian((little_endian(word) & ~mask) | bits));
  }
};

inline constexpr int kMapletBits = MapletLayout::kBits;

// Bytes with a nibble beside each, its value.
template <typename V>
struct BytesAndValues : LayoutShape<internal::ExpiringSlots, 255>, Nibbles {
  using Value = V;
  static constexpr bool kHasValues = true;
  static constexpr int kValueBits = 4;
  NESTLINE_SLOT_INLINE static std::uint32_t get(const Block& block, std::uint32_t slot) {
    return block.bytes[slot];
  }
  static Value value(const Block& block, std::uint32_t slot) { return nibble(block, slot); }
  static void set_value(Block& block, std::uint32_t slot, Value value) {
    set_nibble(block, slot, static_cast<std::uint32_t>(value));
  }
  static void set(Block& block, std::uint32_t slot, std::uint32_t fingerprint, Value value = 0) {
    set_value(block, slot, value);
    store_shared(block.bytes[slot], static_cast<std::uint8_t>(fingerprint));
  }
  NESTLINE_INLINE static void fill(Block& block, std::uint64_t slots, std::uint32_t fingerprint) {
    const std::uint32_t slot = first_slot(slots | std::uint64_t{1} << 63);
    store_shared(block.bytes[slot], static_cast<std::uint8_t>(fingerprint));
  }
};

// Halfwords of a fingerprint with, above it, as much of its value as fits. kMoreBits, none or 4 or
// 16, are behind the halfwords.
template <class Buckets, int kAllValueBits, typename V>
struct HalfwordsAndValues : LayoutShape<Buckets, 255u << (Buckets::kBits - 8)> {
  using Base = LayoutShape<Buckets, 255u << (Buckets::kBits - 8)>;
  static constexpr int kWidth = Buckets::kBits;
  static constexpr Form kForm = Form::halfwords;
  using Value = V;
  static constexpr bool kHasValues = true;
  static constexpr int kValueBits = kAllValueBits;
  static constexpr int kMoreBits = kValueBits - (16 - kWidth);
  static constexpr std::uint32_t kMoreByte = 2 * Base::kSlots;
  static_assert(8 * kMoreByte + Base::kSlots * kMoreBits <= 8 * kOverflowMarkByte);

  NESTLINE_SLOT_INLINE static std::uint32_t get(const Block& block, std::uint32_t slot) {
    return FilterLayout<16>::get(block, slot) & ((1u << kWidth) - 1);
  }
  static Value value(const Block& block, std::uint32_t slot) {
    const std::uint32_t here = FilterLayout<16>::get(block, slot) >> kWidth;
    if constexpr (kMoreBits == 4) {
      return NibblesInOrder<kMoreByte>::nibble(block, slot) << (16 - kWidth) | here;
    } else if constexpr (kMoreBits == 16) {
      return FilterLayout<16>::get(block, Base::kSlots + slot);
    } else {
      return here;
    }
  }
  static void set_value(Block& block, std::uint32_t slot, Value value) {
    set(block, slot, get(block, slot), value);
  }
  static void set(Block& block, std::uint32_t slot, std::uint32_t fingerprint, Value value = 0) {
    const auto bits = static_cast<std::uint32_t>(value);
    if constexpr (kMoreBits == 4) {
      NibblesInOrder<kMoreByte>::set_nibble(block, slot, bits >> (16 - kWidth) & 15);
    } else if constexpr (kMoreBits == 16) {
      FilterLayout<16>::set_halfword(block, Base::kSlots + slot, bits);
    }
    FilterLayout<16>::set_halfword(
        block, slot, kWidth < 16 ? (fingerprint | bits << kWidth) & 0xffff : fingerprint);
  }
  NESTLINE_INLINE static void fill(Block& block, std::uint64_t slots, std::uint32_t fingerprint) {
    FilterLayout<16>::fill(block, slots, fingerprint);
  }
};

// The blocks of an expiring filter. A value is a death.
template <int kBits>
struct ExpiringLayout;

template <>
struct ExpiringLayout<8> : BytesAndValues<std::uint32_t> {
  static constexpr int kNumber = expiring_layout(8);
  static_assert(kNumber == internal::ExpiringSlots::kLayout);
  static constexpr bool kExpires = true;
};

template <>
struct ExpiringLayout<12> : HalfwordsAndValues<ComputedBuckets<12, 5, 6>, 4, std::uint32_t> {
  static constexpr int kNumber = expiring_layout(12);
  static constexpr bool kExpires = true;
};

// The blocks of a maplet of small values: how they lie, and their number.
template <class Values>
struct SmallMapletLayout : Values {
  static constexpr int kNumber = small_maplet_layout(Values::kBits, Values::kValueBits);
  static constexpr std::uint64_t kValueMask = (std::uint64_t{1} << Values::kValueBits) - 1;
};
using Maplet8And4 = SmallMapletLayout<BytesAndValues<std::uint64_t>>;
using Maplet12And4 =
    SmallMapletLayout<HalfwordsAndValues<ComputedBuckets<12, 5, 6>, 4, std::uint64_t>>;
using Maplet8And8 =
    SmallMapletLayout<HalfwordsAndValues<internal::TurnedBuckets<8, 5, 6>, 8, std::uint64_t>>;
using Maplet12And8 =
    SmallMapletLayout<HalfwordsAndValues<ComputedBuckets<12, 4, 6>, 8, std::uint64_t>>;
using Maplet16And16 =
    SmallMapletLayout<HalfwordsAndValues<ComputedBuckets<16, 5, 3>, 16, std::uint64_t>>;

// A filter's blocks under Placement::guest_lanes (lanes.h).
template <class L>
struct Laned : L {
  static constexpr bool kHasGuestLanes = true;
};
// The layout for what does not depend on lanes, so that it is compiled once.
template <class L>
struct WithoutLanes {
  using Layout = L;
};
template <class L>
struct WithoutLanes<Laned<L>> {
  using Layout = L;
};
template <class L>
using PlainLayout = typename WithoutLanes<L>::Layout;

// The widths of filters, the smallest first: every list of what there is for each width.
inline constexpr std::array kFilterWidths = {8, 9, 10, 12, 16};
constexpr std::size_t index_of_width(int bits) {  // their number if it is none
  std::size_t index = 0;
  while (index < kFilterWidths.size() && kFilterWidths[index] != bits) ++index;
  return index;
}
constexpr bool is_width(int bits) { return index_of_width(bits) < kFilterWidths.size(); }

// Calls `visitor` with the layout of a filter's width.
template <std::size_t kIndex = 0, typename Visitor>
constexpr decltype(auto) visit_layout(int bits, Visitor&& visitor) {
  if constexpr (kIndex + 1 < kFilterWidths.size()) {
    if (bits != kFilterWidths[kIndex]) return visit_layout<kIndex + 1>(bits, visitor);
  }
  return visitor(FilterLayout<kFilterWidths[kIndex]>());
}

// Maplets, with the fewest bits of values first and of fingerprints next.
template <class... Layouts>
struct LayoutList {
  static constexpr std::array kNumbers = {Layouts::kNumber...};
};
using MapletLayouts =
    LayoutList<Maplet8And4, Maplet12And4, Maplet8And8, Maplet12And8, Maplet16And16, MapletLayout>;
using ExpiringLayouts = LayoutList<ExpiringLayout<8>, ExpiringLayout<12>>;
constexpr std::size_t index_of_maplet(int number) {  // their number if it is none
  std::size_t index = 0;
  while (index < MapletLayouts::kNumbers.size() && MapletLayouts::kNumbers[index] != number)
    ++index;
  return index;
}
constexpr bool is_maplet(int number) {
  return index_of_maplet(number) < MapletLayouts::kNumbers.size();
}
template <class First, class... Others, typename Visitor>
constexpr decltype(auto) visit_one_of(LayoutList<First, Others...>, int number, Visitor&& visitor) {
  if constexpr (sizeof...(Others) > 0) {
    if (number != First::kNumber) return visit_one_of(LayoutList<Others...>(), number, visitor);
  }
  return visitor(First());
}

// The same for the number of a maplet's layout, of an expiring filter's, and for any.
template <typename Visitor>
constexpr decltype(auto) visit_maplet_layout(int number, Visitor&& visitor) {
  return visit_one_of(MapletLayouts(), number, visitor);
}
template <typename Visitor>
constexpr decltype(auto) visit_expiring_layout(int number, Visitor&& visitor) {
  if (fingerprint_bits(number) == 8) return visitor(ExpiringLayout<8>());
  return visitor(ExpiringLayout<12>());
}
template <typename Visitor>
constexpr decltype(auto) visit_any_layout(int number, Visitor&& visitor) {
  if (is_maplet(number)) return visit_maplet_layout(number, visitor);
  if (is_expiring(number)) return visit_expiring_layout(number, visitor);
  return visit_layout(number, visitor);
}

// Bits of a maplet's values, and the highest one.
constexpr int value_bits_of(int number) {
  return visit_maplet_layout(number, [](auto layout) { return layout.kValueBits; });
}
constexpr std::uint64_t highest_value_of(int number) {
  return (std::uint64_t{1} << value_bits_of(number)) - 1;
}

// Slots of a block.
constexpr std::uint32_t slots_of(int bits) {
  return visit_any_layout(bits, [](auto layout) { return layout.kSlots; });
}

// The table that a lookup finds buckets in; null if it computes them.
const void* bucket_table(int number) noexcept;

// Most copies of one key.
constexpr std::uint32_t most_copies(int bits) {
  return visit_any_layout(bits, [](auto layout) { return layout.kMaxCopies; });
}

}}  // namespace nestline

#endif  // NESTLINE_LIB_ENGINE_PLACE_LAYOUT_H_
