// A file of the log, as bytes: a header of 64 bytes, then records without gaps (record.h).
//
//       0   "nestlog\n"
//       8   format version, 32 bits; zero, 32 bits
//      16   id of the store, 64 bits, random: the seed of all its hashes and checksums
//      24   number of the segment, 64 bits
//      32   limit, 64 bits: where the last record of several may end
//      40   sequence number of the first record, 64 bits
//      48   zero, 64 bits
//      56   checksum of bytes 0 to 55, 64 bits
//
// The first record is of kind `segments`. The last record of each file but the newest is of kind
// `seal`. Zeros may follow the last record: files are lengthened ahead.
#ifndef NESTLINE_LIB_STORE_SEGMENT_FORMAT_H_
#define NESTLINE_LIB_STORE_SEGMENT_FORMAT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/store/record.h"

namespace nestline {

inline constexpr std::size_t kSegmentHeaderBytes = 64;
inline constexpr std::uint32_t kStoreFormatVersion = 1;
inline constexpr std::uint64_t kMostSegmentBytes = std::uint64_t{64} << 30;
inline constexpr std::size_t kSealBytes = kRecordHeaderBytes;

struct SegmentHeader {
  std::uint64_t store_id = 0;
  std::uint64_t number = 0;
  std::uint64_t limit = 0;
  std::uint64_t first_sequence = 0;
};

void encode_segment_header(std::span<std::byte, kSegmentHeaderBytes> to,
                           const SegmentHeader& header) noexcept;
// Empty if these are not the first bytes of segment `number`. Of a format version that this library
// does not know, `version` is set to it.
std::optional<SegmentHeader> decode_segment_header(std::span<const std::byte> segment,
                                                   std::uint64_t number, std::uint32_t& version);

// The end of a log that is being written anew; removed by the next opening if it is left over.
inline constexpr std::string_view kNewEndName = "end.new";

// "00000001.log", and back; more digits when they are needed.
std::string segment_name(std::uint64_t number);
std::optional<std::uint64_t> segment_number(std::string_view name) noexcept;

// The numbers of all segments among the names, in rising order.
std::vector<std::uint64_t> segment_numbers(std::span<const std::string> names);

// Where a scan ended.
enum class ScanEnd : std::uint8_t {
  zeros,    // nothing but zeros from there to the end of the file
  sealed,   // behind a seal
  bad,      // there should be a record, and there is not
  stopped,  // the caller said so
};
struct Scan {
  ScanEnd end = ScanEnd::zeros;
  std::uint64_t offset = 0;         // where: behind the last valid record
  std::uint64_t next_sequence = 0;  // of the record that would follow
};

bool is_zero(std::span<const std::byte> bytes) noexcept;

// Calls with(offset, record) for each valid record from `offset` on, as long as the sequence
// numbers follow each other; the first one must have `sequence`. `with` returns whether to go on.
// `segment`: the bytes of the file from its beginning.
template <typename With>
Scan scan_records(std::span<const std::byte> segment, RecordPlace place, std::uint64_t sequence,
                  With&& with) {
  for (;;) {
    const auto rest = segment.subspan(std::min<std::size_t>(place.offset, segment.size()));
    const std::optional<Record> record = read_record(rest, place);
    if (!record || record->sequence != sequence) {
      return {is_zero(rest) ? ScanEnd::zeros : ScanEnd::bad, place.offset, sequence};
    }
    const std::uint64_t offset = std::exchange(place.offset, place.offset + bytes_of(*record));
    ++sequence;
    if (!with(offset, *record)) return {ScanEnd::stopped, place.offset, sequence};
    if (record->kind == RecordKind::seal) return {ScanEnd::sealed, place.offset, sequence};
  }
}

// A place in the log: everything before it has been written.
struct LogPosition {
  std::uint64_t segment = 0;
  std::uint64_t offset = 0;
  std::uint64_t sequence = 0;  // of the record there

  friend bool operator<(const LogPosition& a, const LogPosition& b) {
    return a.segment != b.segment ? a.segment < b.segment : a.offset < b.offset;
  }
};

// The values of the kinds of records that have two numbers.
using TwoNumbers = std::pair<std::uint64_t, std::uint64_t>;
std::string encode_two_numbers(const TwoNumbers& numbers);
std::optional<TwoNumbers> decode_two_numbers(std::string_view value) noexcept;

// The sync mark that names the file before segment `number`: that file counts up to there, and what
// it holds behind has been written anew before the mark. Empty if the record is none.
std::optional<TwoNumbers> mark_of_file_before(const Record& record, std::uint64_t number) noexcept;

// The value of a record of kind `segments`: runs of numbers, each as its first and its length, 64
// bits each, in rising order.
std::string encode_segment_list(std::span<const std::uint64_t> numbers);
// Empty if these are not the bytes of a list of less than 2^20 numbers.
std::optional<std::vector<std::uint64_t>> decode_segment_list(std::string_view value);

}  // namespace nestline

#endif  // NESTLINE_LIB_STORE_SEGMENT_FORMAT_H_
