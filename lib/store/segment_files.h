// Files of the log as they lie in the folder, perhaps after a crash.
#ifndef NESTLINE_LIB_STORE_SEGMENT_FILES_H_
#define NESTLINE_LIB_STORE_SEGMENT_FILES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "lib/store/disk.h"
#include "lib/store/segment.h"
#include "lib/store/segment_format.h"

namespace nestline {

// The header of the file of segment `number`; empty if it is not valid. Throws StoreError if it is
// of a format version that this library does not know.
std::optional<SegmentHeader> read_segment_header(const Disk& disk, const DiskFile& file,
                                                 std::uint64_t number);

// Whether the file is one that was being made when the power went: nothing in it counts yet, and
// any of it may be missing. Throws StoreError if it is not, and its beginning is damaged.
bool is_half_made(const Disk& disk, const DiskFile& file, std::uint64_t number,
                  std::optional<std::uint64_t> store_id);

// Up to where something in the `rest` bytes from `offset` on proves that the file had been on disk,
// if that is behind `offset`; else 0. In time linear in `rest`, whatever these bytes are.
std::uint64_t synced_up_to(const Segment& segment, std::uint64_t offset, std::uint64_t rest);
inline bool was_synced(const Segment& segment, std::uint64_t offset, std::uint64_t rest) {
  return synced_up_to(segment, offset, rest) > offset;
}

// From where on the next file holds anew what file `number` has there, if it does.
std::optional<std::uint64_t> renewed_from(Disk& disk, std::uint64_t number);

// The list of segments that counts in the newest file: the last one, but not one in a batch without
// an end, which recovery cuts off.
class LastList {
 public:
  using Numbers = std::optional<std::vector<std::uint64_t>>;

  // Takes the records of the file in order. False: it is a list that is not valid.
  bool take(const Record& record);
  // After all records: the numbers, or nothing if there is no list.
  [[nodiscard]] const Numbers& get() const { return before_batch_ ? *before_batch_ : last_; }

 private:
  Numbers last_;
  std::optional<Numbers> before_batch_;
};

// Opens a segment that exists. Throws StoreError if its header is damaged.
std::shared_ptr<Segment> open_segment(Disk& disk, std::uint64_t number, bool writable);

}  // namespace nestline

#endif  // NESTLINE_LIB_STORE_SEGMENT_FILES_H_
