#include "lib/store/recovery.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "lib/filters/concurrent/reclaim.h"
#include "lib/store/checkpoint.h"
#include "lib/store/replay.h"

namespace nestline { inline namespace v0_3 {
namespace {

bool contains(const std::vector<std::uint64_t>& numbers, std::uint64_t number) {
  return std::ranges::binary_search(numbers, number);
}

class Recovery {
 public:
  Recovery(Disk& disk, const StoreOptions& options, const Lookup& lookup)
      : disk_(disk), options_(options), lookup_(lookup) {}

  // `cut`: bytes that an earlier attempt has cut off.
  Recovered run(RecoverFrom trust, std::uint64_t cut = 0) {
    out_.cut_bytes = cut;
    // In this order: the files of the log that a checkpoint needs are older than it is.
    checkpoint_ = read_checkpoint(disk_);
    numbers_ = segment_numbers(disk_.names());
    drop_half_made();
    if (numbers_.empty()) {
      if (checkpoint_) throw_log_lost();
      return std::move(out_);
    }
    const auto header = header_of(numbers_.back());
    if (!header) throw_damaged(disk_, numbers_.back(), 0, "the header is not valid");
    if (checkpoint_ && checkpoint_->head.store_id != header->store_id) checkpoint_.reset();
    if (checkpoint_) proof_ = checkpoint_->head.position;
    if (trust == RecoverFrom::log || !begin_with_checkpoint(header->store_id)) {
      begin_with_nothing(*header);
    }
    content_ = out_.content.get();
    replay();
    return std::move(out_);
  }

  [[nodiscard]] std::uint64_t cut_bytes() const { return out_.cut_bytes; }

  Recovered follow(Content& content, const LogPosition& position) {
    content_ = &content;
    is_following_ = true;
    out_.position = position;
    replay();
    return std::move(out_);
  }

 private:
  // A file that was being made when the power went.
  void drop_half_made() {
    if (numbers_.empty()) return;
    const std::uint64_t newest = numbers_.back();
    std::optional<SegmentHeader> before;
    if (numbers_.size() > 1) before = header_of(numbers_[numbers_.size() - 2]);
    {
      const auto file = disk_.open(segment_name(newest), Disk::Mode::read);
      if (!is_half_made(disk_, *file, newest, before)) return;
      out_.cut_bytes += file->size();
    }
    numbers_.pop_back();
    if (options_.read_only) return;
    disk_.remove(segment_name(newest));
    disk_.sync_folder();
  }

  std::optional<SegmentHeader> header_of(std::uint64_t number) {
    return read_segment_header(disk_, *disk_.open(segment_name(number), Disk::Mode::read), number);
  }

  // False if the checkpoint does not serve.
  bool begin_with_checkpoint(std::uint64_t store_id) {
    if (!checkpoint_ || !checkpoint_->pairs) return false;
    const CheckpointHead& head = checkpoint_->head;
    if (head.position.segment > numbers_.back()) throw_log_lost();
    for (std::uint64_t n = head.position.segment; n <= numbers_.back(); ++n) {
      if (!contains(numbers_, n)) return false;
    }
    if (head.offset_bits < AddressFormat::kMinOffsetBits ||
        head.offset_bits >= AddressFormat::kBits) {
      return false;
    }
    const AddressFormat format(static_cast<unsigned>(head.offset_bits));
    if (!format.fits(limit_of_new())) return false;
    bool has_position = false;
    for (const CheckpointSegment& s : head.segments) {
      if (!contains(numbers_, s.number) || s.slot >= format.slots()) return false;
      has_position = has_position || s.number == head.position.segment;
    }
    if (!has_position) return false;

    auto content = std::make_unique<Content>(
        store_id, format, std::make_unique<Index>(*std::move(checkpoint_->pairs)));
    for (const CheckpointSegment& s : head.segments) {
      const std::shared_ptr<Segment> segment = open(s.number);
      if (segment->header.store_id != store_id) {
        throw_damaged(disk_, s.number, 0, "it belongs to another store");
      }
      if (!format.fits(segment->header.limit)) return false;
      if (segment->file->size() < s.end) {
        throw_damaged(disk_, s.number, segment->file->size(), "the file has been cut");
      }
      segment->set_end(s.end);
      segment->sealed.store(s.sealed != 0);
      segment->counts.live.store(s.live);
      segment->counts.tombstones.store(s.tombstones);
      segment->counts.frame.store(s.frame);
      content->table.add(segment, static_cast<std::uint32_t>(s.slot));
      if (s.number < head.position.segment) segment->release();
    }
    content->keys.store(head.keys);
    content->owned_index->overflow.add(head.overflow);
    out_.content = std::move(content);
    out_.saved = out_.position = head.position;
    for (const std::uint64_t number : numbers_) {
      if (number < head.position.segment && !out_.content->table.get(number)) {
        out_.leftover.push_back(number);
      }
    }
    return true;
  }

  // The log from its beginning. The last list of segments names its files.
  void begin_with_nothing(const SegmentHeader& header) {
    LastList list;
    const auto newest = disk_.open(segment_name(header.number), Disk::Mode::read);
    SegmentReader reader(*newest, {header.store_id, header.number, kSegmentHeaderBytes},
                         header.first_sequence);
    while (reader.next()) {
      if (!list.take(reader.record())) {
        throw_damaged(disk_, header.number, reader.offset(), "the list is not valid");
      }
      if (reader.record().kind == RecordKind::seal) break;
    }
    std::vector<std::uint64_t> listed = list.get().value_or(std::vector<std::uint64_t>{});
    if (!contains(listed, header.number)) listed.push_back(header.number);
    for (const std::uint64_t number : listed) {
      if (!contains(numbers_, number)) throw_damaged(disk_, number, 0, "the file is missing");
    }
    std::uint64_t limit = limit_of_new();
    for (const std::uint64_t number : numbers_) {
      if (!contains(listed, number)) out_.leftover.push_back(number);
    }
    numbers_ = listed;
    std::optional<std::uint64_t> first_sequence;
    for (const std::uint64_t number : numbers_) {
      const auto head = header_of(number);
      if (!head) throw_damaged(disk_, number, 0, "the header is not valid");
      limit = std::max(limit, head->limit);
      if (!first_sequence) first_sequence = head->first_sequence;
    }
    out_.content = std::make_unique<Content>(header.store_id, AddressFormat::for_limit(limit),
                                             std::make_unique<Index>(options_.expected_records));
    out_.saved = {};
    out_.position = {numbers_.front(), kSegmentHeaderBytes, *first_sequence};
  }

  [[nodiscard]] std::uint64_t limit_of_new() const {
    return options_.read_only ? 0 : options_.segment_bytes;
  }

  std::shared_ptr<Segment> open(std::uint64_t number) {
    return open_segment(disk_, number, !options_.read_only && number == numbers_.back());
  }

  std::optional<std::uint64_t> following() {
    const std::uint64_t number = out_.position.segment;
    if (is_following_ && out_.newest->sealed.load() &&
        (numbers_.empty() || numbers_.back() <= number)) {
      numbers_ = segment_numbers(disk_.names());
      drop_half_made();
    }
    const auto next = std::ranges::upper_bound(numbers_, number);
    if (next == numbers_.end()) return std::nullopt;
    if (is_following_ && *next != number + 1) throw_vanished(number + 1);  // compacted already
    return *next;
  }

  void replay() {
    Content& content = *content_;
    Replay replay(content, lookup_);
    LogPosition& position = out_.position;
    if (position.offset == kSegmentHeaderBytes) replay.pass_gap();
    std::uint64_t rest = 0;
    for (std::optional<std::uint64_t> next = position.segment; next; next = following()) {
      const std::uint64_t number = *next;
      std::shared_ptr<Segment> segment = content.table.get(number);
      if (!segment) {
        segment = open(number);
        if (!content.table.format().fits(segment->header.limit)) {
          throw_damaged(disk_, number, 0, "the file is larger than an address of the index allows");
        }
        content.table.add(segment);
      }
      // A batch that has no end is cut off, and the file in which it began is read on.
      if (!replay.open_batch()) content.table.release_before(number);
      if (number != position.segment) begin_file(*segment, replay);
      out_.newest = segment;
      out_.proven = proof_.segment == number ? proof_.offset : 0;
      first_end_ = 0;
      if (segment->sealed.load()) continue;
      SegmentReader reader(*segment->file, segment->place(position.offset), position.sequence);
      const bool is_last = numbers_.empty() || number >= numbers_.back();
      std::uint64_t suspect = 0;
      for (;;) {
        take_all(reader, segment, replay);
        rest = 0;  // what an earlier look left over may have become records
        if (segment->sealed.load()) break;
        if (!is_last && continues_anew(*segment)) break;
        rest = is_following_ && reader.is_at_zeros() ? 0 : reader.rest();
        if (rest != 0 && position.offset == out_.saved.offset && number == out_.saved.segment) {
          require_own_checkpoint(*segment);
        }
        if (is_last && (rest == 0 || reader.synced_up_to(rest) == 0)) {
          out_.cut_records = rest == 0 ? 0 : reader.behind().cut_with(replay.open_changes());
          break;
        }
        // The writer may have written the record between the two looks. Then it is there now.
        if (!is_last || !options_.read_only || suspect == position.offset) {
          throw_damaged(disk_, number, position.offset, "there is no valid record");
        }
        suspect = position.offset;
      }
    }
    out_.replayed_records = replay.records();
    if (position < proof_) {
      throw_damaged(disk_, position.segment, position.offset,
                    "records that were on disk are missing");
    }
    if (const auto begin = replay.open_batch()) {
      replay.drop_batch();
      cut_to(*begin, rest);
    } else if (rest != 0) {
      cut_to(position, rest);
    }
    keep_renewed(replay);
    if (!options_.read_only) step_back_from_mark();
    drop_unlisted(replay);
  }

  // The ends of files that are to be laid again.
  void keep_renewed(const Replay& replay) {
    for (const auto& [number, from, mark] : replay.renewed()) {
      const std::shared_ptr<Segment> segment = content_->table.get(number);
      if (segment == nullptr) continue;
      const std::uint64_t sequence = torn_[number];  // 0: it is whole
      // Not what is known to be on disk: a loss of power could tear it.
      const bool is_laid = from >= segment->end() || mark + 1 < out_.position.sequence;
      if (sequence == 0 && is_laid) continue;
      out_.renewed.push_back({segment, from, sequence});
    }
  }

  // Goes from the end of a file to the beginning of the next that counts.
  void begin_file(const Segment& segment, Replay& replay) {
    LogPosition& position = out_.position;
    const std::uint64_t number = segment.header.number;
    const std::uint64_t first = segment.header.first_sequence;
    const std::string is_no_sequel = "it does not continue the file before it";
    if (first < position.sequence) throw_damaged(disk_, number, 0, is_no_sequel);
    if (segment.header.store_id != content_->store_id) {
      throw_damaged(disk_, number, 0, "it belongs to another store");
    }
    if (number != position.segment + 1 || first != position.sequence) {
      if (is_following_) throw_vanished(number);  // the end before it was cut and written anew
      // Numbers may be missing between two files only where the second holds the end of the first.
      if (number == position.segment + 1 && !is_renewed(disk_, position)) {
        throw_damaged(disk_, number, 0, is_no_sequel);
      }
      replay.pass_gap();
    }
    position = {number, kSegmentHeaderBytes, first};
  }

  // Whether the next file holds anew what is torn at the end of this one.
  bool continues_anew(Segment& segment) {
    const std::uint64_t number = segment.header.number;
    if (!contains(numbers_, number + 1) || !is_renewed(disk_, out_.position)) return false;
    torn_[number] = out_.position.sequence;
    segment.sealed.store(true);
    return true;
  }

  void take_all(SegmentReader& reader, const std::shared_ptr<Segment>& segment, Replay& replay) {
    while (!segment->sealed.load() && reader.next()) {
      if (reader.end() > segment->room()) throw_vanished(segment->header.number);
      segment->set_end(reader.end());
      if (!replay.take(segment, reader.offset(), reader.record())) {
        throw_damaged(disk_, segment->header.number, reader.offset(),
                      "the record does not belong here");
      }
      // What the record proves of its file.
      const Record& record = reader.record();
      const bool is_first = reader.offset() == kSegmentHeaderBytes;
      if (is_first) first_end_ = reader.end();
      std::uint64_t proven = is_first ? 0 : first_end_;
      if (mark_of_file_before(record, segment->header.number)) proven = reader.end();
      const bool is_mark = record.kind == RecordKind::sync_mark;
      const auto mark = is_mark ? decode_two_numbers(record.value) : std::nullopt;
      if (mark && mark->first == segment->header.number && mark->second <= reader.offset()) {
        proven = mark->second;
      }
      out_.proven = std::max(out_.proven, proven);
      is_mark_of_all_ = is_mark && proven == reader.offset();
      if (is_mark_of_all_) last_mark_ = {segment->header.number, reader.offset(), record.sequence};
      segment->sealed.store(record.kind == RecordKind::seal);
      out_.position.offset = reader.end();
      out_.position.sequence = reader.sequence();
    }
  }

  // A checkpoint that no record follows may be of a copy that went on: then this is no torn end.
  void require_own_checkpoint(const Segment& segment) const {
    SegmentWalk walk(segment, out_.saved.offset);
    while (walk.next()) {
    }
    const std::optional<Record>& last = walk.record();
    if (last && !walk.is_damaged() && last->sequence + 1 == out_.saved.sequence) return;
    throw_damaged(disk_, out_.saved.segment, out_.saved.offset,
                  "no record ends where index.nest has its position");
  }

  // The file has grown since it was opened: a reader begins again, as if it had been replaced.
  [[noreturn]] void throw_vanished(std::uint64_t number) const {
    throw std::system_error(std::make_error_code(std::errc::no_such_file_or_directory),
                            disk_.path_of(segment_name(number)).string());
  }

  // Closing leaves an unsynced mark at the end, which is written again. All before is on disk.
  void step_back_from_mark() {
    Segment& newest = *out_.newest;
    const bool is_last = is_mark_of_all_ && last_mark_.segment == out_.position.segment &&
                         last_mark_.offset + kSyncMarkBytes == out_.position.offset &&
                         !(last_mark_ < proof_);  // the log never ends before a checkpoint
    if (!is_last) return;
    out_.position = last_mark_;
    out_.proven = last_mark_.offset;
    newest.set_end(last_mark_.offset);
    SegmentCounts::subtract(newest.counts.frame, kSyncMarkBytes);
  }

  // Cuts off what is behind `end`, `rest` bytes behind the last record too. Readers keep the files.
  void cut_to(const LogPosition& end, std::uint64_t rest) {
    Content& content = *content_;
    std::uint64_t cut = rest;
    const bool is_earlier = end.segment < out_.position.segment;  // synced before the next began
    while (out_.position.segment > end.segment) {
      const std::uint64_t number = out_.position.segment;
      cut += out_.position.offset;
      out_.newest.reset();
      content.table.forget(*content.table.get(number));
      if (!options_.read_only) {
        disk_.remove(segment_name(number));
        disk_.sync_folder();
      }
      out_.position = {number - 1, content.table.get(number - 1)->end(), 0};
    }
    cut += out_.position.offset - end.offset;
    out_.proven = is_earlier ? end.offset : std::min(out_.proven, end.offset);
    out_.position = end;
    out_.newest = content.table.get(end.segment);
    if (options_.read_only) {
      out_.newest->sealed.store(false);
    } else {
      out_.cut_bytes += cut;
      if (out_.newest->sealed.load()) {
        out_.newest = reopen_for_writing(disk_, content.table, *out_.newest, end.offset);
      } else {
        out_.newest->file->truncate(end.offset);
      }
    }
    out_.newest->set_end(end.offset);
  }

  // Files that a compaction has emptied since the checkpoint. No writer leaves out others.
  void drop_unlisted(const Replay& replay) {
    if (!replay.list()) return;
    const auto& [written_in, listed] = *replay.list();
    for (const std::uint64_t number : listed) {
      if (!is_following_ && number <= out_.position.segment && !contains(numbers_, number)) {
        throw_damaged(disk_, number, 0, "the file is missing");
      }
    }
    for (const std::shared_ptr<Segment>& segment : content_->table.list()) {
      const std::uint64_t number = segment->header.number;
      if (number >= written_in || contains(listed, number)) continue;
      if (segment->counts.live.load() != 0) {
        // Repair has left it out: what has been read before is older.
        if (is_following_) throw_vanished(number);
        if (out_.saved.segment != 0) throw_damaged(disk_, number, 0, "the list leaves it out");
        continue;
      }
      content_->table.retire(*segment);
      if (is_following_) wait_for_readers();
      content_->table.forget(*segment);
      out_.leftover.push_back(number);
    }
  }

  [[noreturn]] void throw_log_lost() const {
    const LogPosition& at = checkpoint_->head.position;
    throw_damaged(disk_, at.segment, at.offset, "records that were on disk are missing");
  }

  Disk& disk_;
  const StoreOptions& options_;
  const Lookup& lookup_;
  std::vector<std::uint64_t> numbers_;
  std::optional<Checkpoint> checkpoint_;
  std::map<std::uint64_t, std::uint64_t> torn_;  // number of a file, sequence number behind it
  LogPosition last_mark_;                        // before which all is on disk
  bool is_mark_of_all_ = false;                  // whether it is the last record
  std::uint64_t first_end_ = 0;                  // of the first record of the file that is read
  LogPosition proof_;  // up to where the log is known to have been on disk
  Content* content_ = nullptr;
  bool is_following_ = false;
  Recovered out_;
};

}  // namespace

Recovered recover(Disk& disk, const StoreOptions& options, const Lookup& lookup,
                  RecoverFrom trust) {
  std::uint64_t cut = 0;
  {
    Recovery recovery(disk, options, lookup);
    try {
      return recovery.run(trust);
    } catch (const StoreError&) {
      if (trust == RecoverFrom::log || options.read_only) throw;
      cut = recovery.cut_bytes();
    }
  }
  return Recovery(disk, options, lookup).run(RecoverFrom::log, cut);
}

Recovered follow(Disk& disk, const StoreOptions& options, const Lookup& lookup, Content& content,
                 const LogPosition& position) {
  return Recovery(disk, options, lookup).follow(content, position);
}

}}  // namespace nestline
