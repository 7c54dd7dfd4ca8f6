// Tests the errors of the C functions on expiring filters, their files and their clock, as a C
// program sees them. c_twin_test.cc tests what they answer.
//
//   c_expiring_test FOLDER
//
// Writes into FOLDER, which must exist.
#include <nestline/nestline_expiring.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/faces/c/checks.h"
#include "tests/faces/c/keys.h"
#include "tests/faces/c/tape.h"

static uint8_t answers[kKeys];

static nestline_filter* create(uint64_t capacity) {
  nestline_expiring_options options = NESTLINE_EXPIRING_OPTIONS_INIT;
  options.capacity = capacity;
  options.bits = 12;
  options.seed = 5;
  return made(nestline_expiring_create(&options, &sentence));
}

static void test_options(void) {
  struct {
    nestline_expiring_options known;
    uint64_t later;
  } options = {NESTLINE_EXPIRING_OPTIONS_INIT, 0};
  nestline_filter* filter = NULL;

  FAILS(nestline_expiring_create(NULL, error) == NULL, "the options are NULL");
  FAILS(nestline_expiring_create(&options.known, error) == NULL, "capacity must be");
  options.known.capacity = 1000;
  options.known.bits = 16;
  FAILS(nestline_expiring_create(&options.known, error) == NULL, "bits must be 8 or 12");
  options.known.bits = 0;
  options.known.ttl_ticks = 15;
  FAILS(nestline_expiring_create(&options.known, error) == NULL, "ttl_ticks must be from 1 to 14");
  options.known.ttl_ticks = 0;
  options.known.load = 0.99;
  FAILS(nestline_expiring_create(&options.known, error) == NULL, "load must be");
  options.known.load = 0;
  REFUSES_LAYOUTS(options, nestline_expiring_create(&options.known, error));
  WORKS((filter = nestline_expiring_create(&options.known, error)) != NULL);
  CHECK(nestline_expiring_ttl_ticks(filter) == 14 && nestline_bits(filter) == 8);
  CHECK(nestline_expiring_now(filter) == 0);
  nestline_free(filter);
}

// One key of each kind, and without a filter.
#define TEST_ONE_KEY(kind, ...)                                                       \
  do {                                                                                \
    WORKS(nestline_expiring_insert_for_##kind(filter, __VA_ARGS__, 2, error));        \
    WORKS(nestline_expiring_remaining_ticks_##kind(filter, __VA_ARGS__, error) == 2); \
    FAILS(!nestline_expiring_insert_for_##kind(NULL, __VA_ARGS__, 1, error),          \
          "the filter is NULL");                                                      \
    FAILS(nestline_expiring_remaining_ticks_##kind(NULL, __VA_ARGS__, error) == NO,   \
          "the filter is NULL");                                                      \
  } while (0)

static void test_one_key(void) {
  nestline_filter* filter = create(1000);
  uint64_t i = 0;
  bool stored = true;
  TEST_ONE_KEY(bytes, "a\0b", 3);
  TEST_ONE_KEY(u64, 42);
  TEST_ONE_KEY(hash, 0x123456789abcdef0u);
  FAILS(!nestline_insert_bytes(filter, NULL, 1, error), "a key is NULL");
  FAILS(nestline_may_contain_bytes(filter, NULL, 1, error), "a key is NULL");
  nestline_free(filter);
  filter = create(1);
  while (stored || sentence == NULL) stored = nestline_insert_u64(filter, ++i, &sentence);
  CHECK(strstr(sentence, "the filter is full") != NULL);
  nestline_free(filter);
}

static void test_batches_of(int kind) {
  nestline_filter* filter = create(kKeys);
  const nestline_keys all = first_keys(kind, kKeys);
  FAILS(!nestline_expiring_remaining_ticks_batch(filter, all, NULL, error),
        "the array of ticks is NULL");
  FAILS(!nestline_expiring_remaining_ticks_batch(NULL, all, answers, error), "the filter is NULL");
  FAILS(nestline_expiring_insert_for_batch(NULL, all, 1, NULL, error) == NO, "the filter is NULL");
  FAILS(
      nestline_expiring_insert_for_batch(filter, first_keys(kind, SIZE_MAX), 1, NULL, error) == NO,
      "more than memory can hold");
  nestline_free(filter);
}

// What a filter does not have whose keys expire, or do not.
static void test_refusals(void) {
  static const char kExpires[] = "the keys of this filter expire";
  static const char kDoesNotExpire[] = "the keys of this filter do not expire";
  nestline_options options = NESTLINE_OPTIONS_INIT;
  nestline_filter* filter = create(10);
  nestline_filter* other = NULL;
  const nestline_keys one = integers(1);

  options.capacity = 10;
  WORKS((other = nestline_create(&options, error)) != NULL);
  refuses_changes(filter, kExpires);
  FAILS(nestline_count_u64(filter, 1, error) == NO, kExpires);
  FAILS(!nestline_count_batch(filter, one, answers, error), kExpires);
  FAILS(!nestline_merge(other, filter, NESTLINE_MERGE_ALL, NULL, error), kExpires);
  FAILS(!nestline_verify(filter, error), "only a filter that answers from a mapped file");
  WORKS(nestline_undamaged(filter, error));
  CHECK(nestline_growth(filter) == 0 && nestline_max_capacity(filter) == 0);
  CHECK(!nestline_is_mapped(filter));

  FAILS(!nestline_expiring_insert_for_u64(other, 1, 1, error), kDoesNotExpire);
  FAILS(nestline_expiring_insert_for_batch(other, one, 1, NULL, error) == NO, kDoesNotExpire);
  FAILS(nestline_expiring_remaining_ticks_u64(other, 1, error) == NO, kDoesNotExpire);
  FAILS(!nestline_expiring_remaining_ticks_batch(other, one, answers, error), kDoesNotExpire);
  FAILS(!nestline_expiring_advance(other, 1, error), kDoesNotExpire);
  FAILS(!nestline_expiring_sweep(other, 1, error), kDoesNotExpire);
  FAILS(nestline_expiring_clock_create(other, 14000, error) == NULL, kDoesNotExpire);
  CHECK(nestline_expiring_now(other) == 0 && nestline_expiring_ttl_ticks(other) == 0);
  nestline_free(other);
  nestline_free(filter);
}

static void test_time(void) {
  nestline_filter* filter = create(kKeys);
  nestline_expiring_clock* clock = NULL;
  const uint64_t hour = UINT64_C(3600000000000);

  WORKS(nestline_expiring_advance(filter, 2, error));
  FAILS(!nestline_expiring_advance(NULL, 1, error), "the filter is NULL");
  FAILS(!nestline_expiring_sweep(NULL, 1, error), "the filter is NULL");
  FAILS(!nestline_clear(NULL, error), "the filter is NULL");

  FAILS(nestline_expiring_clock_create(NULL, hour, error) == NULL, "the filter is NULL");
  FAILS(nestline_expiring_clock_create(filter, 13, error) == NULL, "at least 14 nanoseconds");
  FAILS(nestline_expiring_clock_create(filter, UINT64_MAX, error) == NULL, "292 years");
  FAILS(!nestline_expiring_clock_catch_up(NULL, error), "the clock is NULL");
  CHECK(nestline_expiring_clock_tick(NULL) == 0);
  nestline_expiring_clock_free(NULL);
  WORKS((clock = nestline_expiring_clock_create(filter, 14 * hour, error)) != NULL);
  CHECK(nestline_expiring_clock_tick(clock) == hour);
  WORKS(nestline_expiring_clock_catch_up(clock, error));
  CHECK(nestline_expiring_now(filter) == 2);
  nestline_expiring_clock_free(clock);
  WORKS((clock = nestline_expiring_clock_create(filter, 14, error)) != NULL);
  while (nestline_expiring_now(filter) < 20) {
    if (!nestline_expiring_clock_catch_up(clock, &sentence)) break;
  }
  CHECK(sentence == NULL && nestline_expiring_now(filter) >= 20);
  nestline_expiring_clock_free(clock);
  nestline_free(filter);
}

// Whether it is the filter that test_files saves.
static bool same(const nestline_filter* filter) {
  return nestline_expiring_now(filter) == 5 && nestline_seed(filter) == 5 &&
         nestline_expiring_remaining_ticks_u64(filter, numbers[9], NULL) == 14 &&
         nestline_may_contain_batch(filter, integers(kKeys), answers, NULL) == kKeys;
}

static void test_files(const char* folder) {
  static char path[4096];
  nestline_filter* filter = create(kKeys);
  nestline_filter* other = NULL;

  CHECK(nestline_expiring_advance(filter, 5, NULL));
  CHECK(nestline_insert_batch(filter, integers(kKeys), NULL, NULL) > 0);
  snprintf(path, sizeof path, "%s/c_expiring_test.nest", folder);
  TEST_FILES(nestline, nestline_expiring, nestline_filter, filter, same, path, folder);
  FAILS(nestline_load(path, error) == NULL, "c_expiring_test.nest");  // it is another kind
  WORKS((other = nestline_snapshot(filter, error)) != NULL);
  WORKS(nestline_expiring_advance(filter, 20, error));
  CHECK(same(other) && !same(filter));
  nestline_free(other);
  remove(path);
  nestline_free(filter);
  CHECK(nestline_expiring_now(NULL) == 0 && nestline_expiring_ttl_ticks(NULL) == 0);
}

// The names of version 0.2.
static void test_old_names(void) {
  nestline_expiring_options options = NESTLINE_EXPIRING_OPTIONS_INIT;
  nestline_filter* filter = NULL;
  uint8_t ticks[2];

  options.capacity = 1000;
  options.fpr = 0.001;
  options.life = 5;
  WORKS((filter = nestline_expiring_create(&options, error)) != NULL);
  CHECK(nestline_expiring_life(filter) == 5 && NESTLINE_COPIES == NESTLINE_TOO_MANY_COPIES);
  WORKS(nestline_expiring_insert_for_u64(filter, 1, 3, error));
  WORKS(nestline_expiring_left_u64(filter, 1, error) == 3);
  WORKS(nestline_expiring_left_hash(filter, nestline_hash_u64(1, 0), error) == 3);
  WORKS(nestline_expiring_left_bytes(filter, "a", 1, error) == 0);
  WORKS(nestline_expiring_left_batch(filter, integers(2), ticks, error));
  nestline_free(filter);
}

int main(int argc, char** argv) {
  int kind;
  make_keys();
  test_options();
  test_one_key();
  test_old_names();
  FOR_EACH_KIND(kind) test_batches_of(kind);
  test_refusals();
  test_time();
  test_files(folder_of(argc, argv));
  return summary();
}
