#include "lib/engine/place/geometry.h"

#include <cstdint>

#include "lib/engine/place/layout.h"

namespace nestline { inline namespace v0_3 {

Place home_of(int bits, const Geometry& geometry, std::uint64_t hash) noexcept {
  return visit_any_layout(bits,
                          [&](auto layout) { return home_of<decltype(layout)>(geometry, hash); });
}

std::uint64_t bucket_of(int bits, std::uint32_t fingerprint, std::uint32_t bucket_offset) noexcept {
  return visit_any_layout(bits,
                          [&](auto layout) { return layout.bucket(fingerprint, bucket_offset); });
}

const void* bucket_table(int number) noexcept {
  return visit_any_layout(number, [](auto layout) -> const void* { return layout.table(); });
}

}}  // namespace nestline
