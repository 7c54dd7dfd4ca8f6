// Sealed pieces: they end with the checksum of what is before it.
#ifndef NESTLINE_LIB_FACES_EMBED_FIELDS_H_
#define NESTLINE_LIB_FACES_EMBED_FIELDS_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/engine/place/fields.h"
#include "lib/faces/embed/bytes.h"

namespace nestline { inline namespace v0_3 {

inline constexpr std::size_t kSealBytes = 8;
inline void seal(std::span<std::byte> piece) {
  const std::size_t covered = piece.size() - kSealBytes;
  put(piece, covered, checksum(piece.first(covered)));
}
// Of kSealBytes or more, as the next.
inline std::uint64_t seal_of(std::span<const std::byte> piece) {
  return get<std::uint64_t>(piece, piece.size() - kSealBytes);
}
inline bool is_sealed(std::span<const std::byte> piece) {
  return seal_of(piece) == checksum(piece.first(piece.size() - kSealBytes));
}

}}  // namespace nestline

#endif  // NESTLINE_LIB_FACES_EMBED_FIELDS_H_
