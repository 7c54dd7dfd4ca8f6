// From the files of a folder to the content of a store, after a crash as well.
//
// A disk that loses its power may keep a later write and lose an earlier one, as long as neither
// had been synced. So the newest segment may end in a mess, with valid records behind invalid ones:
// a torn end, which is cut off at the first record that is not valid. But if that record had been
// synced, it is damage, and opening refuses. These prove that it had been:
//   - a sync mark behind it that names a position behind it,
//   - a next segment that has records,
//   - a checkpoint whose position is behind it.
// A batch without its end is cut off as a whole, even if it began some segments before.
//
// What lies behind the last such proof may be lost though it can be read: when a sync fails, the
// system keeps what it could not write in memory, and calls the next sync a success. So whoever
// opens the store for writing writes that part anew, in a new segment, which ends that part with a
// sync mark that names the segment before it (Log::renew_end). If the part is torn in the segment
// before, it is read from the new one. Then it is laid over the old bytes, so that the new segment
// may be compacted away.
//
// A segment counts if the last list of segments names it, or if it is newer than that list. Files
// that do not count are left from a compaction. Files that count and are not there are damage.
#ifndef NESTLINE_LIB_STORE_RECOVERY_H_
#define NESTLINE_LIB_STORE_RECOVERY_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "lib/store/content.h"
#include "lib/store/disk.h"
#include "lib/store/lookup.h"
#include "lib/store/segment_format.h"
#include "nestline/store.h"

namespace nestline {

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
};

// Reads the store. Unless options.read_only, cuts off a torn end, and the caller, who has the lock
// then, syncs `newest` if cut_bytes is not 0.
// A store that only reads stops before a torn end, which may be a record that is being written.
Recovered recover(Disk& disk, const StoreOptions& options, const Lookup& lookup);

}  // namespace nestline

#endif  // NESTLINE_LIB_STORE_RECOVERY_H_
