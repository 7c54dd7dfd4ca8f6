#include "lib/store/survey.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "lib/store/recovery.h"

namespace nestline { inline namespace v0_3 {
namespace {

constexpr std::size_t kIdAt = 16;                             // of a segment's header
constexpr std::uint64_t kMinLimit = std::uint64_t{64} << 10;  // where no header has one
constexpr std::uint64_t kLikelyBytes = 128;                   // of a record: a hint for the index
constexpr const char* kNotNeeded = "; the store opens without it, by reading the whole log";

}  // namespace

Survey::Survey(Disk& disk, bool keeps_all)
    : disk_(disk), lookup_(disk, true), keeps_all_(keeps_all) {
  if (disk_.has(kCheckpointName)) {
    checkpoint_ = read_checkpoint(disk_);
    if (!checkpoint_ || !checkpoint_->pairs)
      problem_of_checkpoint(std::string("it is damaged") + kNotNeeded);
  }
  open_files();
  choose_files();
  if (files_.empty()) {
    if (!checkpoint_is_damaged && !checkpoint_) throw_no_store(disk_);
    if (checkpoint_) problem_of_checkpoint("the log that it belongs to is missing");
    return;
  }
  const auto is_lost = [](const File& file) { return file.segment == nullptr; };
  if (std::ranges::all_of(files_, is_lost)) return;
  std::uint64_t limit = kMinLimit;
  std::uint64_t bytes = 0;
  for (const File& file : files_) {
    if (file.segment == nullptr) continue;
    limit = std::max({limit, file.segment->header.limit, file.segment->room()});
    bytes += file.segment->file->size();
  }
  content = std::make_unique<Content>(ids_.front(), AddressFormat::for_limit(limit),
                                      std::make_unique<Index>(bytes / kLikelyBytes + 1));
  if (checkpoint_ && checkpoint_->head.store_id != content->store_id) {
    problem_of_checkpoint(std::string("it belongs to another store") + kNotNeeded);
  }
  replay_.emplace(*content, lookup_);
  for (const File& file : files_) scan(file, file.number == files_.back().number);
  end_log();
}

void Survey::for_each_record(const Segment& segment, const WithRecord& with,
                             const EndsAt& ends_at) {
  SegmentReader reader(*segment.file, segment.place(kSegmentHeaderBytes), 0);
  while (reader.find(reader.end(), reader.sequence())) {
    while (reader.next()) {
      with(reader.offset(), reader.record());
      if (reader.record().kind == RecordKind::seal) return;
    }
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
  if (!numbers.empty()) last_number = numbers.back();
  if (checkpoint_) last_number = std::max(last_number, checkpoint_->head.position.segment);
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
  std::ranges::stable_sort(ids_, std::greater(), [&](std::uint64_t id) { return votes[id]; });
  ids_.erase(std::unique(ids_.begin(), ids_.end()), ids_.end());
  for (const std::uint64_t number : numbers) {
    files_.push_back(open_file(number));
    const std::shared_ptr<Segment>& segment = files_.back().segment;
    // A writer may cut the newest, or its end.
    if (segment != nullptr && number != numbers.back())
      segment->file->release(segment->file->size());
  }
  // Whether a crash may have left the last one so while it was being made.
  const auto is_half_made = [&](const File& file) {
    if (file.segment != nullptr &&
        (!file.has_header || SegmentReader(*file.segment).find(kSegmentHeaderBytes, 0))) {
      return false;
    }
    return is_zero_behind_list(disk_, *disk_.open(segment_name(file.number), Disk::Mode::read));
  };
  if (!files_.empty() && is_half_made(files_.back())) {
    report.cut_bytes += disk_.open(segment_name(files_.back().number), Disk::Mode::read)->size();
    leftover.insert(files_.back().number);
    files_.pop_back();
  } else if (!files_.empty() && files_.back().has_header) {
    File& last = files_.back();
    if (!SegmentReader(*last.segment).find(kSegmentHeaderBytes, 0)) last.segment.reset();
  }
}

Survey::File Survey::open_file(std::uint64_t number) {
  auto file = disk_.open(segment_name(number), Disk::Mode::read);
  if (read_segment_header(disk_, *file, number)) {
    return {number, open_segment(disk_, number, false), true};
  }
  const std::uint64_t size = file->size();
  for (const std::uint64_t id : ids_) {
    SegmentReader reader(*file, {id, number, kSegmentHeaderBytes}, 0);
    if (!reader.find(kSegmentHeaderBytes, 0)) continue;
    const SegmentHeader header = {id, number, std::max(size, kMinLimit), reader.sequence()};
    const std::uint64_t room = header.limit;
    return {number, std::make_shared<Segment>(header, std::move(file), room), false};
  }
  return {number, nullptr, false};
}

// Keeps the files that the last list names, and newer ones. A list behind a torn tail, or in a
// batch without its end, does not count, even where records behind it are kept: nothing proves that
// the copies which compaction made before it are on disk, so a file that it leaves out may have the
// only ones.
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
          return !was_synced(reader, segment, last - reader.end());
        });
    list = lists.get();
  }
  if (list) {
    const auto counts = [&](std::uint64_t number) {
      return number >= written_in || std::ranges::binary_search(*list, number);
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
    if (file.segment != nullptr) continue;
    damage(file.number, 0, "there is no valid record in this file");
    report.lost_bytes += disk_.open(segment_name(file.number), Disk::Mode::read)->size();
  }
}

void Survey::scan(const File& file, bool is_newest) {
  const std::shared_ptr<Segment>& segment = file.segment;
  if (segment == nullptr) return;
  const std::uint64_t number = file.number;
  const std::uint64_t sequence = segment->header.first_sequence;
  if (segment->header.store_id != content->store_id) {
    return damage(number, 0, "the file belongs to another store");
  }
  const bool follows = position.segment + 1 == number && !damaged.contains(position.segment);
  if (position.segment != 0 && file.has_header &&
      (sequence < position.sequence ||
       (follows && sequence != position.sequence && !is_renewed(position)))) {
    damage(number, 0, "the file does not continue the one before it");
  }
  if (position.segment + 1 != number || (follows && sequence != position.sequence)) {
    replay_->pass_gap();
    batch_.clear();
  }
  content->table.add(segment);
  newest = segment;
  position = {number, kSegmentHeaderBytes, sequence};
  SegmentReader reader(*segment);
  std::uint64_t last = 0;  // of the file, without the zeros at its end
  for (;;) {
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
        !was_synced(reader, *segment, rest) && !is_kept(reader, *segment)) {
      report.cut_bytes += rest;
      report.cut_records = rest == 0 ? 0 : reader.behind().cut_with(replay_->open_changes());
      break;
    }
    // The next file may hold anew what is torn from here on.
    if (!is_newest && is_renewed(position)) {
      excused_.push_back(position);
      break;
    }
    const bool found = reader.find(position.offset, position.sequence);
    // Not if the writer of the file has completed the record in the meantime.
    if (!found || reader.end() != position.offset || reader.sequence() != position.sequence) {
      note_gap(position, found ? reader.end() - position.offset : rest, !found);
    }
    if (!found) break;
    position = {number, reader.end(), reader.sequence()};
  }
  report.bytes += segment->end();
}

bool Survey::is_renewed(const LogPosition& from) const {
  const auto next = std::ranges::find(files_, from.segment + 1, &File::number);
  return next != files_.end() && next->has_header && next->segment != nullptr &&
         nestline::is_renewed(disk_, from);
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
  for (auto end = excused_.rbegin(); end != excused_.rend(); ++end) {
    if (!damaged.contains(end->segment + 1)) continue;
    damage(end->segment, end->offset, "the rest is in the next file, which is damaged");
  }
  if (checkpoint_ && checkpoint_->head.store_id == content->store_id &&
      position < checkpoint_->head.position) {
    problem(position.segment, position.offset, "records that were on disk are missing behind it");
    checkpoint_is_damaged = true;  // it is of no use any more
  }
  if (const auto begin = replay_->open_batch()) {
    // A crash came before its end.
    replay_->drop_batch();
    report.cut_bytes += position.offset - (begin->segment == position.segment ? begin->offset : 0);
    // Without the batch, the list before it counts again.
    const std::optional<Replay::List>& list = replay_->list();
    for (const std::uint64_t number : list ? list->numbers : std::vector<std::uint64_t>()) {
      if (number > begin->segment || content->table.get(number)) continue;
      if (missing.insert(number).second) problem(number, 0, "the file is missing");
    }
    if (!damaged.empty() || !missing.empty()) {
      for (std::uint64_t n = begin->segment; n <= position.segment; ++n) damaged.insert(n);
    }
  }
  report.records = content->keys.load();
}

// Whether something behind the reader proves that the `rest` there had been on disk.
bool Survey::was_synced(const SegmentReader& reader, const Segment& segment, std::uint64_t rest) {
  const LogPosition here = {segment.header.number, reader.end(), 0};
  if (checkpoint_ && checkpoint_->head.store_id == segment.header.store_id &&
      here < checkpoint_->head.position) {
    return true;
  }
  if (proved_.segment == here.segment && here < proved_) return true;
  proved_ = {here.segment, reader.synced_up_to(rest), 0};
  return here < proved_;
}

// Whether what reads well behind a torn end is wanted, and there is something.
bool Survey::is_kept(const SegmentReader& reader, const Segment& segment) {
  if (!keeps_all_) return false;
  const LogPosition here = {segment.header.number, reader.end(), 0};
  if (kept_.segment == here.segment && here < kept_) return true;
  kept_ = {here.segment, reader.behind().last, 0};
  return here < kept_;
}

void Survey::problem_of_checkpoint(const std::string& what) {
  report.problems.push_back(disk_.path_of(kCheckpointName).string() + ": " + what);
  checkpoint_is_damaged = true;
}

// When the survey has come to its position: whether the checkpoint's index is that of the log.
void Survey::compare_checkpoint() {
  if (compared_ || !checkpoint_ || !checkpoint_->pairs || !report.ok()) return;
  const CheckpointHead& head = checkpoint_->head;
  if (head.store_id != content->store_id || position < head.position) return;
  compared_ = true;
  for (const CheckpointSegment& segment : head.segments) {
    // Files that have been compacted since: the store does not use this checkpoint.
    if (!content->table.get(segment.number)) return;
  }
  if (position.segment != head.position.segment || position.offset != head.position.offset ||
      position.sequence != head.position.sequence) {
    return problem_of_checkpoint("its position is not behind a record of the log");
  }
  compare_pairs(head);
}

void Survey::compare_pairs(const CheckpointHead& head) {
  const AddressFormat format(static_cast<unsigned>(head.offset_bits));
  Index saved(*std::move(checkpoint_->pairs));
  checkpoint_->pairs.reset();
  std::uint64_t pairs = saved.maplet.size() + head.overflow.size();
  saved.overflow.add(head.overflow);
  std::map<std::uint64_t, std::uint64_t> slots;
  for (const CheckpointSegment& segment : head.segments) slots[segment.number] = segment.slot;
  const Index& index = *content->index.load();
  for (const std::shared_ptr<Segment>& segment : content->table.list()) {
    const std::uint64_t number = segment->header.number;
    SegmentReader reader(*segment);
    while (reader.offset() < segment->end() && reader.next() && reader.end() <= segment->end()) {
      const Record& record = reader.record();
      if (!is_put(record.kind)) continue;
      if (!index.contains(record.hash, content->table.address(*segment, reader.offset()))) continue;
      if (slots.contains(number) &&
          saved.contains(record.hash, format.pack(slots.at(number), reader.offset()))) {
        --pairs;
        continue;
      }
      return problem_of_checkpoint("it misses the record at offset " +
                                   std::to_string(reader.offset()) + " of " + segment_name(number));
    }
  }
  if (pairs != 0 || head.keys != content->keys.load()) {
    problem_of_checkpoint("it has records that the log does not have");
  }
}

// The writer of an open store may change files meanwhile: a problem is one that stays the same.
StoreReport verify_on(Disk& disk) {
  refuse_other_folder(disk);
  constexpr unsigned kAttempts = 20;
  std::vector<std::string> problems;
  for (unsigned attempt = 1;; ++attempt) {
    try {
      StoreReport report = Survey(disk).report;
      if (report.ok() || attempt == kAttempts || report.problems == problems) return report;
      problems = std::move(report.problems);
    } catch (const std::system_error& error) {
      const bool is_gone = error.code() == std::errc::no_such_file_or_directory;
      if (!is_gone || attempt == kAttempts) throw;
    }
  }
}

bool StoreReport::needs_repair() const {
  return !std::ranges::all_of(
      problems, [](const std::string& problem) { return problem.ends_with(kNotNeeded); });
}

StoreReport verify_store(const std::filesystem::path& folder) {
  return verify_on(*open_system_disk(folder, false));
}

}}  // namespace nestline
