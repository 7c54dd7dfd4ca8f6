#include "lib/store/segment_files.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "lib/store/lookup.h"
#include "lib/store/record_search.h"
#include "lib/store/segment_reader.h"
#include "nestline/store.h"

namespace nestline {
namespace {

// Whether there are only zeros from `offset` to the end of the file.
bool is_zero_from(const DiskFile& file, std::uint64_t offset) {
  std::vector<std::byte> window(std::size_t{1} << 20);
  for (;; offset += window.size()) {
    const std::size_t count = file.read(offset, window);
    if (!is_zero(std::span(window).first(count))) return false;
    if (count < window.size()) return true;
  }
}

}  // namespace

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

bool is_half_made(const Disk& disk, const DiskFile& file, std::uint64_t number,
                  std::optional<std::uint64_t> store_id) {
  const std::optional<SegmentHeader> header = read_segment_header(disk, file, number);
  if (header) {
    SegmentReader reader(file, {header->store_id, number, kSegmentHeaderBytes},
                         header->first_sequence);
    if (reader.next() && reader.record().kind == RecordKind::segments) return false;
    store_id = header->store_id;
  }
  // Header and list, which has at most a run for each file, were all that was written.
  const std::uint64_t made = kSegmentHeaderBytes + record_bytes(0, 16 * disk.names().size());
  bool has_records = !is_zero_from(file, made);
  if (store_id && !has_records) {
    RecordSearch search(file, {*store_id, number, kSegmentHeaderBytes});
    has_records = search.find(kSegmentHeaderBytes + kRecordUnit, 0).has_value();
  }
  if (has_records) {
    throw_damaged(disk, number, header ? kSegmentHeaderBytes : 0,
                  header ? "there is no valid record" : "the header is not valid");
  }
  return true;
}

std::shared_ptr<Segment> open_segment(Disk& disk, std::uint64_t number, bool writable) {
  auto file = disk.open(segment_name(number), writable ? Disk::Mode::write : Disk::Mode::read);
  const auto header = read_segment_header(disk, *file, number);
  if (!header) throw_damaged(disk, number, 0, "the header is not valid");
  // A file that is longer than its limit may still get a seal.
  const std::uint64_t room = std::max(header->limit, file->size() + kSealBytes);
  return std::make_shared<Segment>(*header, std::move(file), room);
}

std::uint64_t synced_up_to(const Segment& segment, std::uint64_t offset, std::uint64_t rest) {
  constexpr std::size_t kMarkBytes = record_bytes(0, 16);
  std::uint64_t proved = 0;
  search_file(*segment.file, offset, offset + rest, kMarkBytes,
              [&](std::uint64_t at, std::span<const std::byte> bytes) {
                const RecordHeader header = read_record_header(bytes.data());
                if (header.kind != static_cast<std::uint8_t>(RecordKind::sync_mark) ||
                    header.bytes() != kMarkBytes) {
                  return false;
                }
                const auto record = read_record(bytes, segment.place(at));
                const auto mark = record ? decode_two_numbers(record->value) : std::nullopt;
                if (!mark || mark->first != segment.header.number) return false;
                proved = mark->second;
                return proved > offset;
              });
  return proved > offset ? proved : 0;
}

std::optional<std::uint64_t> renewed_from(Disk& disk, std::uint64_t number) {
  const std::shared_ptr<Segment> next = open_segment(disk, number + 1, false);
  SegmentReader reader(*next->file, next->place(kSegmentHeaderBytes), next->header.first_sequence);
  while (reader.next()) {
    if (const auto mark = mark_of_file_before(reader.record(), number + 1)) return mark->second;
  }
  return std::nullopt;
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

}  // namespace nestline
