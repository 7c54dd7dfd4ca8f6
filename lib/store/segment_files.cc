#include "lib/store/segment_files.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "lib/store/lookup.h"
#include "lib/store/segment_reader.h"
#include "nestline/store.h"

namespace nestline {

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
  std::vector<std::byte> all(file.size());
  all.resize(file.read(0, all));
  bool has_records = false;
  if (store_id) {
    search_records(all, {*store_id, number, kSegmentHeaderBytes},
                   [&](std::uint64_t offset, const Record&) {
                     has_records = has_records || offset != kSegmentHeaderBytes;
                     return !has_records;
                   });
  }
  // Header and list, which has at most a run for each file, were all that was written.
  const std::vector<std::string> names = disk.names();
  const std::size_t made = kSegmentHeaderBytes + record_bytes(0, 16 * names.size());
  has_records = has_records || !is_zero(std::span(all).subspan(std::min(made, all.size())));
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

bool was_synced(const Segment& segment, std::uint64_t offset, std::uint64_t rest) {
  std::vector<std::byte> tail(rest + kRecordUnit);
  tail.resize(segment.file->read(offset, tail));
  for (std::size_t i = 0; i < tail.size(); i += kRecordUnit) {
    const auto record = read_record(std::span(tail).subspan(i), segment.place(offset + i));
    if (!record || record->kind != RecordKind::sync_mark) continue;
    const auto mark = decode_two_numbers(record->value);
    if (mark && mark->first == segment.header.number && mark->second > offset) return true;
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

}  // namespace nestline
