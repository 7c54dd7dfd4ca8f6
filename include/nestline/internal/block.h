// What callers that inline lookups need of the block; lib/engine/place/layout.h has the rest of it.
// Not for direct use.
#ifndef NESTLINE_INTERNAL_BLOCK_H_
#define NESTLINE_INTERNAL_BLOCK_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "nestline/internal/buckets.h"

namespace nestline { inline namespace v0_3 { namespace internal {

inline constexpr std::size_t kBlockBytes = 64;
inline constexpr std::size_t kOverflowMarkByte = 60;
// The header word's parts, in a header as Block returns it.
inline constexpr std::uint32_t kHeaderOverflowMark = 0xff;
inline constexpr std::uint32_t kHeaderLock = 1u << 8;
inline constexpr std::uint32_t kHeaderGuestLevel = 15u << 9;
inline constexpr std::uint32_t kHeaderVersion = 1u << 13;  // one step; the highest bits wrap

// How slots lie in a block; of bytes_and_nibbles the nibble is apart from its byte, and of bytes
// there may be planes.
enum class Form : std::uint8_t { bytes, bytes_and_nibbles, halfwords, maplet };

// The slots of blocks that callers look into, of 8, 9 and 10 bits: which are a key's bucket, and
// where their bits are.
template <int kBits>
struct FilterSlots;

// Bytes, and the bits above them in planes.
template <class Buckets>
struct BytesAndPlanes : Buckets {
  using Planes = std::array<std::uint64_t, 2>;
  static constexpr Form kForm = Form::bytes;
  static constexpr std::uint32_t kPlanes = Buckets::kBits - 8;
  static constexpr std::uint32_t kPlaneByte = Buckets::kSlots;
  static constexpr std::uint32_t kPlaneBytes = (Buckets::kSlots + 7) / 8;
  static constexpr std::uint32_t kSecondShift = 64 - 8 * kPlaneBytes;
  static_assert(kPlaneByte + kPlanes * kPlaneBytes <= kOverflowMarkByte);
  // Bit s of a plane is slot s's. Bits after the last slot mean nothing. word_at(byte): the eight
  // bytes of the block from there on, the first one the lowest.
  template <class WordAt>
  NESTLINE_INLINE static Planes planes_of(WordAt word_at) {
    Planes planes = {};
    // Eight bytes that end before the header: the second plane's begin with the first one's end.
    if constexpr (kPlanes > 0) planes[0] = word_at(kPlaneByte);
    if constexpr (kPlanes > 1) planes[1] = word_at(kOverflowMarkByte - 8) >> kSecondShift;
    return planes;
  }
};

template <>
struct FilterSlots<8> : BytesAndPlanes<TurnedBuckets8<4, 15>> {};
template <>
struct FilterSlots<9> : BytesAndPlanes<TurnedBuckets<9, 4, 13>> {};
template <>
struct FilterSlots<10> : BytesAndPlanes<TurnedBuckets<10, 4, 12>> {};

// Those of expiring filters of 8 bits. Deaths lie apart from the bytes.
struct ExpiringSlots : BytesAndPlanes<TurnedBuckets8<4, 10>> {
  static constexpr int kLayout = 40;
};

}}}  // namespace nestline::internal

#endif  // NESTLINE_INTERNAL_BLOCK_H_
