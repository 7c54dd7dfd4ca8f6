// Tests every C function on expiring filters, and every error, as a C program sees them.
//
//   c_expiring_test FOLDER
//
// Writes into FOLDER, which must exist.
#include <nestline/nestline.h>
#include <nestline/nestline_expiring.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/c/checks.h"
#include "tests/c/keys.h"
#include "tests/c/tape.h"

static uint8_t answers[kKeys];
static uint64_t bitmap[(kKeys + 63) / 64];
static uint32_t positions[kKeys];

static nestline_expiring* create(uint64_t capacity) {
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
  nestline_expiring* filter = NULL;

  FAILS(nestline_expiring_create(NULL, error) == NULL, "the options are NULL");
  FAILS(nestline_expiring_create(&options.known, error) == NULL, "capacity must be");
  options.known.capacity = 1000;
  options.known.bits = 16;
  FAILS(nestline_expiring_create(&options.known, error) == NULL, "bits must be 8 or 12");
  options.known.bits = 0;
  options.known.life = 15;
  FAILS(nestline_expiring_create(&options.known, error) == NULL, "life must be from 1 to 14");
  options.known.life = 0;
  options.known.load = 0.99;
  FAILS(nestline_expiring_create(&options.known, error) == NULL, "load must be");
  options.known.load = 0;
  options.known.struct_size = sizeof(size_t);
  FAILS(nestline_expiring_create(&options.known, error) == NULL, "struct_size is wrong");
  options.known.struct_size = sizeof options;
  options.later = 1;
  FAILS(nestline_expiring_create(&options.known, error) == NULL, "does not know");
  options.later = 0;
  WORKS((filter = nestline_expiring_create(&options.known, error)) != NULL);
  CHECK(nestline_expiring_life(filter) == 14 && nestline_expiring_bits(filter) == 8);
  nestline_expiring_free(filter);
  options.known.life = 3;
  options.known.fpr = 0.001;
  options.known.seed = 77;
  options.known.load = 0.5;
  WORKS((filter = nestline_expiring_create(&options.known, error)) != NULL);
  CHECK(nestline_expiring_life(filter) == 3 && nestline_expiring_bits(filter) == 12);
  CHECK(nestline_expiring_seed(filter) == 77 && nestline_expiring_size(filter) == 0);
  CHECK(nestline_expiring_capacity(filter) >= 1000 && nestline_expiring_now(filter) == 0);
  CHECK(nestline_expiring_slots(filter) >= 2000 && nestline_expiring_load_factor(filter) == 0);
  CHECK(nestline_expiring_memory_bytes(filter) > 3000);
  nestline_expiring_free(filter);
  nestline_expiring_free(NULL);
}

// One key of each kind: new, seen, with a life of its own, dead.
#define TEST_ONE_KEY(kind, ...)                                                                  \
  do {                                                                                           \
    nestline_expiring* one = create(1000);                                                       \
    WORKS(!nestline_expiring_may_contain_##kind(one, __VA_ARGS__, error));                       \
    WORKS(nestline_expiring_left_##kind(one, __VA_ARGS__, error) == 0);                          \
    WORKS(nestline_expiring_insert_for_##kind(one, __VA_ARGS__, 2, error));                      \
    CHECK(nestline_outcome_of(true, sentence) == NESTLINE_STORED);                               \
    WORKS(nestline_expiring_left_##kind(one, __VA_ARGS__, error) == 2);                          \
    WORKS(!nestline_expiring_insert_for_##kind(one, __VA_ARGS__, 1, error));                     \
    CHECK(nestline_outcome_of(false, sentence) == NESTLINE_PRESENT);                             \
    WORKS(nestline_expiring_left_##kind(one, __VA_ARGS__, error) == 2);                          \
    WORKS(nestline_expiring_advance(one, 2, error));                                             \
    WORKS(nestline_expiring_may_contain_##kind(one, __VA_ARGS__, error));                        \
    WORKS(nestline_expiring_left_##kind(one, __VA_ARGS__, error) == 0);                          \
    WORKS(nestline_expiring_advance(one, 1, error));                                             \
    WORKS(!nestline_expiring_may_contain_##kind(one, __VA_ARGS__, error));                       \
    WORKS(nestline_expiring_insert_##kind(one, __VA_ARGS__, error));                             \
    WORKS(!nestline_expiring_insert_##kind(one, __VA_ARGS__, error));                            \
    WORKS(nestline_expiring_left_##kind(one, __VA_ARGS__, error) == 14);                         \
    CHECK(nestline_expiring_now(one) == 3 && nestline_expiring_size(one) == 1);                  \
    FAILS(!nestline_expiring_insert_##kind(NULL, __VA_ARGS__, error), "the filter is NULL");     \
    FAILS(!nestline_expiring_insert_for_##kind(NULL, __VA_ARGS__, 1, error),                     \
          "the filter is NULL");                                                                 \
    FAILS(nestline_expiring_may_contain_##kind(NULL, __VA_ARGS__, error), "the filter is NULL"); \
    FAILS(nestline_expiring_left_##kind(NULL, __VA_ARGS__, error) == NO, "the filter is NULL");  \
    nestline_expiring_free(one);                                                                 \
  } while (0)

static void test_one_key(void) {
  nestline_expiring* filter = create(1000);
  TEST_ONE_KEY(bytes, "a\0b", 3);
  TEST_ONE_KEY(u64, 42);
  TEST_ONE_KEY(hash, 0x123456789abcdef0u);
  FAILS(!nestline_expiring_insert_bytes(filter, NULL, 1, error), "a key is NULL");
  FAILS(nestline_expiring_may_contain_bytes(filter, NULL, 1, error), "a key is NULL");
  // The kinds are different keys, and equal to those of a filter's hash functions.
  WORKS(nestline_expiring_insert_u64(filter, 17, error));
  CHECK(!nestline_expiring_may_contain_bytes(filter, "17", 2, NULL));
  CHECK(nestline_expiring_may_contain_hash(filter, nestline_hash_u64(17, 5), NULL));
  nestline_expiring_free(filter);
}

static void test_no_room(void) {
  nestline_expiring* filter = create(1);
  uint64_t i = 0;
  bool stored = true;
  while (stored || sentence == NULL) stored = nestline_expiring_insert_u64(filter, ++i, &sentence);
  CHECK(nestline_outcome_of(stored, sentence) == NESTLINE_FULL && i > 10);
  CHECK(strstr(sentence, "the filter is full") != NULL);
  CHECK(nestline_expiring_load_factor(filter) > 0.5);
  CHECK(nestline_expiring_expected_fpr(filter) > 0 && nestline_expiring_expected_fpr(filter) < 1);
  // A batch ends well; the key without room is one that was not stored.
  WORKS(nestline_expiring_insert_batch_u64(filter, &i, 1, answers, error) == 0);
  CHECK(answers[0] == NESTLINE_FULL);
  nestline_expiring_free(filter);
}

#define TEST_BATCHES(kind, ...)                                                                    \
  do {                                                                                             \
    nestline_expiring* one = create(kKeys);                                                        \
    const uint32_t chosen[3] = {2999, 0, 1500};                                                    \
    uint64_t stored = 0;                                                                           \
    size_t i;                                                                                      \
    WORKS((stored = nestline_expiring_insert_batch_for_##kind(one, __VA_ARGS__, kKeys, 2, answers, \
                                                              error)) <= kKeys);                   \
    CHECK(stored > kKeys - 30 && nestline_expiring_size(one) == stored);                           \
    CHECK(answers[0] == NESTLINE_STORED && answers[1] == NESTLINE_STORED);                         \
    WORKS(nestline_expiring_may_contain_batch_##kind(one, __VA_ARGS__, kKeys, answers, error) ==   \
          kKeys);                                                                                  \
    for (i = 0; i < kKeys && answers[i] == 1;) ++i;                                                \
    CHECK(i == kKeys);                                                                             \
    WORKS(nestline_expiring_insert_batch_##kind(one, __VA_ARGS__, 1500, answers, error) == 0);     \
    CHECK(answers[0] == NESTLINE_PRESENT && answers[1499] == NESTLINE_PRESENT);                    \
    WORKS(nestline_expiring_insert_batch_##kind(one, __VA_ARGS__, 1500, NULL, error) == 0);        \
    WORKS(nestline_expiring_advance(one, 3, error));                                               \
    /* Those that were renewed are left, and few that look like one of them. */                    \
    WORKS((stored = nestline_expiring_may_contain_bits_##kind(one, __VA_ARGS__, kKeys, bitmap,     \
                                                              error)) >= 1500);                    \
    CHECK(stored < 1530 && bitmap[0] == UINT64_MAX && bitmap[22] == UINT64_MAX);                   \
    WORKS(nestline_expiring_select_##kind(one, __VA_ARGS__, kKeys, positions, error) == stored);   \
    CHECK(positions[0] == 0 && positions[1499] == 1499);                                           \
    WORKS((stored = nestline_expiring_select_from_##kind(one, __VA_ARGS__, kKeys, chosen, 3,       \
                                                         positions, error)) >= 1);                 \
    CHECK(stored == 1 ? positions[0] == 0 : stored <= 3);                                          \
    FAILS(nestline_expiring_insert_batch_##kind(NULL, __VA_ARGS__, kKeys, NULL, error) == NO,      \
          "the filter is NULL");                                                                   \
    FAILS(                                                                                         \
        nestline_expiring_insert_batch_for_##kind(NULL, __VA_ARGS__, kKeys, 1, NULL, error) == NO, \
        "the filter is NULL");                                                                     \
    FAILS(nestline_expiring_may_contain_batch_##kind(NULL, __VA_ARGS__, kKeys, answers, error) ==  \
              NO,                                                                                  \
          "the filter is NULL");                                                                   \
    FAILS(nestline_expiring_may_contain_batch_##kind(one, __VA_ARGS__, kKeys, NULL, error) == NO,  \
          "the array of answers is NULL");                                                         \
    FAILS(nestline_expiring_may_contain_bits_##kind(one, __VA_ARGS__, kKeys, NULL, error) == NO,   \
          "the bitmap is NULL");                                                                   \
    FAILS(nestline_expiring_select_##kind(one, __VA_ARGS__, kKeys, NULL, error) == NO,             \
          "the array of positions is NULL");                                                       \
    FAILS(nestline_expiring_select_from_##kind(one, __VA_ARGS__, 1500, chosen, 3, positions,       \
                                               error) == NO,                                       \
          "outside the keys");                                                                     \
    nestline_expiring_free(one);                                                                   \
  } while (0)

static void test_batches(void) {
  nestline_expiring* filter = create(10);
  TEST_BATCHES(bytes, keys, sizes);
  TEST_BATCHES(u64, numbers);
  TEST_BATCHES(hash, numbers);
  FAILS(nestline_expiring_insert_batch_u64(filter, NULL, 1, NULL, error) == NO,
        "the array of keys is NULL");
  WORKS(nestline_expiring_insert_batch_u64(filter, NULL, 0, NULL, error) == 0);
  // The wrong key is the last one: none was inserted.
  sizes[kKeys - 1] = SIZE_MAX;
  FAILS(nestline_expiring_insert_batch_bytes(filter, keys, sizes, kKeys, NULL, error) == NO,
        "the size of a key");
  sizes[kKeys - 1] = strlen(texts[kKeys - 1]);
  CHECK(nestline_expiring_size(filter) == 0);
  nestline_expiring_free(filter);
}

static void test_time(void) {
  nestline_expiring* filter = create(kKeys);
  nestline_expiring_clock* clock = NULL;
  const uint64_t hour = UINT64_C(3600000000000);
  int i;

  CHECK(nestline_expiring_insert_batch_for_u64(filter, numbers, kKeys, 1, NULL, NULL) > 0);
  WORKS(nestline_expiring_advance(filter, 2, error));
  CHECK(nestline_expiring_size(filter) > kKeys / 2);  // dead ones that were not swept
  WORKS(!nestline_expiring_sweep(filter, 1, error));
  for (i = 0; i < 1000 && !nestline_expiring_sweep(filter, 64, &sentence);) ++i;
  CHECK(i < 1000 && nestline_expiring_size(filter) == 0);
  WORKS(nestline_expiring_insert_u64(filter, 7, error));
  WORKS(nestline_expiring_clear(filter, error));
  CHECK(nestline_expiring_size(filter) == 0 && nestline_expiring_now(filter) == 2);
  FAILS(!nestline_expiring_advance(NULL, 1, error), "the filter is NULL");
  FAILS(!nestline_expiring_sweep(NULL, 1, error), "the filter is NULL");
  FAILS(!nestline_expiring_clear(NULL, error), "the filter is NULL");

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
  nestline_expiring_free(filter);
}

// Whether it is the filter that test_files saves.
static bool same(const nestline_expiring* filter) {
  return nestline_expiring_now(filter) == 5 && nestline_expiring_seed(filter) == 5 &&
         nestline_expiring_left_u64(filter, numbers[9], NULL) == 14 &&
         nestline_expiring_may_contain_batch_u64(filter, numbers, kKeys, answers, NULL) == kKeys;
}

static void test_files(const char* folder) {
  static char path[4096];
  static tape_t tape;
  nestline_expiring* filter = create(kKeys);
  nestline_expiring* other = NULL;
  size_t size = 0;
  void* bytes = NULL;

  CHECK(nestline_expiring_advance(filter, 5, NULL));
  CHECK(nestline_expiring_insert_batch_u64(filter, numbers, kKeys, NULL, NULL) > 0);
  WORKS((bytes = nestline_expiring_to_bytes(filter, &size, error)) != NULL);
  WORKS((other = nestline_expiring_from_bytes(bytes, size, error)) != NULL);
  CHECK(same(other));
  nestline_expiring_free(other);
  FAILS(nestline_expiring_from_bytes(bytes, size - 1, error) == NULL, "bytes");
  FAILS(nestline_expiring_from_bytes(NULL, 1, error) == NULL, "the bytes are NULL");
  FAILS(nestline_from_bytes(bytes, size, error) == NULL, "bytes");  // it is another kind
  FAILS(nestline_expiring_to_bytes(filter, NULL, error) == NULL, "the pointer to the size is NULL");
  FAILS(nestline_expiring_to_bytes(NULL, &size, error) == NULL, "the filter is NULL");

  WORKS(nestline_expiring_save_to(filter, write_tape, &tape, error));
  CHECK(tape.size == size && memcmp(tape.bytes, bytes, size) == 0);
  nestline_free_bytes(bytes);
  WORKS((other = nestline_expiring_load_from(read_tape, &tape, error)) != NULL);
  CHECK(same(other));
  nestline_expiring_free(other);
  tape.size = sizeof tape.bytes - 1;
  FAILS(!nestline_expiring_save_to(filter, write_tape, &tape, error), "writes has failed");
  FAILS(!nestline_expiring_save_to(filter, NULL, NULL, error), "that writes is NULL");
  FAILS(!nestline_expiring_save_to(NULL, write_tape, &tape, error), "the filter is NULL");
  FAILS(nestline_expiring_load_from(NULL, NULL, error) == NULL, "that reads is NULL");
  FAILS(nestline_expiring_load_from(read_nothing, NULL, error) == NULL, "reads has failed");

  snprintf(path, sizeof path, "%s/c_expiring_test.nest", folder);
  WORKS(nestline_expiring_save(filter, path, error));
  WORKS((other = nestline_expiring_load(path, error)) != NULL);
  CHECK(same(other));
  nestline_expiring_free(other);
  FAILS(nestline_load(path, error) == NULL, "c_expiring_test.nest");
  FAILS(!nestline_expiring_save(filter, folder, error), "Is a directory");
  FAILS(!nestline_expiring_save(filter, NULL, error), "the path is NULL");
  FAILS(!nestline_expiring_save(NULL, path, error), "the filter is NULL");
  remove(path);
  FAILS(nestline_expiring_load(path, error) == NULL, "No such file");
  FAILS(nestline_expiring_load(NULL, error) == NULL, "the path is NULL");
  nestline_expiring_free(filter);

  CHECK(nestline_expiring_now(NULL) == 0 && nestline_expiring_size(NULL) == 0);
  CHECK(nestline_expiring_capacity(NULL) == 0 && nestline_expiring_life(NULL) == 0);
  CHECK(nestline_expiring_bits(NULL) == 0 && nestline_expiring_slots(NULL) == 0);
  CHECK(nestline_expiring_load_factor(NULL) == 0 && nestline_expiring_expected_fpr(NULL) == 0);
  CHECK(nestline_expiring_seed(NULL) == 0 && nestline_expiring_memory_bytes(NULL) == 0);
}

int main(int argc, char** argv) {
  make_keys();
  test_options();
  test_one_key();
  test_no_room();
  test_batches();
  test_time();
  test_files(folder_of(argc, argv));
  return summary();
}
