#include "lib/file/filter_blocks.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "lib/file/file_format.h"
#include "lib/filter/filter_state.h"
#include "lib/filter/filter_table.h"
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

bool are_related(const Filter& a, const Filter& b) noexcept {
  return are_related(FilterAccess::state(a), FilterAccess::state(b));
}

Standing standing_of(const Filter& filter, std::uint64_t key) noexcept {
  return standing_of(FilterAccess::state(filter), key);
}

bool is_crowded(const Filter& filter, std::uint64_t key) noexcept {
  return is_crowded(FilterAccess::state(filter), key);
}

void pour(Filter& from, Filter& to, Share& share, Surplus surplus) noexcept {
  auto source = FilterAccess::take(std::move(from));
  auto target = FilterAccess::take(std::move(to));
  pour(*source, *target, share, surplus);
  from = FilterAccess::make(std::move(source));
  to = FilterAccess::make(std::move(target));
}

void prefetch_home(const Filter& filter, std::uint64_t key) noexcept {
  const State& state = FilterAccess::state(filter);
  const std::uint64_t hash = state.hash(key);
  visit_layout(state.bits, [&](auto layout) {
    const Place home = home_of<decltype(layout)>(state.view.geometry, hash);
    prefetch_block(state.view.blocks[home.block]);
  });
}

std::size_t bytes_beside_blocks() noexcept { return sizeof(State); }

double fpr_when_full(int bits, unsigned growth) {
  constexpr double kFullLoad = 0.95;
  return false_positive_rate(bits, kFullLoad, second_probe_share(bits, kFullLoad, growth), growth);
}

std::uint64_t capacity_of(int bits, std::uint64_t base_blocks, unsigned growth) {
  std::uint64_t capacity = safe_keys(bits, {base_blocks, 0});
  for (unsigned doubled = 1; doubled <= growth; ++doubled) {
    capacity = grown_capacity(bits, {base_blocks, doubled}, capacity);
  }
  return capacity;
}

std::uint32_t hash_version() noexcept { return kHashVersion; }

std::uint64_t checksum(std::span<const std::byte> bytes) noexcept {
  return checksum_bytes(bytes.data(), bytes.size());
}

}  // namespace nestline
