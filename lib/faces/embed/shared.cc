#include <cstddef>
#include <utility>

#include "lib/faces/embed/bytes.h"
#include "lib/filters/concurrent/concurrent_state.h"

namespace nestline { inline namespace v0_3 {

const Blocks& blocks_of(const ConcurrentFilter& filter) noexcept {
  return ConcurrentAccess::state(filter).table_of_writer();
}

ConcurrentFilter make_concurrent(Filter&& filter) {
  return ConcurrentAccess::make(std::move(filter), Readers::only_look);
}

Filter copy_of(const ConcurrentFilter& shared) {
  auto made = full_copy(blocks_of(shared));
  made->size = ConcurrentAccess::state(shared).keys.total();
  return FilterAccess::make(std::move(made));
}

void empty(ConcurrentFilter& shared) noexcept { ConcurrentAccess::state(shared).empty(); }

std::size_t bytes_beside(const ConcurrentFilter&) noexcept {
  return sizeof(ConcurrentFilter::State) + sizeof(Blocks);
}

}}  // namespace nestline
