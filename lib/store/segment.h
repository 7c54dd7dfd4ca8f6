// A file of the log that is open, and what is known of its content.
#ifndef NESTLINE_LIB_STORE_SEGMENT_H_
#define NESTLINE_LIB_STORE_SEGMENT_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "lib/store/disk.h"
#include "lib/store/record.h"
#include "lib/store/segment_format.h"

namespace nestline {

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

  const SegmentHeader header;
  const std::unique_ptr<DiskFile> file;
  SegmentCounts counts;
  std::uint32_t slot = 0;            // in addresses; set once
  std::atomic<bool> sealed{false};   // ends with a seal
  std::atomic<bool> damaged{false};  // compaction met a bad record: not by itself again

 private:
  const std::byte* const bytes_;
  const std::uint64_t room_;
  bool is_released_ = false;
  std::atomic<std::uint64_t> end_{kSegmentHeaderBytes};
};

}  // namespace nestline

#endif  // NESTLINE_LIB_STORE_SEGMENT_H_
