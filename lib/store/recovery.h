// From the files of a folder to the content of a store, after a crash as well (docs/STORE.md, 4). A
// record that is not valid is a torn end of the log, and cut off, unless something proves that it
// had been synced; then it is damage. A batch without its end is cut off as a whole.
//
// What lies behind the last such proof may be lost though it can be read: when a sync fails, the
// system keeps what it could not write in memory, and calls the next sync a success. So opening for
// writing writes that part anew, in a new segment, and ends it with a sync mark that names the
// segment before (Log::rewrite_tail). If it is torn there, it is read from the new one; then it is
// laid over the old bytes, so that the new segment may be compacted away. Where there is no room
// for that segment, its name or its sync, the part is laid over itself alone.
//
// Compaction leaves a file out of the list when nothing in it lives; repair leaves damaged ones out
// (repair.cc). So a checkpoint with records in a file that the last list leaves out is older than a
// repair, and is not used.
#ifndef NESTLINE_LIB_STORE_RECOVERY_H_
#define NESTLINE_LIB_STORE_RECOVERY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/store/lookup.h"

namespace nestline { inline namespace v0_3 {

// The end of a file that the next one holds anew, from the offset `from` on.
struct RenewedEnd {
  std::shared_ptr<Segment> segment;
  std::uint64_t from = 0;
  std::uint64_t sequence = 0;  // of the seal that it needs, if it is torn; else 0
};

struct Recovered {
  std::unique_ptr<Content> content;  // null: there is no store yet
  std::shared_ptr<Segment> newest;
  LogPosition position;                 // behind the last record that counts
  std::uint64_t proven = 0;             // up to there `newest` is known to be on disk
  std::vector<RenewedEnd> renewed;      // files that the one after each has continued anew
  LogPosition saved;                    // of the checkpoint; all zero: there is none that serves
  std::vector<std::uint64_t> leftover;  // numbers of files that do not count
  std::uint64_t replayed_records = 0;
  std::uint64_t cut_bytes = 0;
  std::uint64_t cut_records = 0;  // that read well behind a torn end, also where nothing is cut
};

// What the index is made from. In both cases the log decides what is damage, together with the
// position that the checkpoint names.
enum class RecoverFrom : std::uint8_t { checkpoint, log };

// Reads the store. What looks like damage may be the checkpoint's, so it is looked at again from
// the log alone.
//   - A writer (not options.read_only), whose caller has the lock, cuts off a torn tail and does
//     that second look itself. The caller must sync `newest` then, even if nothing was cut, because
//     an earlier process may have cut it and that cut may not be on disk.
//   - A store that only reads stops before a torn tail, which a writer may be writing, and throws
//     when it meets damage. The caller tries again, since a writer may be at work, and in the end
//     with RecoverFrom::log.
Recovered recover(Disk& disk, const StoreOptions& options, const Lookup& lookup,
                  RecoverFrom trust = RecoverFrom::checkpoint);

// Reads on from `position`, where `content` ends, in the log that another process writes. It stops
// before a record that is not valid, which the writer may be writing, and before a batch without
// its end: so the writer's recovery never cuts off what was read here. A segment that is not listed
// any more is dropped; what lived in it has been copied. Throws StoreError for what may be damage,
// and std::system_error (no_such_file_or_directory) for a file that was compacted away: then
// `content` is read anew.
Recovered follow(Disk& disk, const StoreOptions& options, const Lookup& lookup, Content& content,
                 const LogPosition& position);

// Removes what an earlier holder of the lock was writing. The caller has the lock.
void drop_unfinished(Disk& disk);
bool is_put_away(std::string_view name);        // of a file that repair has put away
void refuse_other_folder(const Disk& disk);     // throws StoreError if it has only others' files
void refuse_unfinished_copy(const Disk& disk);  // throws StoreError
void make_own(Disk& disk, const std::string& name);  // of a LinkedFile: a copy takes its place
[[noreturn]] void throw_no_store(const Disk& disk);  // nothing says that there was one
// Throws StoreError, with the process if it is known and `advice`, when another has it.
std::unique_ptr<Disk::Lock> take_lock(Disk& disk, std::string_view advice);

}}  // namespace nestline

#endif  // NESTLINE_LIB_STORE_RECOVERY_H_
