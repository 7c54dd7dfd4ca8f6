// Maplets of every layout, and of as few blocks as a test wants.
#ifndef NESTLINE_TESTS_FILTERS_MAPLET_SMALL_MAPLET_H_
#define NESTLINE_TESTS_FILTERS_MAPLET_SMALL_MAPLET_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "lib/engine/place/layout.h"
#include "lib/filters/maplet/maplet_state.h"
#include "nestline/maplet.h"
#include "tests/filters/file/format_tools.h"

namespace nestline::test {

// Options that choose this layout.
inline MapletOptions options_of(int layout, std::uint64_t capacity, std::uint64_t max_capacity = 0,
                                std::uint64_t seed = 0) {
  const bool wide = layout == Maplet12And4::kNumber || layout == Maplet12And8::kNumber;
  return {.capacity = capacity,
          .max_capacity = max_capacity,
          .seed = seed,
          .value_bits = value_bits_of(layout),
          .fpr = wide ? 0.007 : 0};
}

// Without pairs. It grows by itself up to `max_capacity`.
inline Maplet small_maplet(int layout, std::uint64_t blocks, std::uint64_t max_capacity = 0,
                           std::uint64_t seed = 0) {
  return Maplet::load(
      format_tools::make_empty_file({.bits = static_cast<std::uint32_t>(layout),
                                     .base_blocks = blocks,
                                     .seed = seed,
                                     .capacity = blocks * slots_of(layout) * 95 / 100,
                                     .max_capacity = max_capacity}));
}

// All blocks, with their headers.
inline std::vector<std::uint8_t> block_bytes(const Maplet& maplet) {
  const Blocks& table = MapletAccess::state(maplet).table_of_writer();
  std::vector<std::uint8_t> bytes(table.view.geometry.blocks() * kBlockBytes);
  std::memcpy(bytes.data(), table.view.blocks, bytes.size());
  return bytes;
}

// How GoogleTest names the case of a layout: "8_4".
inline std::string name_of_layout(int layout) {
  return std::to_string(fingerprint_bits(layout)) + "_" + std::to_string(value_bits_of(layout));
}

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_FILTERS_MAPLET_SMALL_MAPLET_H_
