// By what a database's extension knows a filter again whose bytes come anew with each row, at any
// place: its first bytes, with the fields of its header, and the checksum of all checksums. They
// are other for other filters; only damage in the blocks leaves them, and it does no harm where the
// answer is that of a copy which was checked.
#ifndef NESTLINE_LIB_FACES_EMBED_IDENTITY_H_
#define NESTLINE_LIB_FACES_EMBED_IDENTITY_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "nestline/io.h"

namespace nestline { inline namespace v0_3 {

inline constexpr std::size_t kFieldBytes = 80;
using Identity = std::array<std::byte, kFieldBytes + 8>;

// Throws FormatError for bytes that are too few for any filter.
inline Identity identity_of(std::span<const std::byte> bytes) {
  Identity identity;
  if (bytes.size() < identity.size()) (void)Filter::load(bytes);  // throws
  const auto end = std::copy_n(bytes.begin(), kFieldBytes, identity.begin());
  std::copy_n(bytes.end() - 8, 8, end);
  return identity;
}

}}  // namespace nestline

#endif  // NESTLINE_LIB_FACES_EMBED_IDENTITY_H_
