// The store for C: an exact key/value store in a folder (store.h). Keys are bytes.
//
// The rules of nestline.h hold, but for C10: a store is for neither signal handlers, nor cancelled
// threads, nor the child of a fork(). Any number of threads may make any calls on one store at the
// same time, except nestline_store_close, which must be the last. These functions are in the
// library nestline-c-store, which has those of nestline.h too.
#ifndef NESTLINE_NESTLINE_STORE_H_
#define NESTLINE_NESTLINE_STORE_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nestline/nestline.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct nestline_store nestline_store;

/// When a change is on disk; see Sync in store.h.
typedef enum nestline_sync {
  NESTLINE_SYNC_NEVER = 0,     ///< When the operating system writes it.
  NESTLINE_SYNC_INTERVAL = 1,  ///< At most sync_interval_ms later.
  NESTLINE_SYNC_EACH = 2       ///< When the call returns.
} nestline_sync;

/// How a store is opened; see StoreOptions in store.h. Begin with NESTLINE_STORE_OPTIONS_INIT.
typedef struct nestline_store_options {
  size_t struct_size;         ///< Set by NESTLINE_STORE_OPTIONS_INIT.
  uint64_t segment_bytes;     ///< The most of a file of the log.
  uint64_t expected_records;  ///< A hint for the first index; 0: not known.
  double compact_above;       ///< Share of dead bytes that compaction allows; 0: when called only.
  uint32_t sync_interval_ms;  ///< For NESTLINE_SYNC_INTERVAL.
  int sync;                   ///< A nestline_sync.
  int create;                 ///< 1: makes a folder that is not there.
  int read_only;              ///< 1: changes nothing, beside a process that writes.
  int verify_reads;           ///< 1: compares the checksum of every record that is read.
  int reserved;               ///< 0.
} nestline_store_options;

#define NESTLINE_STORE_OPTIONS_INIT                                                               \
  {                                                                                               \
    sizeof(nestline_store_options), UINT64_C(1) << 30, 0, 0.5, 100, NESTLINE_SYNC_INTERVAL, 1, 0, \
        1, 0                                                                                      \
  }

/// What a store has and did; see StoreStats in store.h.
typedef struct nestline_store_counts {
  size_t struct_size;  ///< Set it to sizeof(nestline_store_counts) before the call.
  uint64_t records, live_bytes, dead_bytes, segments;
  uint64_t index_bytes, index_slots, overflow_keys;
  uint64_t reads, false_reads;
  __extension__ union {
    uint64_t lookups;
    uint64_t questions;  ///< Deprecated: its name in version 0.2.
  };
  uint64_t found, syncs;
  uint64_t replayed_records, cut_bytes, cut_records, index_doublings_left;
} nestline_store_counts;

/// Opens the store in the folder at `path`; `options` may be NULL for the defaults. NULL when it
/// fails. Close it with nestline_store_close.
nestline_store* nestline_store_open(const char* path, const nestline_store_options* options,
                                    const char** error);
/// Closes the store: syncs the log, also with NESTLINE_SYNC_NEVER, and saves the index. To learn of
/// errors, call nestline_store_checkpoint before. NULL does nothing.
void nestline_store_close(nestline_store* store);
/// The value of the key, with its number of bytes in *value_size and a NUL after them; NULL if the
/// key is not there (*error is NULL) or the call failed. Free it with nestline_free_bytes.
void* nestline_store_get(const nestline_store* store, const void* key, size_t size,
                         size_t* value_size, const char** error);
/// The same into `room` bytes at `value`: as much of it as fits, and the number of all its bytes in
/// *value_size. False: not there (*error is NULL), or the call failed.
bool nestline_store_get_into(const nestline_store* store, const void* key, size_t size, void* value,
                             size_t room, size_t* value_size, const char** error);
/// Whether the key is there; false also when the call fails.
bool nestline_store_contains(const nestline_store* store, const void* key, size_t size,
                             const char** error);
/// Takes the value of the key at position `i`. It must be short, make no call on the store and
/// change no filter; the bytes are gone when it has returned.
typedef void (*nestline_store_value)(void* context, size_t i, const void* value, size_t size);
/// Asks for many keys, which are bytes: calls `with` for each that is there, in any order, and
/// returns how many were. NESTLINE_NO_COUNT when it fails.
uint64_t nestline_store_get_batch(const nestline_store* store, nestline_keys keys,
                                  nestline_store_value with, void* context, const char** error);
/// The key has this value from now on, whether it was there or not. False when it fails.
bool nestline_store_put(nestline_store* store, const void* key, size_t size, const void* value,
                        size_t value_size, const char** error);
/// The same only if the key is not there. False: it is (*error is NULL), or the call failed.
bool nestline_store_insert_unique(nestline_store* store, const void* key, size_t size,
                                  const void* value, size_t value_size, const char** error);
/// Removes the key. False: it was not there (*error is NULL), or the call failed.
bool nestline_store_erase(nestline_store* store, const void* key, size_t size, const char** error);

/// Changes that are made together. One thread at a time may use a batch.
typedef struct nestline_store_batch nestline_store_batch;
/// An empty batch; NULL when it fails. Free it with nestline_store_batch_free.
nestline_store_batch* nestline_store_batch_create(const char** error);
void nestline_store_batch_free(nestline_store_batch* batch);
bool nestline_store_batch_put(nestline_store_batch* batch, const void* key, size_t size,
                              const void* value, size_t value_size, const char** error);
bool nestline_store_batch_erase(nestline_store_batch* batch, const void* key, size_t size,
                                const char** error);
/// Empties the batch. It cannot fail; NULL does nothing.
void nestline_store_batch_clear(nestline_store_batch* batch);
/// How many changes it has; 0 for NULL.
size_t nestline_store_batch_size(const nestline_store_batch* batch);
/// Makes all changes in their order, or none, after a crash as well. The batch stays as it is.
bool nestline_store_write(nestline_store* store, const nestline_store_batch* batch,
                          const char** error);

/// Takes a record. Return false to see no more.
typedef bool (*nestline_store_record)(void* context, const void* key, size_t size,
                                      const void* value, size_t value_size);
/// Calls `with` for every record, as of one instant, in the order of the log. False: it failed, or
/// `with` returned false (*error is NULL).
bool nestline_store_for_each(const nestline_store* store, nestline_store_record with, void* context,
                             const char** error);
/// As sync, compact and checkpoint of store.h. False when it fails.
bool nestline_store_sync(nestline_store* store, const char** error);
bool nestline_store_compact(nestline_store* store, const char** error);
bool nestline_store_checkpoint(nestline_store* store, const char** error);
/// Follows the log of a store that is read_only. False: nothing new (*error is NULL), or it failed.
bool nestline_store_refresh(nestline_store* store, const char** error);
/// Keys. NESTLINE_NO_COUNT when it fails.
uint64_t nestline_store_size(const nestline_store* store, const char** error);
/// Fills *counts. False when it fails.
bool nestline_store_stats(const nestline_store* store, nestline_store_counts* counts,
                          const char** error);
/// The last error since opening of what the store does by itself: checkpoints, compaction, a new
/// index, syncs after an interval; a sentence that the caller frees with nestline_free_bytes. NULL:
/// there was none (*error is NULL), or the call failed.
char* nestline_store_background_error(const nestline_store* store, const char** error);

// Files in a store; see store_files.h. Names are bytes.

/// Stores what `read` gives under the name, in pieces of `piece_bytes` (0: 4096), or, if
/// `by_lines`, one for each line. Returns the number of bytes, NESTLINE_NO_COUNT when it fails.
uint64_t nestline_store_put_file(nestline_store* store, const void* name, size_t size,
                                 nestline_read read, void* context, uint64_t piece_bytes,
                                 bool by_lines, const char** error);
/// Passes the file to `write`. False: there is no such file (*error is NULL), or the call failed.
bool nestline_store_get_file(const nestline_store* store, const void* name, size_t size,
                             nestline_write write, void* context, const char** error);
/// Removes the file; nestline_store_compact drops its pieces that no other file has. False: there
/// is none (*error is NULL), or the call failed.
bool nestline_store_erase_file(nestline_store* store, const void* name, size_t size,
                               const char** error);
/// Takes what is known of a file. Return false to see no more.
typedef bool (*nestline_store_file)(void* context, const void* name, size_t size, uint64_t bytes,
                                    uint64_t pieces);
/// Calls `with` for every file, in the order of their names. As nestline_store_for_each.
bool nestline_store_files(const nestline_store* store, nestline_store_file with, void* context,
                          const char** error);

/// What nestline_store_verify and nestline_store_repair found; see StoreReport in store.h.
typedef struct nestline_store_report {
  size_t struct_size;  ///< Set it to sizeof(nestline_store_report) before the call.
  uint64_t problems, records, bytes, cut_bytes, cut_records, lost_bytes;
} nestline_store_report;
/// Takes one problem, a sentence.
typedef void (*nestline_store_problem)(void* context, const char* sentence);
/// Reads and checks every byte of the store at `path`; changes nothing. Calls `with` for every
/// problem. `report` and `with` may be NULL. False: there are problems and *error is the first, or
/// the call failed.
bool nestline_store_verify(const char* path, nestline_store_report* report,
                           nestline_store_problem with, void* context, const char** error);
/// Makes a damaged store one that opens; the problems are what was damaged. False when it fails.
bool nestline_store_repair(const char* path, nestline_store_report* report,
                           nestline_store_problem with, void* context, const char** error);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif  // NESTLINE_NESTLINE_STORE_H_
