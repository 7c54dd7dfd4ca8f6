// Reads the records of a segment in their order, from a file that another process may be writing.
//
// It reads with calls and not through memory, since the writer may cut zeros off the end of the
// file at any time, and memory behind the end of a file must not be touched.
#ifndef NESTLINE_LIB_STORE_SEGMENT_READER_H_
#define NESTLINE_LIB_STORE_SEGMENT_READER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lib/store/disk.h"
#include "lib/store/record.h"

namespace nestline {

class SegmentReader {
 public:
  // From `begin` on, where the record with this sequence number should be.
  SegmentReader(const DiskFile& file, const RecordPlace& begin, std::uint64_t sequence)
      : file_(file), place_(begin), sequence_(sequence) {}

  // Moves on to the next record; false if none follows that is valid and has the next number.
  bool next();
  // The record, until the next call of next(). Of one longer than 32 MiB the value was checked and
  // is not here: memory is bounded, whatever lengths a file claims.
  [[nodiscard]] const Record& record() const { return record_; }
  // Where it lies.
  [[nodiscard]] std::uint64_t offset() const { return offset_; }

  // Behind the last record, and the number that the next one would have.
  [[nodiscard]] std::uint64_t end() const { return place_.offset; }
  [[nodiscard]] std::uint64_t sequence() const { return sequence_; }

  // Whether there are no bytes of a record at end(), only zeros or the end of the file.
  [[nodiscard]] bool is_at_zeros();
  // How many bytes from end() on are left of the file when the zeros at its end are left out.
  [[nodiscard]] std::uint64_t rest();

 private:
  // At least `bytes` bytes from place_.offset on, if the file has them.
  std::span<const std::byte> look(std::uint64_t bytes);
  // next() for a record that is too long to be kept.
  bool check_long(const RecordHeader& header);
  void take(const Record& record);

  const DiskFile& file_;
  RecordPlace place_;
  std::uint64_t sequence_;
  std::uint64_t offset_ = 0;
  Record record_;
  std::vector<std::byte> buffer_;
  std::uint64_t buffer_at_ = 0;  // of the file
  std::size_t buffered_ = 0;
};

}  // namespace nestline

#endif  // NESTLINE_LIB_STORE_SEGMENT_READER_H_
