// The files of the log, as bytes: a header, then records without gaps (docs/STORE.md, 6.1 and 6.2).
// The checksum covers the key through its hash. So the long part, hashing key and value, needs no
// place: writers do it before they have one, and a reader that knows the key need not hash it
// again. Reading treats its bytes as hostile: lengths are compared with what is left of the file
// before they are used, and nothing else is believed before the checksum.
#ifndef NESTLINE_LIB_STORE_LOG_FORMAT_H_
#define NESTLINE_LIB_STORE_LOG_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/engine/place/little_endian.h"

namespace nestline { inline namespace v0_3 {

inline constexpr std::size_t kRecordHeaderBytes = 32;
inline constexpr std::size_t kRecordUnit = 8;
inline constexpr std::uint64_t kMaxKeyBytes = 65'536;
inline constexpr std::uint64_t kMaxValueBytes = 0xffffffff;

enum class RecordKind : std::uint8_t {
  put = 1,
  erase = 2,
  batch_begin = 3,   // value: the number of changes, and of their bytes in the log, 64 bits each
  batch_end = 4,     // no value
  manifest_put = 5,  // as put and erase, in a space of keys of its own
  manifest_erase = 6,
  sync_mark = 7,  // value: segment and offset up to which the log is on disk, 64 bits each
  segments = 8,   // value: the older segments that still count (segment_format.h)
  seal = 9,       // no value; the last record of a segment
};

enum class Space : std::uint8_t { keys, manifests };  // keys and manifests do not see each other

constexpr bool is_put(RecordKind kind) {
  return kind == RecordKind::put || kind == RecordKind::manifest_put;
}
constexpr bool is_erase(RecordKind kind) {
  return kind == RecordKind::erase || kind == RecordKind::manifest_erase;
}
constexpr bool has_key(RecordKind kind) { return is_put(kind) || is_erase(kind); }
constexpr Space space_of(RecordKind kind) {
  return kind == RecordKind::manifest_put || kind == RecordKind::manifest_erase ? Space::manifests
                                                                                : Space::keys;
}
constexpr RecordKind put_in(Space space) {
  return space == Space::keys ? RecordKind::put : RecordKind::manifest_put;
}
constexpr RecordKind erase_in(Space space) {
  return space == Space::keys ? RecordKind::erase : RecordKind::manifest_erase;
}

std::uint64_t hash_in(Space space, std::string_view key, std::uint64_t store_id) noexcept;

struct RecordPlace {
  std::uint64_t store_id = 0;
  std::uint64_t segment = 0;
  std::uint64_t offset = 0;
};

struct Record {
  RecordKind kind = RecordKind::put;
  std::uint64_t sequence = 0;
  std::uint64_t hash = 0;
  std::string_view key;
  std::string_view value;
  std::uint64_t unread = 0;  // bytes of a value that was checked and not kept: `value` is empty
};

constexpr std::uint64_t round_up(std::uint64_t size, std::uint64_t unit) {
  return (size + unit - 1) / unit * unit;
}
constexpr std::uint64_t record_bytes(std::uint64_t key_bytes, std::uint64_t value_bytes) {
  return round_up(kRecordHeaderBytes + key_bytes + value_bytes, kRecordUnit);
}
constexpr std::uint64_t bytes_of(const Record& record) {
  return record_bytes(record.key.size(), record.value.size() + record.unread);
}
constexpr std::uint64_t kSyncMarkBytes = record_bytes(0, 16);
// The digest of a value that the checksum covers.
std::uint64_t value_digest(std::string_view value, std::uint64_t store_id) noexcept;
// Writes the header of a record that is going to lie at `place`; key and value follow it.
void encode_record_header(std::span<std::byte, kRecordHeaderBytes> to, const Record& record,
                          std::uint64_t value_digest, const RecordPlace& place) noexcept;

// The bytes of a record without a key that is going to lie at `place`.
std::vector<std::byte> encode_frame(RecordKind kind, std::uint64_t sequence, std::string_view value,
                                    const RecordPlace& place);

// The header as it stands there, believed or not.
struct RecordHeader {
  std::uint64_t checksum = 0;
  std::uint8_t kind = 0;
  std::uint32_t key_bytes = 0;
  std::uint32_t value_bytes = 0;
  std::uint64_t sequence = 0;
  std::uint64_t hash = 0;
  [[nodiscard]] std::uint64_t bytes() const { return record_bytes(key_bytes, value_bytes); }
};

template <typename Number>
Number load_number(const std::byte* from) noexcept {
  Number number;
  get_all({from, sizeof number}, std::span(&number, 1));
  return number;
}

inline RecordHeader read_record_header(const std::byte* from) noexcept {
  const auto kind_and_key = load_number<std::uint32_t>(from + 8);
  return {load_number<std::uint64_t>(from),
          static_cast<std::uint8_t>(kind_and_key & 0xff),
          kind_and_key >> 8,
          load_number<std::uint32_t>(from + 12),
          load_number<std::uint64_t>(from + 16),
          load_number<std::uint64_t>(from + 24)};
}

// The record whose bytes begin `rest`, which goes to the end of its file: its lengths are inside,
// its checksum is not compared. Empty if there cannot be a record.
inline std::optional<Record> frame_record(std::span<const std::byte> rest) noexcept {
  if (rest.size() < kRecordHeaderBytes) return std::nullopt;
  const RecordHeader header = read_record_header(rest.data());
  const bool is_kind = header.kind >= static_cast<std::uint8_t>(RecordKind::put) &&
                       header.kind <= static_cast<std::uint8_t>(RecordKind::seal);
  if (!is_kind || header.key_bytes > kMaxKeyBytes || header.bytes() > rest.size()) {
    return std::nullopt;
  }
  const auto* const key = reinterpret_cast<const char*>(rest.data()) + kRecordHeaderBytes;
  return Record{static_cast<RecordKind>(header.kind),
                header.sequence,
                header.hash,
                {key, header.key_bytes},
                {key + header.key_bytes, header.value_bytes},
                0};
}

// Whether it has the checksum of a record at `place`. `from`: its header. Compare the key too.
bool has_checksum(const std::byte* from, std::uint64_t value_digest,
                  const RecordPlace& place) noexcept;
inline bool has_checksum(const std::byte* from, const Record& record,
                         const RecordPlace& place) noexcept {
  return has_checksum(from, value_digest(record.value, place.store_id), place);
}

// Whether the hash in the header is that of the key; 0, and no key, in a record without one.
bool has_hash(const RecordHeader& header, std::string_view key, std::uint64_t store_id) noexcept;
// As frame_record, but only if everything about it is right: checksum, hash, and the zeros behind.
std::optional<Record> read_record(std::span<const std::byte> rest,
                                  const RecordPlace& place) noexcept;
inline constexpr std::size_t kSegmentHeaderBytes = 64;
inline constexpr std::uint32_t kStoreFormatVersion = 1;
inline constexpr std::uint64_t kMaxSegmentBytes = std::uint64_t{64} << 30;
inline constexpr std::size_t kSealBytes = kRecordHeaderBytes;
// What a file keeps free for its end: a mark before its last record, one behind it, and a seal.
inline constexpr std::uint64_t kEndBytes = 2 * kSyncMarkBytes + kSealBytes;

struct SegmentHeader {
  std::uint64_t store_id = 0;
  std::uint64_t number = 0;
  std::uint64_t limit = 0;
  std::uint64_t first_sequence = 0;
};

void encode_segment_header(std::span<std::byte, kSegmentHeaderBytes> to,
                           const SegmentHeader& header) noexcept;
// Empty if these do not begin segment `number`. `version` is set to one that is not known here.
std::optional<SegmentHeader> decode_segment_header(std::span<const std::byte> segment,
                                                   std::uint64_t number, std::uint32_t& version);
// What is being written has this behind its name until it is whole and on disk.
inline constexpr std::string_view kNewEnding = ".new";
inline constexpr std::string_view kNewEndName = "end.new";  // the end of a log, written anew
// Of a folder that is a copy of a store, and has not been written since; while it is being made.
inline constexpr std::string_view kCopyName = "copy.nest";
inline constexpr std::string_view kCopyNewName = "copy.nest.new";
// What repair has put away: this, or this and a number, is behind its name.
inline constexpr std::string_view kDamagedEnding = ".damaged";
// "00000001.log", and back; more digits when they are needed.
std::string segment_name(std::uint64_t number);
std::optional<std::uint64_t> segment_number(std::string_view name) noexcept;
std::vector<std::uint64_t> segment_numbers(std::span<const std::string> names);  // of all; sorted

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
// The value of a record of kind `segments`: runs of numbers, each its first and length, rising.
std::string encode_segment_list(std::span<const std::uint64_t> numbers);
// Empty if these are not the bytes of a list of less than 2^20 numbers.
std::optional<std::vector<std::uint64_t>> decode_segment_list(std::string_view value);

}}  // namespace nestline

#endif  // NESTLINE_LIB_STORE_LOG_FORMAT_H_
