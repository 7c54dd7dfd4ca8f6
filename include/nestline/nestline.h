// Filters for C99 and all that can call C: the cuckoo filter here, the maplet and the filter whose
// keys expire in headers that this one includes. The store is in nestline_store.h.
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
//       So are bytes: free them with nestline_free_bytes. No function keeps what you pass to it,
//       but for the bytes of nestline_view and the filter of a clock.
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
//       may be NULL. A filter that answers from a mapped file or bytes of yours (nestline_map,
//       nestline_view) refuses every change, and a filter whose keys expire those that it does not
//       have (nestline_expiring.h).
//   C7  Keys are of three kinds, which are always different keys: bytes (`_bytes`, a pointer and a
//       size; NUL is a byte like any other, the size may be 0), 64-bit integers (`_u64`), and
//       hashes made by the caller (`_hash`; well mixed, see keys.h). They are the same as in C++:
//       strings, std::uint64_t, nestline::Hash. Batches take all kinds as nestline_keys. Paths are
//       NUL-terminated strings in the file system's own encoding.
//   C8  Numbers. Sizes of memory and lengths of arrays are size_t, numbers of keys uint64_t.
//   C9  Answers. False from a lookup means "certainly not". A lookup that fails returns true, which
//       means "maybe" and so is never wrong.
//   C10 Processes. A signal handler may look up keys if the thread that it interrupted has
//       registered (nestline_register_thread) and is not in a call on that filter; it must not
//       change a filter. A thread may be cancelled (deferred, which is the default) in any call; it
//       ends after the call. The exceptions are calls that read or write a file: there it ends the
//       process. After fork() the child may use a filter if no other thread was in a call of this
//       library at that moment. If one was, the child may only use a copy that was made before
//       (nestline_snapshot), and only for lookups. concurrent_filter.h explains why.
//
// Each function costs the same and means the same as its C++ counterpart in filter.h and
// concurrent_filter.h, which have the bounds.
#ifndef NESTLINE_NESTLINE_H_
#define NESTLINE_NESTLINE_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nestline/version.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)  // the library is compiled with hidden names

/// A filter: in memory, on bytes that lie elsewhere, or one whose keys expire.
typedef struct nestline_filter nestline_filter;

/// What a filter is made for. Begin with NESTLINE_OPTIONS_INIT and set members by name: later
/// versions may add members, and programs that were compiled before that still work.
typedef struct nestline_options {
  size_t struct_size;     ///< Set by NESTLINE_OPTIONS_INIT: sizeof(nestline_options).
  uint64_t capacity;      ///< Keys it must hold; required, at least 1.
  uint64_t max_capacity;  ///< Above capacity: the filter grows by itself up to here.
  uint64_t seed;          ///< Seeds the hash of integers and bytes; stored with the filter.
  double fpr;             ///< Wanted false-positive rate; 0: see nestline::Options.
  int bits;               ///< Fingerprint width: 8, 9, 10, 12 or 16; 0: the one that suits fpr.
  int turns_over;         ///< 1: as nestline::Options::turns_over; 0: not.
  double load;            ///< How full it is at its capacity, 0.5 to 0.95; 0: 0.95.
  double shrink_below;    ///< Load, up to 0.4, below which erasing shrinks it; 0: never.
  int may_fold;           ///< 1: as nestline::Options::may_fold, for nestline_fit; 0: not.
  int reserved;           ///< 0.
} nestline_options;

#define NESTLINE_OPTIONS_INIT \
  { sizeof(nestline_options), 0, 0, 0, 0.0, 0, 0, 0.0, 0.0, 0, 0 }

/// How an insert ended: what nestline_outcome_of returns and batches write; in C++ Outcome.
typedef enum nestline_outcome {
  NESTLINE_ERROR = 0,    ///< The call failed; batches never write it.
  NESTLINE_STORED = 1,   ///< The key is in the filter.
  NESTLINE_PRESENT = 2,  ///< insert_unique: may_contain was true, nothing was stored. Of a filter
                         ///< whose keys expire: the key was there and lives longer now.
  NESTLINE_FULL = 3,     ///< No room can be made.
  /// As many copies as the filter can hold of this key are in it already.
  NESTLINE_TOO_MANY_COPIES = 4,
  NESTLINE_COPIES = NESTLINE_TOO_MANY_COPIES  ///< Deprecated: its name in version 0.2.
} nestline_outcome;

/// Which copies nestline_merge must take; see Copies in filter.h.
typedef enum nestline_copies {
  NESTLINE_MERGE_ALL = 0,      ///< All, or nothing is merged.
  NESTLINE_MERGE_MOST = 1,     ///< All but those of keys that have the most copies, or one less.
  NESTLINE_MERGE_THAT_FIT = 2  ///< Those that find place.
} nestline_copies;

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

/// How the keys of a batch lie in memory.
typedef enum nestline_key_kind {
  NESTLINE_KEYS_BYTES = 1,      ///< Bytes: an array of pointers and one of sizes.
  NESTLINE_KEYS_OFFSETS32 = 2,  ///< Bytes: one buffer; key i is from offset i to offset i + 1, as
                                ///< in Arrow's arrays of binaries and strings (int32_t).
  NESTLINE_KEYS_OFFSETS64 = 3,  ///< The same with int64_t, as in Arrow's large ones.
  NESTLINE_KEYS_U64 = 4,        ///< 64-bit integers.
  NESTLINE_KEYS_HASH = 5        ///< Hashes.
} nestline_key_kind;

/// The keys of a batch; they stay the caller's. Make one with the functions below, or member by
/// member. Each key means what it means alone (C7): bytes are equal keys however they lie.
typedef struct nestline_keys {
  int kind;             ///< A nestline_key_kind.
  size_t count;         ///< Keys.
  const void* keys;     ///< Pointers (const void* const*), the buffer, or integers (uint64_t).
  const void* offsets;  ///< count + 1 offsets; for NESTLINE_KEYS_BYTES count sizes (size_t);
                        ///< otherwise NULL.
  size_t buffer_bytes;  ///< Of the buffer: no offset may be above it.
} nestline_keys;

static inline nestline_keys nestline_keys_bytes(const void* const* keys, const size_t* sizes,
                                                size_t count) {
  const nestline_keys made = {NESTLINE_KEYS_BYTES, count, keys, sizes, 0};
  return made;
}
static inline nestline_keys nestline_keys_offsets32(const void* buffer, size_t buffer_bytes,
                                                    const int32_t* offsets, size_t count) {
  const nestline_keys made = {NESTLINE_KEYS_OFFSETS32, count, buffer, offsets, buffer_bytes};
  return made;
}
static inline nestline_keys nestline_keys_offsets64(const void* buffer, size_t buffer_bytes,
                                                    const int64_t* offsets, size_t count) {
  const nestline_keys made = {NESTLINE_KEYS_OFFSETS64, count, buffer, offsets, buffer_bytes};
  return made;
}
static inline nestline_keys nestline_keys_u64(const uint64_t* keys, size_t count) {
  const nestline_keys made = {NESTLINE_KEYS_U64, count, keys, NULL, 0};
  return made;
}
static inline nestline_keys nestline_keys_hash(const uint64_t* hashes, size_t count) {
  const nestline_keys made = {NESTLINE_KEYS_HASH, count, hashes, NULL, 0};
  return made;
}

/// The running library's version, as "0.2.0"; NESTLINE_VERSION_STRING is that of the headers.
const char* nestline_version(void);

/// Registers the calling thread; otherwise its first call on any filter does. That sometimes
/// allocates a little memory, and if the system refuses it, the first call ends the process by
/// abort(). This function returns false instead, when the system refuses 1 MiB. Later calls do
/// nothing. Functions that make a filter register their own thread.
bool nestline_register_thread(const char** error);

// Making and freeing filters. Functions that return a filter return NULL when they fail.

/// An empty filter in memory.
nestline_filter* nestline_create(const nestline_options* options, const char** error);
/// A filter in memory of all the keys, equal ones being copies: what inserting them into an empty
/// filter gives, in a fraction of the time. `outcomes`, a nestline_outcome for each key:
/// stored, full or too many copies; when the call fails, they have no meaning. If it is NULL, a key
/// that finds no room and would be missed makes the call fail. Of equal keys, those beyond the most
/// copies are not stored; lookups find them all the same. nestline_size returns how many were
/// stored. Takes about 2.5 bytes a key and 9 bytes a block beside the filter while it runs; keys
/// that are bytes take 16 bytes a key more. O(keys + blocks).
nestline_filter* nestline_build(const nestline_options* options, nestline_keys keys,
                                uint8_t* outcomes, const char** error);
/// A copy in memory, at one instant. That of a mapped filter is checked first. O(memory).
nestline_filter* nestline_snapshot(const nestline_filter* filter, const char** error);
/// Reads a file into memory and checks everything. On Windows every path is UTF-8. O(file).
nestline_filter* nestline_load(const char* path, const char** error);
/// A filter that answers from a read-only mapping of its file, without reading it first. `verify`
/// states when the blocks of the file are checked, and so what damage does to answers: see Verify
/// in mapped_filter.h. The header is always checked. The file must not be truncated or written in
/// place while it is mapped; nestline_save never does that, it replaces files.
nestline_filter* nestline_map(const char* path, nestline_verify_mode verify, const char** error);
/// The same in the `size` bytes, which lie in memory of yours: they must begin at a multiple of 64
/// and stay as they are until the filter is freed.
nestline_filter* nestline_view(const void* bytes, size_t size, nestline_verify_mode verify,
                               const char** error);
/// The filter in the `size` bytes, which are copied and checked as nestline_load does.
nestline_filter* nestline_from_bytes(const void* bytes, size_t size, const char** error);
/// The filter whose bytes `read` gives. `read` is called with `context`, and never for bytes after
/// the filter. Checks everything, and allocates memory as bytes come in.
nestline_filter* nestline_load_from(nestline_read read, void* context, const char** error);
/// Frees the filter; no other call may be running on it. NULL does nothing.
void nestline_free(nestline_filter* filter);
/// Replaces the file at `path` atomically by the filter as it is at one instant. Needs memory for a
/// copy. False on failure; the old file is then unchanged.
bool nestline_save(const nestline_filter* filter, const char* path, const char** error);
/// Passes the bytes that nestline_save would write to `write`, in pieces of up to 1 MiB, with
/// `context`. Needs memory for a copy. False on failure, also when `write` returns false.
bool nestline_save_to(const nestline_filter* filter, nestline_write write, void* context,
                      const char** error);
/// The bytes that nestline_save would write but for the header, which has 64 bytes in place of
/// 4096, of an expiring filter 128: versions before 0.3 refuse it. Their number is in *size; NULL
/// on failure. Needs memory for two copies during the call. Free them with nestline_free_bytes.
void* nestline_to_bytes(const nestline_filter* filter, size_t* size, const char** error);
/// Frees what nestline_to_bytes gave. NULL does nothing.
void nestline_free_bytes(void* bytes);
/// Reads the whole file of a mapped filter and compares every checksum. False if there is a flaw;
/// *error then names where the first one is. A filter in memory is refused.
bool nestline_verify(const nestline_filter* filter, const char** error);
/// True if the lookups so far have found no damage. If false, *error names where the first damaged
/// section is. Only NESTLINE_VERIFY_LAZILY finds any. Reads nothing itself.
bool nestline_undamaged(const nestline_filter* filter, const char** error);

// The filter as a whole. False: failed, nothing has changed.

/// Removes every key.
bool nestline_clear(nestline_filter* filter, const char** error);
/// Doubles the filter in one pass over its memory, without the keys. Fails when the fingerprints
/// have no bit left to take. Lookups go on meanwhile; changes wait.
bool nestline_grow(nestline_filter* filter, const char** error);
/// Undoes one doubling, without the keys. Fails unless nestline_can_shrink, and where copies of
/// keys leave a key without room. Lookups go on meanwhile; changes wait.
bool nestline_shrink(nestline_filter* filter, const char** error);
/// Shrinks the filter as often as its keys allow, in one pass; that may be never. *times, unless
/// `times` is NULL, becomes how often.
bool nestline_fit(nestline_filter* filter, unsigned* times, const char** error);
/// Adds what is in `other` (which may be mapped, or `filter` itself). `copies` states which copies
/// of keys may be left out; with NESTLINE_MERGE_ALL it is all or nothing. *left_out, unless
/// `left_out` is NULL, becomes the number of copies that were left out. Both filters must have been
/// made with equal options; one that has grown more often is folded first, if the keys of both are
/// within the capacity that it then has. Needs memory for a copy of each.
bool nestline_merge(nestline_filter* filter, const nestline_filter* other, nestline_copies copies,
                    uint64_t* left_out, const char** error);

/// What two filters have in common; see Overlap in filter.h.
typedef struct nestline_overlap {
  uint64_t matches;       ///< At least as many keys as are common, and copies that both have.
  double by_chance;       ///< Matches to expect if no key was common.
  double estimate;        ///< Of the common keys.
  double standard_error;  ///< Of `estimate`.
} nestline_overlap;

/// False: certainly no key is in both filters, which must be as nestline_merge wants them; neither
/// is changed. True: some may be, or the call failed. Needs memory for a copy of each.
bool nestline_may_overlap(const nestline_filter* filter, const nestline_filter* other,
                          const char** error);
/// Counts what may be common. Needs memory for a copy of each.
bool nestline_count_common(const nestline_filter* filter, const nestline_filter* other,
                           nestline_overlap* overlap, const char** error);

/// How many of the keys that a thread has looked up passed, of filters of any kind; and, before
/// work that lookups are to save, such as a join, whether it is worth to ask: see PassRate in
/// pass_rate.h, which says where it may not be used. Begin with zeros: nestline_pass_rate r = {0}.
/// No locks: one for each thread and place of the program.
typedef struct nestline_pass_rate {
  uint64_t asked;   ///< Keys that were looked up.
  uint64_t passed;  ///< Of these, those that may be in.
  uint64_t reserved[3];
} nestline_pass_rate;

/// Whether to look up the next `keys` keys, a batch or 1. False: take them as passed without a
/// look, since most of the last 4,096 that were asked passed; after 65,536 of such keys it is true
/// again. Also true for NULL. O(1).
bool nestline_asks_next(nestline_pass_rate* rate, uint64_t keys);
/// What came of a look. Nothing happens for NULL. O(1).
void nestline_note_passed(nestline_pass_rate* rate, uint64_t asked, uint64_t passed);

// Properties of a filter. These functions cannot fail; for NULL they return 0 or false, and so do
// those about growth for a filter that does not grow.

/// Keys in the filter, every copy counted.
uint64_t nestline_size(const nestline_filter* filter);
/// Slots, each for one copy of a key. They are never all in use.
uint64_t nestline_slots(const nestline_filter* filter);
/// Keys it holds before it is full or grows.
uint64_t nestline_capacity(const nestline_filter* filter);
/// Number of keys up to which it grows by itself; 0: it does not grow by itself.
uint64_t nestline_max_capacity(const nestline_filter* filter);
/// How often it has doubled.
unsigned nestline_growth(const nestline_filter* filter);
/// Keys divided by slots, 0 to 1.
double nestline_load_factor(const nestline_filter* filter);
/// The false-positive rate at the present load and growth. Looks at up to 4096 blocks.
double nestline_expected_fpr(const nestline_filter* filter);
/// Fingerprint width: 8, 9, 10, 12 or 16.
int nestline_bits(const nestline_filter* filter);
uint64_t nestline_seed(const nestline_filter* filter);
/// Bytes of memory, or of the mapped file.
size_t nestline_memory_bytes(const nestline_filter* filter);
/// Whether it was made with turns_over, of 64 blocks or more before any doubling.
bool nestline_turns_over(const nestline_filter* filter);
/// Whether the filter has doubled, and holds no more keys than it would be for if it shrank.
bool nestline_can_shrink(const nestline_filter* filter);
/// Whether it answers from a mapped file, and so refuses every change.
bool nestline_is_mapped(const nestline_filter* filter);
/// The most keys for which a filter with this false-positive rate takes at most so many bytes; 0
/// where not even one fits. NESTLINE_NO_COUNT when it fails, as the next one.
uint64_t nestline_capacity_for(uint64_t bytes, double fpr, const char** error);
/// Bytes of memory that a filter with these options begins with.
uint64_t nestline_bytes_for(const nestline_options* options, const char** error);
/// The hash under which a filter with this seed stores the key: to insert it with
/// nestline_insert_hash is to insert the key. nestline_hash_bytes returns 0 when it fails. Divide
/// keys by the high bits; the lowest 18 of an integer's are not well mixed.
uint64_t nestline_hash_bytes(const void* key, size_t size, uint64_t seed, const char** error);
uint64_t nestline_hash_u64(uint64_t key, uint64_t seed);

// One key.
//
// The functions that store a key return true when this call stored it, and false otherwise, so `if
// (!nestline_insert_u64(...))` is all the checking that is needed. *error gives the reason: NULL
// when the key was present already, which nestline_insert_unique_* check, and all inserts into a
// filter whose keys expire; otherwise a sentence. nestline_outcome_of turns the two into a number.

/// What became of a key. Both arguments must come from the same call: the value it returned, and
/// the pointer it set *error to (the pointer itself, not a copy of the sentence).
nestline_outcome nestline_outcome_of(bool stored, const char* error);
/// Stores one copy of the key; a second copy is a second entry.
bool nestline_insert_bytes(nestline_filter* filter, const void* key, size_t size,
                           const char** error);
bool nestline_insert_u64(nestline_filter* filter, uint64_t key, const char** error);
bool nestline_insert_hash(nestline_filter* filter, uint64_t hash, const char** error);
/// Stores the key unless may_contain is true for it already. If several threads call this with the
/// same key, one gets true and the others get false without an error.
bool nestline_insert_unique_bytes(nestline_filter* filter, const void* key, size_t size,
                                  const char** error);
bool nestline_insert_unique_u64(nestline_filter* filter, uint64_t key, const char** error);
bool nestline_insert_unique_hash(nestline_filter* filter, uint64_t hash, const char** error);
/// Replaces one copy of the old key, which must be there, with the new key, at one instant.
bool nestline_update_bytes(nestline_filter* filter, const void* old_key, size_t old_size,
                           const void* new_key, size_t new_size, const char** error);
bool nestline_update_u64(nestline_filter* filter, uint64_t old_key, uint64_t new_key,
                         const char** error);
bool nestline_update_hash(nestline_filter* filter, uint64_t old_hash, uint64_t new_hash,
                          const char** error);
/// False: the key is certainly not in the filter. True: it may be, or the call failed (C9).
bool nestline_may_contain_bytes(const nestline_filter* filter, const void* key, size_t size,
                                const char** error);
bool nestline_may_contain_u64(const nestline_filter* filter, uint64_t key, const char** error);
bool nestline_may_contain_hash(const nestline_filter* filter, uint64_t hash, const char** error);

/// Hashes the key and starts to fetch its block into the cache, for callers that do something else
/// before they pass the hash to the functions `_hash`: 16 keys later is enough for filters in
/// memory. Returns 0 when it fails; a hash can be 0 too, so look at *error. The hash is good for
/// every filter with the same seed, and for ever.
uint64_t nestline_prepare_bytes(const nestline_filter* filter, const void* key, size_t size,
                                const char** error);
uint64_t nestline_prepare_u64(const nestline_filter* filter, uint64_t key, const char** error);
uint64_t nestline_prepare_hash(const nestline_filter* filter, uint64_t hash, const char** error);
/// Copies of the key, and of keys that look the same; at most 10. NESTLINE_NO_COUNT when it fails.
uint64_t nestline_count_bytes(const nestline_filter* filter, const void* key, size_t size,
                              const char** error);
uint64_t nestline_count_u64(const nestline_filter* filter, uint64_t key, const char** error);
uint64_t nestline_count_hash(const nestline_filter* filter, uint64_t hash, const char** error);
/// Removes one copy of a key, which must have been stored: else one that looks the same may be
/// missed. False: none was found (*error is NULL), or the call failed.
bool nestline_erase_bytes(nestline_filter* filter, const void* key, size_t size,
                          const char** error);
bool nestline_erase_u64(nestline_filter* filter, uint64_t key, const char** error);
bool nestline_erase_hash(nestline_filter* filter, uint64_t hash, const char** error);

// Batches: many keys at once, the faster form from about 16 keys on. The array for answers has an
// element for each key unless stated otherwise. Arrays must not overlap unless the function allows
// it, and no other thread may write to them during the call. A batch is many calls on one key, each
// at an instant of its own. All arguments are checked before anything is touched; when they are
// wrong, NESTLINE_NO_COUNT is returned.

/// Inserts every key, in this order; returns how many were stored. `outcomes`: a nestline_outcome
/// for each key, or NULL. If a key finds no room, the batch does not fail: *error is NULL.
uint64_t nestline_insert_batch(nestline_filter* filter, nestline_keys keys, uint8_t* outcomes,
                               const char** error);
/// The same with nestline_insert_unique: also of equal keys in the batch, one is stored.
uint64_t nestline_insert_unique_batch(nestline_filter* filter, nestline_keys keys,
                                      uint8_t* outcomes, const char** error);
/// Erases one copy of every key; returns how many were found. `erased`: 1 or 0 for each, or NULL.
uint64_t nestline_erase_batch(nestline_filter* filter, nestline_keys keys, uint8_t* erased,
                              const char** error);
/// Looks up every key; returns how many may be in the filter. `out`: 1 or 0 for each key.
uint64_t nestline_may_contain_batch(const nestline_filter* filter, nestline_keys keys, uint8_t* out,
                                    const char** error);
/// The same with the answers as bits: key i is bit i % 64, from the least significant one, of word
/// i / 64. `bitmap` has (count + 63) / 64 words; unused bits of the last one are set to 0.
uint64_t nestline_may_contain_bits(const nestline_filter* filter, nestline_keys keys,
                                   uint64_t* bitmap, const char** error);
/// Writes the positions of the keys that may be in the filter, in ascending order, to the front of
/// `positions`; returns how many. Elements after them stay as they were. At most 2^32 keys.
uint64_t nestline_select(const nestline_filter* filter, nestline_keys keys, uint32_t* positions,
                         const char** error);
/// The same for the keys at the `selected` positions in `selection` only, in that order; the others
/// are not looked at. `positions` has `selected` elements and may be `selection` itself.
uint64_t nestline_select_from(const nestline_filter* filter, nestline_keys keys,
                              const uint32_t* selection, size_t selected, uint32_t* positions,
                              const char** error);
/// Copies of each key, as nestline_count does. False when the arguments are wrong.
bool nestline_count_batch(const nestline_filter* filter, nestline_keys keys, uint8_t* copies,
                          const char** error);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

// The other filters.
#include "nestline/nestline_expiring.h"
#include "nestline/nestline_maplet.h"

#endif  // NESTLINE_NESTLINE_H_
