#include "lib/store/segment_reader.h"

#include <algorithm>
#include <optional>

#include "lib/store/record_search.h"
#include "lib/store/segment_format.h"

namespace nestline {
namespace {

constexpr std::size_t kReadPiece = std::size_t{1} << 18;
// Records up to this length are read whole: all but puts are shorter.
constexpr std::uint64_t kMostKept = std::uint64_t{32} << 20;

}  // namespace

std::span<const std::byte> SegmentReader::look(std::uint64_t bytes) {
  const std::uint64_t begin = place_.offset;
  if (begin < buffer_at_ || begin + bytes > buffer_at_ + buffered_) {
    const std::uint64_t size = file_.size();
    const std::uint64_t rest = size > begin ? size - begin : 0;
    buffer_.resize(std::max(bytes, std::min<std::uint64_t>(rest, kReadPiece)));
    buffer_at_ = begin;
    buffered_ = file_.read(begin, buffer_);
  }
  const std::size_t skip = begin - buffer_at_;
  return {buffer_.data() + skip, buffered_ - skip};
}

bool SegmentReader::next() {
  std::span<const std::byte> bytes = look(kRecordHeaderBytes);
  if (bytes.size() < kRecordHeaderBytes) return false;
  const RecordHeader header = read_record_header(bytes.data());
  if (header.sequence != sequence_ || header.key_bytes > kMostKeyBytes) return false;
  if (header.bytes() > bytes.size()) {
    const std::uint64_t size = file_.size();
    if (size < place_.offset || header.bytes() > size - place_.offset) return false;
    if (header.bytes() > kMostKept) return check_long(header);
    bytes = look(header.bytes());
  }
  const std::optional<Record> record = read_record(bytes, place_);
  if (!record) return false;
  take(*record);
  return true;
}

bool SegmentReader::check_long(const RecordHeader& header) {
  const std::span<const std::byte> bytes = look(kRecordHeaderBytes + header.key_bytes);
  const auto kind = static_cast<RecordKind>(header.kind);
  if (bytes.size() < kRecordHeaderBytes + header.key_bytes || !is_put(kind)) return false;
  const auto* const key = reinterpret_cast<const char*>(bytes.data()) + kRecordHeaderBytes;
  const Record record = {kind, header.sequence,   header.hash, {key, header.key_bytes},
                         {},   header.value_bytes};
  if (!has_hash(header, record.key, place_.store_id) || !has_value(file_, bytes, place_)) {
    return false;
  }
  take(record);
  return true;
}

void SegmentReader::take(const Record& record) {
  record_ = record;
  offset_ = place_.offset;
  place_.offset += bytes_of(record);
  ++sequence_;
}

bool SegmentReader::is_at_zeros() {
  buffered_ = 0;
  const std::span<const std::byte> bytes = look(kRecordHeaderBytes);
  return is_zero(bytes.first(std::min(bytes.size(), kRecordHeaderBytes)));
}

std::uint64_t SegmentReader::rest() {
  std::uint64_t end = place_.offset;
  for (std::uint64_t at = place_.offset;;) {
    const std::uint64_t size = file_.size();
    buffer_.resize(std::min<std::uint64_t>(size > at ? size - at : 0, kReadPiece));
    const std::size_t count = file_.read(at, buffer_);
    const auto bytes = std::span(buffer_).first(count);
    if (!is_zero(bytes)) {
      std::size_t last = count;
      while (bytes[last - 1] == std::byte{0}) --last;
      end = at + last;
    }
    at += count;
    if (count < kReadPiece) break;
  }
  buffered_ = 0;
  return end - place_.offset;
}

}  // namespace nestline
