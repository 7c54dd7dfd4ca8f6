#include "lib/store/log.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "lib/store/checkpoint.h"
#include "lib/store/test_switches.h"

namespace nestline { inline namespace v0_3 {
namespace {

// Records up to this length are written in one piece.
constexpr std::uint64_t kOnePiece = std::uint64_t{64} << 10;
constexpr std::size_t kPiece = std::size_t{1} << 20;
constexpr std::size_t kNextLines = 256;  // so much behind a record is fetched for the next
// A file may become longer than it should, for so many lists of files: else the log were all lists.
constexpr std::uint64_t kMinLists = 16;
// Of the disk: how large a file is at most.
constexpr std::uint64_t kPartOfDisk = 16;
constexpr std::uint64_t kLeastLimit = std::uint64_t{64} << 10;
constexpr std::uint64_t kBetweenErases = std::uint64_t{8} << 10;   // for erases and lists of files
constexpr std::uint64_t kMostUnchecked = std::uint64_t{64} << 20;  // others take of the disk too

std::uint64_t largest_file(const Disk::Room& room) {
  return std::max(kLeastLimit, room.total / kPartOfDisk);
}

void copy(std::byte*& to, std::string_view from) {
  if (!from.empty()) std::memcpy(to, from.data(), from.size());
  to += from.size();
}

}  // namespace

void Log::resume(std::shared_ptr<Segment> newest, const LogPosition& position, std::uint64_t synced,
                 std::uint64_t taken) {
  newest_ = std::move(newest);
  taken_ = taken;
  first_offset_ = 0;
  next_sequence_ = position.sequence;
  set_file_limit();
  syncs_.begin(newest_, position, synced);
}

void Log::set_file_limit() {
  const Disk::Room room = disk_.room();
  file_limit_ = std::min({limit_, largest_file(room), room.file});
}

// Puts leave room to erase and compact the largest file; erases what it takes to compact some file.
std::uint64_t Log::kept_by(AppendPriority what, const Disk::Room& room) const {
  const std::uint64_t most = largest_file(room);
  const SegmentTable::List segments = table_.list();
  std::uint64_t largest = 0;
  for (const auto& segment : segments) largest = std::max(largest, segment->end());
  if (what == AppendPriority::change) return 2 * std::min(largest, most);
  std::uint64_t kept = most;
  for (const auto& segment : segments) {
    // The newest has its room yet, and small ones would give none.
    const bool gives = segment != newest_ || segments.size() == 1;
    if (!gives || segment->end() < largest / 4) continue;
    kept = std::min(kept, segment->room_to_compact() + kBetweenErases);
  }
  return kept;
}

// With nothing free, a write may still find room, behind the end of a file or with its rights.
void Log::look_for_room(std::uint64_t bytes, AppendPriority what) {
  const Disk::Room room = disk_.room();
  const std::uint64_t kept = kept_by(what, room);
  const std::uint64_t rest = room.free - std::min(room.free, kept);
  if (room.free != 0 && rest < bytes) {
    throw_no_room(disk_.path_of(segment_name(newest_->header.number)), kept + bytes - room.free,
                  ENOSPC,
                  ", since " + std::to_string(kept) + " are kept for " +
                      (what == AppendPriority::erase ? "compacting" : "erasing and compacting"));
  }
  room_until_[static_cast<std::size_t>(what)] =
      appended_bytes_ + std::max(bytes, std::min(rest / 2, kMostUnchecked));
}

std::vector<std::uint64_t> Log::listed(std::span<const std::uint64_t> gone) const {
  std::vector<std::uint64_t> numbers;
  for (const std::shared_ptr<Segment>& segment : table_.list()) {
    const std::uint64_t number = segment->header.number;
    if (std::ranges::find(gone, number) == gone.end()) numbers.push_back(number);
  }
  return numbers;
}

std::shared_ptr<Segment> Log::make_file(const std::string& name, std::uint64_t number,
                                        std::uint64_t least, std::uint64_t bytes,
                                        AppendPriority what) {
  if (table_.free_slots() <= (what == AppendPriority::upkeep ? 0 : kSpareFiles)) {
    throw OutOfSlots();
  }
  const std::string list = encode_segment_list(listed({}));
  std::vector<std::byte> start = encode_frame(RecordKind::segments, next_sequence_, list,
                                              {store_id_, number, kSegmentHeaderBytes});
  const std::uint64_t begin = kSegmentHeaderBytes + start.size();
  const std::uint64_t limit =
      std::max(least, std::min(kMinLists * begin, table_.format().most_bytes()));
  const SegmentHeader header = {store_id_, number, limit, next_sequence_};
  start.insert(start.begin(), kSegmentHeaderBytes, std::byte{0});
  encode_segment_header(std::span(start).first<kSegmentHeaderBytes>(), header);

  auto segment = std::make_shared<Segment>(header, disk_.open(name, Disk::Mode::create),
                                           std::max(limit, begin + bytes + kEndBytes));
  segment->is_spare = table_.free_slots() <= kSpareFiles;
  segment->file->write(0, start);
  segment->set_end(begin);
  SegmentCounts::add(segment->counts.frame, begin - kSegmentHeaderBytes);
  return segment;
}

void Log::go_on_in(std::shared_ptr<Segment> segment) {
  newest_ = std::move(segment);
  first_offset_ = newest_->end();
  ++next_sequence_;
  appended_bytes_ += first_offset_;
}

void Log::create(std::uint64_t number, std::uint64_t bytes, AppendPriority what) {
  const std::string name = segment_name(number);
  set_file_limit();
  if (half_made_) disk_.remove_if_there(name);
  std::shared_ptr<Segment> segment;
  half_made_ = true;
  try {
    segment = make_file(name, number, file_limit_, bytes, what);
    syncs_.sync(*segment->file);
    syncs_.sync_folder(disk_);
    table_.add(segment);
  } catch (...) {
    segment.reset();
    half_made_ = !disk_.try_to_remove(name);  // then the next attempt looks for it
    throw;
  }
  half_made_ = false;
  go_on_in(std::move(segment));
  syncs_.begin(newest_, position(), next_sequence_);
  release_sealed();
}

// A batch that dies goes back to an earlier file and cuts it.
void Log::release_sealed() {
  if (!in_batch_) table_.release_before(newest_->header.number);
}

void Log::rewrite_tail(std::uint64_t proven, const std::function<void()>& copy) {
  const std::shared_ptr<Segment> old = newest_;
  const std::uint64_t number = old->header.number;
  const bool has_proof = proven != 0;  // else not even its first record: it is replaced
  const std::string name = segment_name(has_proof ? number + 1 : number);
  const std::uint64_t sequence = next_sequence_;
  const std::uint64_t end = old->end();
  const bool needs_seal = has_proof && !old->sealed.load();
  try {
    // What it was lengthened by is the first room for the new one.
    old->file->truncate(end);
    if (!has_proof) table_.forget(*old);
    next_sequence_ = has_proof ? sequence + (needs_seal ? 1 : 0) : old->header.first_sequence;
    const std::uint64_t bytes = end - proven;
    std::shared_ptr<Segment> next =
        make_file(std::string(kNewEndName), has_proof ? number + 1 : number,
                  std::max(file_limit_, old->header.limit), bytes, AppendPriority::upkeep);
    next->file->reserve(next->end() + bytes + kSyncMarkBytes + kSealBytes);
    if (needs_seal) {
      next_sequence_ = sequence;
      write_seal();
    }
    go_on_in(std::move(next));
  } catch (...) {
    next_sequence_ = sequence;
    disk_.try_to_remove(kNewEndName);  // or the next opening does it
    if (table_.get(number) == nullptr) table_.add(old, old->slot);
    throw;
  }
  try {
    table_.add(newest_);
    if (has_proof) {
      renewing_ = true;
      copy();
      renewing_ = false;
      write_frame(RecordKind::sync_mark, encode_two_numbers({number, proven}));
    }
    newest_->file->sync();
    disk_.rename(kNewEndName, name);
  } catch (...) {
    disk_.try_to_remove(kNewEndName);
    if (needs_seal) cut_back(*old, end);
    throw;
  }
  newest_->file->set_name(name);
  if (!store_faults::no_sync_of_renewal) syncs_.sync_folder(disk_);
  if (has_proof) rewrite_range(*old, proven, 0);
  syncs_.begin(newest_, position(), next_sequence_);
  note_synced();
  release_sealed();
}

// A loss of power in the middle may tear it, and old bytes too, if sectors are not written whole.
void Log::rewrite_in_place(std::uint64_t proven) {
  rewrite_range(*newest_, proven, 0);
  syncs_.begin(newest_, position(), next_sequence_);
  note_synced();
}

void Log::rewrite_range(Segment& segment, std::uint64_t from, std::uint64_t sequence) {
  const std::uint64_t number = segment.header.number;
  const std::unique_ptr<DiskFile> file = disk_.open(segment_name(number), Disk::Mode::write);
  std::vector<std::byte> piece;
  for (std::uint64_t at = from; at < segment.end(); at += piece.size()) {
    const std::span<const std::byte> bytes = segment.from(at);
    piece.assign(bytes.begin(),
                 bytes.begin() + static_cast<std::ptrdiff_t>(std::min(bytes.size(), kPiece)));
    file->write(at, piece);
  }
  if (sequence != 0) {
    const std::uint64_t end = segment.end();
    const auto seal = encode_frame(RecordKind::seal, sequence, {}, segment.place(end));
    file->truncate(end);
    file->write(end, seal);
    SegmentCounts::add(segment.counts.frame, seal.size());
    segment.set_end(end + seal.size());
  }
  file->truncate(segment.end());  // a disk may lengthen files ahead
  syncs_.sync(*file);
  if (segment.is_released()) segment.release();  // it may have become longer
}

// Nothing comes behind it, so nothing is lengthened ahead.
void Log::write_seal() {
  newest_->file->reserve(newest_->end() + kSealBytes);
  write_frame(RecordKind::seal);
  newest_->sealed.store(true);
}

std::uint64_t Log::seal() {
  if (newest_->sealed.load()) return newest_->header.number;
  if (newest_->end() == first_offset_) return newest_->header.number - 1;
  syncs_.require_sound();
  if (!in_batch_) {  // a mark that was there at opening stays
    newest_->file->reserve(newest_->end() + kSyncMarkBytes + kSealBytes);
    append_mark();
  }
  write_seal();
  try {
    newest_->file->truncate(newest_->end());
  } catch (const std::exception&) {  // zeros behind a seal do no harm
  }
  syncs_.sync(*newest_->file);
  syncs_.begin(newest_, position(), next_sequence_);
  return newest_->header.number;
}

void Log::make_room(std::uint64_t bytes, AppendPriority what) {
  require_room(bytes, what);
  if (newest_->is_spare && what != AppendPriority::upkeep) {
    if (table_.free_slots() < kSpareFiles) throw OutOfSlots();
    newest_->is_spare = false;
  }
  const std::uint64_t need = bytes + kEndBytes;
  if (!newest_->sealed.load(std::memory_order_relaxed)) {
    const std::uint64_t end = newest_->end();
    const std::uint64_t most =
        end == first_offset_ ? newest_->room() : std::min(newest_->header.limit, file_limit_);
    if (need <= most && end <= most - need) return;
    (void)seal();
    if (!newest_->sealed.load()) {
      // It has no records, and no room for one that is longer than a file should be.
      first_offset_ = 0;
      (void)seal();
    }
  }
  create(std::max(newest_->header.number, taken_) + 1, bytes, what);
}

void Log::append_mark() {
  const std::optional<TwoNumbers> mark = syncs_.take_mark();
  if (!mark) return;
  try {
    write_frame(RecordKind::sync_mark, encode_two_numbers(*mark));
  } catch (...) {
    syncs_.note_synced({mark->first, mark->second, 0});
    throw;
  }
  syncs_.appended(position());  // a wait for all that is there ends before the next record
}

bool Log::drop_checkpoint() { return disk_.remove_if_there(kCheckpointName); }

std::uint64_t Log::append(const Change& change, AppendPriority what) {
  if (renewing_) return write(change);
  syncs_.require_sound();
  if (what == AppendPriority::change && is_erase(change.kind)) what = AppendPriority::erase;
  try {
    make_room(change.bytes(), what);
    if (in_batch_) return write(change);
    append_mark();
    const std::uint64_t address = write(change);
    syncs_.appended(position());
    return address;
  } catch (const std::system_error& error) {
    if (what == AppendPriority::change || !is_no_room(error) || syncs_.is_broken()) throw;
    if (!drop_checkpoint()) throw;
  }
  return append(change, what);
}

void Log::append_segments(std::span<const std::uint64_t> gone) {
  const std::string list = encode_segment_list(listed(gone));
  (void)append({RecordKind::segments, 0, {}, list, value_digest(list, store_id_)},
               AppendPriority::upkeep);
}

std::uint64_t Log::write(const Change& change) {
  Segment& segment = *newest_;
  const std::uint64_t offset = segment.end();
  const std::uint64_t bytes = change.bytes();
  std::array<std::byte, kRecordHeaderBytes> header;
  encode_record_header(header, {change.kind, next_sequence_, change.hash, change.key, change.value},
                       change.digest, segment.place(offset));
  try {
    write_bytes(change, header);
  } catch (...) {
    cut_back(segment, offset);
    throw;
  }
  ++next_sequence_;
  appended_bytes_ += bytes;
  if (!has_key(change.kind)) SegmentCounts::add(segment.counts.frame, bytes);
  if (is_erase(change.kind)) SegmentCounts::add(segment.counts.tombstones, bytes);
  segment.set_end(offset + bytes);
  return table_.address(segment, offset);
}

void Log::write_frame(RecordKind kind, std::string_view value) {
  write({kind, 0, {}, value, value_digest(value, store_id_)});
}

void Log::write_bytes(const Change& change, std::span<const std::byte, kRecordHeaderBytes> header) {
  const std::uint64_t offset = newest_->end();
  const std::uint64_t bytes = change.bytes();
  DiskFile& file = *newest_->file;
  const bool whole = bytes <= kOnePiece;
  std::byte* const room = whole ? file.room_at(offset, bytes) : nullptr;
  constexpr std::size_t kScratch = kOnePiece + kRecordHeaderBytes + kMaxKeyBytes;
  if (room == nullptr && scratch_.size() < kScratch) scratch_.resize(kScratch);
  std::byte* const begin = room != nullptr ? room : scratch_.data();
  std::byte* to = begin;
  std::memcpy(to, header.data(), header.size());
  to += header.size();
  copy(to, change.key);
  if (whole) {
    copy(to, change.value);
    while (to != begin + bytes) *to++ = std::byte{0};
    if (room == nullptr) {
      file.write(offset, {begin, to});
    } else {  // where the next records will be is on its way to the cache meanwhile
      for (std::size_t i = kNextLines; i < 2 * kNextLines; i += 64) __builtin_prefetch(to + i, 1);
    }
    return;
  }
  // The header last, so that no reader takes the rest for a record before it is complete.
  const std::uint64_t value_at = offset + kRecordHeaderBytes + change.key.size();
  const std::uint64_t value_end = value_at + change.value.size();
  file.write(value_at, std::as_bytes(std::span(change.value)));
  constexpr std::array<std::byte, kRecordUnit> kZeros{};
  const std::uint64_t zeros = offset + bytes - value_end;
  if (zeros != 0) file.write(value_end, std::span(kZeros).first(zeros));
  file.write(offset, {begin, to});
}

void Log::cut_back(Segment& segment, std::uint64_t offset) noexcept {
  try {
    segment.file->truncate(offset);
    syncs_.sync(*segment.file);
  } catch (const std::exception& error) {
    syncs_.fail(error.what());
  }
}

void Log::close() noexcept {
  if (newest_ == nullptr || newest_->sealed.load() || syncs_.is_broken()) return;
  try {
    append_mark();  // need not be on disk: a reader knows by it that what lies before is
    newest_->file->truncate(newest_->end());
  } catch (const std::exception&) {  // zeros at the end do no harm
  }
}

}}  // namespace nestline
