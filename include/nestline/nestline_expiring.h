// The filter whose keys expire (expiring_filter.h), for C: "was this key seen in the last ten
// minutes?"
//
//   nestline_expiring_options options = NESTLINE_EXPIRING_OPTIONS_INIT;
//   options.capacity = 1000000;
//   nestline_expiring* seen = nestline_expiring_create(&options, &error);
//   nestline_expiring_clock* clock = nestline_expiring_clock_create(seen, 600000000000, &error);
//   nestline_expiring_clock_catch_up(clock, &error);
//   if (nestline_expiring_insert_u64(seen, 17, &error)) { ... it is new ... }
//
// The rules of nestline.h hold. Any number of threads may make any calls on one filter, or on one
// clock, at the same time, except the functions that free it, which must be the last ones.
#ifndef NESTLINE_NESTLINE_EXPIRING_H_
#define NESTLINE_NESTLINE_EXPIRING_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nestline/export.h"
#include "nestline/nestline.h"

#ifdef __cplusplus
extern "C" {
#endif

/// An expiring filter in memory.
typedef struct nestline_expiring nestline_expiring;

/// What an expiring filter is made for; see nestline_options and ExpiringOptions.
typedef struct nestline_expiring_options {
  size_t struct_size;  ///< Set by NESTLINE_EXPIRING_OPTIONS_INIT.
  uint64_t capacity;   ///< Keys alive at once: those of a whole life and one tick; at least 1.
  uint64_t seed;       ///< Seeds the hash of integers and bytes; stored with the filter.
  double fpr;          ///< Wanted false-positive rate; 0: 0.02, or what `bits` has.
  double load;         ///< How full it is at its capacity, 0.5 to 0.95; 0: 0.9.
  int bits;            ///< Fingerprint width: 8 or 12; 0: the one that suits fpr.
  unsigned life;       ///< Ticks that a key lives at least, 1 to 14; 0: 14.
} nestline_expiring_options;

#define NESTLINE_EXPIRING_OPTIONS_INIT \
  { sizeof(nestline_expiring_options), 0, 0, 0.0, 0.0, 0, 0 }

/// An empty filter at tick 0. Functions that return a filter return NULL when they fail.
NESTLINE_EXPORT nestline_expiring* nestline_expiring_create(
    const nestline_expiring_options* options, const char** error);
/// As nestline_load, nestline_load_from and nestline_from_bytes. The filter is at the tick at which
/// it was saved.
NESTLINE_EXPORT nestline_expiring* nestline_expiring_load(const char* path, const char** error);
NESTLINE_EXPORT nestline_expiring* nestline_expiring_load_from(nestline_read read, void* context,
                                                               const char** error);
NESTLINE_EXPORT nestline_expiring* nestline_expiring_from_bytes(const void* bytes, size_t size,
                                                                const char** error);
/// Frees the filter, after its clocks; no other call may be running on it. NULL does nothing.
NESTLINE_EXPORT void nestline_expiring_free(nestline_expiring* filter);
/// As nestline_save, nestline_save_to and nestline_to_bytes.
NESTLINE_EXPORT bool nestline_expiring_save(const nestline_expiring* filter, const char* path,
                                            const char** error);
NESTLINE_EXPORT bool nestline_expiring_save_to(const nestline_expiring* filter,
                                               nestline_write write, void* context,
                                               const char** error);
NESTLINE_EXPORT void* nestline_expiring_to_bytes(const nestline_expiring* filter, size_t* size,
                                                 const char** error);

// Time.

/// Moves time on by so many ticks; see ExpiringFilter::advance, also for what it costs. False: it
/// failed, nothing has changed; so for the next one.
NESTLINE_EXPORT bool nestline_expiring_advance(nestline_expiring* filter, uint64_t ticks,
                                               const char** error);
/// Removes every key; time stays.
NESTLINE_EXPORT bool nestline_expiring_clear(nestline_expiring* filter, const char** error);
/// Does a part of the sweep of the present tick, of about so many blocks of 64 bytes. True: nothing
/// is left to sweep. False: something is left (*error is NULL), or the call failed.
NESTLINE_EXPORT bool nestline_expiring_sweep(nestline_expiring* filter, size_t blocks,
                                             const char** error);

/// Moves a filter's time on by the clock, so that its keys live at least a window and at most one
/// tick, window / life, longer.
typedef struct nestline_expiring_clock nestline_expiring_clock;
/// A clock that begins now, at the filter's present tick; `window` in nanoseconds. The filter must
/// not be freed before it. NULL when it fails.
NESTLINE_EXPORT nestline_expiring_clock* nestline_expiring_clock_create(nestline_expiring* filter,
                                                                        uint64_t window,
                                                                        const char** error);
NESTLINE_EXPORT void nestline_expiring_clock_free(nestline_expiring_clock* clock);
/// Advances the filter to the present time. A key that is inserted while the filter is behind the
/// clock lives shorter by that, so call it before inserts: where no tick has passed, it costs the
/// reading of the clock. False when it fails.
NESTLINE_EXPORT bool nestline_expiring_clock_catch_up(nestline_expiring_clock* clock,
                                                      const char** error);
/// Nanoseconds of a tick; 0 for NULL.
NESTLINE_EXPORT uint64_t nestline_expiring_clock_tick(const nestline_expiring_clock* clock);

// One key.

/// Makes the key live for the rest of this tick and the filter's life. True: it is new. False: it
/// was there, and its life is renewed (*error is NULL); or there is no room; or the call failed.
/// nestline_outcome_of turns the two into a number.
NESTLINE_EXPORT bool nestline_expiring_insert_bytes(nestline_expiring* filter, const void* key,
                                                    size_t size, const char** error);
NESTLINE_EXPORT bool nestline_expiring_insert_u64(nestline_expiring* filter, uint64_t key,
                                                  const char** error);
NESTLINE_EXPORT bool nestline_expiring_insert_hash(nestline_expiring* filter, uint64_t hash,
                                                   const char** error);
/// The same with a life of its own, from 1 tick to the filter's life; what is outside of that is
/// taken as the nearest of these. A key that is there dies at the later one of its two deaths.
NESTLINE_EXPORT bool nestline_expiring_insert_for_bytes(nestline_expiring* filter, const void* key,
                                                        size_t size, unsigned life,
                                                        const char** error);
NESTLINE_EXPORT bool nestline_expiring_insert_for_u64(nestline_expiring* filter, uint64_t key,
                                                      unsigned life, const char** error);
NESTLINE_EXPORT bool nestline_expiring_insert_for_hash(nestline_expiring* filter, uint64_t hash,
                                                       unsigned life, const char** error);
/// False: the key is certainly not there or not alive. True: it may be, or the call failed (C9).
NESTLINE_EXPORT bool nestline_expiring_may_contain_bytes(const nestline_expiring* filter,
                                                         const void* key, size_t size,
                                                         const char** error);
NESTLINE_EXPORT bool nestline_expiring_may_contain_u64(const nestline_expiring* filter,
                                                       uint64_t key, const char** error);
NESTLINE_EXPORT bool nestline_expiring_may_contain_hash(const nestline_expiring* filter,
                                                        uint64_t hash, const char** error);
/// For how many more ticks the key lives at least; 0: it is not there, or this is its last tick.
/// NESTLINE_NO_COUNT when it fails.
NESTLINE_EXPORT uint64_t nestline_expiring_left_bytes(const nestline_expiring* filter,
                                                      const void* key, size_t size,
                                                      const char** error);
NESTLINE_EXPORT uint64_t nestline_expiring_left_u64(const nestline_expiring* filter, uint64_t key,
                                                    const char** error);
NESTLINE_EXPORT uint64_t nestline_expiring_left_hash(const nestline_expiring* filter, uint64_t hash,
                                                     const char** error);

// Batches, as those of a filter: the same arrays, the same failures.

/// Inserts every key in this order, for the filter's life; returns how many were new. `outcomes`: a
/// nestline_outcome for each key, or NULL: NESTLINE_STORED, NESTLINE_PRESENT or NESTLINE_FULL.
NESTLINE_EXPORT uint64_t nestline_expiring_insert_batch_bytes(nestline_expiring* filter,
                                                              const void* const* keys,
                                                              const size_t* sizes, size_t count,
                                                              uint8_t* outcomes,
                                                              const char** error);
NESTLINE_EXPORT uint64_t nestline_expiring_insert_batch_u64(nestline_expiring* filter,
                                                            const uint64_t* keys, size_t count,
                                                            uint8_t* outcomes, const char** error);
NESTLINE_EXPORT uint64_t nestline_expiring_insert_batch_hash(nestline_expiring* filter,
                                                             const uint64_t* hashes, size_t count,
                                                             uint8_t* outcomes, const char** error);
/// The same with a life of their own.
NESTLINE_EXPORT uint64_t nestline_expiring_insert_batch_for_bytes(nestline_expiring* filter,
                                                                  const void* const* keys,
                                                                  const size_t* sizes, size_t count,
                                                                  unsigned life, uint8_t* outcomes,
                                                                  const char** error);
NESTLINE_EXPORT uint64_t nestline_expiring_insert_batch_for_u64(nestline_expiring* filter,
                                                                const uint64_t* keys, size_t count,
                                                                unsigned life, uint8_t* outcomes,
                                                                const char** error);
NESTLINE_EXPORT uint64_t nestline_expiring_insert_batch_for_hash(nestline_expiring* filter,
                                                                 const uint64_t* hashes,
                                                                 size_t count, unsigned life,
                                                                 uint8_t* outcomes,
                                                                 const char** error);
/// As nestline_may_contain_batch, nestline_may_contain_bits, nestline_select and
/// nestline_select_from.
NESTLINE_EXPORT uint64_t nestline_expiring_may_contain_batch_bytes(const nestline_expiring* filter,
                                                                   const void* const* keys,
                                                                   const size_t* sizes,
                                                                   size_t count, uint8_t* out,
                                                                   const char** error);
NESTLINE_EXPORT uint64_t nestline_expiring_may_contain_batch_u64(const nestline_expiring* filter,
                                                                 const uint64_t* keys, size_t count,
                                                                 uint8_t* out, const char** error);
NESTLINE_EXPORT uint64_t nestline_expiring_may_contain_batch_hash(const nestline_expiring* filter,
                                                                  const uint64_t* hashes,
                                                                  size_t count, uint8_t* out,
                                                                  const char** error);
NESTLINE_EXPORT uint64_t nestline_expiring_may_contain_bits_bytes(const nestline_expiring* filter,
                                                                  const void* const* keys,
                                                                  const size_t* sizes, size_t count,
                                                                  uint64_t* bitmap,
                                                                  const char** error);
NESTLINE_EXPORT uint64_t nestline_expiring_may_contain_bits_u64(const nestline_expiring* filter,
                                                                const uint64_t* keys, size_t count,
                                                                uint64_t* bitmap,
                                                                const char** error);
NESTLINE_EXPORT uint64_t nestline_expiring_may_contain_bits_hash(const nestline_expiring* filter,
                                                                 const uint64_t* hashes,
                                                                 size_t count, uint64_t* bitmap,
                                                                 const char** error);
NESTLINE_EXPORT uint64_t nestline_expiring_select_bytes(const nestline_expiring* filter,
                                                        const void* const* keys,
                                                        const size_t* sizes, size_t count,
                                                        uint32_t* positions, const char** error);
NESTLINE_EXPORT uint64_t nestline_expiring_select_u64(const nestline_expiring* filter,
                                                      const uint64_t* keys, size_t count,
                                                      uint32_t* positions, const char** error);
NESTLINE_EXPORT uint64_t nestline_expiring_select_hash(const nestline_expiring* filter,
                                                       const uint64_t* hashes, size_t count,
                                                       uint32_t* positions, const char** error);
NESTLINE_EXPORT uint64_t nestline_expiring_select_from_bytes(
    const nestline_expiring* filter, const void* const* keys, const size_t* sizes, size_t count,
    const uint32_t* selection, size_t selected, uint32_t* positions, const char** error);
NESTLINE_EXPORT uint64_t nestline_expiring_select_from_u64(const nestline_expiring* filter,
                                                           const uint64_t* keys, size_t count,
                                                           const uint32_t* selection,
                                                           size_t selected, uint32_t* positions,
                                                           const char** error);
NESTLINE_EXPORT uint64_t nestline_expiring_select_from_hash(const nestline_expiring* filter,
                                                            const uint64_t* hashes, size_t count,
                                                            const uint32_t* selection,
                                                            size_t selected, uint32_t* positions,
                                                            const char** error);

// Properties, as those of a filter. They cannot fail; for NULL they return 0.

/// The tick.
NESTLINE_EXPORT uint64_t nestline_expiring_now(const nestline_expiring* filter);
/// Slots in use, by dead keys that were not swept yet too.
NESTLINE_EXPORT uint64_t nestline_expiring_size(const nestline_expiring* filter);
/// Keys that may be alive at once.
NESTLINE_EXPORT uint64_t nestline_expiring_capacity(const nestline_expiring* filter);
/// The life that an insert gives, in ticks.
NESTLINE_EXPORT unsigned nestline_expiring_life(const nestline_expiring* filter);
/// Fingerprint width: 8 or 12.
NESTLINE_EXPORT int nestline_expiring_bits(const nestline_expiring* filter);
NESTLINE_EXPORT uint64_t nestline_expiring_slots(const nestline_expiring* filter);
NESTLINE_EXPORT double nestline_expiring_load_factor(const nestline_expiring* filter);
NESTLINE_EXPORT double nestline_expiring_expected_fpr(const nestline_expiring* filter);
NESTLINE_EXPORT uint64_t nestline_expiring_seed(const nestline_expiring* filter);
NESTLINE_EXPORT size_t nestline_expiring_memory_bytes(const nestline_expiring* filter);

#ifdef __cplusplus
}
#endif

#endif  // NESTLINE_NESTLINE_EXPIRING_H_
