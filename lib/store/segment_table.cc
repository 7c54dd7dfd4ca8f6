#include "lib/store/segment_table.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace nestline { inline namespace v0_3 {

SegmentTable::~SegmentTable() {
  for (const std::atomic<Chunk*>& chunk : chunks_) delete chunk.load();
}

void SegmentTable::add(std::shared_ptr<Segment> segment, std::optional<std::uint32_t> slot) {
  const std::lock_guard lock(mutex_);
  std::size_t place = slot.value_or(0);
  if (!slot) {
    const auto free = std::ranges::find(by_slot_, nullptr);
    place = static_cast<std::size_t>(free - by_slot_.begin());
  }
  if (place >= format_.slots() || (place < by_slot_.size() && by_slot_[place] != nullptr)) {
    throw OutOfSlots();
  }
  std::atomic<Chunk*>& chunk = chunks_[place / kChunkSlots];
  if (chunk.load() == nullptr) chunk.store(new Chunk{});
  if (place >= by_slot_.size()) by_slot_.resize(place + 1);
  by_number_.emplace(segment->header.number, segment);
  segment->slot = static_cast<std::uint32_t>(place);
  (*chunk.load())[place % kChunkSlots].store(segment.get(), std::memory_order_release);
  by_slot_[place] = std::move(segment);
}

std::uint64_t SegmentTable::free_slots() const {
  const std::lock_guard lock(mutex_);
  return format_.slots() - by_slot_.size() +
         static_cast<std::uint64_t>(std::ranges::count(by_slot_, nullptr));
}

void SegmentTable::retire(const Segment& segment) {
  const std::lock_guard lock(mutex_);
  by_number_.erase(segment.header.number);
}

void SegmentTable::forget(const Segment& segment) {
  std::shared_ptr<Segment> last;  // dies after the mutex is free
  const std::lock_guard lock(mutex_);
  const std::size_t slot = segment.slot;
  by_number_.erase(segment.header.number);
  (*chunks_[slot / kChunkSlots].load())[slot % kChunkSlots].store(nullptr);
  last = std::move(by_slot_[slot]);
}

void SegmentTable::release_before(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  for (auto at = by_number_.lower_bound(number); at != by_number_.begin();) {
    Segment& segment = *(--at)->second;
    if (segment.is_released()) break;
    segment.release();
  }
}

SegmentTable::List SegmentTable::list() const {
  const std::lock_guard lock(mutex_);
  List list;
  list.reserve(by_number_.size());
  for (const auto& [number, segment] : by_number_) list.push_back(segment);
  return list;
}

std::shared_ptr<Segment> SegmentTable::get(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  const auto found = by_number_.find(number);
  return found == by_number_.end() ? nullptr : found->second;
}

}}  // namespace nestline
