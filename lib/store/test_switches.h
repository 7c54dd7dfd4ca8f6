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
// Compaction forgets tombstones that older segments still need.
inline Switch drop_tombstones_early{false};
// A checkpoint is believed without its checksum.
inline Switch trust_checkpoint{false};

}  // namespace nestline::store_faults

#endif  // NESTLINE_LIB_STORE_TEST_SWITCHES_H_
