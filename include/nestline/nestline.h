// The cuckoo filter, the maplet and the store for C (C99 or later) and for every language that can
// call C.
//
//   nestline_options options = NESTLINE_OPTIONS_INIT;
//   options.capacity = 1000000;
//   const char* error;
//   nestline_filter* filter = nestline_create(&options, &error);
//   if (filter == NULL) { ... print error ... }
//   if (!nestline_insert_u64(filter, 42, &error)) { ... not stored: print error ... }
//   if (nestline_may_contain_u64(filter, 42, &error)) { ... look in the slow place ... }
//   nestline_free(filter);
//
// These rules hold for every function here:
//
//   C1  Ownership. A nestline_filter* that a function returns is yours: free it with nestline_free.
//       So are bytes: free them with nestline_free_bytes. No function keeps what you pass to it.
//   C2  Threads. Any number of threads may make any calls on one filter at the same time, except
//       nestline_free, which must be the last one. Each call on one key takes effect at one
//       instant; concurrent_filter.h states when other threads see it. A lookup takes no lock
//       unless changes overtake it again and again.
//   C3  Errors. A function that can fail has `error` as its last argument. It sets *error to NULL
//       when it succeeded, and otherwise to a sentence in English. `error` may be NULL.
//       The returned value shows a failure as well; each function documents how.
//   C4  Never free the sentences. No other thread changes them; one that names details (a path, an
//       offset, a number) is overwritten by the next such failure of the same thread and gone when
//       the thread ends, so copy it if it has to last.
//   C5  A call that fails changes no answer. In particular nothing is lost when memory runs out.
//   C6  Arguments. NULL is refused with an error where an object is needed; an array of 0 elements
//       may be NULL. A filter that answers from a mapped file (nestline_map) refuses every change.
//   C7  Keys are of three kinds, which are always different keys: bytes (`_bytes`, a pointer and a
//       size; NUL is a byte like any other, the size may be 0), 64-bit integers (`_u64`), and
//       hashes made by the caller (`_hash`; well mixed, see keys.h). They are the same as in C++:
//       strings, std::uint64_t, nestline::Hash. Paths are NUL-terminated strings in the file
//       system's own encoding.
//   C8  Numbers. Sizes of memory and lengths of arrays are size_t, numbers of keys uint64_t.
//   C9  Answers. False from a lookup means "certainly not". A lookup that fails returns true, which
//       means "maybe" and so is never wrong.
//   C10 Processes. A signal handler may look up keys if the thread that it interrupted has
//       registered (nestline_register_thread) and is not in a call on that filter; it must not
//       change a filter. A thread may be cancelled (deferred, which is the default) in any call; it
//       ends after the call. The exceptions are calls that read or write a file: there it ends the
//       process. After fork() the child may use a filter if no other thread was in a call of this
//       library at that moment. If one was, the child may only use a copy that was made before
//       (nestline_copy), and only for lookups. concurrent_filter.h explains why.
//
// Each function costs the same and means the same as its C++ counterpart in filter.h and
// concurrent_filter.h, which have the bounds.
#ifndef NESTLINE_NESTLINE_H_
#define NESTLINE_NESTLINE_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nestline/export.h"
#include "nestline/version.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A filter: one in memory that can be changed, or one that answers from a mapped file.
typedef struct nestline_filter nestline_filter;

/// What a filter is made for. Begin with NESTLINE_OPTIONS_INIT and set members by name: later
/// versions may add members, and programs that were compiled before that still work.
typedef struct nestline_options {
  size_t struct_size;     ///< Set by NESTLINE_OPTIONS_INIT: sizeof(nestline_options).
  uint64_t capacity;      ///< Keys it must hold; required, at least 1.
  uint64_t max_capacity;  ///< Above capacity: the filter grows by itself up to here.
  uint64_t seed;          ///< Seeds the hash of integers and bytes; stored with the filter.
  double fpr;             ///< Wanted false-positive rate; 0: see nestline::Options.
  int bits;               ///< Fingerprint width: 8, 12 or 16; 0: the one that suits fpr.
  int reserved;           ///< 0.
  double load;            ///< How full it is at its capacity, 0.5 to 0.95; 0: 0.95.
} nestline_options;

#define NESTLINE_OPTIONS_INIT \
  { sizeof(nestline_options), 0, 0, 0, 0.0, 0, 0, 0.0 }

/// How an insert ended, as nestline_outcome_of returns it.
typedef enum nestline_outcome {
  NESTLINE_ERROR = 0,    ///< The arguments are wrong, or the filter is a mapped one.
  NESTLINE_STORED = 1,   ///< The key is in the filter.
  NESTLINE_PRESENT = 2,  ///< insert_unique only: may_contain was already true, nothing was stored.
  NESTLINE_FULL = 3,     ///< No room can be made.
  NESTLINE_COPIES = 4    ///< As many copies as the filter can hold of this key are in it already.
} nestline_outcome;

/// When the blocks of a mapped file are checked.
typedef enum nestline_verify_mode {
  NESTLINE_VERIFY_NONE = 0,    ///< Never: damage gives wrong answers, and keys can be missed.
  NESTLINE_VERIFY_LAZILY = 1,  ///< Each section of 1 MiB when a key first needs it. Every key of a
                               ///< damaged one is taken for present: none is missed.
  NESTLINE_VERIFY_ALL = 2      ///< All before the file is mapped: a damaged file is refused.
} nestline_verify_mode;

/// Takes the bytes of a filter, one piece after another. Return false to give up.
typedef bool (*nestline_write)(void* context, const void* bytes, size_t size);
/// Gives the bytes of a filter: writes up to `size` of them to `bytes` and returns how many. Return
/// 0 at the end, NESTLINE_READ_FAILED to give up.
typedef size_t (*nestline_read)(void* context, void* bytes, size_t size);
#define NESTLINE_READ_FAILED SIZE_MAX

/// What functions return in place of a number of keys when they fail.
#define NESTLINE_NO_COUNT UINT64_MAX

/// The version of the running library, such as "0.2.0"; NESTLINE_VERSION_STRING is that of the
/// headers.
NESTLINE_EXPORT const char* nestline_version(void);

/// Registers the calling thread; otherwise its first call on any filter does. That sometimes
/// allocates a little memory, and if the system refuses it, the first call ends the process by
/// abort(). This function returns false instead, when the system refuses 1 MiB. Later calls do
/// nothing. Functions that make a filter register their own thread.
NESTLINE_EXPORT bool nestline_register_thread(const char** error);

// Making and freeing filters. Functions that return a filter return NULL when they fail.

/// An empty filter in memory.
NESTLINE_EXPORT nestline_filter* nestline_create(const nestline_options* options,
                                                 const char** error);
/// A filter in memory of all `count` keys, equal ones being copies: what inserting them into an
/// empty filter gives, in a fraction of the time. The arrays are those of batches, below.
/// `stored`: 1 or 0 for each key; when the call fails, what it holds has no meaning. If it is NULL,
/// a key that finds no room and would be missed makes the call fail. Of equal keys, those beyond
/// the most copies are not stored; lookups find them all the same. nestline_size returns how many
/// were stored. Takes about 2.5 bytes a key and 9 bytes a block beside the filter while it runs;
/// `_bytes` takes 16 bytes a key more. O(keys + blocks).
NESTLINE_EXPORT nestline_filter* nestline_build_bytes(const nestline_options* options,
                                                      const void* const* keys, const size_t* sizes,
                                                      size_t count, uint8_t* stored,
                                                      const char** error);
NESTLINE_EXPORT nestline_filter* nestline_build_u64(const nestline_options* options,
                                                    const uint64_t* keys, size_t count,
                                                    uint8_t* stored, const char** error);
NESTLINE_EXPORT nestline_filter* nestline_build_hash(const nestline_options* options,
                                                     const uint64_t* hashes, size_t count,
                                                     uint8_t* stored, const char** error);
/// A copy in memory, at one instant. The copy of a mapped filter can be changed, and the whole file
/// is checked first. O(memory).
NESTLINE_EXPORT nestline_filter* nestline_copy(const nestline_filter* filter, const char** error);
/// Reads a file into memory and checks everything. O(file).
NESTLINE_EXPORT nestline_filter* nestline_load(const char* path, const char** error);
/// A filter that answers from a read-only mapping of its file, without reading it first. The same
/// as nestline_map_with with NESTLINE_VERIFY_LAZILY. The file must not be truncated or written in
/// place while it is mapped; nestline_save never does that, it replaces files.
NESTLINE_EXPORT nestline_filter* nestline_map(const char* path, const char** error);
/// The same; `verify` states when the blocks of the file are checked, and so what damage does to
/// answers: see Verify in mapped_filter.h. The header is always checked.
NESTLINE_EXPORT nestline_filter* nestline_map_with(const char* path, nestline_verify_mode verify,
                                                   const char** error);
/// The filter in the `size` bytes, which are copied and checked as nestline_load does.
NESTLINE_EXPORT nestline_filter* nestline_from_bytes(const void* bytes, size_t size,
                                                     const char** error);
/// The filter whose bytes `read` gives. `read` is called with `context`, and never for bytes after
/// the filter. Checks everything, and allocates memory as bytes come in.
NESTLINE_EXPORT nestline_filter* nestline_load_from(nestline_read read, void* context,
                                                    const char** error);
/// Frees the filter; no other call may be running on it. NULL does nothing.
NESTLINE_EXPORT void nestline_free(nestline_filter* filter);

/// Replaces the file at `path` atomically by the filter as it is at one instant. Needs memory for a
/// copy. False on failure; the old file is then unchanged.
NESTLINE_EXPORT bool nestline_save(const nestline_filter* filter, const char* path,
                                   const char** error);
/// Passes the bytes that nestline_save would write to `write`, in pieces of up to 1 MiB, with
/// `context`. Needs memory for a copy. False on failure, also when `write` returns false.
NESTLINE_EXPORT bool nestline_save_to(const nestline_filter* filter, nestline_write write,
                                      void* context, const char** error);
/// The bytes that nestline_save would write, with their number in *size; NULL on failure. Needs
/// memory for two copies during the call. Free the bytes with nestline_free_bytes.
NESTLINE_EXPORT void* nestline_to_bytes(const nestline_filter* filter, size_t* size,
                                        const char** error);
/// Frees what nestline_to_bytes gave. NULL does nothing.
NESTLINE_EXPORT void nestline_free_bytes(void* bytes);
/// Reads the whole file of a mapped filter and compares every checksum. False if there is a flaw;
/// *error then names where the first one is. A filter in memory is refused: it was checked when it
/// was loaded.
NESTLINE_EXPORT bool nestline_verify(const nestline_filter* filter, const char** error);
/// True if the lookups so far have found no damage. If false, *error names where the first damaged
/// section is. Only NESTLINE_VERIFY_LAZILY finds any. Reads nothing itself.
NESTLINE_EXPORT bool nestline_undamaged(const nestline_filter* filter, const char** error);

// The filter as a whole. False: failed, nothing has changed.

/// Removes every key.
NESTLINE_EXPORT bool nestline_clear(nestline_filter* filter, const char** error);
/// Doubles the filter in one pass over its memory, without the keys. Fails when the fingerprints
/// have no bit left to take. Lookups go on meanwhile; changes wait.
NESTLINE_EXPORT bool nestline_grow(nestline_filter* filter, const char** error);
/// Adds everything that is in `other` (which may be mapped, or `filter` itself): all or nothing,
/// also when together they hold more copies of a key than find place, as *error then says. Both
/// must have been made with equal options and have grown equally often. Needs memory for a copy of
/// each.
NESTLINE_EXPORT bool nestline_merge(nestline_filter* filter, const nestline_filter* other,
                                    const char** error);

// Properties of a filter. These functions cannot fail; for NULL they return 0 or false.

/// Keys in the filter, every copy counted.
NESTLINE_EXPORT uint64_t nestline_size(const nestline_filter* filter);
/// Slots, each for one copy of a key. They are never all in use.
NESTLINE_EXPORT uint64_t nestline_slots(const nestline_filter* filter);
/// Keys it holds before it is full or grows.
NESTLINE_EXPORT uint64_t nestline_capacity(const nestline_filter* filter);
/// Number of keys up to which it grows by itself; 0: it does not grow by itself.
NESTLINE_EXPORT uint64_t nestline_max_capacity(const nestline_filter* filter);
/// How often it has doubled.
NESTLINE_EXPORT unsigned nestline_growth(const nestline_filter* filter);
/// Keys divided by slots, 0 to 1.
NESTLINE_EXPORT double nestline_load_factor(const nestline_filter* filter);
/// The false-positive rate at the present load and growth. Looks at up to 4096 blocks.
NESTLINE_EXPORT double nestline_expected_fpr(const nestline_filter* filter);
/// Fingerprint width: 8, 12 or 16.
NESTLINE_EXPORT int nestline_bits(const nestline_filter* filter);
NESTLINE_EXPORT uint64_t nestline_seed(const nestline_filter* filter);
/// Bytes of memory, or of the mapped file.
NESTLINE_EXPORT size_t nestline_memory_bytes(const nestline_filter* filter);
/// Whether it answers from a mapped file, and so refuses every change.
NESTLINE_EXPORT bool nestline_is_mapped(const nestline_filter* filter);

/// The hash under which a filter with this seed stores the key: to insert it with
/// nestline_insert_hash is to insert the key. nestline_hash_bytes returns 0 when it fails. The high
/// bits of an integer's hash are well mixed and its lowest 18 are not: divide keys by the high
/// ones.
NESTLINE_EXPORT uint64_t nestline_hash_bytes(const void* key, size_t size, uint64_t seed,
                                             const char** error);
NESTLINE_EXPORT uint64_t nestline_hash_u64(uint64_t key, uint64_t seed);

// One key.
//
// The functions that store a key return true when this call stored it, and false otherwise, so `if
// (!nestline_insert_u64(...))` is all the checking that is needed. *error gives the reason: NULL
// when the key was present already, which only nestline_insert_unique_* check, and otherwise a
// sentence. nestline_outcome_of turns the two into a number.

/// What became of a key. Both arguments must come from the same call: the value it returned, and
/// the pointer it set *error to (the pointer itself, not a copy of the sentence).
NESTLINE_EXPORT nestline_outcome nestline_outcome_of(bool stored, const char* error);

/// Stores one copy of the key; a second copy is a second entry.
NESTLINE_EXPORT bool nestline_insert_bytes(nestline_filter* filter, const void* key, size_t size,
                                           const char** error);
NESTLINE_EXPORT bool nestline_insert_u64(nestline_filter* filter, uint64_t key, const char** error);
NESTLINE_EXPORT bool nestline_insert_hash(nestline_filter* filter, uint64_t hash,
                                          const char** error);

/// Stores the key unless may_contain is true for it already. If several threads call this with the
/// same key, one gets true and the others get false without an error.
NESTLINE_EXPORT bool nestline_insert_unique_bytes(nestline_filter* filter, const void* key,
                                                  size_t size, const char** error);
NESTLINE_EXPORT bool nestline_insert_unique_u64(nestline_filter* filter, uint64_t key,
                                                const char** error);
NESTLINE_EXPORT bool nestline_insert_unique_hash(nestline_filter* filter, uint64_t hash,
                                                 const char** error);

/// Replaces one copy of the old key, which must have been inserted, with the new key, at one
/// instant.
NESTLINE_EXPORT bool nestline_update_bytes(nestline_filter* filter, const void* old_key,
                                           size_t old_size, const void* new_key, size_t new_size,
                                           const char** error);
NESTLINE_EXPORT bool nestline_update_u64(nestline_filter* filter, uint64_t old_key,
                                         uint64_t new_key, const char** error);
NESTLINE_EXPORT bool nestline_update_hash(nestline_filter* filter, uint64_t old_hash,
                                          uint64_t new_hash, const char** error);

/// False: the key is certainly not in the filter. True: it may be, or the call failed (C9).
NESTLINE_EXPORT bool nestline_may_contain_bytes(const nestline_filter* filter, const void* key,
                                                size_t size, const char** error);
NESTLINE_EXPORT bool nestline_may_contain_u64(const nestline_filter* filter, uint64_t key,
                                              const char** error);
NESTLINE_EXPORT bool nestline_may_contain_hash(const nestline_filter* filter, uint64_t hash,
                                               const char** error);

/// Hashes the key and starts to fetch its block into the cache, for callers that do something else
/// before they pass the hash to the functions `_hash`: 16 keys later is enough for filters in
/// memory. Returns 0 when it fails; a hash can be 0 too, so look at *error. The hash is good for
/// every filter with the same seed, and for ever.
NESTLINE_EXPORT uint64_t nestline_prepare_bytes(const nestline_filter* filter, const void* key,
                                                size_t size, const char** error);
NESTLINE_EXPORT uint64_t nestline_prepare_u64(const nestline_filter* filter, uint64_t key,
                                              const char** error);
NESTLINE_EXPORT uint64_t nestline_prepare_hash(const nestline_filter* filter, uint64_t hash,
                                               const char** error);

/// Copies of the key, at most 10; may count copies of another key that looks the same.
/// NESTLINE_NO_COUNT when it fails.
NESTLINE_EXPORT uint64_t nestline_count_bytes(const nestline_filter* filter, const void* key,
                                              size_t size, const char** error);
NESTLINE_EXPORT uint64_t nestline_count_u64(const nestline_filter* filter, uint64_t key,
                                            const char** error);
NESTLINE_EXPORT uint64_t nestline_count_hash(const nestline_filter* filter, uint64_t hash,
                                             const char** error);

/// Removes one copy of a key, which must have been stored: after a copy that an insert refused, a
/// key that looks the same may be missed. False: none was found (*error is NULL), or the call
/// failed.
NESTLINE_EXPORT bool nestline_erase_bytes(nestline_filter* filter, const void* key, size_t size,
                                          const char** error);
NESTLINE_EXPORT bool nestline_erase_u64(nestline_filter* filter, uint64_t key, const char** error);
NESTLINE_EXPORT bool nestline_erase_hash(nestline_filter* filter, uint64_t hash,
                                         const char** error);

// Batches: `count` keys at once, the faster form from about 16 keys on. `_bytes` takes an array of
// pointers and one of sizes. Every other array has `count` elements unless stated otherwise. Arrays
// must not overlap unless the function allows it, and no other thread may write to them during the
// call. A batch is many calls on one key, each at an instant of its own. All arguments are checked
// before anything is touched; when they are wrong, NESTLINE_NO_COUNT is returned.

/// Inserts every key; returns how many were stored. `stored`: 1 or 0 for each key, or NULL. If a
/// key finds no room, the batch does not fail: *error is NULL.
NESTLINE_EXPORT uint64_t nestline_insert_batch_bytes(nestline_filter* filter,
                                                     const void* const* keys, const size_t* sizes,
                                                     size_t count, uint8_t* stored,
                                                     const char** error);
NESTLINE_EXPORT uint64_t nestline_insert_batch_u64(nestline_filter* filter, const uint64_t* keys,
                                                   size_t count, uint8_t* stored,
                                                   const char** error);
NESTLINE_EXPORT uint64_t nestline_insert_batch_hash(nestline_filter* filter, const uint64_t* hashes,
                                                    size_t count, uint8_t* stored,
                                                    const char** error);

/// Erases one copy of every key; returns how many were found. `erased`: 1 or 0 for each, or NULL.
NESTLINE_EXPORT uint64_t nestline_erase_batch_bytes(nestline_filter* filter,
                                                    const void* const* keys, const size_t* sizes,
                                                    size_t count, uint8_t* erased,
                                                    const char** error);
NESTLINE_EXPORT uint64_t nestline_erase_batch_u64(nestline_filter* filter, const uint64_t* keys,
                                                  size_t count, uint8_t* erased,
                                                  const char** error);
NESTLINE_EXPORT uint64_t nestline_erase_batch_hash(nestline_filter* filter, const uint64_t* hashes,
                                                   size_t count, uint8_t* erased,
                                                   const char** error);

/// Looks up every key; returns how many may be in the filter. `out`: 1 or 0 for each key.
NESTLINE_EXPORT uint64_t nestline_may_contain_batch_bytes(const nestline_filter* filter,
                                                          const void* const* keys,
                                                          const size_t* sizes, size_t count,
                                                          uint8_t* out, const char** error);
NESTLINE_EXPORT uint64_t nestline_may_contain_batch_u64(const nestline_filter* filter,
                                                        const uint64_t* keys, size_t count,
                                                        uint8_t* out, const char** error);
NESTLINE_EXPORT uint64_t nestline_may_contain_batch_hash(const nestline_filter* filter,
                                                         const uint64_t* hashes, size_t count,
                                                         uint8_t* out, const char** error);

/// The same with the answers as bits: key i is bit i % 64, from the least significant one, of word
/// i / 64. `bitmap` has (count + 63) / 64 words; unused bits of the last one are set to 0.
NESTLINE_EXPORT uint64_t nestline_may_contain_bits_bytes(const nestline_filter* filter,
                                                         const void* const* keys,
                                                         const size_t* sizes, size_t count,
                                                         uint64_t* bitmap, const char** error);
NESTLINE_EXPORT uint64_t nestline_may_contain_bits_u64(const nestline_filter* filter,
                                                       const uint64_t* keys, size_t count,
                                                       uint64_t* bitmap, const char** error);
NESTLINE_EXPORT uint64_t nestline_may_contain_bits_hash(const nestline_filter* filter,
                                                        const uint64_t* hashes, size_t count,
                                                        uint64_t* bitmap, const char** error);

/// Writes the positions of the keys that may be in the filter, in ascending order, to the front of
/// `positions`; returns how many. Elements after them stay as they were. At most 2^32 keys.
NESTLINE_EXPORT uint64_t nestline_select_bytes(const nestline_filter* filter,
                                               const void* const* keys, const size_t* sizes,
                                               size_t count, uint32_t* positions,
                                               const char** error);
NESTLINE_EXPORT uint64_t nestline_select_u64(const nestline_filter* filter, const uint64_t* keys,
                                             size_t count, uint32_t* positions, const char** error);
NESTLINE_EXPORT uint64_t nestline_select_hash(const nestline_filter* filter, const uint64_t* hashes,
                                              size_t count, uint32_t* positions,
                                              const char** error);

/// The same for the keys at the `selected` positions in `selection` only, in that order.
/// `positions` has `selected` elements and may be `selection` itself.
NESTLINE_EXPORT uint64_t nestline_select_from_bytes(const nestline_filter* filter,
                                                    const void* const* keys, const size_t* sizes,
                                                    size_t count, const uint32_t* selection,
                                                    size_t selected, uint32_t* positions,
                                                    const char** error);
NESTLINE_EXPORT uint64_t nestline_select_from_u64(const nestline_filter* filter,
                                                  const uint64_t* keys, size_t count,
                                                  const uint32_t* selection, size_t selected,
                                                  uint32_t* positions, const char** error);
NESTLINE_EXPORT uint64_t nestline_select_from_hash(const nestline_filter* filter,
                                                   const uint64_t* hashes, size_t count,
                                                   const uint32_t* selection, size_t selected,
                                                   uint32_t* positions, const char** error);

/// Copies of each key, as nestline_count does. False when the arguments are wrong.
NESTLINE_EXPORT bool nestline_count_batch_bytes(const nestline_filter* filter,
                                                const void* const* keys, const size_t* sizes,
                                                size_t count, uint8_t* copies, const char** error);
NESTLINE_EXPORT bool nestline_count_batch_u64(const nestline_filter* filter, const uint64_t* keys,
                                              size_t count, uint8_t* copies, const char** error);
NESTLINE_EXPORT bool nestline_count_batch_hash(const nestline_filter* filter,
                                               const uint64_t* hashes, size_t count,
                                               uint8_t* copies, const char** error);

// The maplet: a cuckoo filter that carries a 40-bit value with each key (maplet.h). The rules above
// hold, with these changes: a lookup that fails returns NESTLINE_NO_COUNT, and a maplet that
// answers from a mapped file refuses every change. nestline_outcome_of takes what its inserts
// return.

/// A maplet: one in memory that can be changed, or one that answers from a mapped file.
typedef struct nestline_maplet nestline_maplet;

/// What a maplet is made for; see nestline_options.
typedef struct nestline_maplet_options {
  size_t struct_size;     ///< Set by NESTLINE_MAPLET_OPTIONS_INIT.
  uint64_t capacity;      ///< Pairs it must hold; required, at least 1.
  uint64_t max_capacity;  ///< Above capacity: the maplet grows by itself up to here.
  uint64_t seed;          ///< Seeds the hash of integers and bytes; stored with the maplet.
} nestline_maplet_options;

#define NESTLINE_MAPLET_OPTIONS_INIT \
  { sizeof(nestline_maplet_options), 0, 0, 0 }

/// The largest value.
#define NESTLINE_MAPLET_MAX_VALUE ((UINT64_C(1) << 40) - 1)
/// The most values that a lookup of one key returns.
#define NESTLINE_MAPLET_MOST_CANDIDATES 16

/// An empty maplet in memory. Functions that return a maplet return NULL when they fail.
NESTLINE_EXPORT nestline_maplet* nestline_maplet_create(const nestline_maplet_options* options,
                                                        const char** error);
/// A copy in memory, at one instant; not of a mapped maplet.
NESTLINE_EXPORT nestline_maplet* nestline_maplet_copy(const nestline_maplet* maplet,
                                                      const char** error);
/// As nestline_load, nestline_map and nestline_load_from.
NESTLINE_EXPORT nestline_maplet* nestline_maplet_load(const char* path, const char** error);
NESTLINE_EXPORT nestline_maplet* nestline_maplet_map(const char* path, const char** error);
NESTLINE_EXPORT nestline_maplet* nestline_maplet_load_from(nestline_read read, void* context,
                                                           const char** error);
/// Frees the maplet; no other call may be running on it. NULL does nothing.
NESTLINE_EXPORT void nestline_maplet_free(nestline_maplet* maplet);
/// As nestline_save and nestline_save_to. A mapped maplet is refused: copy its file.
NESTLINE_EXPORT bool nestline_maplet_save(const nestline_maplet* maplet, const char* path,
                                          const char** error);
NESTLINE_EXPORT bool nestline_maplet_save_to(const nestline_maplet* maplet, nestline_write write,
                                             void* context, const char** error);

/// Adds a pair of key and value, as often as it is inserted. False: there is no room, there are 16
/// pairs of keys that look like this one, or the value is above NESTLINE_MAPLET_MAX_VALUE.
NESTLINE_EXPORT bool nestline_maplet_insert_bytes(nestline_maplet* maplet, const void* key,
                                                  size_t size, uint64_t value, const char** error);
NESTLINE_EXPORT bool nestline_maplet_insert_u64(nestline_maplet* maplet, uint64_t key,
                                                uint64_t value, const char** error);
NESTLINE_EXPORT bool nestline_maplet_insert_hash(nestline_maplet* maplet, uint64_t hash,
                                                 uint64_t value, const char** error);
/// Puts the candidates for the key to the front of `values`, which has
/// NESTLINE_MAPLET_MOST_CANDIDATES elements, and returns how many there are. All the key's values
/// are among them, and seldom another: look where they point.
NESTLINE_EXPORT uint64_t nestline_maplet_find_bytes(const nestline_maplet* maplet, const void* key,
                                                    size_t size, uint64_t* values,
                                                    const char** error);
NESTLINE_EXPORT uint64_t nestline_maplet_find_u64(const nestline_maplet* maplet, uint64_t key,
                                                  uint64_t* values, const char** error);
NESTLINE_EXPORT uint64_t nestline_maplet_find_hash(const nestline_maplet* maplet, uint64_t hash,
                                                   uint64_t* values, const char** error);
/// Gives one pair of key and old value the new value, at one instant. False: there is no such pair
/// (*error is NULL), or the call failed.
NESTLINE_EXPORT bool nestline_maplet_replace_bytes(nestline_maplet* maplet, const void* key,
                                                   size_t size, uint64_t old_value,
                                                   uint64_t new_value, const char** error);
NESTLINE_EXPORT bool nestline_maplet_replace_u64(nestline_maplet* maplet, uint64_t key,
                                                 uint64_t old_value, uint64_t new_value,
                                                 const char** error);
NESTLINE_EXPORT bool nestline_maplet_replace_hash(nestline_maplet* maplet, uint64_t hash,
                                                  uint64_t old_value, uint64_t new_value,
                                                  const char** error);
/// Removes one pair that was inserted. False: there is none (*error is NULL), or the call failed.
NESTLINE_EXPORT bool nestline_maplet_erase_bytes(nestline_maplet* maplet, const void* key,
                                                 size_t size, uint64_t value, const char** error);
NESTLINE_EXPORT bool nestline_maplet_erase_u64(nestline_maplet* maplet, uint64_t key,
                                               uint64_t value, const char** error);
NESTLINE_EXPORT bool nestline_maplet_erase_hash(nestline_maplet* maplet, uint64_t hash,
                                                uint64_t value, const char** error);

/// The candidates of `count` keys: those of key i are values[first[i]] .. values[first[i + 1] - 1].
/// `first` has count + 1 elements, `values` has `room`. Returns how many candidates there are in
/// all; if they are more than `room`, `values` holds the first of them, and a call with more room
/// gives all. At most 16 for each key.
NESTLINE_EXPORT uint64_t nestline_maplet_find_batch_bytes(const nestline_maplet* maplet,
                                                          const void* const* keys,
                                                          const size_t* sizes, size_t count,
                                                          uint32_t* first, uint64_t* values,
                                                          size_t room, const char** error);
NESTLINE_EXPORT uint64_t nestline_maplet_find_batch_u64(const nestline_maplet* maplet,
                                                        const uint64_t* keys, size_t count,
                                                        uint32_t* first, uint64_t* values,
                                                        size_t room, const char** error);
NESTLINE_EXPORT uint64_t nestline_maplet_find_batch_hash(const nestline_maplet* maplet,
                                                         const uint64_t* hashes, size_t count,
                                                         uint32_t* first, uint64_t* values,
                                                         size_t room, const char** error);
/// Adds the pairs keys[i], values[i]; returns how many were added. `stored`: 1 or 0 for each, or
/// NULL. All arguments are checked before anything is added.
NESTLINE_EXPORT uint64_t nestline_maplet_insert_batch_bytes(nestline_maplet* maplet,
                                                            const void* const* keys,
                                                            const size_t* sizes, size_t count,
                                                            const uint64_t* values, uint8_t* stored,
                                                            const char** error);
NESTLINE_EXPORT uint64_t nestline_maplet_insert_batch_u64(nestline_maplet* maplet,
                                                          const uint64_t* keys, size_t count,
                                                          const uint64_t* values, uint8_t* stored,
                                                          const char** error);
NESTLINE_EXPORT uint64_t nestline_maplet_insert_batch_hash(nestline_maplet* maplet,
                                                           const uint64_t* hashes, size_t count,
                                                           const uint64_t* values, uint8_t* stored,
                                                           const char** error);

/// Doubles the maplet, without the keys. False: it failed, nothing has changed.
NESTLINE_EXPORT bool nestline_maplet_grow(nestline_maplet* maplet, const char** error);
/// Takes the value of a pair. Return false to see no more.
typedef bool (*nestline_maplet_value)(void* context, uint64_t value);
/// Calls `with` for the value of each pair, as of one instant, in no particular order. Needs memory
/// for a copy. False: it failed, or `with` returned false (*error is NULL).
NESTLINE_EXPORT bool nestline_maplet_for_each(const nestline_maplet* maplet,
                                              nestline_maplet_value with, void* context,
                                              const char** error);

// Properties, as those of a filter. They cannot fail; for NULL they return 0 or false.

/// Pairs in the maplet.
NESTLINE_EXPORT uint64_t nestline_maplet_size(const nestline_maplet* maplet);
/// Pairs it holds before it is full or grows, and up to which it grows by itself.
NESTLINE_EXPORT uint64_t nestline_maplet_capacity(const nestline_maplet* maplet);
NESTLINE_EXPORT uint64_t nestline_maplet_max_capacity(const nestline_maplet* maplet);
/// How often it has doubled.
NESTLINE_EXPORT unsigned nestline_maplet_growth(const nestline_maplet* maplet);
/// Pairs divided by slots; 0 for a mapped maplet, as the next one.
NESTLINE_EXPORT double nestline_maplet_load_factor(const nestline_maplet* maplet);
/// How many false candidates a lookup of an absent key returns on average.
NESTLINE_EXPORT double nestline_maplet_expected_false_candidates(const nestline_maplet* maplet);
NESTLINE_EXPORT uint64_t nestline_maplet_seed(const nestline_maplet* maplet);
NESTLINE_EXPORT size_t nestline_maplet_memory_bytes(const nestline_maplet* maplet);
NESTLINE_EXPORT bool nestline_maplet_is_mapped(const nestline_maplet* maplet);

// The store: an exact key/value store in a folder (store.h). Keys are bytes. Any number of threads
// may make any calls on one store at the same time, except nestline_store_close, which must be the
// last. C10 does not hold: a store is for neither signal handlers, nor cancelled threads, nor the
// child of a fork().

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
  uint64_t reads, false_reads, questions, found, syncs;
  uint64_t replayed_records, cut_bytes;
  char back_end[16];  ///< "preadv": how cold records are read.
} nestline_store_counts;

/// Opens the store in the folder at `path`; `options` may be NULL for the defaults. NULL when it
/// fails. Close it with nestline_store_close.
NESTLINE_EXPORT nestline_store* nestline_store_open(const char* path,
                                                    const nestline_store_options* options,
                                                    const char** error);
/// Closes the store: syncs the log, also with NESTLINE_SYNC_NEVER, and saves the index. To learn of
/// errors, call nestline_store_checkpoint before. NULL does nothing.
NESTLINE_EXPORT void nestline_store_close(nestline_store* store);

/// The value of the key, with its number of bytes in *value_size and a NUL after them; NULL if the
/// key is not there (*error is NULL) or the call failed. Free it with nestline_free_bytes.
NESTLINE_EXPORT void* nestline_store_get(const nestline_store* store, const void* key, size_t size,
                                         size_t* value_size, const char** error);
/// The same into `room` bytes at `value`: as much of it as fits, and the number of all its bytes in
/// *value_size. False: not there (*error is NULL), or the call failed.
NESTLINE_EXPORT bool nestline_store_get_into(const nestline_store* store, const void* key,
                                             size_t size, void* value, size_t room,
                                             size_t* value_size, const char** error);
/// Whether the key is there; false also when the call fails.
NESTLINE_EXPORT bool nestline_store_contains(const nestline_store* store, const void* key,
                                             size_t size, const char** error);
/// Takes the value of the key at position `i`. It must be short, make no call on the store and
/// change no filter; the bytes are gone when it has returned.
typedef void (*nestline_store_value)(void* context, size_t i, const void* value, size_t size);
/// Asks for `count` keys: calls `with` for each that is there, in any order, and returns how many
/// were. NESTLINE_NO_COUNT when it fails.
NESTLINE_EXPORT uint64_t nestline_store_get_batch(const nestline_store* store,
                                                  const void* const* keys, const size_t* sizes,
                                                  size_t count, nestline_store_value with,
                                                  void* context, const char** error);

/// The key has this value from now on, whether it was there or not. False when it fails.
NESTLINE_EXPORT bool nestline_store_put(nestline_store* store, const void* key, size_t size,
                                        const void* value, size_t value_size, const char** error);
/// The same only if the key is not there. False: it is (*error is NULL), or the call failed.
NESTLINE_EXPORT bool nestline_store_insert(nestline_store* store, const void* key, size_t size,
                                           const void* value, size_t value_size,
                                           const char** error);
/// Removes the key. False: it was not there (*error is NULL), or the call failed.
NESTLINE_EXPORT bool nestline_store_erase(nestline_store* store, const void* key, size_t size,
                                          const char** error);

/// Changes that are made together. One thread at a time may use a batch.
typedef struct nestline_store_batch nestline_store_batch;
/// An empty batch; NULL when it fails. Free it with nestline_store_batch_free.
NESTLINE_EXPORT nestline_store_batch* nestline_store_batch_create(const char** error);
NESTLINE_EXPORT void nestline_store_batch_free(nestline_store_batch* batch);
NESTLINE_EXPORT bool nestline_store_batch_put(nestline_store_batch* batch, const void* key,
                                              size_t size, const void* value, size_t value_size,
                                              const char** error);
NESTLINE_EXPORT bool nestline_store_batch_erase(nestline_store_batch* batch, const void* key,
                                                size_t size, const char** error);
/// Empties the batch. It cannot fail; NULL does nothing.
NESTLINE_EXPORT void nestline_store_batch_clear(nestline_store_batch* batch);
/// How many changes it has; 0 for NULL.
NESTLINE_EXPORT size_t nestline_store_batch_size(const nestline_store_batch* batch);
/// Makes all changes in their order, or none, after a crash as well. The batch stays as it is.
NESTLINE_EXPORT bool nestline_store_write(nestline_store* store, const nestline_store_batch* batch,
                                          const char** error);

/// Takes a record. Return false to see no more.
typedef bool (*nestline_store_record)(void* context, const void* key, size_t size,
                                      const void* value, size_t value_size);
/// Calls `with` for every record, as of one instant, in the order of the log. False: it failed, or
/// `with` returned false (*error is NULL).
NESTLINE_EXPORT bool nestline_store_for_each(const nestline_store* store,
                                             nestline_store_record with, void* context,
                                             const char** error);

/// As sync, compact and checkpoint of store.h. False when it fails.
NESTLINE_EXPORT bool nestline_store_sync(nestline_store* store, const char** error);
NESTLINE_EXPORT bool nestline_store_compact(nestline_store* store, const char** error);
NESTLINE_EXPORT bool nestline_store_checkpoint(nestline_store* store, const char** error);
/// Follows the log of a store that is read_only. False: nothing new (*error is NULL), or it failed.
NESTLINE_EXPORT bool nestline_store_refresh(nestline_store* store, const char** error);
/// Fills *counts. False when it fails.
NESTLINE_EXPORT bool nestline_store_stats(const nestline_store* store,
                                          nestline_store_counts* counts, const char** error);
/// The last error since opening of what the store does by itself: checkpoints, compaction, a new
/// index, syncs after an interval; a sentence that the caller frees with nestline_free_bytes. NULL:
/// there was none (*error is NULL), or the call failed.
NESTLINE_EXPORT char* nestline_store_background_error(const nestline_store* store,
                                                      const char** error);

// Files in a store, cut into pieces of which equal ones are stored once; see store.h. Names are
// bytes.

/// Stores what `read` gives under the name, in pieces of `piece_bytes` (0: 4096), or, if `lines`,
/// one for each line. Returns the number of bytes, NESTLINE_NO_COUNT when it fails.
NESTLINE_EXPORT uint64_t nestline_store_put_file(nestline_store* store, const void* name,
                                                 size_t size, nestline_read read, void* context,
                                                 uint64_t piece_bytes, bool lines,
                                                 const char** error);
/// Passes the file to `write`. False: there is no such file (*error is NULL), or the call failed.
NESTLINE_EXPORT bool nestline_store_get_file(const nestline_store* store, const void* name,
                                             size_t size, nestline_write write, void* context,
                                             const char** error);
/// Removes the file, not its pieces. False: there is none (*error is NULL), or the call failed.
NESTLINE_EXPORT bool nestline_store_erase_file(nestline_store* store, const void* name, size_t size,
                                               const char** error);
/// Takes what is known of a file. Return false to see no more.
typedef bool (*nestline_store_file)(void* context, const void* name, size_t size, uint64_t bytes,
                                    uint64_t pieces);
/// Calls `with` for every file, in the order of their names. As nestline_store_for_each.
NESTLINE_EXPORT bool nestline_store_files(const nestline_store* store, nestline_store_file with,
                                          void* context, const char** error);

/// What nestline_store_verify and nestline_store_repair found; see StoreReport in store.h.
typedef struct nestline_store_report {
  size_t struct_size;  ///< Set it to sizeof(nestline_store_report) before the call.
  uint64_t problems, records, bytes, cut_bytes, lost_bytes;
} nestline_store_report;
/// Takes one problem, a sentence.
typedef void (*nestline_store_problem)(void* context, const char* sentence);
/// Reads and checks every byte of the store at `path`; changes nothing. Calls `with` for every
/// problem. `report` and `with` may be NULL. False: there are problems and *error is the first, or
/// the call failed.
NESTLINE_EXPORT bool nestline_store_verify(const char* path, nestline_store_report* report,
                                           nestline_store_problem with, void* context,
                                           const char** error);
/// Makes a damaged store one that opens; the problems are what was damaged. False when it fails.
NESTLINE_EXPORT bool nestline_store_repair(const char* path, nestline_store_report* report,
                                           nestline_store_problem with, void* context,
                                           const char** error);

#ifdef __cplusplus
}
#endif

// The rest of the library for C.
#include "nestline/nestline_expiring.h"

#endif  // NESTLINE_NESTLINE_H_
