// All segments of a store, and the addresses of records: 40 bits, which the index keeps.
//
//   address = slot << offset_bits | offset / 8
//
// A slot is a small number that a segment has while it exists. It is given again when the segment
// is gone and no reader can have an address with it any more, so the numbers of files may grow for
// ever. offset_bits is what the largest file limit needs, and 20 at least: then there are never
// more than 2^20 slots.
//
// find() is for every thread, inside a ReadSection. The rest takes a mutex.
#ifndef NESTLINE_LIB_STORE_SEGMENT_TABLE_H_
#define NESTLINE_LIB_STORE_SEGMENT_TABLE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "lib/store/segment.h"
#include "nestline/store.h"

namespace nestline {

class AddressFormat {
 public:
  static constexpr unsigned kBits = 40;

  AddressFormat() = default;
  // For offsets below `limit`.
  static AddressFormat for_limit(std::uint64_t limit) {
    unsigned bits = kLeastOffsetBits;
    while ((std::uint64_t{kRecordUnit} << bits) < limit) ++bits;
    return AddressFormat(bits);
  }
  explicit AddressFormat(unsigned offset_bits) : offset_bits_(offset_bits) {}

  [[nodiscard]] unsigned offset_bits() const { return offset_bits_; }
  [[nodiscard]] std::uint64_t slots() const { return std::uint64_t{1} << (kBits - offset_bits_); }
  // Offsets are below this.
  [[nodiscard]] std::uint64_t most_bytes() const {
    return std::uint64_t{kRecordUnit} << offset_bits_;
  }
  [[nodiscard]] bool fits(std::uint64_t limit) const { return most_bytes() >= limit; }
  [[nodiscard]] std::uint64_t pack(std::uint64_t slot, std::uint64_t offset) const {
    return slot << offset_bits_ | offset / kRecordUnit;
  }
  [[nodiscard]] std::uint64_t slot(std::uint64_t address) const { return address >> offset_bits_; }
  [[nodiscard]] std::uint64_t offset(std::uint64_t address) const {
    return (address & ((std::uint64_t{1} << offset_bits_) - 1)) * kRecordUnit;
  }

  static constexpr unsigned kLeastOffsetBits = 20;

 private:
  unsigned offset_bits_ = kLeastOffsetBits;
};

// There is no slot for a further file.
class OutOfSlots : public StoreError {
 public:
  OutOfSlots() : StoreError("the store has as many files as it can have: compact it") {}
};

class SegmentTable {
 public:
  using List = std::vector<std::shared_ptr<Segment>>;

  explicit SegmentTable(AddressFormat format) : format_(format) {}
  ~SegmentTable();
  SegmentTable(const SegmentTable&) = delete;
  SegmentTable& operator=(const SegmentTable&) = delete;

  [[nodiscard]] const AddressFormat& format() const { return format_; }

  // Null if there is no such segment: then the address is not one of ours.
  [[nodiscard]] Segment* find(std::uint64_t address) const {
    const std::uint64_t slot = format_.slot(address);
    if (slot >= kChunks * kChunkSlots) return nullptr;
    const Chunk* const chunk = chunks_[slot / kChunkSlots].load(std::memory_order_acquire);
    if (chunk == nullptr) return nullptr;
    return (*chunk)[slot % kChunkSlots].load(std::memory_order_acquire);
  }
  [[nodiscard]] std::uint64_t address(const Segment& segment, std::uint64_t offset) const {
    return format_.pack(segment.slot, offset);
  }

  // Gives the segment a slot: `slot`, or the lowest that is free. Throws OutOfSlots when there is
  // none (OutOfSlots), std::bad_alloc.
  void add(std::shared_ptr<Segment> segment, std::optional<std::uint32_t> slot = std::nullopt);
  // For how many files add() would find a slot.
  [[nodiscard]] std::uint64_t free_slots() const;
  // From now on list() does not name it; find() does.
  void retire(const Segment& segment);
  // find() does not name it any more, and its slot is free. No reader may have an address with it.
  void forget(const Segment& segment);

  // Releases the files before `number` that are on disk for good (Segment::release).
  void release_before(std::uint64_t number);

  // In rising order of their numbers.
  [[nodiscard]] List list() const;
  [[nodiscard]] std::shared_ptr<Segment> get(std::uint64_t number) const;

 private:
  static constexpr std::size_t kChunkSlots = 1024;
  static constexpr std::size_t kChunks = 1024;
  using Chunk = std::array<std::atomic<Segment*>, kChunkSlots>;

  const AddressFormat format_;
  std::array<std::atomic<Chunk*>, kChunks> chunks_{};
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<Segment>> by_number_;
  std::vector<std::shared_ptr<Segment>> by_slot_;
};

}  // namespace nestline

#endif  // NESTLINE_LIB_STORE_SEGMENT_TABLE_H_
