#include "lib/file/filter_blocks.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "lib/file/file_format.h"
#include "lib/filter/filter_state.h"
#include "lib/filter/growth.h"
#include "lib/filter/sizing.h"
#include "lib/place/hash.h"

namespace nestline {
namespace {

using State = Filter::State;

FileHeader header_of(const FilterShape& shape) {
  FileHeader header;
  header.bits = shape.bits;
  header.geometry = {shape.base_blocks, shape.growth};
  header.seed = shape.seed;
  header.capacity = shape.capacity;
  return header;
}

}  // namespace

bool can_exist(const FilterShape& shape, std::uint64_t keys) {
  FileHeader header = header_of(shape);
  header.keys = keys;
  return !check_fields(header);
}

FilterShape shape_of(const Filter& filter) {
  const Geometry& geometry = FilterAccess::state(filter).view.geometry;
  return {filter.bits(), geometry.base_blocks, geometry.growth, filter.seed(), filter.capacity()};
}

Filter make_empty(const FilterShape& shape, std::pmr::memory_resource* memory) {
  const FileHeader header = header_of(shape);
  if (const auto flaw = check_fields(header)) throw std::invalid_argument(flaw->cause);
  return FilterAccess::make(
      std::make_unique<State>(shape.bits, header.geometry, shape.seed, shape.capacity,
                              Storage::allocate(header.geometry.blocks(), memory), 0));
}

Filter copy_of(const Filter& filter) {
  return FilterAccess::make(full_copy(FilterAccess::state(filter)));
}

std::span<const std::byte> block_bytes(const Filter& filter) {
  const State& state = FilterAccess::state(filter);
  return std::as_bytes(std::span(state.blocks(), state.view.geometry.blocks()));
}

bool replace_blocks(Filter& filter, std::uint64_t offset, std::span<const std::byte> blocks) {
  const std::uint64_t all = block_bytes(filter).size();
  if (offset % kBlockBytes != 0 || blocks.size() % kBlockBytes != 0 || offset > all ||
      blocks.size() > all - offset) {
    return false;
  }
  std::vector<Block> fresh(blocks.size() / kBlockBytes);  // aligned, as the check needs them
  if (fresh.empty()) return true;
  std::memcpy(fresh.data(), blocks.data(), blocks.size());
  const std::uint64_t first = offset / kBlockBytes;
  const FileHeader header = header_of(shape_of(filter));
  ContentCheck incoming(header, {});
  if (incoming.blocks(first, fresh)) return false;

  auto state = FilterAccess::take(std::move(filter));
  Block* const place = state->blocks() + first;
  ContentCheck outgoing(header, {});
  (void)outgoing.blocks(first, {place, fresh.size()});
  std::copy(fresh.begin(), fresh.end(), place);
  state->size += incoming.counted() - outgoing.counted();
  filter = FilterAccess::make(std::move(state));
  return true;
}

std::size_t bytes_beside_blocks() noexcept { return sizeof(State); }

double fpr_when_full(int bits, unsigned growth) {
  constexpr double kFullLoad = 0.95;
  return false_positive_rate(bits, kFullLoad, second_probe_share(bits, kFullLoad, growth), growth);
}

std::uint64_t checksum(std::span<const std::byte> bytes) noexcept {
  return checksum_bytes(bytes.data(), bytes.size());
}

}  // namespace nestline
