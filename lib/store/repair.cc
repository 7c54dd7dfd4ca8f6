// Making a damaged store one that opens.
//
// What the damaged files still hold is copied to the head of the log, as a compaction does: the
// records that count, and tombstones, so that older values stay hidden. Then the list of segments
// that count leaves the damaged files out, and they get other names. A repair that is interrupted
// is done again by the next one: its copies say what the log says already.
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/concurrent/reclaim.h"
#include "lib/store/folder.h"
#include "lib/store/log.h"
#include "lib/store/open_on.h"
#include "lib/store/segment_files.h"
#include "lib/store/survey.h"
#include "lib/store/sync_queue.h"

namespace nestline {
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
    put_checkpoint_away();
    disk_.sync_folder();
    const bool has_damage = !survey_.damaged.empty() || !survey_.missing.empty();
    // Files without a valid record first: the log may need their numbers.
    put_damaged_away([this](std::uint64_t number) { return !read_.contains(number); });
    if (has_damage && survey_.content) write_log();
    put_damaged_away([this](std::uint64_t number) { return read_.contains(number); });
  }

 private:
  template <typename Which>
  void put_damaged_away(Which&& which) {
    for (const std::uint64_t number : survey_.damaged) {
      if (which(number)) put_away(segment_name(number));
    }
    disk_.sync_folder();
  }

  [[nodiscard]] bool is_there(std::string_view name) const {
    const std::vector<std::string> names = disk_.names();
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  void put_checkpoint_away() {
    if (!is_there(kCheckpointName)) return;
    if (survey_.checkpoint_is_damaged) {
      put_away(std::string(kCheckpointName));
    } else {
      disk_.remove(kCheckpointName);
    }
  }

  // Renames the file to NAME.damaged, or with a number behind if there is one from before.
  void put_away(const std::string& name) {
    std::string other = name + ".damaged";
    for (unsigned i = 2; is_there(other); ++i) other = name + ".damaged." + std::to_string(i);
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
    log.close();
    syncs_.sync(*log.newest()->file);
  }

  // The newest segment: one to which the log may append, or one that it takes for full.
  std::shared_ptr<Segment> end_of_log() {
    const std::shared_ptr<Segment>& newest = survey_.newest;
    if (survey_.damaged.contains(newest->header.number)) newest->sealed.store(true);
    if (newest->sealed.load()) return newest;
    std::shared_ptr<Segment> writable = open_segment(disk_, newest->header.number, true);
    writable->file->truncate(survey_.position.offset);
    syncs_.sync(*writable->file);
    writable->set_end(survey_.position.offset);
    survey_.content->table.forget(*newest);
    survey_.content->table.add(writable, newest->slot);
    return writable;
  }

  void copy_from(const Segment& segment, Log& log) {
    Content& content = *survey_.content;
    Index& index = *content.index.load();
    Survey::for_each_record(segment, [&](std::uint64_t offset, const Record& checked) {
      if (!has_key(checked.kind)) return;
      const Record record =
          checked.unread == 0 ? checked : frame_record(segment.from(offset)).value();
      const std::uint64_t address = content.table.address(segment, offset);
      const std::uint64_t digest = value_digest(record.value, content.store_id);
      const Change change = {record.kind, record.hash, record.key, record.value, digest};
      if (is_put(record.kind)) {
        if (!index.contains(record.hash, address)) return;
        (void)index.replace(record.hash, address, log.append(change));
      } else if (!is_live(index, record)) {
        (void)log.append(change);
      }
    });
  }

  [[nodiscard]] bool is_live(const Index& index, const Record& tombstone) const {
    const ReadSection section;
    std::uint64_t false_reads = 0;
    return survey_.lookup().find(*survey_.content, index, ask(tombstone), false_reads).has_value();
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
  Survey survey(disk);
  if (!survey.report.ok()) Repair(disk, survey).run();
  return survey.report;
}

StoreReport repair_store(const std::filesystem::path& folder) {
  return repair_on(*open_system_disk(folder, false));
}

}  // namespace nestline
