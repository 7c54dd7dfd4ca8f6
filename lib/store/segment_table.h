// The open files of the log, what is known of them, and addresses of records (docs/STORE.md, 6.4).
// A slot is given again when its segment is gone and no reader can have its address. At most 2^20.
// find() is for every thread, inside a ReadSection. The rest takes a mutex.
#ifndef NESTLINE_LIB_STORE_SEGMENT_TABLE_H_
#define NESTLINE_LIB_STORE_SEGMENT_TABLE_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "lib/store/disk.h"
#include "lib/store/log_format.h"
#include "nestline/store.h"

namespace nestline { inline namespace v0_3 {

// How many bytes of a segment are what. Changed by one thread at a time, read by all.
struct SegmentCounts {
  std::atomic<std::uint64_t> live{0};        // puts that the index points to
  std::atomic<std::uint64_t> tombstones{0};  // erases
  std::atomic<std::uint64_t> frame{0};       // the header, and records without a key

  static void add(std::atomic<std::uint64_t>& count, std::uint64_t bytes) {
    count.store(count.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
  }
  // Not below 0: the lengths of a damaged record may be wrong.
  static void subtract(std::atomic<std::uint64_t>& count, std::uint64_t bytes) {
    const std::uint64_t now = count.load(std::memory_order_relaxed);
    count.store(now - std::min(now, bytes), std::memory_order_relaxed);
  }
};

class Segment {
 public:
  // `room`: how many bytes of the file will be looked at, at most.
  Segment(const SegmentHeader& head, std::unique_ptr<DiskFile> open_file, std::uint64_t room)
      : header(head), file(std::move(open_file)), bytes_(file->map(room)), room_(room) {
    SegmentCounts::add(counts.frame, kSegmentHeaderBytes);
  }

  // Records that readers may look at end here.
  [[nodiscard]] std::uint64_t end() const { return end_.load(std::memory_order_acquire); }
  void set_end(std::uint64_t end) { end_.store(end, std::memory_order_release); }
  [[nodiscard]] std::uint64_t room() const { return room_; }

  // The bytes from `offset` to end(); none if it is not before that.
  [[nodiscard]] std::span<const std::byte> from(std::uint64_t offset) const {
    const std::uint64_t last = end();
    if (offset >= last) return {};
    return {bytes_ + offset, static_cast<std::size_t>(last - offset)};
  }
  [[nodiscard]] const std::byte* at(std::uint64_t offset) const { return bytes_ + offset; }

  [[nodiscard]] RecordPlace place(std::uint64_t offset) const {
    return {header.store_id, header.number, offset};
  }

  // For one thread at a time, once all of it is on disk (DiskFile::release).
  void release() {
    file->release(end());
    is_released_ = true;
  }
  [[nodiscard]] bool is_released() const { return is_released_; }

  // What compaction would win, if tombstones could go.
  [[nodiscard]] std::uint64_t dead() const {
    const std::uint64_t kept =
        counts.live.load(std::memory_order_relaxed) + counts.frame.load(std::memory_order_relaxed);
    const std::uint64_t last = end();
    return last > kept ? last - kept : 0;
  }

  // How many bytes compaction takes from the disk, at most, before it gives the file's back.
  [[nodiscard]] std::uint64_t room_to_compact() const {
    constexpr std::uint64_t kBeginOfFile = std::uint64_t{4} << 10;
    const std::uint64_t copied = counts.live.load(std::memory_order_relaxed) +
                                 counts.tombstones.load(std::memory_order_relaxed);
    return copied == 0 ? 0 : copied + kBeginOfFile;
  }

  const SegmentHeader header;
  const std::unique_ptr<DiskFile> file;
  SegmentCounts counts;
  std::uint32_t slot = 0;            // in addresses; set once
  bool is_spare = false;             // made from a slot in reserve: changes must not fill it
  std::atomic<bool> sealed{false};   // ends with a seal
  std::atomic<bool> damaged{false};  // or has pieces in use: not compacted by itself again

 private:
  const std::byte* const bytes_;
  const std::uint64_t room_;
  bool is_released_ = false;
  std::atomic<std::uint64_t> end_{kSegmentHeaderBytes};
};

class AddressFormat {
 public:
  static constexpr unsigned kBits = 40;
  AddressFormat() = default;
  // For offsets below `limit`.
  static AddressFormat for_limit(std::uint64_t limit) {
    unsigned bits = kMinOffsetBits;
    while ((std::uint64_t{kRecordUnit} << bits) < limit) ++bits;
    return AddressFormat(bits);
  }
  explicit AddressFormat(unsigned offset_bits) : offset_bits_(offset_bits) {}
  [[nodiscard]] unsigned offset_bits() const { return offset_bits_; }
  [[nodiscard]] std::uint64_t slots() const { return std::uint64_t{1} << (kBits - offset_bits_); }
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

  static constexpr unsigned kMinOffsetBits = 20;

 private:
  unsigned offset_bits_ = kMinOffsetBits;
};

class OutOfSlots : public StoreError {
 public:
  OutOfSlots() : StoreError("the store has as many files as it can have: compact it") {}
};

class SegmentTable {
 public:
  using List = std::vector<std::shared_ptr<Segment>>;

  explicit SegmentTable(AddressFormat format) : format_(format) {}
  ~SegmentTable();
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

  // Gives the segment `slot`, or the lowest that is free. Throws OutOfSlots, std::bad_alloc.
  void add(std::shared_ptr<Segment> segment, std::optional<std::uint32_t> slot = std::nullopt);
  [[nodiscard]] std::uint64_t free_slots() const;  // for how many files add() would find a slot
  void retire(const Segment& segment);  // from now on list() does not name it; find() does
  void forget(const Segment& segment);  // from find(): its slot is free. No reader may be in it.
  void release_before(std::uint64_t number);  // those that are on disk for good (Segment::release)
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

}}  // namespace nestline

#endif  // NESTLINE_LIB_STORE_SEGMENT_TABLE_H_
