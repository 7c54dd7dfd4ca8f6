// Making a damaged store one that opens. What the damaged files still hold is copied to new files
// behind all others, as by a compaction: the records that count, and tombstones, so that older
// values stay hidden. The list at the end of the last one leaves the damaged files out.
//
//   1. The newest file gets its seal, if it is whole.
//   2. The new files are written under names that are never read, and synced.
//   3. They get their names, the last one when those of the others are on disk.
//   4. Files that do not count any more are put away. The checkpoint goes: opening does not use one
//      that has records in a file which the list leaves out.
//
// So until the last file has its name, all is there that was, with what proves that it is damaged:
// marks, next files, the checkpoint. From then on the store is repaired. A repair that fails, that
// is killed, or in which the power goes, loses nothing, and the next one begins anew. Readers, and
// opening, find the store as it was (or damaged, with some of several names), or repaired.
#include <algorithm>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "lib/filters/concurrent/reclaim.h"
#include "lib/store/log.h"
#include "lib/store/recovery.h"
#include "lib/store/survey.h"

namespace nestline { inline namespace v0_3 {
namespace {

// The disk for the new files. What the log removes for its room is not there.
class Staged final : public Disk {
 public:
  explicit Staged(Disk& disk) : disk_(disk) {}

  [[nodiscard]] std::vector<std::string> names() const override { return disk_.names(); }
  std::unique_ptr<DiskFile> open(std::string_view name, Mode mode) override {
    if (mode == Mode::create) made_.emplace_back(name);
    return disk_.open(staged(name), mode);
  }
  void rename(std::string_view from, std::string_view to) override { disk_.rename(from, to); }
  void remove(std::string_view name) override { disk_.remove(staged(name)); }
  void sync_folder() override { disk_.sync_folder(); }
  [[nodiscard]] Room room() const override { return disk_.room(); }
  std::unique_ptr<Lock> lock() override { return disk_.lock(); }
  [[nodiscard]] std::filesystem::path path_of(std::string_view name) const override {
    return disk_.path_of(name);
  }

  // Gives the files their names.
  void commit() {
    for (const std::string& name : made_) {
      if (name == made_.back()) disk_.sync_folder();
      disk_.rename(staged(name), name);
    }
    made_.clear();
    disk_.sync_folder();
  }

  // Takes back what has not been committed.
  void drop() noexcept {
    try {
      for (auto name = made_.rbegin(); name != made_.rend(); ++name) {
        disk_.remove_if_there(staged(*name));
        disk_.remove_if_there(*name);
      }
    } catch (const std::exception&) {  // the next repair does it
    }
  }

 private:
  static std::string staged(std::string_view name) {
    return std::string(name) + std::string(kNewEnding);
  }

  Disk& disk_;
  std::vector<std::string> made_;
};

class Repair {
 public:
  Repair(Disk& disk, Survey& survey) : disk_(disk), survey_(survey) {}

  void run() {
    const bool has_damage = !survey_.damaged.empty() || !survey_.missing.empty();
    if (has_damage && survey_.content) write_log();
    for (const auto* const files : {&survey_.leftover, &survey_.damaged}) {
      for (const std::uint64_t number : *files) put_away(segment_name(number));
    }
    if (survey_.checkpoint_is_damaged && disk_.has(kCheckpointName)) {
      put_away(std::string(kCheckpointName));
    }
    disk_.remove_if_there(kCheckpointName);
    disk_.sync_folder();
  }

 private:
  // Renames the file to NAME.damaged, or with a number behind if there is one from before.
  void put_away(const std::string& name) {
    std::string other = name + std::string(kDamagedEnding);
    for (unsigned i = 2; disk_.has(other); ++i) {
      other = name + std::string(kDamagedEnding) + '.' + std::to_string(i);
    }
    disk_.rename(name, other);
  }

  void write_log() {
    Staged staged(disk_);
    try {
      require_room();
      write_log_on(staged);
      staged.commit();
    } catch (const std::system_error& error) {
      staged.drop();
      if (!is_no_room(error) || error.code() == std::errc::file_too_large) throw;
      refuse_room(error.code().value());
    } catch (...) {
      staged.drop();
      throw;
    }
  }

  void write_log_on(Disk& disk) {
    Content& content = *survey_.content;
    const std::vector<std::shared_ptr<Segment>> segments = content.table.list();
    std::uint64_t limit = 0;
    for (const auto& segment : segments) limit = std::max(limit, segment->header.limit);
    std::shared_ptr<Segment> last;
    {
      Log log(disk, content.table, syncs_, content.store_id, limit);
      log.resume(end_of_log(), survey_.position, survey_.position.sequence, survey_.last_number);
      (void)log.seal();
      std::vector<std::uint64_t> gone;
      for (const std::shared_ptr<Segment>& segment : segments) {
        if (!survey_.damaged.contains(segment->header.number)) continue;
        copy_from(*segment, log);
        gone.push_back(segment->header.number);
      }
      log.append_segments(gone);
      log.note_synced();  // before it has its name
      last = log.newest();
    }
    syncs_.sync(*last->file);
  }

  // The newest segment, which is full, or is going to be.
  std::shared_ptr<Segment> end_of_log() {
    const std::shared_ptr<Segment>& newest = survey_.newest;
    if (survey_.damaged.contains(newest->header.number)) newest->sealed.store(true);
    if (newest->sealed.load()) return newest;
    return reopen_for_writing(disk_, survey_.content->table, *newest, survey_.position.offset);
  }

  // What the copies take, at most.
  [[nodiscard]] std::uint64_t needed_room() const {
    constexpr std::uint64_t kBothEnds = std::uint64_t{8} << 10;  // of the old newest, and the new
    std::uint64_t needed = kBothEnds;
    for (const auto& segment : survey_.content->table.list()) {
      if (survey_.damaged.contains(segment->header.number)) needed += segment->room_to_compact();
    }
    return needed;
  }
  // With nothing free, root may still find some.
  void require_room() const {
    const std::uint64_t free = disk_.room().free;
    if (free != 0 && free < needed_room()) refuse_room(ENOSPC);
  }
  [[noreturn]] void refuse_room(int error) const {
    throw std::system_error(
        error, std::generic_category(),
        disk_.path_of(segment_name(survey_.last_number + 1)).string() + ": repair needs " +
            std::to_string(needed_room()) +
            " bytes of room, for copies of what is whole in damaged files; nothing is repaired, "
            "and nothing is lost: free room there and repair again");
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
        (void)index.replace(record.hash, address, log.append(change, Log::AppendPriority::upkeep));
        return;
      }
      const bool is_live = [&] {
        const ReadSection section;
        return Lookup(disk_, true).find(content, index, hashed_key(record)).record.has_value();
      }();
      if (!is_live) (void)log.append(change, Log::AppendPriority::upkeep);
    });
  }

  Disk& disk_;
  Survey& survey_;
  SyncQueue syncs_;
};

}  // namespace

StoreReport repair_on(Disk& disk) {
  refuse_other_folder(disk);
  if (segment_numbers(disk.names()).empty()) {
    if (!disk.has(kCheckpointName)) throw_no_store(disk);
    throw StoreError(disk.path_of(kCheckpointName).string() +
                     ": there is no file of the log beside it, so there is nothing to repair from; "
                     "put the log back, or remove this file to begin with an empty store");
  }
  const std::unique_ptr<Disk::Lock> lock = take_lock(disk, "; then repair it");
  // As in opening: what a process that was killed has changed may look whole and not be on disk.
  disk.remove_if_there(kCopyName);  // as opening does
  disk.sync_folder();
  drop_unfinished(disk);
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

std::vector<std::filesystem::path> damaged_files(const std::filesystem::path& folder) {
  const std::unique_ptr<Disk> disk = open_system_disk(folder, false);
  std::vector<std::filesystem::path> files;
  for (const std::string& name : disk->names()) {
    if (is_put_away(name)) files.push_back(disk->path_of(name));
  }
  std::ranges::sort(files);
  return files;
}

}}  // namespace nestline
