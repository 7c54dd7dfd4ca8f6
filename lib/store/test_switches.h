// Faults that tests plant. Only a library with NESTLINE_TEST_HOOKS has them; else constants.
#ifndef NESTLINE_LIB_STORE_TEST_SWITCHES_H_
#define NESTLINE_LIB_STORE_TEST_SWITCHES_H_

#include <atomic>

namespace nestline { inline namespace v0_3 { namespace store_faults {

#ifdef NESTLINE_TEST_HOOKS
using Switch = std::atomic<bool>;
#else
using Switch = const bool;
#endif

inline Switch index_before_log{false};  // the index is changed before the record is in the log
inline Switch no_folder_sync{false};    // names of files are not synced
inline Switch no_sync_before_removal{false};  // nor of the folder before emptied files go
inline Switch forget_under_readers{false};    // while readers are in a file that was emptied
inline Switch trust_names_at_opening{false};  // the folder is not synced: names may go
inline Switch no_sync_at_opening{false};      // the newest file is not synced: a cut may come back
inline Switch no_sync_of_renewal{false};      // its name comes without a sync of the folder
// Compaction forgets tombstones that older segments still need.
inline Switch drop_tombstones_early{false};
inline Switch trust_checkpoint{false};  // a checkpoint is believed without its checksum

}}}  // namespace nestline::store_faults

#endif  // NESTLINE_LIB_STORE_TEST_SWITCHES_H_
