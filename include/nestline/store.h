// An embedded key/value store: an append-only log on disk, and a cuckoo index of 9 to 17 bytes a
// record in memory. Answers are exact. A missing key costs one line of memory, another one read.
//
//   nestline::Store store = nestline::Store::open("users.db");
//   store.put("user:17", "Ada");
//   std::string value;
//   if (store.get("user:17", value)) { ... }
//
// docs/STORE.md: when to use it and when not, what each Sync promises, the bytes of the files. Link
// nestline::store. store_files.h has whole files in a store.
#ifndef NESTLINE_STORE_H_
#define NESTLINE_STORE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "nestline/export.h"
#include "nestline/internal/owned_state.h"
#include "nestline/internal/renamed.h"
#include "nestline/outcome.h"

namespace nestline { inline namespace v0_3 {
namespace internal {
struct Manifests;  // for store_files.h
}

/// When a change is on disk, so that it survives the end of the machine's power. The end of the
/// process alone, even by kill -9, loses no change that has returned, whatever this is.
enum class Sync : std::uint8_t {
  /// When the operating system writes it. The log is synced ahead all the same while it grows, so
  /// that a full file does not delay writers; if the disk refuses, the store can only be read.
  never,
  interval,  ///< At most StoreOptions::sync_interval later.
  each,      ///< When the call returns. Calls of several threads share one fdatasync.
};

struct StoreOptions {
  bool create = true;  ///< Whether open makes a missing folder. An empty one is a new store too.
  /// Only read. Any number of processes may, beside one that writes. Nothing in the folder changes.
  bool read_only = false;
  Sync sync = Sync::interval;
  std::chrono::milliseconds sync_interval{100};
  /// The log's files have at most this size, and a sixteenth of the file system; a longer record
  /// has a file of its own. From 64 KiB to 64 GiB. Of an existing store, it holds for new files.
  std::uint64_t segment_bytes = std::uint64_t{1} << 30;
  std::uint64_t expected_records = 0;  ///< For the first index; it grows by itself.
  /// Compacts a file in the background when more than this share is dead. 0: only by compact().
  double compact_above = 0.5;
  /// Whether the checksum of every record that is read is compared, which notices later damage.
  bool verify_reads = true;
};

/// Bytes of a store that are not as they were written, or a store that cannot go on after a write
/// failed. what() names the file and the offset, and what to do.
struct NESTLINE_EXPORT StoreError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// Somebody has the store open for writing already, in another process or in this one.
struct NESTLINE_EXPORT StoreBusy : StoreError {
  using StoreError::StoreError;
};

struct StoreStats {
  std::uint64_t records = 0;        ///< Keys.
  std::uint64_t live_bytes = 0;     ///< Of their records in the log, headers and padding included.
  std::uint64_t dead_bytes = 0;     ///< Of the rest of the log: what compaction can win back.
  std::uint64_t segments = 0;       ///< Files of the log.
  std::uint64_t index_bytes = 0;    ///< Memory of the index.
  std::uint64_t index_slots = 0;    ///< How many records it has room for.
  std::uint64_t overflow_keys = 0;  ///< Kept apart, since too many keys look like them.
  std::uint64_t reads = 0;          ///< Records that lookups read, since opening.
  std::uint64_t false_reads = 0;    ///< Those of them that were another key's.
  std::uint64_t lookups = 0;        ///< Keys that were looked up.
  internal::Renamed<std::uint64_t> questions = {};  ///< Deprecated: lookups, in version 0.2.
  std::uint64_t found = 0;                          ///< Those of them that were there.
  std::uint64_t syncs = 0;                          ///< fdatasync calls on the log.
  std::uint64_t replayed_records = 0;  ///< Read from the log by opening, after the checkpoint.
  std::uint64_t cut_bytes = 0;         ///< Of a torn end of the log, cut by opening.
  /// Readable changes behind that end's first bad byte, and those before it of the same batch.
  /// Nothing proves a sync of them. Opening cuts them off; a read-only store stops before them.
  std::uint64_t cut_records = 0;
  std::uint64_t index_doublings_left = 0;  ///< After them a writer makes a new index.
  /// The last error since opening of what the store does by itself: checkpoints, compaction, a new
  /// index, syncs after an interval. Empty: there was none. It is tried again later, but for a
  /// sync. A checkpoint that a closing store cannot write is not reported: see ~Store.
  std::string background_error;
};

/// An exact key/value store. Keys have 0 to 65,536 bytes, values 0 to 4 GiB - 1.
///
/// Thread safety: every member may be called from any thread at any time, except move and
/// destruction. get, put, insert_unique and erase are each linearizable. Writers take turns;
/// readers take no lock. After fork(), the child must neither use nor destroy its parent's store.
///
/// Errors: std::invalid_argument for a key or value that is too long, StoreError for damaged bytes,
/// std::system_error that names the file when the system refuses something, std::bad_alloc. On a
/// full disk, put and insert_unique are refused first, and erase and compact() make room
/// (docs/STORE.md, "A full disk"). A page of a mapped file that the disk cannot read is SIGBUS
/// ("Errors of the disk"). When a change throws, it has not been made, with one exception: if the
/// disk fails while the log is synced, it may be lost or not. From then on the store can only be
/// read, and every change is a StoreError that names the reason: open it anew.
class NESTLINE_EXPORT Store {
 public:
  struct State;  // private to the library

  /// Opens the store in `folder`, after a crash as well: there is everything up to some point in
  /// the order of changes, not before the last sync. Throws StoreError if the log is damaged before
  /// it (repair_store), if another store, in any process, has it open for writing, or if the newest
  /// file of the log has a second name (a hard link), unless read_only (docs/STORE.md, 5).
  [[nodiscard]] static Store open(const std::filesystem::path& folder,
                                  const StoreOptions& options = {});
  Store(Store&& other) noexcept;
  Store& operator=(Store&& other) noexcept;
  /// Closes the store: syncs the log, whatever the Sync, and writes a checkpoint if there is memory
  /// and room, for a quick next open. To learn of errors, call sync() or checkpoint() before. Where
  /// the function of get or a ConcurrentReader makes other members throw, it calls
  /// std::terminate(), unless it is read-only: the store's own threads may wait for this one.
  ~Store();

  /// Whether the key is there; `value` is overwritten only then.
  bool get(std::string_view key, std::string& value) const;

  /// Calls with(std::string_view value) if the key is there. The value is not copied: the view is
  /// good during the call only. `with` must be short, and must not change a filter: old files and
  /// tables are freed when it has returned. It may ask stores (get, contains, get_file, size,
  /// stats). The other members of Store, of any store, throw std::logic_error inside it and do
  /// nothing, and so they do in a thread that has a ConcurrentReader, which may have begun there.
  template <class F>
  requires std::is_invocable_v<F&, std::string_view> NESTLINE_HERE bool get(std::string_view key,
                                                                            F&& with) const {
    return get_with(key, &call<std::remove_reference_t<F>, std::string_view>, erased(with));
  }

  [[nodiscard]] bool contains(std::string_view key) const;
  /// The key has this value from now on, whether it was there or not.
  void put(std::string_view key, std::string_view value);
  /// The same only if the key is not there: Outcome::present if it is. With Sync::each, what it
  /// found is on disk then, and so it is with erase.
  [[nodiscard]] Inserted insert_unique(std::string_view key, std::string_view value);
  bool erase(std::string_view key);  ///< Removes the key; false if it was not there.

  /// Changes that are made together.
  class NESTLINE_EXPORT Batch {
   public:
    Batch();
    Batch(Batch&& other) noexcept;
    Batch& operator=(Batch&& other) noexcept;
    ~Batch();
    void put(std::string_view key, std::string_view value);
    void erase(std::string_view key);
    void clear() noexcept;
    [[nodiscard]] std::size_t size() const noexcept;

   private:
    friend class Store;
    struct Changes;
    std::unique_ptr<Changes> changes_;
  };

  /// Makes all changes of the batch in order, or none, after a crash as well. Readers of this
  /// process may see some of them before the others.
  void write(const Batch& batch);

  /// Asks for many keys: calls with(i, std::string_view value) for each key that is there, in any
  /// order, and returns how many were. The rules of the other get with a function hold.
  template <class F>
  requires std::is_invocable_v<F&, std::size_t, std::string_view> NESTLINE_HERE std::size_t get(
      std::span<const std::string_view> keys, F&& with)
  const {
    return get_many(keys, &call<std::remove_reference_t<F>, std::size_t, std::string_view>,
                    erased(with));
  }

  /// Calls with(key, value) for every record, as of one instant, in the order of the log, and
  /// passes its exceptions on. Takes a copy of the index for that time. `with` may call any member.
  template <class F>
  requires std::is_invocable_v<F&, std::string_view, std::string_view> NESTLINE_HERE void for_each(
      F&& with) const {
    visit_all(&call<std::remove_reference_t<F>, std::string_view, std::string_view>, erased(with));
  }

  void sync();  ///< Returns when every change that has returned is on disk.
  /// Copies what is live out of every file that has dead bytes, and removes the file. Others work
  /// on. If the disk has no room for some of them, std::system_error comes when the rest is done.
  void compact();
  /// Saves the index, so that opening need not read the log before this point; holds a copy of it
  /// meanwhile, in memory as large as StoreStats::index_bytes. The store does this
  /// by itself when it is closed, when a file of the log is full, and every 256 MiB of log.
  void checkpoint();
  /// Makes `folder` a copy of the store as of one instant, while others read, write and compact.
  /// Files of the log that are full are hard links, on another file system copies; the newest is a
  /// copy. Each may be written afterwards without harm to the other. `folder` is missing, empty, or
  /// an older copy, also one that was not finished: what is there already is kept. Throws
  /// StoreError, and changes nothing, if it is anything else: another store, or a copy that was
  /// opened for writing. When it throws later, `folder` is no store until a call for it has
  /// returned; this store is as it was (docs/STORE.md, 9).
  void copy_to(const std::filesystem::path& folder) const;
  /// For a store that is read_only: follows the log to its end; whether there was anything new.
  /// Else false. Meanwhile other threads may see some changes of a batch before the rest.
  bool refresh();
  [[nodiscard]] std::uint64_t size() const;  ///< How many keys there are. O(1).
  [[nodiscard]] StoreStats stats() const;
  /// How many of the live bytes are pieces of deleted and replaced files (store_files.h) that no
  /// file has: compact() drops them. Where there are some, this reads the log. Throws StoreError
  /// where the list of a file's pieces is damaged.
  [[nodiscard]] std::uint64_t unused_piece_bytes() const;

 private:
  friend struct internal::Manifests;
  explicit Store(internal::OwnedState<State> state);
  // A function of the caller's as a pointer, and its call.
  template <class F>
  NESTLINE_HERE static void* erased(F& with) {
    return const_cast<void*>(static_cast<const void*>(std::addressof(with)));
  }
  template <class F, class... Arguments>
  NESTLINE_HERE static void call(void* context, Arguments... arguments) {
    (*static_cast<F*>(context))(arguments...);
  }
  using With = void (*)(void* context, std::string_view value);
  using WithMany = void (*)(void* context, std::size_t i, std::string_view value);
  using WithAll = void (*)(void* context, std::string_view key, std::string_view value);
  bool get_with(std::string_view key, With with, void* context) const;
  std::size_t get_many(std::span<const std::string_view> keys, WithMany with, void* context) const;
  void visit_all(WithAll with, void* context) const;
  internal::OwnedState<State> state_;
};

/// What verify_store and repair_store found.
struct StoreReport {
  [[nodiscard]] NESTLINE_HERE bool ok() const { return problems.empty(); }
  /// Whether repair_store keeps something, or makes the store open. False if only the checkpoint
  /// has problems, without which the store opens, and which the next writer makes anew when it
  /// closes.
  [[nodiscard]] NESTLINE_EXPORT bool needs_repair() const;
  std::vector<std::string> problems;  ///< One sentence each, with file and offset.
  std::uint64_t records = 0;          ///< Keys that are there.
  std::uint64_t bytes = 0;            ///< Of the log, read and checked.
  std::uint64_t cut_bytes = 0;    ///< Of a torn end, which a crash leaves and which is no problem.
  std::uint64_t cut_records = 0;  ///< Changes in it that read well: StoreStats::cut_records.
  std::uint64_t lost_bytes = 0;   ///< That repair could not keep.
};

/// Reads every byte of the store and checks it; changes nothing. The store may be open. Throws
/// StoreError if there is no store in the folder, and std::system_error when a file cannot be read.
NESTLINE_EXPORT StoreReport verify_store(const std::filesystem::path& folder);
/// Makes a damaged store one that opens: keeps every record that is whole, also behind a torn end,
/// and lists what is lost. Damaged files are kept beside it with the ending .damaged
/// (damaged_files). It needs room for the live bytes of these. Nobody may have the store open for
/// writing: throws StoreError as Store::open and verify_store do; std::system_error when the disk
/// refuses, also for want of room. Then, and when it is killed or the power goes, nothing is lost:
/// repair again.
NESTLINE_EXPORT StoreReport repair_store(const std::filesystem::path& folder);
/// The files in the folder that repairs have put away, sorted by name. The store does not need
/// them; remove them when nobody wants to look for lost records there. Throws std::system_error.
NESTLINE_EXPORT std::vector<std::filesystem::path> damaged_files(
    const std::filesystem::path& folder);

}}  // namespace nestline

#endif  // NESTLINE_STORE_H_
