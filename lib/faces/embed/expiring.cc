
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <stdexcept>

#include "lib/faces/embed/bytes.h"
#include "lib/filters/expiring/expiring_state.h"

namespace nestline { inline namespace v0_3 {

Shape shape_of(const ExpiringFilter& filter) { return ExpiringAccess::state(filter).shape_now(); }

ExpiringFilter make_empty_expiring(const Shape& shape, std::pmr::memory_resource* memory) {
  if (!can_exist(Kind::expiring, shape, 0)) {
    throw std::invalid_argument("no expiring filter has this shape");
  }
  Shape expiring = shape;
  expiring.kind = &kExpiringFilters;
  return ExpiringAccess::make(make_blocks(expiring, memory), expiring);
}

const Blocks& blocks_of(const ExpiringFilter& filter) noexcept {
  return ExpiringAccess::state(filter).table_of_writer();
}

bool replace_bytes(ExpiringFilter& filter, std::uint64_t offset, std::span<const std::byte> bytes) {
  const auto more = replace(blocks_of(filter), shape_of(filter), offset, bytes);
  if (more) ExpiringAccess::state(filter).keys.add<BlockLocks>(*more);
  return more.has_value();
}

std::size_t bytes_beside(const ExpiringFilter&) noexcept {
  return sizeof(ExpiringFilter::State) + sizeof(Blocks) + kHeadBlocks * kBlockBytes;
}

}}  // namespace nestline
