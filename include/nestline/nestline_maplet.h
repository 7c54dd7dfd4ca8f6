// The maplet for C: a cuckoo filter that carries a value of up to 40 bits with each key (maplet.h).
//
// The rules of nestline.h hold, with one change: a lookup that fails returns NESTLINE_NO_COUNT.
// nestline_outcome_of takes what its inserts return.
#ifndef NESTLINE_NESTLINE_MAPLET_H_
#define NESTLINE_NESTLINE_MAPLET_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nestline/nestline.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/// A maplet: one in memory that can be changed, or one that answers from a mapped file.
typedef struct nestline_maplet nestline_maplet;

/// What a maplet is made for; see nestline_options.
typedef struct nestline_maplet_options {
  size_t struct_size;     ///< Set by NESTLINE_MAPLET_OPTIONS_INIT.
  uint64_t capacity;      ///< Pairs it must hold; required, at least 1.
  uint64_t max_capacity;  ///< Above capacity: the maplet grows by itself up to here.
  uint64_t seed;          ///< Seeds the hash of integers and bytes; stored with the maplet.
  double fpr;             ///< As nestline::MapletOptions::fpr; 0: the least memory.
  int value_bits;         ///< Bits of a value: 4, 8, 16 or 40; 0: 40.
  int reserved;           ///< 0.
} nestline_maplet_options;

#define NESTLINE_MAPLET_OPTIONS_INIT \
  { sizeof(nestline_maplet_options), 0, 0, 0, 0.0, 0, 0 }

/// The largest value of 40 bits. That of a maplet: nestline_maplet_max_value.
#define NESTLINE_MAPLET_MAX_VALUE ((UINT64_C(1) << 40) - 1)
/// In a table of nestline_maplet_rename: pairs with this value are erased.
#define NESTLINE_MAPLET_ERASED UINT64_MAX
/// The most values that a lookup of one key returns.
#define NESTLINE_MAPLET_MAX_CANDIDATES 16

/// An empty maplet in memory. Functions that return a maplet return NULL when they fail.
nestline_maplet* nestline_maplet_create(const nestline_maplet_options* options, const char** error);
/// A maplet in memory of the pairs of keys[i] and values[i], in less time than by inserts. Fails
/// when a pair finds no room. Keys that are bytes take 16 bytes a key while it runs.
nestline_maplet* nestline_maplet_build(const nestline_maplet_options* options, nestline_keys keys,
                                       const uint64_t* values, const char** error);
/// A copy in memory, at one instant; not of a mapped maplet.
nestline_maplet* nestline_maplet_snapshot(const nestline_maplet* maplet, const char** error);
/// As nestline_load, nestline_load_from and nestline_from_bytes, nestline_map and nestline_view. A
/// lookup that meets a damaged section of a mapped maplet fails.
nestline_maplet* nestline_maplet_load(const char* path, const char** error);
nestline_maplet* nestline_maplet_load_from(nestline_read read, void* context, const char** error);
nestline_maplet* nestline_maplet_from_bytes(const void* bytes, size_t size, const char** error);
nestline_maplet* nestline_maplet_map(const char* path, nestline_verify_mode verify,
                                     const char** error);
nestline_maplet* nestline_maplet_view(const void* bytes, size_t size, nestline_verify_mode verify,
                                      const char** error);
/// Frees the maplet; no other call may be running on it. NULL does nothing.
void nestline_maplet_free(nestline_maplet* maplet);
/// As nestline_save and so on. A mapped maplet is refused: copy its file.
bool nestline_maplet_save(const nestline_maplet* maplet, const char* path, const char** error);
bool nestline_maplet_save_to(const nestline_maplet* maplet, nestline_write write, void* context,
                             const char** error);
void* nestline_maplet_to_bytes(const nestline_maplet* maplet, size_t* size, const char** error);
/// Adds a pair of key and value, as often as it is inserted. False: there is no room, there are
/// nestline_maplet_max_copies pairs of keys that look like this one, or the value is above
/// nestline_maplet_max_value. Maplet::insert in maplet.h says what the value
/// nestline_maplet_anywhere does where there are so many pairs.
bool nestline_maplet_insert_bytes(nestline_maplet* maplet, const void* key, size_t size,
                                  uint64_t value, const char** error);
bool nestline_maplet_insert_u64(nestline_maplet* maplet, uint64_t key, uint64_t value,
                                const char** error);
bool nestline_maplet_insert_hash(nestline_maplet* maplet, uint64_t hash, uint64_t value,
                                 const char** error);
/// Puts the candidates for the key to the front of `values`, which has
/// NESTLINE_MAPLET_MAX_CANDIDATES elements, and returns how many there are. All the key's values
/// are among them, and seldom another: look where they point.
uint64_t nestline_maplet_find_bytes(const nestline_maplet* maplet, const void* key, size_t size,
                                    uint64_t* values, const char** error);
uint64_t nestline_maplet_find_u64(const nestline_maplet* maplet, uint64_t key, uint64_t* values,
                                  const char** error);
uint64_t nestline_maplet_find_hash(const nestline_maplet* maplet, uint64_t hash, uint64_t* values,
                                   const char** error);
/// The candidates as a set: bit v for value v, and the bits of `anywhere` for a candidate that is
/// nestline_maplet_anywhere or 64 or more. When it fails it returns all bits.
uint64_t nestline_maplet_find_set_bytes(const nestline_maplet* maplet, const void* key, size_t size,
                                        uint64_t anywhere, const char** error);
uint64_t nestline_maplet_find_set_u64(const nestline_maplet* maplet, uint64_t key,
                                      uint64_t anywhere, const char** error);
uint64_t nestline_maplet_find_set_hash(const nestline_maplet* maplet, uint64_t hash,
                                       uint64_t anywhere, const char** error);
/// Gives one pair a new value, at one instant. False: there is none (*error is NULL), or it failed.
bool nestline_maplet_replace_bytes(nestline_maplet* maplet, const void* key, size_t size,
                                   uint64_t old_value, uint64_t new_value, const char** error);
bool nestline_maplet_replace_u64(nestline_maplet* maplet, uint64_t key, uint64_t old_value,
                                 uint64_t new_value, const char** error);
bool nestline_maplet_replace_hash(nestline_maplet* maplet, uint64_t hash, uint64_t old_value,
                                  uint64_t new_value, const char** error);
/// Removes one pair that was inserted. False: there is none (*error is NULL), or the call failed.
bool nestline_maplet_erase_bytes(nestline_maplet* maplet, const void* key, size_t size,
                                 uint64_t value, const char** error);
bool nestline_maplet_erase_u64(nestline_maplet* maplet, uint64_t key, uint64_t value,
                               const char** error);
bool nestline_maplet_erase_hash(nestline_maplet* maplet, uint64_t hash, uint64_t value,
                                const char** error);

/// The candidates of many keys: those of key i are values[first[i]] .. values[first[i + 1] - 1].
/// `first` has an element more than there are keys, `values` has `room`. Returns how many
/// candidates there are in all; if they are more than `room`, `values` holds the first of them, and
/// a call with more room gives all. At most 16 for each key.
uint64_t nestline_maplet_find_batch(const nestline_maplet* maplet, nestline_keys keys,
                                    uint32_t* first, uint64_t* values, size_t room,
                                    const char** error);
/// sets[i] becomes the set of key i. False: it failed, and the sets mean nothing.
bool nestline_maplet_find_sets(const nestline_maplet* maplet, nestline_keys keys, uint64_t* sets,
                               uint64_t anywhere, const char** error);
/// Adds the pairs of keys[i] and values[i]; returns how many were added. `outcomes`: a
/// nestline_outcome for each, or NULL. All arguments are checked before anything is added.
uint64_t nestline_maplet_insert_batch(nestline_maplet* maplet, nestline_keys keys,
                                      const uint64_t* values, uint8_t* outcomes,
                                      const char** error);
/// Erases all pairs with this value, in one pass over the memory; returns how many there were.
/// Lookups go on meanwhile, changes wait; so do the next three.
uint64_t nestline_maplet_erase_value(nestline_maplet* maplet, uint64_t value, const char** error);
/// Gives each pair with a value v below `entries` the value table[v], or erases it where that is
/// NESTLINE_MAPLET_ERASED; returns how many pairs have changed. At most max_value + 1 entries.
uint64_t nestline_maplet_rename(nestline_maplet* maplet, const uint64_t* table, size_t entries,
                                const char** error);
/// Adds all pairs of `other`, which may be `maplet` itself, but not a mapped one. Both must have
/// been made with equal options; the one that has grown more often is folded first, if the pairs of
/// both have room then. False: nothing has changed.
bool nestline_maplet_merge(nestline_maplet* maplet, const nestline_maplet* other,
                           const char** error);
/// Doubles the maplet, without the keys. False: it failed, nothing has changed.
bool nestline_maplet_grow(nestline_maplet* maplet, const char** error);
/// As nestline_fit: shrinks the maplet as often as its pairs allow.
bool nestline_maplet_fit(nestline_maplet* maplet, unsigned* times, const char** error);
/// Takes the value of a pair. Return false to see no more.
typedef bool (*nestline_maplet_value)(void* context, uint64_t value);
/// Calls `with` for the value of each pair, as of one instant, in no particular order. Needs memory
/// for a copy. False: it failed, or `with` returned false (*error is NULL).
bool nestline_maplet_for_each(const nestline_maplet* maplet, nestline_maplet_value with,
                              void* context, const char** error);

// Properties, as those of a filter. They cannot fail; for NULL they return 0 or false.

/// Bits of a value, and of a fingerprint.
int nestline_maplet_value_bits(const nestline_maplet* maplet);
int nestline_maplet_bits(const nestline_maplet* maplet);
/// The largest value, and the one that means all segments; see Maplet in maplet.h.
uint64_t nestline_maplet_max_value(const nestline_maplet* maplet);
uint64_t nestline_maplet_anywhere(const nestline_maplet* maplet);
/// The most pairs of keys that look the same.
size_t nestline_maplet_max_copies(const nestline_maplet* maplet);
/// Pairs in the maplet.
uint64_t nestline_maplet_size(const nestline_maplet* maplet);
/// Pairs it holds before it is full or grows, and up to which it grows by itself.
uint64_t nestline_maplet_capacity(const nestline_maplet* maplet);
uint64_t nestline_maplet_max_capacity(const nestline_maplet* maplet);
/// How often it has doubled.
unsigned nestline_maplet_growth(const nestline_maplet* maplet);
/// Pairs divided by slots; 0 for a mapped maplet, as the next one.
double nestline_maplet_load_factor(const nestline_maplet* maplet);
/// How many false candidates a lookup of an absent key returns on average.
double nestline_maplet_expected_false_candidates(const nestline_maplet* maplet);
uint64_t nestline_maplet_seed(const nestline_maplet* maplet);
size_t nestline_maplet_memory_bytes(const nestline_maplet* maplet);
bool nestline_maplet_is_mapped(const nestline_maplet* maplet);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif  // NESTLINE_NESTLINE_MAPLET_H_
