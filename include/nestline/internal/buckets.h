// From the rest of a hash (lib/engine/place/hash.h) to a key's bucket: a slot in each segment of a
// block. Not for direct use.
#ifndef NESTLINE_INTERNAL_BUCKETS_H_
#define NESTLINE_INTERNAL_BUCKETS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "nestline/internal/home.h"

namespace nestline { inline namespace v0_3 { namespace internal {

// `x` in [0, 2^16) scaled onto [0, range): the high half of a 16-bit product.
NESTLINE_INLINE constexpr std::uint32_t scale16(std::uint32_t x, std::uint32_t range) {
  return (x * range) >> 16;
}

// Rotation of segment j for a fingerprint: scale16(low 16 bits of f * kRotationMultiplier[j], R).
// Segment 0 is not rotated: only differences between segments matter.
inline constexpr std::array<std::uint16_t, 5> kRotationMultiplier = {0, 0xddc9, 0x6063, 0x874b,
                                                                     0xa925};

NESTLINE_INLINE constexpr std::uint32_t rotation(std::uint32_t fingerprint, std::size_t segment,
                                                 std::uint32_t slots_per_segment) {
  return scale16((fingerprint * kRotationMultiplier[segment]) & 0xffff, slots_per_segment);
}

// Segments, slots and buckets of blocks with fingerprints of so many bits.
template <int kWidth, std::uint32_t kSegments, std::uint32_t kSegmentSlots>
struct ComputedBuckets {
  static constexpr int kBits = kWidth;
  static constexpr std::uint32_t kChoices = kSegments;
  static constexpr std::uint32_t kSlotsPerSegment = kSegmentSlots;
  static constexpr std::uint32_t kSlots = kSegments * kSegmentSlots;
  static constexpr std::uint32_t kPlanes = 0;
  using Entry = void;  // it has no table
  static constexpr bool kIsComputed = true;
  static constexpr const Entry* table() { return nullptr; }

  // Fingerprint and bucket offset from the rest of a hash.
  NESTLINE_HERE static constexpr std::uint32_t fingerprint_of(std::uint32_t rest) {
    const std::uint32_t fingerprint = rest >> (32 - kBits);
    return fingerprint + ((fingerprint & 0xff) == 0);
  }
  NESTLINE_HERE static constexpr std::uint32_t bucket_offset_of(std::uint32_t rest) {
    return scale16(rest >> (16 - kBits) & 0xffff, kSlotsPerSegment);
  }
  // The candidate slot in `segment`.
  NESTLINE_HERE static constexpr std::uint32_t slot(std::uint32_t fingerprint,
                                                    std::uint32_t bucket_offset,
                                                    std::uint32_t segment) {
    const std::uint32_t q = bucket_offset + rotation(fingerprint, segment, kSlotsPerSegment);
    return segment * kSlotsPerSegment + (q < kSlotsPerSegment ? q : q - kSlotsPerSegment);
  }
  // The bucket. Segments after segment 0 share one word of 16-bit fields: half of slot()'s
  // instructions.
  NESTLINE_INLINE static constexpr std::uint64_t bucket(std::uint32_t fingerprint,
                                                        std::uint32_t bucket_offset) {
    constexpr std::uint64_t kR = kSlotsPerSegment;
    constexpr std::uint64_t kOnes = 0x0001000100010001u;
    constexpr std::uint64_t kPairOfHalfwords = 0x0000ffff0000ffffu;
    const auto rotations = [&](std::size_t segment, std::size_t other)
        __attribute__((always_inline)) {
      // Two products of 32 bits; the low half of each is used, scaled to [0, R).
      const std::uint64_t multipliers =
          kRotationMultiplier[segment] | std::uint64_t{kRotationMultiplier[other]} << 32;
      return (((fingerprint * multipliers) & kPairOfHalfwords) * kR >> 16) & kPairOfHalfwords;
    };
    std::uint64_t q = (rotations(1, 3) | rotations(2, 4) << 16) + bucket_offset * kOnes;
    const std::uint64_t over = (q + (0x8000 - kR) * kOnes) >> 15 & kOnes;  // 1 where q >= R
    q -= over * kR;
    q += kR | (2 * kR) << 16 | (3 * kR) << 32 | (4 * kR) << 48;  // where the segments begin
    std::uint64_t all = std::uint64_t{1} << bucket_offset;
    for (std::uint32_t segment = 1; segment < kChoices; ++segment, q >>= 16) {
      all |= std::uint64_t{1} << (q & 63);
    }
    return all;
  }
  // The bucket that has this index in this segment.
  NESTLINE_INLINE static constexpr std::uint64_t bucket_with(std::uint32_t fingerprint,
                                                             std::uint32_t segment,
                                                             std::uint32_t index) {
    return bucket(fingerprint, bucket_offset_with(fingerprint, segment, index));
  }
  NESTLINE_INLINE static constexpr std::uint32_t bucket_offset_with(std::uint32_t fingerprint,
                                                                    std::uint32_t segment,
                                                                    std::uint32_t index) {
    const std::uint32_t bucket_offset = index - rotation(fingerprint, segment, kSlotsPerSegment);
    return bucket_offset < kSlotsPerSegment ? bucket_offset : bucket_offset + kSlotsPerSegment;
  }
};

// Tables are made by the compiler; in a small program, whose bytes they would double, at its start,
// as nothing with an asm statement is constant.
#if defined(NESTLINE_SMALL) && NESTLINE_SMALL
#define NESTLINE_TABLE inline const
#define NESTLINE_AT_START asm("")
#else
#define NESTLINE_TABLE inline constexpr
#define NESTLINE_AT_START static_cast<void>(0)
#endif

// For each segment, each fingerprint's bucket with the segment's first slot (segment 0: at bucket
// offset 0).
template <class Computed>
NESTLINE_TABLE auto kUnturned = [] {
  NESTLINE_AT_START;
  std::array<std::array<std::uint64_t, std::size_t{1} << Computed::kBits>, Computed::kChoices>
      all{};
  for (std::uint32_t segment = 0; segment < Computed::kChoices; ++segment) {
    std::uint32_t f = 0;
    for (std::uint64_t& bucket : all[segment]) bucket = Computed::bucket_with(f++, segment, 0);
  }
  return all;
}();

// The slots that do not leave their segment when they are turned by so many.
template <class Computed>
inline constexpr auto kStay = [] {
  std::array<std::uint64_t, Computed::kSlotsPerSegment> stay{};
  for (std::uint32_t s = 0; s < Computed::kSlots; ++s) {
    const std::uint32_t room = Computed::kSlotsPerSegment - s % Computed::kSlotsPerSegment;
    for (std::uint32_t by = 0; by < room; ++by) stay[by] |= std::uint64_t{1} << s;
  }
  return stay;
}();

// A bucket of which each slot is so many further on in its segment, or at its beginning again.
template <class Computed>
NESTLINE_INLINE constexpr std::uint64_t turned(std::uint64_t bucket, std::uint32_t by) {
  const std::uint64_t stay = kStay<Computed>[by];
  return (bucket & stay) << by | (bucket & ~stay) >> (Computed::kSlotsPerSegment - by);
}

// 8 bits: a table of 8 KiB holds the buckets that begin a segment, a number turns them: a third.
// Callers that inline lookups get the table from the library, which they need not compile.
template <std::uint32_t kSegments, std::uint32_t kSegmentSlots>
struct TurnedBuckets8 : ComputedBuckets<8, kSegments, kSegmentSlots> {
  using Computed = ComputedBuckets<8, kSegments, kSegmentSlots>;
  using Entry = std::uint64_t;
  static constexpr bool kIsComputed = false;
  static constexpr const Entry* table() { return kUnturned<Computed>[0].data(); }
  NESTLINE_INLINE static constexpr std::uint64_t bucket_in(const Entry* table,
                                                           std::uint32_t fingerprint,
                                                           std::uint32_t bucket_offset) {
    return turned<Computed>(table[fingerprint], bucket_offset);
  }
  NESTLINE_INLINE static constexpr std::uint64_t bucket(std::uint32_t fingerprint,
                                                        std::uint32_t bucket_offset) {
    return bucket_in(table(), fingerprint, bucket_offset);
  }
  NESTLINE_INLINE static constexpr std::uint64_t bucket_with(std::uint32_t fingerprint,
                                                             std::uint32_t segment,
                                                             std::uint32_t index) {
    return turned<Computed>(kUnturned<Computed>[segment][fingerprint], index);
  }
};

// For each fingerprint its bucket at bucket offset 0: of narrow segments, the slots after segment
// 0.
template <class Computed>
inline constexpr bool kAreNarrow = Computed::kSlots - Computed::kSlotsPerSegment <= 32;
template <class Computed>
NESTLINE_TABLE auto kAtOffset0 = [] {
  NESTLINE_AT_START;
  using Slots = std::conditional_t<kAreNarrow<Computed>, std::uint32_t, std::uint64_t>;
  std::array<Slots, std::size_t{1} << Computed::kBits> all{};
  std::uint32_t f = 0;
  for (Slots& one : all) {
    one = static_cast<Slots>(Computed::bucket(f++, 0) >>
                             (kAreNarrow<Computed> ? Computed::kSlotsPerSegment : 0));
  }
  return all;
}();

// The same for 9, 10 and 12 bits, with tables of 4, 8 and 16 KiB. At bucket offset 0 the first slot
// is in every bucket.
template <int kWidth, std::uint32_t kSegments, std::uint32_t kSegmentSlots>
struct TurnedBuckets : ComputedBuckets<kWidth, kSegments, kSegmentSlots> {
  using Computed = ComputedBuckets<kWidth, kSegments, kSegmentSlots>;
  using Entry = std::conditional_t<kAreNarrow<Computed>, std::uint32_t, std::uint64_t>;
  static constexpr bool kIsComputed = false;
  static constexpr const Entry* table() { return kAtOffset0<Computed>.data(); }
  NESTLINE_INLINE static constexpr std::uint64_t bucket_in(const Entry* table,
                                                           std::uint32_t fingerprint,
                                                           std::uint32_t bucket_offset) {
    std::uint64_t unturned = table[fingerprint];
    if constexpr (kAreNarrow<Computed>) unturned = unturned << kSegmentSlots | 1;
    return turned<Computed>(unturned, bucket_offset);
  }
  NESTLINE_INLINE static constexpr std::uint64_t bucket(std::uint32_t fingerprint,
                                                        std::uint32_t bucket_offset) {
    return bucket_in(table(), fingerprint, bucket_offset);
  }
  NESTLINE_INLINE static constexpr std::uint64_t bucket_with(std::uint32_t fingerprint,
                                                             std::uint32_t segment,
                                                             std::uint32_t index) {
    return bucket(fingerprint, Computed::bucket_offset_with(fingerprint, segment, index));
  }
};

}}}  // namespace nestline::internal

#undef NESTLINE_TABLE
#undef NESTLINE_AT_START

#endif  // NESTLINE_INTERNAL_BUCKETS_H_
