// What serves filters of all kinds, and what is Filter's.
#include "lib/faces/embed/bytes.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory_resource>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include "lib/filters/file/file_format.h"
#include "lib/filters/filter/blocks.h"
#include "lib/filters/filter/bulk_build.h"

namespace nestline { inline namespace v0_3 {

bool can_exist(Kind kind, const Shape& shape, std::uint64_t keys) {
  return !check_fields({shape, keys}, kind);
}

Shape shape_of(const Filter& filter) { return FilterAccess::blocks(filter).shape(); }

Filter make_empty(const Shape& shape, std::pmr::memory_resource* memory) {
  if (const auto flaw = check_fields({shape, 0})) throw std::invalid_argument(flaw->cause);
  return FilterAccess::make(make_blocks(shape, memory));
}

void fill(Filter& filter, KeySpan keys, std::span<Outcome> outcomes) {
  fill_in_bulk(filter, keys, outcomes);
}

const Blocks& blocks_of(const Filter& filter) noexcept { return FilterAccess::blocks(filter); }

std::span<const std::byte> block_bytes(const Filter& filter) {
  const BlocksView& view = FilterAccess::blocks(filter).view;
  return std::as_bytes(std::span(view.blocks, view.geometry.blocks()));
}

void put_small_head(const Filter& filter, std::span<std::byte> to) {
  const Blocks& blocks = FilterAccess::blocks(filter);
  HeaderBytes room;
  const auto head = encode_header({blocks.shape(), blocks.size, kSmallVersion}, room);
  std::fill(std::ranges::copy(head, to.begin()).out, to.end(), std::byte{0});
}

void copy_bytes(const Blocks& blocks, std::uint64_t offset, std::span<std::byte> out) noexcept {
  const std::uint64_t first = offset / kBlockBytes;
  std::memcpy(out.data(), blocks.view.blocks + first, out.size());
  const std::uint64_t end =
      std::min(blocks.view.geometry.blocks(), first + out.size() / kBlockBytes);
  for (std::uint64_t block = first; block < end; ++block) {
    const auto bytes = out.subspan((block - first) * kBlockBytes, kBlockBytes);
    bytes[kOverflowMarkByte + 1] &= std::byte{Block::kHeaderKept >> 8};
    std::fill(bytes.begin() + kOverflowMarkByte + 2, bytes.end(), std::byte{0});
  }
}

std::optional<std::int64_t> replace(const Blocks& blocks, const Shape& shape, std::uint64_t offset,
                                    std::span<const std::byte> bytes) {
  const std::uint64_t all = shape.stored_bytes();
  if (offset % kBlockBytes != 0 || bytes.size() % kBlockBytes != 0 || offset > all ||
      bytes.size() > all - offset) {
    return std::nullopt;
  }
  std::vector<Block> fresh(bytes.size() / kBlockBytes);  // aligned, as the check needs them
  if (fresh.empty()) return 0;
  std::memcpy(fresh.data(), bytes.data(), bytes.size());
  const std::uint64_t first = offset / kBlockBytes;
  ContentCheck incoming({shape, 0}, {});
  if (incoming.blocks(first, fresh)) return std::nullopt;

  auto more = static_cast<std::int64_t>(incoming.counted());
  const std::uint64_t end = std::min(shape.geometry.blocks(), first + fresh.size());
  for (std::uint64_t block = first; block < end; ++block) {
    const std::uint64_t free = blocks.engine->block.free_slots(blocks.view.blocks[block]);
    more -= static_cast<int>(slots_of(shape.bits)) - std::popcount(free);
  }
  std::copy(fresh.begin(), fresh.end(), blocks.blocks() + first);
  return more;
}

bool replace_bytes(Filter& filter, std::uint64_t offset, std::span<const std::byte> bytes) {
  Blocks& blocks = FilterAccess::blocks(filter);
  const auto more = replace(blocks, blocks.shape(), offset, bytes);
  blocks.size += static_cast<std::uint64_t>(more.value_or(0));
  return more.has_value();
}

void prefetch_home(const Blocks& blocks, std::uint64_t key) noexcept {
  prefetch_home(blocks.view, blocks.hasher()(key).value);
}

std::size_t bytes_beside(const Filter&) noexcept { return sizeof(Blocks); }

double fpr_when_full(int bits, unsigned growth, bool turns_over) {
  constexpr double kFullLoad = 0.95;
  const double second_probes = second_probe_share(bits, kFullLoad, growth, turns_over);
  return false_positive_rate(bits, kFullLoad, second_probes, growth);
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

}}  // namespace nestline
