// Bytes from elsewhere in place of a filter's own, for all kinds.
#ifndef NESTLINE_LIB_FACES_EMBED_REPLACING_H_
#define NESTLINE_LIB_FACES_EMBED_REPLACING_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "lib/filters/filter/blocks.h"

namespace nestline { inline namespace v0_3 {

// As replace_bytes, but for the count of keys: how many more there are then, or nothing where the
// bytes are refused. `shape` has the filter's time, if it has one.
std::optional<std::int64_t> replace(const Blocks& blocks, const Shape& shape, std::uint64_t offset,
                                    std::span<const std::byte> bytes);

}}  // namespace nestline

#endif  // NESTLINE_LIB_FACES_EMBED_REPLACING_H_
