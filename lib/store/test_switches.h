// Faults that tests plant, to see that they find them. Only the library that tests/ compiles with
// NESTLINE_TEST_HOOKS has them; elsewhere they compile to constants.
#ifndef NESTLINE_LIB_STORE_TEST_SWITCHES_H_
#define NESTLINE_LIB_STORE_TEST_SWITCHES_H_

#include <atomic>

namespace nestline::store_faults {

#ifdef NESTLINE_TEST_HOOKS
using Switch = std::atomic<bool>;
#else
using Switch = const bool;
#endif

// The index is changed before the record is in the log.
inline Switch index_before_log{false};
// Names of files are not synced.
inline Switch no_folder_sync{false};
// No sync of the folder before the files go that a compaction has emptied.
inline Switch no_sync_before_removal{false};
// A file that a compaction has emptied is forgotten while readers are in it.
inline Switch forget_under_readers{false};
// Opening does not sync the folder: what it finds there may go.
inline Switch trust_names_at_opening{false};
// Opening does not sync the newest file: a cut there may come back.
inline Switch no_sync_at_opening{false};
// A renewed end gets its name without a sync of the folder.
inline Switch no_sync_of_renewal{false};
// Compaction forgets tombstones that older segments still need.
inline Switch drop_tombstones_early{false};
// A checkpoint is believed without its checksum.
inline Switch trust_checkpoint{false};

}  // namespace nestline::store_faults

#endif  // NESTLINE_LIB_STORE_TEST_SWITCHES_H_
