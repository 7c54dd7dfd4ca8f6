#include "lib/file/filter_blocks.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "lib/file/file_format.h"
#include "lib/filter/blocks.h"
#include "lib/filter/bulk_build.h"
#include "lib/filter/sizing.h"
#include "lib/kernels/kernels.h"
#include "lib/place/geometry.h"
#include "lib/place/hash.h"
#include "lib/table/table.h"

namespace nestline {
namespace {

FileHeader header_of(const FilterShape& shape) {
  FileHeader header;
  header.bits = shape.bits;
  header.geometry = {shape.base_blocks, shape.growth};
  header.seed = shape.seed;
  header.capacity = shape.capacity;
  return header;
}

// Whoever may be away in `from` may be away in `to`.
void raise_marks(const Blocks& from, Blocks& to) {
  const std::uint32_t old_growth = from.view.geometry.growth;
  const std::uint32_t new_growth = to.view.geometry.growth;
  const std::uint32_t common = std::min(old_growth, new_growth);
  const std::uint64_t regions = from.view.geometry.base_blocks << common;
  const std::uint64_t old_blocks = std::uint64_t{1} << (old_growth - common);
  const std::uint64_t new_blocks = std::uint64_t{1} << (new_growth - common);
  for (std::uint64_t region = 0; region < regions; ++region) {
    std::uint32_t mark = 0;
    for (std::uint64_t i = 0; i < old_blocks; ++i) {
      mark = std::max(mark, from.view.blocks[region * old_blocks + i].mark());
    }
    if (mark == 0) continue;
    for (std::uint64_t i = 0; i < new_blocks; ++i) {
      to.blocks()[region * new_blocks + i].raise_mark(mark - 1);
    }
  }
}

template <class L>
void pour_slots(Blocks& from, Blocks& to, Share& share, Surplus surplus) {
  Table<L, NoLocks> table(to.blocks(), to.view.geometry, *to.kernels);
  const std::uint32_t old_growth = from.view.geometry.growth;
  const std::uint32_t new_growth = to.view.geometry.growth;
  const std::uint64_t blocks = from.view.geometry.blocks();
  for (std::uint64_t at = 0; at < blocks; ++at) {
    Block& block = from.blocks()[at];
    for (std::uint32_t slot = 0; slot < L::kSlots; ++slot) {
      const std::uint32_t fingerprint = L::get(block, slot);
      if (fingerprint == 0 || !share.takes_next()) continue;
      const std::uint32_t phase = L::phase_at(fingerprint, slot);
      std::uint64_t home = at >> old_growth << new_growth;
      if (new_growth != 0) home |= fingerprint >> (static_cast<unsigned>(L::kBits) - new_growth);
      const Place place{home, L::bucket(fingerprint, phase), fingerprint, phase};
      const bool stored = table.insert(place) == Outcome::stored;
      // A copy that is found from here is found from the key's home: marks have been raised.
      if (!stored && (surplus == Surplus::stays || !table.contains(place))) continue;
      L::set(block, slot, 0);
      --from.size;
      to.size += stored ? 1 : 0;
    }
  }
}

}  // namespace

bool can_exist(const FilterShape& shape, std::uint64_t keys) {
  FileHeader header = header_of(shape);
  header.keys = keys;
  return !check_fields(header);
}

FilterShape shape_of(const Filter& filter) {
  const Geometry& geometry = FilterAccess::blocks(filter).view.geometry;
  return {filter.bits(), geometry.base_blocks, geometry.growth, filter.seed(), filter.capacity()};
}

Filter make_empty(const FilterShape& shape, std::pmr::memory_resource* memory) {
  const FileHeader header = header_of(shape);
  if (const auto flaw = check_fields(header)) throw std::invalid_argument(flaw->cause);
  return FilterAccess::make(
      std::make_unique<Blocks>(shape.bits, header.geometry, shape.seed, shape.capacity,
                               Storage::allocate(header.geometry.blocks(), memory), 0));
}

void fill(Filter& filter, KeySpan keys, std::span<Outcome> outcomes) {
  fill_in_bulk(filter, keys, outcomes);
}

std::span<const std::byte> block_bytes(const Filter& filter) {
  const Blocks& state = FilterAccess::blocks(filter);
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

  Blocks& state = FilterAccess::blocks(filter);
  Block* const place = state.blocks() + first;
  for (const Block& outgoing : std::span(place, fresh.size())) {
    const std::uint64_t free = state.kernels->free_slots(outgoing);
    state.size -= slots_of(state.bits) - static_cast<std::uint64_t>(std::popcount(free));
  }
  std::copy(fresh.begin(), fresh.end(), place);
  state.size += incoming.counted();
  return true;
}

bool are_related(const Filter& a, const Filter& b) noexcept {
  const FilterShape one = shape_of(a);
  const FilterShape other = shape_of(b);
  return one.bits == other.bits && one.seed == other.seed && one.base_blocks == other.base_blocks;
}

Standing standing_of(const Blocks& state, std::uint64_t key) noexcept {
  const Geometry& geometry = state.view.geometry;
  const auto mark = [&](const Place& place) { return state.view.blocks[place.block].mark(); };
  const auto has_copy = [&](const Place& place) {
    return state.kernels->copies(state.view.blocks[place.block], place) != 0;
  };
  const Place home = home_of(state.bits, geometry, state.hasher()(key).value);
  Place away;
  if (!has_copy(home)) {
    const bool found = may_be_away(geometry, mark(home), home, away) && has_copy(away);
    return found ? Standing::away : Standing::none;
  }
  const Place other = moved(geometry, home);
  return may_be_away(geometry, mark(other), other, away) ? Standing::home : Standing::sure;
}

Standing standing_of(const Filter& filter, std::uint64_t key) noexcept {
  return standing_of(FilterAccess::blocks(filter), key);
}

bool is_crowded(const Blocks& state, std::uint64_t key) noexcept {
  const Place home = home_of(state.bits, state.view.geometry, state.hasher()(key).value);
  const auto block = [&](std::uint64_t number) -> const Block& {
    return state.view.blocks[number];
  };
  if (state.kernels->find_free_way(block(home.block), home)) return false;
  return count_copies(*state.kernels, state.view.geometry, home, false, block) >=
         most_copies(state.bits) / 2 - 1;
}

bool is_crowded(const Filter& filter, std::uint64_t key) noexcept {
  return is_crowded(FilterAccess::blocks(filter), key);
}

void pour(Filter& from, Filter& to, Share& share, Surplus surplus) noexcept {
  Blocks& source = FilterAccess::blocks(from);
  Blocks& target = FilterAccess::blocks(to);
  raise_marks(source, target);
  visit_layout(source.bits,
               [&](auto layout) { pour_slots<decltype(layout)>(source, target, share, surplus); });
}

void prefetch_home(const Filter& filter, std::uint64_t key) noexcept {
  const Blocks& state = FilterAccess::blocks(filter);
  prefetch_home(state.view, state.hasher()(key).value);
}

std::size_t bytes_beside_blocks() noexcept { return sizeof(Blocks); }

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
