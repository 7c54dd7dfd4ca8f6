#include "lib/expiring/expiring_blocks.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "lib/expiring/expiring_state.h"
#include "lib/file/file_format.h"

namespace nestline {
namespace {

FileHeader header_of(const ExpiringShape& shape) {
  FileHeader header;
  header.bits = expiring_layout(shape.bits);
  header.geometry = {shape.blocks, 0};
  header.seed = shape.seed;
  header.capacity = shape.capacity;
  header.life = shape.life;
  header.tick = shape.tick;
  header.exchanged = shape.exchanged;
  header.swept = shape.swept;
  header.waiting = shape.waiting;
  return header;
}

}  // namespace

std::uint64_t ExpiringShape::stored_bytes() const { return with_young_marks(blocks) * kBlockBytes; }

bool can_exist(const ExpiringShape& shape, std::uint64_t keys) {
  if (shape.bits != 8 && shape.bits != 12) return false;
  FileHeader header = header_of(shape);
  header.keys = keys;
  return !check_fields(header, FileContent::expiring);
}

ExpiringShape shape_of(const ExpiringFilter& filter) {
  const ExpiringFilter::State& state = ExpiringAccess::state(filter);
  const Blocks& table = state.table_of_writer();
  const Position at = state.position();
  return {.bits = filter.bits(),
          .blocks = table.view.geometry.blocks(),
          .seed = state.seed,
          .capacity = table.capacity,
          .life = at.life,
          .tick = tick(table.view.blocks),
          .exchanged = at.exchanged,
          .swept = at.swept,
          .waiting = at.waiting};
}

ExpiringFilter make_empty(const ExpiringShape& shape, std::pmr::memory_resource* memory) {
  if (!can_exist(shape, 0)) throw std::invalid_argument("no expiring filter has this shape");
  const FileHeader header = header_of(shape);
  auto table = make_expiring_table(header.bits, shape.blocks, shape.seed, shape.capacity, memory);
  set_tick(table->blocks(), shape.tick);
  return ExpiringAccess::make(std::move(table), {.life = shape.life,
                                                 .exchanged = shape.exchanged,
                                                 .swept = shape.swept,
                                                 .waiting = shape.waiting});
}

void copy_stored_bytes(const ExpiringFilter& filter, std::uint64_t offset,
                       std::span<std::byte> out) noexcept {
  const Blocks& table = ExpiringAccess::state(filter).table_of_writer();
  const std::uint64_t first = offset / kBlockBytes;
  std::memcpy(out.data(), table.view.blocks + first, out.size());
  // The bytes of a block that serve the threads are 0.
  const std::uint64_t blocks = table.view.geometry.blocks();
  const std::uint64_t end = std::min(blocks, first + out.size() / kBlockBytes);
  for (std::uint64_t block = first; block < end; ++block) {
    const auto header = out.subspan((block - first) * kBlockBytes, kBlockBytes);
    std::fill(header.begin() + kMarkByte + 1, header.end(), std::byte{0});
  }
}

bool replace_stored_bytes(ExpiringFilter& filter, std::uint64_t offset,
                          std::span<const std::byte> bytes) {
  const ExpiringShape shape = shape_of(filter);
  const std::uint64_t all = shape.stored_bytes();
  if (offset % kBlockBytes != 0 || bytes.size() % kBlockBytes != 0 || offset > all ||
      bytes.size() > all - offset) {
    return false;
  }
  std::vector<Block> fresh(bytes.size() / kBlockBytes);  // aligned, as the check needs them
  if (fresh.empty()) return true;
  std::memcpy(fresh.data(), bytes.data(), bytes.size());
  const std::uint64_t first = offset / kBlockBytes;
  const FileHeader header = header_of(shape);
  ContentCheck incoming(header, {});
  if (incoming.blocks(first, fresh)) return false;

  std::vector<Block> old(fresh.size());
  copy_stored_bytes(filter, offset, std::as_writable_bytes(std::span(old)));
  ContentCheck outgoing(header, {});
  (void)outgoing.blocks(first, old);
  ExpiringFilter::State& state = ExpiringAccess::state(filter);
  std::copy(fresh.begin(), fresh.end(), state.table_of_writer().blocks() + first);
  state.keys.add<BlockLocks>(static_cast<std::int64_t>(incoming.counted()) -
                             static_cast<std::int64_t>(outgoing.counted()));
  return true;
}

std::size_t bytes_beside_stored() noexcept {
  return sizeof(ExpiringFilter::State) + sizeof(Blocks) + kHeadBlocks * kBlockBytes;
}

}  // namespace nestline
