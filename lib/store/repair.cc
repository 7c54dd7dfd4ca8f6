// Making a damaged store one that opens. What the damaged files still hold is copied to the head of
// the log, as by a compaction: the records that count, and tombstones, so that older values stay
// hidden. Then the list leaves the files out, and they get other names. The next repair copies
// again after one that was interrupted.
#include "lib/concurrent/reclaim.h"
#include "lib/store/log.h"
#include "lib/store/recovery.h"
#include "lib/store/survey.h"

namespace nestline::inline v0_2 {
namespace {

class Repair {
 public:
  Repair(Disk& disk, Survey& survey) : disk_(disk), survey_(survey) {
    if (!survey.content) return;
    for (const auto& segment : survey.content->table.list()) {
      read_.insert(segment->header.number);
    }
  }

  void run() {
    for (const std::uint64_t number : survey_.leftover) disk_.remove(segment_name(number));
    if (survey_.checkpoint_is_damaged && disk_.has(kCheckpointName)) {
      put_away(std::string(kCheckpointName));
    }
    disk_.remove_if_there(kCheckpointName);
    disk_.sync_folder();
    const bool has_damage = !survey_.damaged.empty() || !survey_.missing.empty();
    // Files without a valid record first: the log may need their numbers.
    for (const bool is_read : {false, true}) {
      if (is_read && has_damage && survey_.content) write_log();
      for (const std::uint64_t number : survey_.damaged) {
        if (read_.contains(number) == is_read) put_away(segment_name(number));
      }
      disk_.sync_folder();
    }
  }

 private:
  // Renames the file to NAME.damaged, or with a number behind if there is one from before.
  void put_away(const std::string& name) {
    std::string other = name + ".damaged";
    for (unsigned i = 2; disk_.has(other); ++i) other = name + ".damaged." + std::to_string(i);
    disk_.rename(name, other);
  }

  void write_log() {
    Content& content = *survey_.content;
    const std::vector<std::shared_ptr<Segment>> segments = content.table.list();
    std::uint64_t limit = 0;
    for (const auto& segment : segments) limit = std::max(limit, segment->header.limit);
    Log log(disk_, content.table, syncs_, content.store_id, limit);
    log.resume(end_of_log(), survey_.position, survey_.position.sequence);
    std::vector<std::uint64_t> gone;
    for (const std::shared_ptr<Segment>& segment : segments) {
      if (!survey_.damaged.contains(segment->header.number)) continue;
      copy_from(*segment, log);
      gone.push_back(segment->header.number);
    }
    log.append_segments(gone);
    syncs_.sync(*log.newest()->file);
    log.note_synced();
    log.close();
    syncs_.sync(*log.newest()->file);
  }

  // The newest segment: one to which the log may append, or one that it takes for full.
  std::shared_ptr<Segment> end_of_log() {
    const std::shared_ptr<Segment>& newest = survey_.newest;
    if (survey_.damaged.contains(newest->header.number)) newest->sealed.store(true);
    if (newest->sealed.load()) return newest;
    std::shared_ptr<Segment> writable =
        reopen_for_writing(disk_, survey_.content->table, *newest, survey_.position.offset);
    syncs_.sync(*writable->file);
    return writable;
  }

  void copy_from(const Segment& segment, Log& log) {
    Content& content = *survey_.content;
    Index& index = *content.index.load();
    Survey::for_each_record(segment, [&](std::uint64_t offset, const Record& checked) {
      if (!has_key(checked.kind) || offset >= segment.end()) return;
      const Record record =
          checked.unread == 0 ? checked : frame_record(segment.from(offset)).value();
      const std::uint64_t address = content.table.address(segment, offset);
      const std::uint64_t digest = value_digest(record.value, content.store_id);
      const Change change = {record.kind, record.hash, record.key, record.value, digest};
      if (is_put(record.kind)) {
        if (!index.contains(record.hash, address)) return;
        (void)index.replace(record.hash, address, log.append(change, Log::For::upkeep));
        return;
      }
      const bool is_live = [&] {
        const ReadSection section;
        return Lookup(disk_, true).find(content, index, hashed_key(record)).record.has_value();
      }();
      if (!is_live) (void)log.append(change, Log::For::upkeep);
    });
  }

  Disk& disk_;
  Survey& survey_;
  SyncQueue syncs_;
  std::set<std::uint64_t> read_;  // files with valid records
};

}  // namespace

StoreReport repair_on(Disk& disk) {
  refuse_other_folder(disk);
  const std::unique_ptr<Disk::Lock> lock = take_lock(disk, "; then repair it");
  // As in opening: what a process that was killed has changed may look whole and not be on disk.
  disk.sync_folder();
  if (const auto numbers = segment_numbers(disk.names()); !numbers.empty()) {
    disk.open(segment_name(numbers.back()), Disk::Mode::write)->sync();
  }
  Survey survey(disk, true);
  if (!survey.report.ok()) Repair(disk, survey).run();
  return survey.report;
}

StoreReport repair_store(const std::filesystem::path& folder) {
  return repair_on(*open_system_disk(folder, false));
}

}  // namespace nestline::inline v0_2
