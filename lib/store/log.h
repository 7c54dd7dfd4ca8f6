// The tail of the log, where records are appended. The caller holds the writer's mutex. A segment
// without room for the next record is sealed: it gets a seal and is cut and synced. The next one's
// header, list and name are synced first. So a record proves all segments before it.
//
// A full disk can be emptied, because each kind of append leaves room free (kept_by):
//   puts          2 x the largest file, for erases and compaction
//   erases        what it takes to compact the file that needs least, for compaction
//   compaction    nothing
// Files have at most a sixteenth of the disk, so that these reserves stay small. An erase or a
// compaction that finds no room all the same deletes the checkpoint and uses its room.
//
// When an append fails, what it may have written is cut off, and the cut synced, so that it cannot
// turn up behind later records. If the disk refuses that, the store can only be read from then on.
#ifndef NESTLINE_LIB_STORE_LOG_H_
#define NESTLINE_LIB_STORE_LOG_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/store/sync_queue.h"

namespace nestline { inline namespace v0_3 {

// A change before it has a place. `digest`: of its value.
struct Change {
  RecordKind kind = RecordKind::put;
  std::uint64_t hash = 0;
  std::string_view key;
  std::string_view value;
  std::uint64_t digest = 0;
  [[nodiscard]] std::uint64_t bytes() const { return record_bytes(key.size(), value.size()); }
};

// Log between two syncs ahead, on slow and fast disks. The rest of a full file holds writers up.
inline constexpr std::uint64_t kSyncAhead = std::uint64_t{128} << 10;
inline constexpr std::uint64_t kMaxSyncAhead = std::uint64_t{16} << 20;
// How far the file is prefaulted ahead of its end, and how much of it is written between two times.
inline constexpr std::uint64_t kPrefaultAhead = std::uint64_t{16} << 20;
inline constexpr std::uint64_t kPrefaultStep = std::uint64_t{2} << 20;

class Log {
 public:
  // What is appended. Upkeep is opening and compaction. Each leaves disk room to those after it in
  // this list, and changes and erases leave the last kSpareFiles slots for files to upkeep.
  enum class AppendPriority : std::uint8_t { change, erase, upkeep };

  Log(Disk& disk, SegmentTable& table, SyncQueue& syncs, std::uint64_t store_id,
      std::uint64_t limit)
      : disk_(disk), table_(table), syncs_(syncs), store_id_(store_id), limit_(limit) {}

  // Goes on behind what is there; all before the sequence number `synced` is on disk. `taken`: up
  // to there, no new file gets a number.
  void resume(std::shared_ptr<Segment> newest, const LogPosition& position, std::uint64_t synced,
              std::uint64_t taken = 0);
  // Writes the end of the newest file anew, from the offset `proven` on (recovery.h). `copy`
  // appends what counts. The new file is synced before it gets its name: it is there whole or not
  // at all. For opening. Without room throws std::system_error (is_no_room), with all as before in
  // the log. If newest() is another then, `copy` has been called, and the caller begins anew.
  void rewrite_tail(std::uint64_t proven, const std::function<void()>& copy);
  void rewrite_in_place(std::uint64_t proven);  // then: lays it over itself
  // Then, or at a later opening: lays the end of a file, from `from` on, over itself, and syncs it.
  // `sequence`: of the seal that it gets, if it is torn; else 0.
  void rewrite_range(Segment& segment, std::uint64_t from, std::uint64_t sequence);
  void create_first() { create(1, 0, AppendPriority::upkeep); }
  // Appends a record and returns its address. Of a batch, no thread waits for it before commit().
  std::uint64_t append(const Change& change, AppendPriority what = AppendPriority::change);

  // While one lives, what is appended is a batch, which counts after commit(); else it is cut off.
  class Batch {
   public:
    Batch(Log& log, std::uint64_t changes, std::uint64_t bytes, AppendPriority what);
    ~Batch();
    Batch& operator=(Batch&&) = delete;
    void commit();

   private:
    Log& log_;
    LogPosition begin_;
    std::shared_ptr<Segment> segment_;
    std::uint64_t frame_ = 0;  // what the segment's counts were
    std::uint64_t tombstones_ = 0;
    const AppendPriority what_;
    bool done_ = false;
  };

  std::uint64_t seal();  // unless it has no records yet; returns the last sealed one's number
  void append_segments(std::span<const std::uint64_t> gone);  // all but `gone` count from now on

  [[nodiscard]] LogPosition position() const {
    return {newest_->header.number, newest_->end(), next_sequence_};
  }
  [[nodiscard]] std::shared_ptr<Segment> newest() const { return newest_; }
  [[nodiscard]] std::uint64_t appended_bytes() const { return appended_bytes_; }
  bool drop_checkpoint();  // removes the checkpoint, for its room; false if there is none
  // All that was appended is on disk: before the next record, or by close(), the log gets a mark.
  void note_synced() { syncs_.note_synced(position()); }
  // Appends the mark that is due, and cuts off what the newest file was lengthened by.
  void close() noexcept;
  ~Log() { close(); }
  Log& operator=(Log&&) = delete;

 private:
  // Throws std::system_error if so many bytes more leave too little room.
  void require_room(std::uint64_t bytes, AppendPriority what) {
    const std::uint64_t until = what == AppendPriority::upkeep
                                    ? ~std::uint64_t{0}
                                    : room_until_[static_cast<std::size_t>(what)];
    if (appended_bytes_ + bytes > until) [[unlikely]]
      look_for_room(bytes, what);
  }
  void look_for_room(std::uint64_t bytes, AppendPriority what);
  [[nodiscard]] std::uint64_t kept_by(AppendPriority what, const Disk::Room& room) const;
  void set_file_limit();
  void create(std::uint64_t number, std::uint64_t bytes,
              AppendPriority what);  // with room for such a record
  // The file `name` with header and list, not synced, of at least `least`. `bytes`: as above.
  std::shared_ptr<Segment> make_file(const std::string& name, std::uint64_t number,
                                     std::uint64_t least, std::uint64_t bytes, AppendPriority what);
  void go_on_in(std::shared_ptr<Segment> segment);
  void release_sealed();
  void make_room(std::uint64_t bytes, AppendPriority what);
  void append_mark();
  void write_seal();
  // Writes the record at the end of the newest segment, which has room.
  std::uint64_t write(const Change& change);
  void write_frame(RecordKind kind, std::string_view value = {});
  void write_bytes(const Change& change, std::span<const std::byte, kRecordHeaderBytes> header);
  void cut_back(Segment& segment, std::uint64_t offset) noexcept;
  [[nodiscard]] std::vector<std::uint64_t> listed(std::span<const std::uint64_t> gone) const;
  Disk& disk_;
  SegmentTable& table_;
  SyncQueue& syncs_;
  const std::uint64_t store_id_;
  const std::uint64_t limit_;
  std::uint64_t file_limit_ = 0;  // the same, or less on a small disk
  // Up to which appended_bytes_ the disk is known to have room, for changes and for erases.
  std::array<std::uint64_t, 2> room_until_{};
  std::shared_ptr<Segment> newest_;
  std::uint64_t first_offset_ = 0;  // of the newest segment's first record of several
  std::uint64_t next_sequence_ = 1;
  std::uint64_t taken_ = 0;
  std::uint64_t appended_bytes_ = 0;
  static constexpr std::uint64_t kSpareFiles = 2;
  bool in_batch_ = false;
  bool renewing_ = false;   // what is appended goes to the file that is being made
  bool half_made_ = false;  // whether a file with the next number may lie there
  std::vector<std::byte> scratch_;
};

}}  // namespace nestline

#endif  // NESTLINE_LIB_STORE_LOG_H_
