// What a Store is made of, and which threads may touch what.
//
//   writer_   held while the store changes: log, index, counts; not while it waits for the disk.
//   upkeep_   held to compact, make a checkpoint or a new index. Taken before writer_.
//   readers   take no lock. Inside a ReadSection they load content, then index, and read the log
//             through memory. A thread that takes an old index or a segment away makes it
//             unreachable and then waits for their sections.
//
// A record is in the log before the index points to it, and to its copy before a segment goes.
#ifndef NESTLINE_LIB_STORE_STATE_H_
#define NESTLINE_LIB_STORE_STATE_H_

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_set>
#include <vector>

#include "lib/store/cold_reads.h"
#include "lib/store/counters.h"
#include "lib/store/log.h"
#include "lib/store/lookup.h"

namespace nestline { inline namespace v0_3 {

// For stores whose disk and whose every step the caller decides: tests.
struct OpenOn {
  // Without, compaction and a new index wait for compact(), checkpoints also for the end.
  bool threads = true;
  std::uint64_t log_bytes_per_checkpoint = 0;  // between checkpoints; 0: as Store::open
};

struct Store::State {
  State(std::unique_ptr<Disk> disk, const StoreOptions& options, const OpenOn& how);
  ~State();
  // As Store::open, with segments down to 1 KiB.
  static Store open(std::unique_ptr<Disk> disk, const StoreOptions& options,
                    const OpenOn& how = {});
  static void copy_on(const Store& store, Disk& to) { store.state_->copy(to); }
  static void keep_up_on(Store& store) { store.state_->keep_up(); }  // one round, without threads

  // Reading (reading.cc). `with` is called inside a ReadSection.
  template <Space kSpace>
  bool get(std::string_view key, With with, void* context) const;
  std::size_t get_many(std::span<const std::string_view> keys, WithMany with, void* context) const;
  using Visit = std::function<void(std::string_view key, std::string_view value)>;
  void visit(Space space, const Visit& with) const;
  [[nodiscard]] std::uint64_t size() const;
  [[nodiscard]] StoreStats stats() const;
  std::uint64_t unused_piece_bytes();
  // put (Purpose::replace), insert_unique (value) and erase; whether anything has changed.
  bool change(Space space, Purpose purpose, std::string_view key, std::string_view value = {});
  // The changes of a batch, which need neither hash nor digest.
  void write(std::vector<Change> changes);
  void sync();
  // Upkeep (upkeep.cc, compaction.cc), and following the log (opening.cc).
  void compact();
  void checkpoint();
  bool refresh();
  void copy(Disk& to);  // as copy_to (copying.cc)
  [[nodiscard]] std::filesystem::path folder() const { return disk_->path_of({}).parent_path(); }

 private:
  friend internal::Manifests;
  void open_for_writing();
  // Where the end of the log goes that nothing proves to be on disk (Log::rewrite_tail).
  enum class Renewal : std::uint8_t { anew, in_place };
  void begin_to_write(Renewal renewal);  // the same once more, should the first have found no room
  // Writes anew what lies behind `proven` in the newest file (Log::rewrite_tail).
  void rewrite_tail(const Segment& newest, std::uint64_t proven);
  void open_for_reading();
  void require_writable() const;
  [[nodiscard]] Content& content() const { return *content_.load(std::memory_order_acquire); }
  [[nodiscard]] Index& index() const { return *content().index.load(std::memory_order_acquire); }
  auto with_writer(auto&& look) const {
    const std::lock_guard lock(writer_);
    return look();
  }
  void prepare(Change& change) const;  // checks the lengths, and adds the hash
  // The key's record, for a thread that holds writer_.
  [[nodiscard]] std::optional<Located> locate(const HashedKey& wanted, Purpose purpose) const;
  void settle(const Change& change, std::uint64_t address, const std::optional<Located>& old);
  std::uint64_t note_appended();  // tells the upkeep; the next record's number. With writer_ held.
  // Saves the index, and then removes files that compaction has emptied. With upkeep_ held.
  void save_index();
  void remove_leftovers(const std::vector<std::uint64_t>& numbers);
  void free_leftovers();  // also when there is no room for a checkpoint
  void compact_segment(const std::shared_ptr<Segment>& segment);  // and drops it; with upkeep_ held
  // The same, and frees the room of emptied files when there is none left.
  void compact_and_free(const std::shared_ptr<Segment>& segment);
  // False: it has to stay, for the pieces that its dead manifests name.
  bool copy_live(const std::shared_ptr<Segment>& segment);
  void require_room(const Segment& segment);  // std::system_error if there is too little
  // Copies a live record, or a tombstone of a missing key; whether it did. With writer_ held.
  bool copy_record(const Segment& segment, std::uint64_t offset, const Record& record);
  [[nodiscard]] std::shared_ptr<Segment> worst_segment() const;  // null if none is worth it
  // Pieces that no file has (pieces.cc), with upkeep_ held: erases those that dead manifests in the
  // segment name; false: some are pinned. Keeping ends what keep_pieces() found out.
  bool drop_pieces(const Segment& segment);
  using WithPiece = std::function<void(std::string_view digest, std::uint64_t bytes)>;
  void find_unused(const Segment& segment, const WithPiece& with);
  void keep_pieces();
  // Of a manifest that is about to die, and of a dead one: whether it names a piece of one that has
  // died since Keeping began. With writer_ held.
  void note_dying_manifest(const HashedKey& name);
  bool names_dying_piece(std::string_view name, std::string_view bytes);
  struct Keeping {
    explicit Keeping(State& of);
    Keeping(const Keeping&) = delete;
    Keeping& operator=(const Keeping&) = delete;
    ~Keeping();
    State& state;
  };
  // Replaces the index by one with sharp tags, if it is worn. With upkeep_ held.
  void renew_worn_index();
  void renew_index();
  void reserve(std::size_t changes);  // makes that many calls of settle() certain to have memory
  // Calls with() for a segment's records up to `end`, a few at a time, checked without writer_.
  using WithRecords = std::function<void(std::span<const SegmentWalk> some)>;
  static void read_in_groups(const Segment& segment, std::uint64_t end, const WithRecords& with);
  // The threads of the upkeep (upkeep.cc).
  void start_threads();
  void end_threads() noexcept;
  void run_upkeep();
  void run_syncs();
  void sync_ahead();
  void prefault();
  // Changes what the threads wait for, and wakes them.
  void wake(auto&& change) {
    {
      const std::lock_guard lock(waking_);
      change();
    }
    woken_.notify_all();
  }
  void keep_up();
  void compact_worst();
  [[nodiscard]] bool is_checkpoint_due() const;
  void note_error(const std::exception& error) noexcept;  // for stats()
  const std::unique_ptr<Disk> disk_;
  const StoreOptions options_;
  const Lookup lookup_;
  const ColdReads cold_reads_;
  const std::uint64_t checkpoint_bytes_;  // of log, from one checkpoint to the next; 0: by size
  std::unique_ptr<Disk::Lock> lock_;
  std::unique_ptr<Content> own_content_;
  std::atomic<Content*> content_{nullptr};
  SyncQueue syncs_;
  std::optional<Log> log_;
  std::shared_ptr<Index> next_index_;  // that is being made; changes go to it too
  mutable Counters counters_;
  std::atomic<std::uint64_t> replayed_records_{0};
  std::uint64_t cut_bytes_ = 0;
  std::atomic<std::uint64_t> cut_records_{0};
  mutable std::mutex writer_;
  LogPosition position_;                 // behind what has been read, if read_only
  bool follows_ = false;                 // whether follow() may go on from there
  std::vector<std::uint64_t> leftover_;  // files that may go after the next checkpoint
  std::uint64_t leftover_bytes_ = 0;
  std::atomic<std::uint64_t> appended_{0};  // bytes of log since opening
  std::atomic<std::uint64_t> newest_{0};    // number of the newest segment
  std::uint64_t next_wake_ = 0;             // appended_ when the upkeep should look again
  std::uint64_t next_prefault_ = 0;         // appended_ when it should prefault more of the log
  std::uint64_t next_ahead_ = kSyncAhead;   // appended_ when the log should be synced ahead
  std::atomic<std::uint64_t> ahead_step_{kSyncAhead};
  std::mutex upkeep_;
  LogPosition saved_;               // of the checkpoint
  std::uint64_t saved_bytes_ = 0;   // appended_ at that time
  std::uint64_t saved_newest_ = 0;  // newest_ at that time
  std::uint64_t refused_keys_ = 0;  // with so many keys, no new index could be made
  struct KeptPieces {
    std::optional<std::vector<std::uint64_t>> of_files;  // sorted
    std::unordered_set<std::uint64_t> pinned;
    std::unordered_set<std::uint64_t> dying;  // of manifests that have died since
  };
  std::mutex pinning_;  // of the next two; taken after writer_
  std::vector<std::weak_ptr<std::vector<std::uint64_t>>> pins_;
  std::optional<KeptPieces> kept_;
  std::mutex waking_;
  std::condition_variable woken_;
  bool awake_ = false;
  bool is_prefault_due_ = false;
  bool is_ahead_due_ = false;           // the log has grown by kSyncAhead
  std::atomic<bool> is_behind_{false};  // something is not on disk
  bool ending_ = false;
  mutable std::mutex noting_;
  std::string background_error_;
  std::vector<std::thread> threads_;  // none for readers, or if the upkeep is on call
};

}}  // namespace nestline

#endif  // NESTLINE_LIB_STORE_STATE_H_
