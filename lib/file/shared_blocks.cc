#include "lib/file/shared_blocks.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "lib/concurrent/concurrent_state.h"
#include "lib/filter/blocks.h"
#include "lib/filter/growth.h"
#include "lib/place/geometry.h"
#include "lib/place/layout.h"

namespace nestline {
namespace {

const Blocks& table_of(const ConcurrentFilter& shared) {
  return ConcurrentAccess::state(shared).table_of_writer();
}

}  // namespace

ConcurrentFilter share(Filter&& filter) {
  return ConcurrentAccess::make(std::move(filter), Readers::only_look);
}

Filter copy_of(const ConcurrentFilter& shared) {
  auto made = full_copy(table_of(shared));
  made->size = ConcurrentAccess::state(shared).keys.total();
  return FilterAccess::make(std::move(made));
}

void copy_block_bytes(const ConcurrentFilter& shared, std::uint64_t offset,
                      std::span<std::byte> out) noexcept {
  const Block* const first = table_of(shared).view.blocks + offset / kBlockBytes;
  std::memcpy(out.data(), first, out.size());
  for (std::size_t block = 0; block < out.size(); block += kBlockBytes) {
    const auto header = out.subspan(block, kBlockBytes).subspan(kMarkByte + 1);
    std::fill(header.begin(), header.end(), std::byte{0});
  }
}

void empty(ConcurrentFilter& shared) noexcept { ConcurrentAccess::state(shared).empty(); }

Standing standing_of(const ConcurrentFilter& shared, std::uint64_t key) noexcept {
  return standing_of(table_of(shared), key);
}

bool is_crowded(const ConcurrentFilter& shared, std::uint64_t key) noexcept {
  return is_crowded(table_of(shared), key);
}

void prefetch_home(const ConcurrentFilter& shared, std::uint64_t key) noexcept {
  const Blocks& table = table_of(shared);
  prefetch_home(table.view, table.hasher()(key).value);
}

std::size_t bytes_beside_shared_blocks() noexcept {
  return sizeof(ConcurrentFilter::State) + sizeof(Blocks);
}

}  // namespace nestline
