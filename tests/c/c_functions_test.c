// Tests every C function on keys and on whole filters, and every error, as a C program sees them.
// c_files_test.c tests the functions on files and bytes.
#include <nestline/nestline.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/c/checks.h"
#include "tests/c/keys.h"

static uint8_t bytes[kKeys];
static uint64_t bitmap[(kKeys + 63) / 64];
static uint32_t positions[kKeys];

static nestline_filter* create(uint64_t capacity, int bits) {
  nestline_options options = NESTLINE_OPTIONS_INIT;
  options.capacity = capacity;
  options.bits = bits;
  options.seed = 5;
  return made(nestline_create(&options, &sentence));
}

static void test_options(void) {
  struct {
    nestline_options known;
    uint64_t later;
  } options = {NESTLINE_OPTIONS_INIT, 0};
  nestline_filter* filter = NULL;
  uint64_t full;

  FAILS(nestline_create(NULL, error) == NULL, "the options are NULL");
  FAILS(nestline_create(&options.known, error) == NULL, "capacity must be at least 1");
  options.known.capacity = 1000;
  options.known.bits = 9;
  FAILS(nestline_create(&options.known, error) == NULL, "bits must be 8, 12 or 16");
  options.known.bits = 0;
  options.known.fpr = 1.5;
  FAILS(nestline_create(&options.known, error) == NULL, "fpr must be above 0 and below 1");
  options.known.fpr = 0.001;
  options.known.max_capacity = 4000;
  options.known.seed = 77;
  WORKS((filter = nestline_create(&options.known, error)) != NULL);
  CHECK(nestline_bits(filter) == 16 && nestline_seed(filter) == 77);
  CHECK(nestline_capacity(filter) >= 1000 && nestline_max_capacity(filter) == 4000);
  CHECK(nestline_insert_batch_u64(filter, numbers, kKeys, NULL, NULL) == kKeys);
  CHECK(nestline_growth(filter) >= 1 && nestline_capacity(filter) >= kKeys);
  nestline_free(filter);

  /* A program that was compiled when `load` and what follows did not exist. */
  options.known.load = 17;
  FAILS(nestline_create(&options.known, error) == NULL, "load must be from 0.5 to 0.95; it is 17");
  options.known.struct_size = offsetof(nestline_options, load);
  WORKS((filter = nestline_create(&options.known, error)) != NULL);
  full = nestline_slots(filter);
  nestline_free(filter);
  options.known.struct_size += 1;
  FAILS(nestline_create(&options.known, error) == NULL, "struct_size is too small");
  options.known.struct_size = offsetof(nestline_options, load) - 1;
  FAILS(nestline_create(&options.known, error) == NULL, "struct_size is too small");
  options.known.struct_size = sizeof(nestline_options);
  options.known.load = 0.5;
  WORKS((filter = nestline_create(&options.known, error)) != NULL);
  CHECK(nestline_slots(filter) >= 2 * nestline_capacity(filter));
  CHECK(nestline_slots(filter) > full);
  nestline_free(filter);
  options.known.load = 0;
  WORKS((filter = nestline_create(&options.known, error)) != NULL);
  CHECK(nestline_slots(filter) == full);
  nestline_free(filter);

  options.known.reserved = 1;
  FAILS(nestline_create(&options.known, error) == NULL, "does not know");
  options.known.reserved = 0;
  options.known.struct_size = sizeof(options);
  WORKS((filter = nestline_create(&options.known, error)) != NULL);
  nestline_free(filter);
  options.later = 1;
  FAILS(nestline_create(&options.known, error) == NULL, "does not know");
  options.known.struct_size = sizeof(nestline_options) - 1;
  FAILS(nestline_create(&options.known, error) == NULL, "struct_size is too small");
  options.known.struct_size = SIZE_MAX;
  FAILS(nestline_create(&options.known, error) == NULL, "struct_size is too large");

  options.known.struct_size = sizeof(nestline_options);
  options.known.max_capacity = 0;
  options.known.capacity = (uint64_t)1 << 44;
  FAILS(nestline_create(&options.known, error) == NULL, "there is not enough memory");
  nestline_free(NULL);
}

static void test_one_key(void) {
  nestline_filter* filter = create(1000, 12);
  uint64_t hash = 0, other_hash;
  int copies;

  WORKS(nestline_insert_bytes(filter, "ab", 2, error));
  WORKS(nestline_insert_u64(filter, 1, error));
  WORKS(nestline_may_contain_bytes(filter, "ab", 2, error));
  WORKS(!nestline_may_contain_bytes(filter, "ab", 3, error));
  WORKS(nestline_may_contain_u64(filter, 1, error));
  WORKS(!nestline_may_contain_u64(filter, 2, error));
  WORKS((hash = nestline_hash_bytes("ab", 2, 5, error)) != 0);
  WORKS(nestline_may_contain_hash(filter, hash, error));
  WORKS(nestline_may_contain_hash(filter, nestline_hash_u64(1, 5), error));
  WORKS(!nestline_may_contain_hash(filter, nestline_hash_u64(1, 6), error));
  WORKS(nestline_prepare_bytes(filter, "ab", 2, error) == hash);
  WORKS(nestline_prepare_bytes(filter, NULL, 0, error) == nestline_hash_bytes("", 0, 5, NULL));
  WORKS(nestline_prepare_u64(filter, 1, error) == nestline_hash_u64(1, 5));
  WORKS(nestline_prepare_hash(filter, hash, error) == hash);
  WORKS(nestline_insert_hash(filter, hash, error));
  WORKS(nestline_count_bytes(filter, "ab", 2, error) == 2);
  WORKS(nestline_count_u64(filter, 1, error) == 1 && nestline_count_u64(filter, 2, error) == 0);
  WORKS(nestline_count_hash(filter, hash, error) == 2);
  CHECK(nestline_size(filter) == 3);

  WORKS(!nestline_insert_unique_bytes(filter, "ab", 2, error));
  CHECK(nestline_outcome_of(false, sentence) == NESTLINE_PRESENT);
  WORKS(nestline_insert_unique_bytes(filter, NULL, 0, error));
  WORKS(nestline_may_contain_bytes(filter, "", 0, error));
  WORKS(!nestline_insert_unique_u64(filter, 1, error));
  CHECK(nestline_outcome_of(false, sentence) == NESTLINE_PRESENT);
  WORKS(!nestline_insert_unique_hash(filter, hash, error));
  CHECK(nestline_outcome_of(false, sentence) == NESTLINE_PRESENT);
  other_hash = nestline_hash_u64(900, 1);
  WORKS(nestline_insert_unique_hash(filter, other_hash, error));

  WORKS(nestline_update_bytes(filter, "ab", 2, "cd", 2, error));
  WORKS(nestline_update_u64(filter, 1, 2, error));
  WORKS(nestline_update_hash(filter, other_hash, hash, error));
  WORKS(nestline_count_bytes(filter, "ab", 2, error) == 2);
  WORKS(nestline_may_contain_bytes(filter, "cd", 2, error));
  WORKS(!nestline_may_contain_u64(filter, 1, error) && nestline_may_contain_u64(filter, 2, error));
  CHECK(nestline_size(filter) == 5);

  WORKS(nestline_erase_bytes(filter, "cd", 2, error));
  WORKS(!nestline_erase_bytes(filter, "cd", 2, error));
  WORKS(nestline_erase_u64(filter, 2, error) && !nestline_erase_u64(filter, 2, error));
  WORKS(nestline_erase_hash(filter, hash, error));
  CHECK(nestline_size(filter) == 2);

  for (copies = 0; copies < 8; ++copies) {
    WORKS(nestline_insert_u64(filter, 70, error));
  }
  FAILS(!nestline_insert_u64(filter, 70, error), "as many copies");
  CHECK(nestline_outcome_of(false, sentence) == NESTLINE_COPIES);
  FAILS(!nestline_update_bytes(filter, NULL, 1, "x", 1, error), "a key is NULL");
  FAILS(!nestline_update_bytes(filter, "x", 1, NULL, 1, error), "a key is NULL");
  FAILS(!nestline_insert_bytes(filter, NULL, 1, error), "a key is NULL");
  FAILS(!nestline_insert_bytes(filter, "x", SIZE_MAX, error), "more than memory");
  FAILS(!nestline_insert_unique_bytes(filter, NULL, 1, error), "a key is NULL");
  FAILS(nestline_may_contain_bytes(filter, NULL, 1, error), "a key is NULL");
  FAILS(nestline_prepare_bytes(filter, NULL, 1, error) == 0, "a key is NULL");
  FAILS(nestline_count_bytes(filter, NULL, 1, error) == NO, "a key is NULL");
  FAILS(!nestline_erase_bytes(filter, NULL, 1, error), "a key is NULL");
  FAILS(nestline_hash_bytes(NULL, 1, 0, error) == 0, "a key is NULL");
  CHECK(nestline_size(filter) == 10);

  WORKS(nestline_clear(filter, error));
  CHECK(nestline_size(filter) == 0);
  nestline_free(filter);

  filter = create(10, 8);
  copies = 0;
  while (nestline_insert_u64(filter, numbers[copies], &sentence)) ++copies;
  CHECK(copies >= 10);
  FAILS(!nestline_insert_u64(filter, numbers[copies], error), "the filter is full");
  CHECK(nestline_outcome_of(false, sentence) == NESTLINE_FULL);
  nestline_free(filter);
}

// Calls that are refused because the filter is missing.
static void test_null_filter(void) {
  FAILS(!nestline_insert_u64(NULL, 1, error), "the filter is NULL");
  FAILS(!nestline_insert_hash(NULL, 1, error), "the filter is NULL");
  FAILS(!nestline_insert_unique_u64(NULL, 1, error), "the filter is NULL");
  FAILS(!nestline_update_u64(NULL, 1, 2, error), "the filter is NULL");
  FAILS(nestline_may_contain_u64(NULL, 1, error), "the filter is NULL");
  FAILS(nestline_may_contain_hash(NULL, 1, error), "the filter is NULL");
  FAILS(nestline_prepare_u64(NULL, 1, error) == 0, "the filter is NULL");
  FAILS(nestline_prepare_hash(NULL, 1, error) == 0, "the filter is NULL");
  FAILS(nestline_count_u64(NULL, 1, error) == NO, "the filter is NULL");
  FAILS(!nestline_erase_u64(NULL, 1, error), "the filter is NULL");
  FAILS(nestline_insert_batch_u64(NULL, numbers, 1, NULL, error) == NO, "the filter is NULL");
  FAILS(nestline_select_u64(NULL, numbers, 1, positions, error) == NO, "the filter is NULL");
  FAILS(!nestline_clear(NULL, error) && !nestline_grow(NULL, error), "the filter is NULL");
  FAILS(!nestline_save(NULL, "x", error), "the filter is NULL");
  FAILS(!nestline_verify(NULL, error), "the filter is NULL");
  FAILS(nestline_copy(NULL, error) == NULL, "the filter is NULL");
  CHECK(nestline_size(NULL) == 0 && nestline_capacity(NULL) == 0 && nestline_slots(NULL) == 0);
  CHECK(nestline_outcome_of(true, NULL) == NESTLINE_STORED);
  CHECK(nestline_max_capacity(NULL) == 0 && nestline_growth(NULL) == 0);
  CHECK(nestline_load_factor(NULL) == 0 && nestline_expected_fpr(NULL) == 0);
  CHECK(nestline_bits(NULL) == 0 && nestline_seed(NULL) == 0 && nestline_memory_bytes(NULL) == 0);
  CHECK(!nestline_is_mapped(NULL));
}

// The functions for one kind of keys; KEYS is the argument for them.
#define BATCH_OF(kind, ...)                                                                        \
  WORKS(nestline_insert_batch_##kind(filter, __VA_ARGS__, kKeys, bytes, error) == kKeys);          \
  CHECK(bytes[0] == 1 && bytes[kKeys - 1] == 1);                                                   \
  CHECK(nestline_size(filter) == kKeys);                                                           \
  memset(bytes, 0, sizeof bytes);                                                                  \
  WORKS(nestline_may_contain_batch_##kind(filter, __VA_ARGS__, kKeys, bytes, error) == kKeys);     \
  CHECK(bytes[0] == 1 && bytes[kKeys - 1] == 1);                                                   \
  WORKS(nestline_may_contain_bits_##kind(filter, __VA_ARGS__, kKeys, bitmap, error) == kKeys);     \
  CHECK(bitmap[1] == UINT64_MAX && bitmap[kKeys / 64] == ((uint64_t)1 << kKeys % 64) - 1);         \
  WORKS(nestline_select_##kind(filter, __VA_ARGS__, kKeys, positions, error) == kKeys);            \
  CHECK(positions[0] == 0 && positions[kKeys - 1] == kKeys - 1);                                   \
  positions[0] = 2999;                                                                             \
  positions[1] = 3;                                                                                \
  WORKS(nestline_select_from_##kind(filter, __VA_ARGS__, kKeys, positions, 2, positions, error) == \
        2);                                                                                        \
  CHECK(positions[0] == 2999 && positions[1] == 3 && positions[2] == 2);                           \
  positions[1] = kKeys;                                                                            \
  FAILS(nestline_select_from_##kind(filter, __VA_ARGS__, kKeys, positions, 2, positions, error) == \
            NO,                                                                                    \
        "a position outside the keys");                                                            \
  WORKS(nestline_count_batch_##kind(filter, __VA_ARGS__, kKeys, bytes, error));                    \
  CHECK(bytes[0] == 1 && bytes[kKeys - 1] == 1);                                                   \
  WORKS(nestline_erase_batch_##kind(filter, __VA_ARGS__, kKeys, NULL, error) == kKeys);            \
  CHECK(nestline_size(filter) == 0);                                                               \
  WORKS(nestline_erase_batch_##kind(filter, __VA_ARGS__, kKeys, bytes, error) == 0);               \
  CHECK(bytes[0] == 0 && bytes[kKeys - 1] == 0);                                                   \
  FAILS(nestline_may_contain_batch_##kind(filter, __VA_ARGS__, 1, NULL, error) == NO,              \
        "the array of answers is NULL");                                                           \
  FAILS(nestline_may_contain_bits_##kind(filter, __VA_ARGS__, 1, NULL, error) == NO,               \
        "the bitmap is NULL");                                                                     \
  FAILS(nestline_select_##kind(filter, __VA_ARGS__, 1, NULL, error) == NO,                         \
        "the array of positions is NULL");                                                         \
  FAILS(nestline_select_from_##kind(filter, __VA_ARGS__, 1, NULL, 1, positions, error) == NO,      \
        "the selection is NULL");                                                                  \
  FAILS(nestline_select_from_##kind(filter, __VA_ARGS__, 1, positions, 1, NULL, error) == NO,      \
        "the array of positions is NULL");                                                         \
  FAILS(!nestline_count_batch_##kind(filter, __VA_ARGS__, 1, NULL, error),                         \
        "the array of counts is NULL");                                                            \
  FAILS(nestline_insert_batch_##kind(filter, __VA_ARGS__, SIZE_MAX, NULL, error) == NO,            \
        "more than memory can hold")

static void test_batches(void) {
  nestline_filter* filter = create(2 * kKeys, 16);
  BATCH_OF(bytes, keys, sizes);
  BATCH_OF(u64, numbers);
  BATCH_OF(hash, numbers);
  FAILS(nestline_insert_batch_u64(filter, NULL, 1, NULL, error) == NO, "the array of keys is NULL");
  FAILS(nestline_insert_batch_bytes(filter, NULL, sizes, 1, NULL, error) == NO,
        "the array of keys is NULL");
  FAILS(nestline_insert_batch_bytes(filter, keys, NULL, 1, NULL, error) == NO,
        "the array of sizes is NULL");
  WORKS(nestline_insert_batch_bytes(filter, NULL, NULL, 0, NULL, error) == 0);
  WORKS(nestline_may_contain_batch_u64(filter, NULL, 0, NULL, error) == 0);

  // Nothing changes when the last key cannot be read. A row that is not selected may be NULL.
  keys[kKeys - 1] = NULL;
  FAILS(nestline_insert_batch_bytes(filter, keys, sizes, kKeys, NULL, error) == NO,
        "a key is NULL");
  CHECK(nestline_size(filter) == 0);
  positions[0] = 5;
  WORKS(nestline_select_from_bytes(filter, keys, sizes, kKeys, positions, 1, positions, error) ==
        0);
  positions[0] = kKeys - 1;
  FAILS(
      nestline_select_from_bytes(filter, keys, sizes, kKeys, positions, 1, positions, error) == NO,
      "a key is NULL");
  keys[kKeys - 1] = texts[kKeys - 1];
  nestline_free(filter);
}

// The same for nestline_build.
#define BUILD_OF(kind, ...)                                                                        \
  memset(bytes, 7, sizeof bytes);                                                                  \
  WORKS((filter = nestline_build_##kind(&options, __VA_ARGS__, kKeys, bytes, error)) != NULL);     \
  CHECK(nestline_size(filter) == kKeys && nestline_seed(filter) == 5);                             \
  CHECK(nestline_bits(filter) == 16 && !nestline_is_mapped(filter));                               \
  CHECK(bytes[0] == 1 && bytes[kKeys - 1] == 1);                                                   \
  CHECK(nestline_may_contain_batch_##kind(filter, __VA_ARGS__, kKeys, bytes, NULL) == kKeys);      \
  CHECK(nestline_erase_batch_##kind(filter, __VA_ARGS__, kKeys, NULL, NULL) == kKeys);             \
  nestline_free(filter);                                                                           \
  WORKS((filter = nestline_build_##kind(&options, __VA_ARGS__, 9, NULL, error)) != NULL);          \
  CHECK(nestline_size(filter) == 9);                                                               \
  nestline_free(filter);                                                                           \
  FAILS(nestline_build_##kind(NULL, __VA_ARGS__, 1, NULL, error) == NULL, "the options are NULL"); \
  FAILS(nestline_build_##kind(&options, __VA_ARGS__, SIZE_MAX, NULL, error) == NULL,               \
        "more than memory can hold");                                                              \
  /* Too many keys: an error, or an answer in `stored`. */                                         \
  options.capacity = 100;                                                                          \
  FAILS(nestline_build_##kind(&options, __VA_ARGS__, kKeys, NULL, error) == NULL,                  \
        "no room for all of the 3000 keys");                                                       \
  WORKS((filter = nestline_build_##kind(&options, __VA_ARGS__, kKeys, bytes, error)) != NULL);     \
  CHECK(nestline_size(filter) >= 100 && nestline_size(filter) < kKeys);                            \
  CHECK(ones(bytes) == nestline_size(filter));                                                     \
  nestline_free(filter);                                                                           \
  options.capacity = kKeys

static size_t ones(const uint8_t* of) {
  size_t i, sum = 0;
  for (i = 0; i < kKeys; ++i) sum += of[i];
  return sum;
}

static void test_build(void) {
  nestline_options options = NESTLINE_OPTIONS_INIT;
  nestline_filter* filter = NULL;
  uint64_t copies[12] = {0};

  options.capacity = kKeys;
  options.bits = 16;
  options.seed = 5;
  BUILD_OF(bytes, keys, sizes);
  BUILD_OF(u64, numbers);
  BUILD_OF(hash, numbers);
  WORKS((filter = nestline_build_bytes(&options, NULL, NULL, 0, NULL, error)) != NULL);
  CHECK(nestline_size(filter) == 0);
  // It can be changed.
  WORKS(nestline_insert_u64(filter, 1, error) && nestline_may_contain_u64(filter, 1, error));
  nestline_free(filter);
  WORKS((filter = nestline_build_u64(&options, NULL, 0, bytes, error)) != NULL);
  nestline_free(filter);
  // Copies beyond the most are no error.
  WORKS((filter = nestline_build_u64(&options, copies, 12, NULL, error)) != NULL);
  CHECK(nestline_size(filter) == 10 && nestline_count_u64(filter, 0, NULL) == 10);
  nestline_free(filter);

  FAILS(nestline_build_u64(&options, NULL, 1, NULL, error) == NULL, "the array of keys is NULL");
  FAILS(nestline_build_hash(&options, NULL, 1, NULL, error) == NULL, "the array of keys is NULL");
  FAILS(nestline_build_bytes(&options, NULL, sizes, 1, NULL, error) == NULL,
        "the array of keys is NULL");
  FAILS(nestline_build_bytes(&options, keys, NULL, 1, NULL, error) == NULL,
        "the array of sizes is NULL");
  // The strings of so many keys are more than memory can hold, their pointers are not.
  FAILS(
      nestline_build_bytes(&options, keys, sizes, PTRDIFF_MAX / sizeof(void*), NULL, error) == NULL,
      "there is not enough memory");
  keys[kKeys - 1] = NULL;
  FAILS(nestline_build_bytes(&options, keys, sizes, kKeys, NULL, error) == NULL, "a key is NULL");
  keys[kKeys - 1] = texts[kKeys - 1];
  options.bits = 9;
  FAILS(nestline_build_u64(&options, numbers, kKeys, NULL, error) == NULL,
        "bits must be 8, 12 or 16");
}

static void test_whole(void) {
  nestline_filter* filter = create(kKeys, 8);
  nestline_filter* other = NULL;
  nestline_filter* wider = create(kKeys, 16);
  size_t memory = nestline_memory_bytes(filter);
  int doublings = 0;

  CHECK(nestline_insert_batch_u64(filter, numbers, kKeys, NULL, NULL) == kKeys);
  CHECK(nestline_load_factor(filter) > 0.8 && nestline_load_factor(filter) <= 1);
  CHECK(nestline_expected_fpr(filter) > 0.01 && nestline_expected_fpr(filter) < 0.02);
  WORKS((other = nestline_copy(filter, error)) != NULL);
  CHECK(nestline_size(other) == kKeys && nestline_bits(other) == 8 && nestline_seed(other) == 5);
  FAILS(!nestline_merge(filter, other, error), "more keys than find room");
  FAILS(!nestline_merge(filter, wider, error), "fingerprints of the same width");
  FAILS(!nestline_merge(filter, NULL, error), "the other filter is NULL");
  FAILS(!nestline_merge(NULL, filter, error), "the filter is NULL");
  WORKS(nestline_grow(filter, error) && nestline_grow(other, error));
  CHECK(nestline_growth(filter) == 1 && nestline_memory_bytes(filter) == 2 * memory);
  WORKS(nestline_grow(filter, error) && nestline_grow(other, error));
  WORKS(nestline_merge(filter, other, error));
  CHECK(nestline_size(filter) == 2 * kKeys && nestline_count_u64(filter, numbers[9], NULL) >= 2);
  WORKS(nestline_clear(filter, error) && nestline_merge(filter, filter, error));
  while (nestline_grow(other, &sentence)) ++doublings;
  CHECK(doublings == 2);
  FAILS(!nestline_grow(other, error), "cannot grow any more");
  CHECK(nestline_may_contain_u64(other, numbers[7], NULL));
  nestline_free(filter);
  nestline_free(other);
  nestline_free(wider);
}

int main(void) {
  const char* version = nestline_version();
  char numbers_of_it[64];
  CHECK(strcmp(version, NESTLINE_VERSION_STRING) == 0);
  CHECK(strcmp(version, NESTLINE_TEST_VERSION) == 0);  // CMake's
  (void)snprintf(numbers_of_it, sizeof numbers_of_it, "%d.%d.%d", NESTLINE_VERSION_MAJOR,
                 NESTLINE_VERSION_MINOR, NESTLINE_VERSION_PATCH);
  CHECK(strcmp(version, numbers_of_it) == 0);
#if NESTLINE_VERSION != \
    NESTLINE_VERSION_MAJOR * 10000 + NESTLINE_VERSION_MINOR * 100 + NESTLINE_VERSION_PATCH
#error "the preprocessor cannot compare versions"
#endif
  WORKS(nestline_register_thread(error));
  CHECK(nestline_register_thread(NULL));
  make_keys();
  test_options();
  test_one_key();
  test_null_filter();
  test_batches();
  test_build();
  test_whole();
  return summary();
}
