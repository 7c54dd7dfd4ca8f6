// The filter whose keys expire (expiring_filter.h), for C.
//
//   nestline_expiring_options options = NESTLINE_EXPIRING_OPTIONS_INIT;
//   options.capacity = 1000000;
//   nestline_filter* seen = nestline_expiring_create(&options, &error);
//   nestline_expiring_clock* clock = nestline_expiring_clock_create(seen, 600000000000, &error);
//   nestline_expiring_clock_catch_up(clock, &error);
//   if (nestline_insert_u64(seen, 17, &error)) { ... it is new ... }
//
// It is a nestline_filter. What is here makes one and is for such a filter alone; everything else
// is in nestline.h. There
//
//   nestline_insert_*, nestline_insert_batch   make the key live for the rest of this tick and the
//       filter's life: stored if it is new, present if it was there, and its life is renewed
//   nestline_insert_unique_*, nestline_update_*, nestline_erase_*, nestline_count_*, their batches,
//   nestline_grow, nestline_shrink, nestline_fit, nestline_merge, nestline_may_overlap,
//   nestline_count_common
//                                              fail: a filter whose keys expire has none of these
//   nestline_clear                             removes every key; time stays
//   nestline_snapshot, nestline_save and so on have the tick too
//   nestline_size                              counts dead keys that were not swept yet too
#ifndef NESTLINE_NESTLINE_EXPIRING_H_
#define NESTLINE_NESTLINE_EXPIRING_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nestline/nestline.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/// What an expiring filter is made for; see nestline_options and ExpiringOptions.
typedef struct nestline_expiring_options {
  size_t struct_size;  ///< Set by NESTLINE_EXPIRING_OPTIONS_INIT.
  uint64_t capacity;   ///< Keys alive at once: those of a whole life and one tick; at least 1.
  uint64_t seed;       ///< Seeds the hash of integers and bytes; stored with the filter.
  double fpr;          ///< Wanted false-positive rate; 0: 0.02, or what `bits` has.
  double load;         ///< How full it is at its capacity, 0.5 to 0.95; 0: 0.8.
  int bits;            ///< Fingerprint width: 8 or 12; 0: the one that suits fpr.
  __extension__ union {
    unsigned ttl_ticks;  ///< Ticks that a key lives at least, 1 to 14; 0: 14.
    unsigned life;       ///< Deprecated: its name in version 0.2.
  };
} nestline_expiring_options;

#define NESTLINE_EXPIRING_OPTIONS_INIT                          \
  {                                                             \
    sizeof(nestline_expiring_options), 0, 0, 0.0, 0.0, 0, { 0 } \
  }

/// An empty filter at tick 0. Functions that return a filter return NULL when they fail.
nestline_filter* nestline_expiring_create(const nestline_expiring_options* options,
                                          const char** error);
/// As nestline_load and so on. The filter is at the tick at which it was saved.
nestline_filter* nestline_expiring_load(const char* path, const char** error);
nestline_filter* nestline_expiring_load_from(nestline_read read, void* context, const char** error);
nestline_filter* nestline_expiring_from_bytes(const void* bytes, size_t size, const char** error);

// Time. These functions refuse a filter whose keys do not expire.

/// Moves time on; see ExpiringFilter::advance for the cost. False: failed, nothing has changed.
bool nestline_expiring_advance(nestline_filter* filter, uint64_t ticks, const char** error);
/// Does a part of the sweep of the present tick, of about so many blocks of 64 bytes. True: nothing
/// is left to sweep. False: something is left (*error is NULL), or the call failed.
bool nestline_expiring_sweep(nestline_filter* filter, size_t blocks, const char** error);
/// The tick; 0 for any other filter.
uint64_t nestline_expiring_now(const nestline_filter* filter);
/// Ticks that an insert gives a key to live; 0 for any other filter.
unsigned nestline_expiring_ttl_ticks(const nestline_filter* filter);

/// Moves a filter's time on by the clock: keys live a window and up to a tick more, which is
/// window / ttl_ticks.
typedef struct nestline_expiring_clock nestline_expiring_clock;
/// A clock that begins now, at the filter's present tick; `window` in nanoseconds. The filter must
/// be freed after it. NULL when it fails.
nestline_expiring_clock* nestline_expiring_clock_create(nestline_filter* filter, uint64_t window,
                                                        const char** error);
void nestline_expiring_clock_free(nestline_expiring_clock* clock);
/// Advances the filter to the present time. A key that is inserted while the filter is behind the
/// clock lives shorter by that, so call it before inserts: where no tick has passed, it costs the
/// reading of the clock. False when it fails.
bool nestline_expiring_clock_catch_up(nestline_expiring_clock* clock, const char** error);
/// Nanoseconds of a tick; 0 for NULL.
uint64_t nestline_expiring_clock_tick(const nestline_expiring_clock* clock);

// Keys.

/// Inserts with a life of its own, from 1 tick to the filter's ttl_ticks; what is outside of that
/// is taken as the nearest of these. A key that is there dies at the later one of its two deaths.
bool nestline_expiring_insert_for_bytes(nestline_filter* filter, const void* key, size_t size,
                                        unsigned ttl_ticks, const char** error);
bool nestline_expiring_insert_for_u64(nestline_filter* filter, uint64_t key, unsigned life,
                                      const char** error);
bool nestline_expiring_insert_for_hash(nestline_filter* filter, uint64_t hash, unsigned life,
                                       const char** error);
/// The same for many keys, as nestline_insert_batch.
uint64_t nestline_expiring_insert_for_batch(nestline_filter* filter, nestline_keys keys,
                                            unsigned ttl_ticks, uint8_t* outcomes,
                                            const char** error);
/// For how many more ticks the key lives at least; 0: it is not there, or this is its last tick.
/// NESTLINE_NO_COUNT when it fails.
uint64_t nestline_expiring_remaining_ticks_bytes(const nestline_filter* filter, const void* key,
                                                 size_t size, const char** error);
uint64_t nestline_expiring_remaining_ticks_u64(const nestline_filter* filter, uint64_t key,
                                               const char** error);
uint64_t nestline_expiring_remaining_ticks_hash(const nestline_filter* filter, uint64_t hash,
                                                const char** error);
/// The same for each of many keys. False when the arguments are wrong.
bool nestline_expiring_remaining_ticks_batch(const nestline_filter* filter, nestline_keys keys,
                                             uint8_t* ticks, const char** error);

// Deprecated: the names of version 0.2.
#define nestline_expiring_life nestline_expiring_ttl_ticks
#define nestline_expiring_left_bytes nestline_expiring_remaining_ticks_bytes
#define nestline_expiring_left_u64 nestline_expiring_remaining_ticks_u64
#define nestline_expiring_left_hash nestline_expiring_remaining_ticks_hash
#define nestline_expiring_left_batch nestline_expiring_remaining_ticks_batch

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif  // NESTLINE_NESTLINE_EXPIRING_H_
