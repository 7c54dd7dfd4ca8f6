#include "lib/store/survey.h"

#include <algorithm>
#include <array>
#include <map>
#include <system_error>
#include <utility>

#include "lib/place/little_endian.h"
#include "lib/store/record_search.h"
#include "lib/store/segment_files.h"

namespace nestline {
namespace {

constexpr std::size_t kWindow = std::size_t{1} << 20;
constexpr std::size_t kIdAt = 16;                               // of a segment's header
constexpr std::uint64_t kLeastLimit = std::uint64_t{64} << 10;  // where a header says none
// What Log::create() writes before anything counts: this, and for each run of the list some more.
constexpr std::uint64_t kMadeBytes = kSegmentHeaderBytes + kRecordHeaderBytes;
constexpr std::uint64_t kRunBytes = 16;

constexpr std::uint64_t kLikelyBytes = 128;  // of a record: a hint for the index

}  // namespace

Survey::Survey(Disk& disk) : disk_(disk), lookup_(disk, true) {
  read_checkpoint_file();
  open_files();
  choose_files();
  if (files_.empty()) {
    if (checkpoint_) problem_of_checkpoint("the log that it belongs to is missing");
    return;
  }
  begin_content();
  for (const File& file : files_) scan(file, file.number == files_.back().number);
  end_log();
}

void Survey::for_each_record(const Segment& segment, const WithRecord& with,
                             const EndsAt& ends_at) {
  RecordPlace place = segment.place(kSegmentHeaderBytes);
  RecordSearch search(*segment.file, place);
  std::uint64_t least = 0;
  while (const auto found = search.find(place.offset, least)) {
    place.offset = found->offset;
    SegmentReader reader(*segment.file, place, found->sequence);
    while (reader.next()) {
      with(reader.offset(), reader.record());
      if (reader.record().kind == RecordKind::seal) return;
    }
    place.offset = reader.end();
    least = reader.sequence();
    if (ends_at && ends_at(reader)) return;
  }
}

void Survey::problem(std::uint64_t number, std::uint64_t offset, const std::string& what) {
  report.problems.push_back(disk_.path_of(segment_name(number)).string() + ": at offset " +
                            std::to_string(offset) + ": " + what);
}

void Survey::open_files() {
  const std::vector<std::string> names = disk_.names();
  const std::vector<std::uint64_t> numbers = segment_numbers(names);
  std::map<std::uint64_t, unsigned> votes;
  if (checkpoint_) {
    ids_.push_back(checkpoint_->head.store_id);
    ++votes[ids_.back()];
  }
  for (auto number = numbers.rbegin(); number != numbers.rend(); ++number) {
    const auto file = disk_.open(segment_name(*number), Disk::Mode::read);
    std::array<std::byte, kSegmentHeaderBytes> bytes;
    const auto read = std::span(bytes).first(file->read(0, bytes));
    std::uint32_t version = 0;
    const std::optional<SegmentHeader> header = decode_segment_header(read, *number, version);
    if (header) {
      ids_.push_back(header->store_id);
      ++votes[ids_.back()];
    } else if (read.size() == bytes.size()) {
      ids_.push_back(get<std::uint64_t>(read, kIdAt));
    }
  }
  std::stable_sort(ids_.begin(), ids_.end(),
                   [&](std::uint64_t a, std::uint64_t b) { return votes[a] > votes[b]; });
  ids_.erase(std::unique(ids_.begin(), ids_.end()), ids_.end());
  for (const std::uint64_t number : numbers) {
    files_.push_back(open_file(number));
    const std::shared_ptr<Segment>& segment = files_.back().segment;
    // A writer may cut the newest, or its end.
    if (segment != nullptr && number != numbers.back())
      segment->file->release(segment->file->size());
  }
  if (!files_.empty() && is_half_made(files_.back())) {
    report.cut_bytes += disk_.open(segment_name(files_.back().number), Disk::Mode::read)->size();
    leftover.insert(files_.back().number);
    files_.pop_back();
  } else if (!files_.empty() && files_.back().has_header) {
    File& last = files_.back();
    const RecordPlace first = last.segment->place(kSegmentHeaderBytes);
    if (!RecordSearch(*last.segment->file, first).find(first.offset, 0)) last.segment.reset();
  }
}

Survey::File Survey::open_file(std::uint64_t number) {
  auto file = disk_.open(segment_name(number), Disk::Mode::read);
  std::array<std::byte, kSegmentHeaderBytes> bytes;
  const auto read = std::span(bytes).first(file->read(0, bytes));
  std::uint32_t version = 0;
  if (decode_segment_header(read, number, version)) {
    return {number, open_segment(disk_, number, false), true};
  }
  if (version != kStoreFormatVersion) {
    throw StoreError(disk_.path_of(segment_name(number)).string() + ": has format version " +
                     std::to_string(version) + ", which a newer nestline may read");
  }
  const std::uint64_t size = file->size();
  for (const std::uint64_t id : ids_) {
    RecordSearch search(*file, {id, number, kSegmentHeaderBytes});
    const auto found = search.find(kSegmentHeaderBytes, 0);
    if (!found) continue;
    const SegmentHeader header = {id, number, std::max(size, kLeastLimit), found->sequence};
    const std::uint64_t room = header.limit;
    return {number, std::make_shared<Segment>(header, std::move(file), room), false};
  }
  return {number, nullptr, false};
}

// Whether a crash may have left it so while it was being made.
bool Survey::is_half_made(const File& file) {
  if (file.segment != nullptr) {
    const RecordPlace first = file.segment->place(kSegmentHeaderBytes);
    RecordSearch search(*file.segment->file, first);
    if (!file.has_header || search.find(first.offset, 0)) return false;
  }
  const auto open = disk_.open(segment_name(file.number), Disk::Mode::read);
  std::vector<std::byte> window(kWindow);
  const std::uint64_t made = kMadeBytes + kRunBytes * disk_.names().size();
  for (std::uint64_t at = made;; at += window.size()) {
    const std::size_t count = open->read(at, window);
    if (!is_zero(std::span(window).first(count))) return false;
    if (count < window.size()) return true;
  }
}

// Keeps the files that count: those of the last list, and those that are newer than it. What
// recovery cuts off the newest file does not count: a list behind a torn end, or in a batch without
// an end.
void Survey::choose_files() {
  LastList::Numbers list;
  std::uint64_t written_in = 0;
  for (auto file = files_.rbegin(); file != files_.rend() && !list; ++file) {
    if (file->segment == nullptr) continue;
    written_in = file->number;
    const Segment& segment = *file->segment;
    const bool is_newest = file == files_.rbegin();
    LastList lists;
    std::uint64_t last = 0;  // as in scan()
    for_each_record(
        segment, [&](std::uint64_t, const Record& record) { (void)lists.take(record); },
        [&](SegmentReader& reader) {
          if (!is_newest) return false;
          if (last <= reader.end()) last = reader.end() + reader.rest();
          return !was_synced(segment, reader.end(), last - reader.end());
        });
    list = lists.get();
  }
  if (list) {
    const auto counts = [&](std::uint64_t number) {
      return number >= written_in || std::binary_search(list->begin(), list->end(), number);
    };
    for (const std::uint64_t number : *list) missing.insert(number);
    for (const File& file : files_) {
      missing.erase(file.number);
      if (!counts(file.number)) leftover.insert(file.number);
    }
    std::erase_if(files_, [&](const File& file) { return !counts(file.number); });
    for (const std::uint64_t number : missing) problem(number, 0, "the file is missing");
  }
  for (const File& file : files_) {
    if (!file.has_header) damage(file.number, 0, "the header is not valid");
    if (file.segment == nullptr) damage(file.number, 0, "there is no valid record in this file");
  }
}

void Survey::begin_content() {
  const auto first = std::find_if(files_.begin(), files_.end(),
                                  [](const File& file) { return file.segment != nullptr; });
  if (first == files_.end()) return;
  std::uint64_t limit = kLeastLimit;
  std::uint64_t bytes = 0;
  for (const File& file : files_) {
    if (file.segment == nullptr) continue;
    limit = std::max({limit, file.segment->header.limit, file.segment->room()});
    bytes += file.segment->file->size();
  }
  content = std::make_unique<Content>(ids_.front(), AddressFormat::for_limit(limit),
                                      std::make_unique<Index>(bytes / kLikelyBytes + 1));
  if (checkpoint_ && checkpoint_->head.store_id != content->store_id) {
    problem_of_checkpoint("it belongs to another store; the store opens without it");
  }
  replay_.emplace(*content, *content->index.load(), lookup_, Replay::Counts::yes);
}

void Survey::scan(const File& file, bool is_newest) {
  const std::shared_ptr<Segment>& segment = file.segment;
  if (segment == nullptr) return;
  const std::uint64_t number = file.number;
  std::uint64_t sequence = segment->header.first_sequence;
  if (segment->header.store_id != content->store_id) {
    return damage(number, 0, "the file belongs to another store");
  }
  const bool follows = position.segment + 1 == number && !damaged.contains(position.segment);
  if (position.segment != 0 && file.has_header && sequence < position.sequence) {
    damage(number, 0, "the file does not continue the one before it");
  }
  if (position.segment + 1 != number || (follows && sequence != position.sequence)) {
    replay_->pass_gap();
    batch_.clear();
  }
  content->table.add(segment);
  newest = segment;
  std::uint64_t offset = kSegmentHeaderBytes;
  RecordSearch search(*segment->file, segment->place(offset));
  std::uint64_t last = 0;  // of the file, without the zeros at its end
  for (;;) {
    position = {number, offset, sequence};
    SegmentReader reader(*segment->file, segment->place(offset), sequence);
    bool is_sealed = false;
    while (!is_sealed && reader.next() && reader.end() <= segment->room()) {
      compare_checkpoint();
      segment->set_end(reader.end());
      take(segment, reader.offset(), reader.record());
      is_sealed = reader.record().kind == RecordKind::seal;
      position = {number, reader.end(), reader.sequence()};
    }
    compare_checkpoint();
    segment->sealed.store(is_sealed);
    if (is_sealed || reader.end() > segment->room()) break;
    if (last <= reader.end()) last = reader.end() + reader.rest();
    const std::uint64_t rest = last - reader.end();
    // The first record is on disk before the next.
    if (is_newest && position.offset != kSegmentHeaderBytes &&
        !was_synced(*segment, position.offset, rest)) {
      report.cut_bytes += rest;
      break;
    }
    if (!is_newest && continues_anew(position)) break;
    const auto found = search.find(position.offset, position.sequence);
    // Not if the writer of the file has completed the record in the meantime.
    if (!found || found->offset != position.offset || found->sequence != position.sequence) {
      note_gap(position, found ? found->offset - position.offset : rest, !found);
    }
    if (!found) break;
    offset = found->offset;
    sequence = found->sequence;
  }
  report.bytes += segment->end();
}

// Whether the next file holds anew what is torn from here on.
bool Survey::continues_anew(const LogPosition& at) const {
  const auto next = std::find_if(files_.begin(), files_.end(),
                                 [&](const File& file) { return file.number == at.segment + 1; });
  if (next == files_.end() || !next->has_header || next->segment == nullptr) return false;
  const std::optional<std::uint64_t> from = renewed_from(disk_, at.segment);
  return from && *from <= at.offset;
}

void Survey::note_gap(const LogPosition& at, std::uint64_t bytes, bool is_end) {
  // Its end may be what is lost. What comes behind proves that it had been written.
  if (!batch_.empty()) keep_parts_of_batch();
  report.lost_bytes += bytes;
  damage(at.segment, at.offset,
         is_end       ? "there is no valid record from here to the end of the file"
         : bytes == 0 ? "the records before this one are missing"
                      : std::to_string(bytes) + " bytes from here on are not valid");
}

void Survey::take(const std::shared_ptr<Segment>& segment, std::uint64_t offset,
                  const Record& record) {
  const std::uint64_t number = segment->header.number;
  if (record.kind == RecordKind::batch_begin && !batch_.empty()) keep_parts_of_batch();
  const bool is_right = replay_->take(segment, offset, record);
  if (replay_->open_batch()) {
    if (is_right) {
      batch_.push_back({segment, offset});
    } else if (record.kind == RecordKind::batch_end) {
      keep_parts_of_batch();
    }
  } else {
    batch_.clear();
  }
  if (!is_right) damage(number, offset, "the record does not belong here");
}

void Survey::keep_parts_of_batch() {
  const Piece first = batch_.front();
  damage(first.segment->header.number, first.offset,
         "a batch that begins here is not whole; its changes are kept one by one");
  replay_->drop_batch();
  for (const Piece& piece : std::exchange(batch_, {})) {
    const auto record = frame_record(piece.segment->from(piece.offset));
    if (record && has_key(record->kind)) (void)replay_->take(piece.segment, piece.offset, *record);
  }
}

void Survey::end_log() {
  if (!content) return;
  if (checkpoint_ && checkpoint_->head.store_id == content->store_id &&
      position < checkpoint_->head.position) {
    problem(position.segment, position.offset, "records that were on disk are missing behind it");
    checkpoint_is_damaged = true;  // it is of no use any more
  }
  if (const auto begin = replay_->open_batch()) {
    // A crash came before its end.
    replay_->drop_batch();
    report.cut_bytes += position.offset - (begin->segment == position.segment ? begin->offset : 0);
    require_listed(begin->segment);
    if (!damaged.empty() || !missing.empty()) {
      for (std::uint64_t n = begin->segment; n <= position.segment; ++n) damaged.insert(n);
    }
  }
  report.records = content->keys.load();
}

// Without the batch, the list before it counts again, in files up to `last`.
void Survey::require_listed(std::uint64_t last) {
  if (!replay_->list()) return;
  for (const std::uint64_t number : replay_->list()->numbers) {
    if (number > last || content->table.get(number)) continue;
    if (missing.insert(number).second) problem(number, 0, "the file is missing");
  }
}

// Whether something behind `offset` proves that what was there had been on disk. `rest`: as
// SegmentReader has it.
bool Survey::was_synced(const Segment& segment, std::uint64_t offset, std::uint64_t rest) {
  const LogPosition here = {segment.header.number, offset, 0};
  if (checkpoint_ && checkpoint_->head.store_id == segment.header.store_id &&
      here < checkpoint_->head.position) {
    return true;
  }
  if (proved_.segment == here.segment && here < proved_) return true;
  proved_ = {here.segment, synced_up_to(segment, offset, rest), 0};
  return here < proved_;
}

}  // namespace nestline
