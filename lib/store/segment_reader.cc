#include "lib/store/segment_reader.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/store/digest.h"

namespace nestline { inline namespace v0_3 {
namespace {

constexpr std::size_t kReadPiece = std::size_t{1} << 18;
constexpr std::size_t kWindow = std::size_t{1} << 20;
constexpr std::uint64_t kMaxKept = std::uint64_t{32} << 20;  // longer values are checked in pieces
constexpr std::uint64_t kMaxListBytes = std::uint64_t{16} << 20;  // of a list of segments, at most
constexpr std::uint64_t kShort = 4096;  // values up to this are compared whatever was in vain

std::string_view key_in(std::span<const std::byte> bytes, const RecordHeader& header) {
  return {reinterpret_cast<const char*>(bytes.data()) + kRecordHeaderBytes, header.key_bytes};
}

// Calls with(offset, bytes) for each multiple of 8 from `begin` to `end`, until it returns true;
// whether it did. `bytes`: the file's from there on, at least `ahead` unless it ends before.
bool search_file(const DiskFile& file, std::uint64_t begin, std::uint64_t end, std::size_t ahead,
                 auto&& with) {
  std::vector<std::byte> window(std::min<std::uint64_t>(kWindow, end - std::min(begin, end)) +
                                ahead);
  while (begin < end) {
    const auto read = std::span(window).first(file.read(begin, window));
    const bool is_last = read.size() < window.size();
    std::size_t at = 0;
    for (; begin + at < end && at + (is_last ? kRecordHeaderBytes : ahead) <= read.size();
         at += kRecordUnit) {
      if (with(begin + at, read.subspan(at))) return true;
    }
    if (is_last) break;
    begin += at;
  }
  return false;
}

// Whether a store writes records with such a header.
bool is_likely(const RecordHeader& header) {
  switch (static_cast<RecordKind>(header.kind)) {
    case RecordKind::put:
    case RecordKind::manifest_put:
      return header.key_bytes <= kMaxKeyBytes;
    case RecordKind::erase:
    case RecordKind::manifest_erase:
      return header.key_bytes <= kMaxKeyBytes && header.value_bytes == 0;
    case RecordKind::batch_begin:
    case RecordKind::sync_mark:
      return header.key_bytes == 0 && header.value_bytes == 16;
    case RecordKind::batch_end:
    case RecordKind::seal:
      return header.key_bytes == 0 && header.value_bytes == 0;
    case RecordKind::segments:
      return header.key_bytes == 0 && header.value_bytes <= kMaxListBytes;
  }
  return false;
}

// Whether `bytes` may begin a list of segments: what looks like a list cannot have headers inside.
bool is_list(std::span<const std::byte> bytes) {
  std::uint64_t next = 0;
  for (; bytes.size() >= 16; bytes = bytes.subspan(16)) {
    const auto first = load_number<std::uint64_t>(bytes.data());
    const auto count = load_number<std::uint64_t>(bytes.data() + 8);
    if (first < next || count == 0 || count > kMaxListBytes) return false;
    next = first + count;
  }
  return true;
}

bool is_zero_from(const DiskFile& file, std::uint64_t offset) {
  std::vector<std::byte> window(kWindow);
  for (;; offset += window.size()) {
    const std::size_t count = file.read(offset, window);
    if (!is_zero(std::span(window).first(count))) return false;
    if (count < window.size()) return true;
  }
}

// The beginning of a key, so that a message can show it.
std::string shown(std::string_view key) {
  constexpr std::size_t kMax = 64;
  std::string text(key.substr(0, kMax));
  const auto is_hidden = [](char each) { return each < ' ' || each > '~'; };
  std::ranges::replace_if(text, is_hidden, '?');
  return "'" + text + (key.size() > kMax ? "...'" : "'");
}

}  // namespace

void throw_damaged(const Disk& disk, std::uint64_t segment, std::uint64_t offset,
                   const std::string& what) {
  throw StoreError(disk.path_of(segment_name(segment)).string() + ": damaged at byte " +
                   std::to_string(offset) + ": " + what +
                   "; repair_store() or 'nestline store repair' keeps what is whole");
}

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
  if (header.sequence != sequence_ || header.key_bytes > kMaxKeyBytes) return false;
  if (header.bytes() > bytes.size()) {
    const std::uint64_t size = file_.size();
    if (size < place_.offset || header.bytes() > size - place_.offset) return false;
    const bool is_kept = header.bytes() <= kMaxKept;
    bytes = look(is_kept ? header.bytes() : kRecordHeaderBytes + header.key_bytes);
  }
  const std::optional<Record> record = read(bytes, place_);
  if (!record) return false;
  record_ = *record;
  offset_ = place_.offset;
  place_.offset += bytes_of(*record);
  ++sequence_;
  return true;
}

std::optional<Record> SegmentReader::read(std::span<const std::byte> bytes,
                                          const RecordPlace& place) const {
  if (bytes.size() < kRecordHeaderBytes) return std::nullopt;
  const RecordHeader header = read_record_header(bytes.data());
  if (header.bytes() <= bytes.size()) return read_record(bytes, place);
  if (kRecordHeaderBytes + header.key_bytes > bytes.size() || !is_likely(header)) {
    return std::nullopt;
  }
  const std::string_view key = key_in(bytes, header);
  if (!has_hash(header, key, place.store_id) || !has_value(bytes, place)) return std::nullopt;
  const auto kind = static_cast<RecordKind>(header.kind);
  return Record{kind, header.sequence, header.hash, key, {}, header.value_bytes};
}

// Whether value and padding of the record are right. Reads them from the file in pieces.
bool SegmentReader::has_value(std::span<const std::byte> header, const RecordPlace& place) const {
  const RecordHeader head = read_record_header(header.data());
  std::vector<std::byte> piece(std::min<std::uint64_t>(kReadPiece, head.bytes()));
  std::uint64_t at = place.offset + kRecordHeaderBytes + head.key_bytes;
  const std::uint64_t end = at + head.value_bytes;
  const std::uint64_t digest = digest_of_pieces(place.store_id, [&] {
    const auto part = std::span(piece).first(std::min<std::uint64_t>(end - at, piece.size()));
    const std::size_t count = part.empty() ? 0 : file_.read(at, part);
    at = count < part.size() ? end : at + count;  // what is missing changes the digest
    return part.first(count);
  });
  const auto padding = std::span(piece).first(place.offset + head.bytes() - end);
  return file_.read(end, padding) == padding.size() && is_zero(padding) &&
         has_checksum(header.data(), digest, place);
}

bool SegmentReader::is_record(std::uint64_t offset, std::span<const std::byte> bytes,
                              const RecordHeader& header, std::uint64_t size) {
  if (!is_likely(header) || header.bytes() > size - offset) return false;
  const std::uint64_t begin = kRecordHeaderBytes + header.key_bytes;
  if (begin > bytes.size() || !has_hash(header, key_in(bytes, header), place_.store_id)) {
    return false;
  }
  const auto value =
      bytes.subspan(begin, std::min<std::size_t>(header.value_bytes, bytes.size() - begin));
  if (static_cast<RecordKind>(header.kind) == RecordKind::segments && !is_list(value)) return false;
  if (header.value_bytes > kShort && in_vain_ / kInVain > size) return false;
  const bool is_right = read(bytes, {place_.store_id, place_.segment, offset}).has_value();
  if (!is_right) in_vain_ += header.value_bytes;
  return is_right;
}

bool SegmentReader::find(std::uint64_t offset, std::uint64_t least) {
  buffered_ = 0;
  const std::uint64_t size = file_.size();
  return search_file(file_, offset, size, kRecordHeaderBytes + kMaxKeyBytes,
                     [&](std::uint64_t at, std::span<const std::byte> bytes) {
                       const RecordHeader header = read_record_header(bytes.data());
                       if (header.sequence < least || !is_record(at, bytes, header, size)) {
                         return false;
                       }
                       place_.offset = at;
                       sequence_ = header.sequence;
                       return true;
                     });
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

std::uint64_t SegmentReader::synced_up_to(std::uint64_t rest) const {
  const std::uint64_t begin = place_.offset;
  std::uint64_t proved = 0;
  search_file(file_, begin, begin + rest, kSyncMarkBytes,
              [&](std::uint64_t at, std::span<const std::byte> bytes) {
                const RecordHeader header = read_record_header(bytes.data());
                if (header.kind != static_cast<std::uint8_t>(RecordKind::sync_mark) ||
                    header.bytes() != kSyncMarkBytes) {
                  return false;
                }
                const auto record = read_record(bytes, {place_.store_id, place_.segment, at});
                const auto mark = record ? decode_two_numbers(record->value) : std::nullopt;
                if (!mark) return false;
                const bool is_renewed = mark_of_file_before(*record, place_.segment).has_value();
                if (!is_renewed && mark->first != place_.segment) return false;
                proved = is_renewed ? at : mark->second;
                return proved > begin;
              });
  return proved > begin ? proved : 0;
}

SegmentReader::Behind SegmentReader::behind() const {
  SegmentReader reader(file_, place_, sequence_);
  Behind found;
  while (reader.find(reader.end(), reader.sequence())) {
    while (reader.next()) {
      const RecordKind kind = reader.record().kind;
      if (!has_key(kind) && kind != RecordKind::batch_end) continue;
      found.changes += has_key(kind) ? 1 : 0;
      found.last = reader.offset();
    }
  }
  // A writer may have completed the record there in the meantime.
  return SegmentReader(file_, place_, sequence_).next() ? Behind{} : found;
}

std::optional<SegmentHeader> read_segment_header(const Disk& disk, const DiskFile& file,
                                                 std::uint64_t number) {
  std::array<std::byte, kSegmentHeaderBytes> bytes;
  const std::size_t count = file.read(0, bytes);
  std::uint32_t version = 0;
  auto header = decode_segment_header(std::span(bytes).first(count), number, version);
  if (version != kStoreFormatVersion) {
    throw StoreError(disk.path_of(segment_name(number)).string() + ": has format version " +
                     std::to_string(version) + ", which a newer nestline may read");
  }
  return header;
}

std::shared_ptr<Segment> open_segment(Disk& disk, std::uint64_t number, bool writable) {
  auto file = disk.open(segment_name(number), writable ? Disk::Mode::write : Disk::Mode::read);
  const auto header = read_segment_header(disk, *file, number);
  if (!header) throw_damaged(disk, number, 0, "the header is not valid");
  // A file that is longer than its limit may still get its end.
  const std::uint64_t room = std::max(header->limit, file->size() + kEndBytes);
  return std::make_shared<Segment>(*header, std::move(file), room);
}

std::shared_ptr<Segment> reopen_for_writing(Disk& disk, SegmentTable& table, const Segment& other,
                                            std::uint64_t end) {
  std::shared_ptr<Segment> segment = open_segment(disk, other.header.number, true);
  segment->file->truncate(end);
  segment->set_end(end);
  segment->counts.live.store(other.counts.live.load());
  segment->counts.tombstones.store(other.counts.tombstones.load());
  segment->counts.frame.store(other.counts.frame.load());
  const std::uint32_t slot = other.slot;
  table.forget(other);
  table.add(segment, slot);
  return segment;
}

bool is_zero_behind_list(const Disk& disk, const DiskFile& file) {
  // The list has at most a run for each file.
  return is_zero_from(file, kSegmentHeaderBytes + record_bytes(0, 16 * disk.names().size()));
}

bool is_half_made(const Disk& disk, const DiskFile& file, std::uint64_t number,
                  const std::optional<SegmentHeader>& before) {
  const std::optional<SegmentHeader> header = read_segment_header(disk, file, number);
  const std::optional<SegmentHeader>& known = header ? header : before;
  SegmentReader reader(file, {known ? known->store_id : 0, number, kSegmentHeaderBytes},
                       header ? header->first_sequence : 0);
  if (header && reader.next() && reader.record().kind == RecordKind::segments) return false;
  if (is_zero_behind_list(disk, file) &&
      !(known && reader.find(kSegmentHeaderBytes + kRecordUnit, 0))) {
    return true;
  }
  throw_damaged(disk, number, header ? kSegmentHeaderBytes : 0,
                header ? "there is no valid record" : "the header is not valid");
}

bool is_renewed(Disk& disk, const LogPosition& from) {
  const std::uint64_t number = from.segment + 1;
  const std::shared_ptr<Segment> next = open_segment(disk, number, false);
  for (SegmentReader reader(*next); reader.next();) {
    const auto mark = mark_of_file_before(reader.record(), number);
    if (mark) return mark->second <= from.offset;
  }
  return false;
}

bool LastList::take(const Record& record) {
  if (record.kind == RecordKind::batch_begin && !before_batch_) before_batch_.emplace(last_);
  if (record.kind == RecordKind::batch_end) before_batch_.reset();
  if (record.kind != RecordKind::segments) return true;
  auto numbers = decode_segment_list(record.value);
  if (!numbers) return false;
  last_ = std::move(numbers);
  return true;
}

bool SegmentWalk::next() {
  offset_ = following_;
  if (offset_ >= end_) return false;
  record_ = read_record(segment_.from(offset_), segment_.place(offset_));
  is_damaged_ = !record_;
  if (is_damaged_) {
    pass_damage();
  } else {
    sequence_ = record_->sequence;
    following_ = offset_ + bytes_of(*record_);
  }
  return true;
}

// The lengths may be what is damaged, and then point behind healthy records: hence the number.
void SegmentWalk::pass_damage() {
  const auto framed = frame_record(segment_.from(offset_));
  const std::uint64_t framed_end = framed ? offset_ + bytes_of(*framed) : end_ + 1;
  const auto next = framed_end < end_
                        ? read_record(segment_.from(framed_end), segment_.place(framed_end))
                        : std::nullopt;
  if (next && next->sequence == sequence_ + 2) {
    following_ = framed_end;
  } else {
    SegmentReader reader(segment_);
    const bool found = reader.find(offset_ + kRecordUnit, sequence_ + 1);
    following_ = found ? std::min(reader.end(), end_) : end_;
  }
  if (following_ == framed_end) {
    const RecordHeader header = read_record_header(segment_.at(offset_));
    if (has_hash(header, framed->key, segment_.header.store_id)) record_ = framed;
  }
  ++sequence_;
}

void Hurt::note(const Segment& segment, const SegmentWalk& walk) {
  if (count_++ != 0) return;
  segment_ = segment.header.number;
  offset_ = walk.offset();
  if (walk.record()) key_ = shown(walk.record()->key);
}

void Hurt::report(const Disk& disk, const std::string& done) const {
  if (count_ == 0) return;
  throw_damaged(disk, segment_, offset_,
                (key_.empty() ? "there is no valid record" : "the record of the key " + key_) +
                    (count_ > 1 ? ", and " + std::to_string(count_ - 1) + " more" : "") + "; " +
                    done);
}

}}  // namespace nestline
