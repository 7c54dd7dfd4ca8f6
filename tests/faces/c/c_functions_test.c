// Tests the errors of the C functions on keys and on whole filters, and who owns what they return,
// as a C program sees them. c_twin_test.cc tests what they answer, c_files_test.c those on files
// and bytes.
#include <nestline/nestline.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/faces/c/checks.h"
#include "tests/faces/c/keys.h"

static uint8_t bytes[kKeys];
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
  options.known.bits = 11;
  FAILS(nestline_create(&options.known, error) == NULL, "bits must be 8, 9, 10, 12 or 16");
  options.known.bits = 0;
  options.known.fpr = 1.5;
  FAILS(nestline_create(&options.known, error) == NULL, "fpr must be above 0 and below 1");
  options.known.fpr = 0.001;
  options.known.max_capacity = 4000;
  options.known.seed = 77;
  WORKS((filter = nestline_create(&options.known, error)) != NULL);
  CHECK(nestline_bits(filter) == 16 && nestline_seed(filter) == 77);
  CHECK(nestline_capacity(filter) >= 1000 && nestline_max_capacity(filter) == 4000);
  CHECK(!nestline_turns_over(filter) && !nestline_turns_over(NULL));
  CHECK(nestline_insert_batch(filter, integers(kKeys), NULL, NULL) == kKeys);
  CHECK(nestline_growth(filter) >= 1 && nestline_capacity(filter) >= kKeys);
  full = nestline_slots(filter);
  nestline_free(filter);

  options.known.load = 17;
  FAILS(nestline_create(&options.known, error) == NULL, "load must be from 0.5 to 0.95; it is 17");
  options.known.load = 0.5;
  options.known.capacity = kKeys;
  WORKS((filter = nestline_create(&options.known, error)) != NULL);
  CHECK(nestline_slots(filter) >= 2 * nestline_capacity(filter));
  CHECK(nestline_slots(filter) > full);
  nestline_free(filter);
  options.known.load = 0;

  options.known.turns_over = 2;
  FAILS(nestline_create(&options.known, error) == NULL, "turns_over must be 0 or 1");
  options.known.turns_over = 1;
  WORKS((filter = nestline_create(&options.known, error)) != NULL);
  CHECK(nestline_turns_over(filter));
  nestline_free(filter);
  options.known.turns_over = 0;
  REFUSES_LAYOUTS(options, nestline_create(&options.known, error));
  WORKS((filter = nestline_create(&options.known, error)) != NULL);
  nestline_free(filter);

  options.known.max_capacity = 0;
  options.known.fpr = 0.01;
  WORKS((options.known.capacity = nestline_capacity_for(1 << 20, 0.01, error)) > 500000);
  WORKS(nestline_bytes_for(&options.known, error) <= 1 << 20);
  WORKS((filter = nestline_create(&options.known, error)) != NULL);
  CHECK(nestline_memory_bytes(filter) == nestline_bytes_for(&options.known, NULL));
  nestline_free(filter);
  FAILS(nestline_capacity_for(1 << 20, 2, error) == NO, "fpr");
  FAILS(nestline_bytes_for(NULL, error) == NO, "the options are NULL");
  options.known.capacity = (uint64_t)1 << 44;
  FAILS(nestline_create(&options.known, error) == NULL, "there is not enough memory");
  nestline_free(NULL);
}

// One key of each kind, and without a filter.
#define TEST_ONE_KEY(kind, ...)                                                            \
  do {                                                                                     \
    WORKS(nestline_insert_##kind(filter, __VA_ARGS__, error));                             \
    WORKS(nestline_may_contain_##kind(filter, __VA_ARGS__, error));                        \
    FAILS(!nestline_insert_##kind(NULL, __VA_ARGS__, error), "the filter is NULL");        \
    FAILS(!nestline_insert_unique_##kind(NULL, __VA_ARGS__, error), "the filter is NULL"); \
    FAILS(nestline_may_contain_##kind(NULL, __VA_ARGS__, error), "the filter is NULL");    \
    FAILS(nestline_prepare_##kind(NULL, __VA_ARGS__, error) == 0, "the filter is NULL");   \
    FAILS(nestline_count_##kind(NULL, __VA_ARGS__, error) == NO, "the filter is NULL");    \
    FAILS(!nestline_erase_##kind(NULL, __VA_ARGS__, error), "the filter is NULL");         \
  } while (0)

static void test_one_key(void) {
  nestline_filter* filter = create(1000, 12);
  int copies;

  TEST_ONE_KEY(bytes, "a\0b", 3);
  TEST_ONE_KEY(bytes, NULL, 0);
  TEST_ONE_KEY(u64, 42);
  TEST_ONE_KEY(hash, 0x123456789abcdef0u);
  CHECK(nestline_size(filter) == 4);
  WORKS(nestline_hash_bytes(NULL, 0, 5, error) == nestline_prepare_bytes(filter, NULL, 0, NULL));
  WORKS(nestline_prepare_u64(filter, 1, error) == nestline_hash_u64(1, 5));
  FAILS(!nestline_update_u64(NULL, 1, 2, error), "the filter is NULL");
  FAILS(!nestline_update_hash(NULL, 1, 2, error), "the filter is NULL");
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
  CHECK(nestline_size(filter) == 4);
  nestline_free(filter);

  filter = create(10, 8);
  while (nestline_insert_u64(filter, 70, NULL)) continue;
  FAILS(!nestline_insert_u64(filter, 70, error), "as many copies");
  for (copies = 0; nestline_insert_u64(filter, numbers[copies], NULL);) ++copies;
  FAILS(!nestline_insert_u64(filter, numbers[copies], error), "the filter is full");
  nestline_free(filter);
}

// Calls on the filter as a whole, and batches, that are refused because it is missing.
static void test_null_filter(void) {
  refuses_changes(NULL, "the filter is NULL");
  FAILS(nestline_insert_batch(NULL, integers(1), NULL, error) == NO, "the filter is NULL");
  FAILS(nestline_select(NULL, integers(1), positions, error) == NO, "the filter is NULL");
  FAILS(nestline_select_from(NULL, integers(1), positions, 1, positions, error) == NO,
        "the filter is NULL");
  FAILS(!nestline_clear(NULL, error), "the filter is NULL");
  FAILS(!nestline_verify(NULL, error), "the filter is NULL");
  FAILS(nestline_snapshot(NULL, error) == NULL, "the filter is NULL");
  CHECK(nestline_size(NULL) == 0 && nestline_capacity(NULL) == 0 && nestline_slots(NULL) == 0);
  CHECK(nestline_outcome_of(true, NULL) == NESTLINE_STORED);
  CHECK(nestline_max_capacity(NULL) == 0 && nestline_growth(NULL) == 0);
  CHECK(nestline_load_factor(NULL) == 0 && nestline_expected_fpr(NULL) == 0);
  CHECK(nestline_bits(NULL) == 0 && nestline_seed(NULL) == 0 && nestline_memory_bytes(NULL) == 0);
  CHECK(!nestline_is_mapped(NULL));
}

// The batches of a filter for keys in one form.
static void test_batches_of(nestline_filter* filter, int kind) {
  const nestline_keys all = first_keys(kind, kKeys);
  const nestline_keys one = first_keys(kind, 1);

  WORKS(nestline_insert_batch(filter, all, NULL, error) == kKeys);
  positions[0] = 3;
  positions[1] = kKeys;
  FAILS(nestline_select_from(filter, all, positions, 2, positions, error) == NO,
        "a position outside the keys");
  FAILS(nestline_may_contain_batch(filter, one, NULL, error) == NO, "the array of answers is NULL");
  FAILS(nestline_may_contain_bits(filter, one, NULL, error) == NO, "the bitmap is NULL");
  FAILS(nestline_select(filter, one, NULL, error) == NO, "the array of positions is NULL");
  FAILS(nestline_select_from(filter, one, NULL, 1, positions, error) == NO,
        "the selection is NULL");
  FAILS(nestline_select_from(filter, one, positions, 1, NULL, error) == NO,
        "the array of positions is NULL");
  FAILS(!nestline_count_batch(filter, one, NULL, error), "the array of counts is NULL");
  FAILS(nestline_insert_batch(filter, first_keys(kind, SIZE_MAX), NULL, error) == NO,
        "more than memory can hold");
}

// Fails for these keys, in every form of call, and changes nothing.
static void refuse_keys(nestline_filter* filter, nestline_keys bad, const char* why) {
  nestline_options options = NESTLINE_OPTIONS_INIT;
  const uint64_t size = nestline_size(filter);
  options.capacity = kKeys;
  FAILS(nestline_insert_batch(filter, bad, NULL, error) == NO, why);
  FAILS(nestline_insert_unique_batch(filter, bad, NULL, error) == NO, why);
  FAILS(nestline_erase_batch(filter, bad, NULL, error) == NO, why);
  FAILS(nestline_may_contain_batch(filter, bad, bytes, error) == NO, why);
  FAILS(nestline_build(&options, bad, NULL, error) == NULL, why);
  CHECK(nestline_size(filter) == size);
}

static void test_hostile_keys(void) {
  nestline_filter* filter = create(kKeys, 16);
  nestline_keys bad = first_keys(NESTLINE_KEYS_OFFSETS32, kKeys);
  int kind;

  CHECK(nestline_insert_batch(filter, bad, NULL, NULL) == kKeys);
  for (kind = -1; kind <= NESTLINE_KEYS_HASH + 1; kind += NESTLINE_KEYS_HASH + 2) {
    bad.kind = kind;
    refuse_keys(filter, bad, "the kind of the keys is none of");
  }
  memset(&bad, 0, sizeof bad);
  refuse_keys(filter, bad, "the kind of the keys is none of");
  FOR_EACH_KIND(kind) {
    bad = first_keys(kind, kKeys);
    bad.keys = NULL;
    refuse_keys(filter, bad, "NULL");
    bad.count = 0;
    bad.offsets = NULL;
    bad.buffer_bytes = 0;
    WORKS(nestline_insert_batch(filter, bad, NULL, error) == 0);
    WORKS(nestline_may_contain_batch(filter, bad, NULL, error) == 0);
  }
  refuse_keys(filter, nestline_keys_bytes(keys, NULL, 1), "the array of sizes is NULL");
  bad = nestline_keys_offsets32(texts, text_bytes, NULL, 1);
  refuse_keys(filter, bad, "the array of offsets is NULL");
  bad = nestline_keys_offsets64(texts, SIZE_MAX, offsets64, 1);
  refuse_keys(filter, bad, "more than memory can hold");

  // The last key of many is the wrong one.
  keys[kKeys - 1] = NULL;
  refuse_keys(filter, first_keys(NESTLINE_KEYS_BYTES, kKeys), "a key is NULL");
  positions[0] = 5;  // a row that is not selected may be anything
  WORKS(nestline_select_from(filter, first_keys(NESTLINE_KEYS_BYTES, kKeys), positions, 1,
                             positions, error) == 1);
  positions[0] = kKeys - 1;
  FAILS(nestline_select_from(filter, first_keys(NESTLINE_KEYS_BYTES, kKeys), positions, 1,
                             positions, error) == NO,
        "a key is NULL");
  keys[kKeys - 1] = texts + offsets32[kKeys - 1];
  for (kind = NESTLINE_KEYS_OFFSETS32; kind <= NESTLINE_KEYS_OFFSETS64; ++kind) {
    bad = first_keys(kind, kKeys);
    --bad.buffer_bytes;
    refuse_keys(filter, bad, "behind the end of the buffer");
    offsets32[kKeys] = offsets32[kKeys - 1] - 1;
    offsets64[kKeys] = offsets64[kKeys - 1] - 1;
    refuse_keys(filter, first_keys(kind, kKeys), "negative or fall");
    positions[0] = 5;
    WORKS(nestline_select_from(filter, bad, positions, 1, positions, error) == 1);
    offsets32[kKeys] = INT32_MAX;
    offsets64[kKeys] = INT64_MAX;
    refuse_keys(filter, first_keys(kind, kKeys), "behind the end of the buffer");
    offsets32[0] = INT32_MIN;
    offsets64[0] = INT64_MIN;
    refuse_keys(filter, first_keys(kind, 1), "negative or fall");
    offsets32[0] = 0;
    offsets64[0] = 0;
    offsets32[kKeys] = (int32_t)text_bytes;
    offsets64[kKeys] = (int64_t)text_bytes;
  }
  // Bytes are the same keys however they lie, and a slice is where its offsets say.
  WORKS(nestline_erase_batch(filter, first_keys(NESTLINE_KEYS_OFFSETS64, kKeys - 1), NULL, error) ==
        kKeys - 1);
  bad = nestline_keys_offsets32(texts, text_bytes, offsets32 + kKeys - 1, 1);
  WORKS(nestline_erase_batch(filter, bad, NULL, error) == 1);
  nestline_free(filter);
}

static void test_batches(void) {
  int kind;
  FOR_EACH_KIND(kind) {
    nestline_filter* filter = create(2 * kKeys, 16);
    test_batches_of(filter, kind);
    nestline_free(filter);
  }
}

static void test_build(void) {
  nestline_options options = NESTLINE_OPTIONS_INIT;
  nestline_filter* filter = NULL;
  int kind;

  options.capacity = kKeys;
  options.bits = 16;
  options.seed = 5;
  FOR_EACH_KIND(kind) {
    FAILS(nestline_build(NULL, first_keys(kind, kKeys), NULL, error) == NULL,
          "the options are NULL");
    FAILS(nestline_build(&options, first_keys(kind, SIZE_MAX), NULL, error) == NULL,
          "more than memory can hold");
  }
  // It can be changed.
  WORKS((filter = nestline_build(&options, integers(kKeys), bytes, error)) != NULL);
  CHECK(!nestline_is_mapped(filter) && nestline_seed(filter) == 5);
  WORKS(nestline_insert_u64(filter, 1, error) && nestline_may_contain_u64(filter, 1, error));
  nestline_free(filter);
  // The strings of so many keys are more than memory can hold, their pointers are not.
  FAILS(nestline_build(&options, first_keys(NESTLINE_KEYS_BYTES, PTRDIFF_MAX / sizeof(void*)), NULL,
                       error) == NULL,
        "there is not enough memory");
  options.bits = 11;
  FAILS(nestline_build(&options, integers(kKeys), NULL, error) == NULL,
        "bits must be 8, 9, 10, 12 or 16");
}

// Begins doubled; erasing shrinks it. A struct of the size before these options has none.
static void options_of_the_worst_case(void) {
  nestline_options options = NESTLINE_OPTIONS_INIT;
  options.capacity = 1000000;
  options.bits = 12;
  options.may_fold = 1;
  options.shrink_below = 0.3;
  nestline_filter* filter = nestline_create(&options, error);
  CHECK(filter != NULL && nestline_growth(filter) >= 4);
  CHECK(nestline_max_capacity(filter) == 1000000);
  WORKS(nestline_insert_u64(filter, 1, error));
  WORKS(nestline_insert_u64(filter, 2, error));
  const uint64_t key = 2;
  CHECK(nestline_erase_batch(filter, nestline_keys_u64(&key, 1), NULL, error) == 1);
  CHECK(nestline_growth(filter) == 0 && nestline_may_contain_u64(filter, 1, NULL));
  nestline_free(filter);
  options.struct_size = offsetof(nestline_options, shrink_below);
  filter = nestline_create(&options, error);
  CHECK(filter != NULL && nestline_growth(filter) == 0);
  nestline_free(filter);
  options.struct_size = sizeof options;
  options.may_fold = 2;
  FAILS(nestline_create(&options, error) == NULL, "may_fold must be 0 or 1");
}

static void test_whole(void) {
  nestline_filter* filter = create(kKeys, 8);
  nestline_filter* other = NULL;
  nestline_filter* wider = create(kKeys, 16);
  uint64_t left_out = 7;

  CHECK(nestline_insert_batch(filter, integers(kKeys), NULL, NULL) == kKeys);
  WORKS((other = nestline_snapshot(filter, error)) != NULL);
  CHECK(nestline_size(other) == kKeys && nestline_bits(other) == 8 && nestline_seed(other) == 5);
  FAILS(!nestline_merge(filter, other, NESTLINE_MERGE_ALL, &left_out, error),
        "more keys than find room");
  CHECK(left_out == 7);
  FAILS(!nestline_merge(filter, wider, NESTLINE_MERGE_ALL, NULL, error),
        "fingerprints of the same width");
  FAILS(!nestline_merge(filter, other, (nestline_copies)3, NULL, error), "copies is none of");
  FAILS(!nestline_merge(filter, NULL, NESTLINE_MERGE_ALL, NULL, error), "the other filter is NULL");
  {
    nestline_overlap overlap = {7, 7, 7, 7};
    nestline_filter* far = create(kKeys, 8);
    WORKS(nestline_count_common(filter, other, &overlap, error));
    CHECK(overlap.matches == kKeys && overlap.estimate > 0.95 * kKeys &&
          overlap.standard_error < 0.05 * kKeys);
    WORKS(nestline_may_overlap(filter, other, error));
    CHECK(!nestline_may_overlap(filter, far, NULL));
    FAILS(nestline_may_overlap(filter, wider, error), "fingerprints of the same width");
    FAILS(nestline_may_overlap(filter, NULL, error), "filter is NULL");
    FAILS(!nestline_count_common(filter, wider, &overlap, error), "fingerprints of the same width");
    FAILS(!nestline_count_common(filter, other, NULL, error), "overlap is NULL");
    CHECK(overlap.matches == kKeys);
    nestline_free(far);
  }
  // The snapshot is a filter of its own.
  WORKS(nestline_clear(filter, error));
  WORKS(nestline_merge(filter, other, NESTLINE_MERGE_ALL, NULL, error));
  CHECK(nestline_size(filter) == kKeys && nestline_size(other) == kKeys);
  while (nestline_grow(other, NULL)) continue;
  FAILS(!nestline_grow(other, error), "cannot grow any more");
  CHECK(nestline_may_contain_u64(other, numbers[7], NULL));
  const unsigned growth = nestline_growth(other);
  unsigned times = 7;
  CHECK(nestline_can_shrink(other) && !nestline_can_shrink(filter) && !nestline_can_shrink(NULL));
  WORKS(nestline_shrink(other, error));
  CHECK(nestline_growth(other) == growth - 1);
  WORKS(nestline_fit(other, &times, error));
  CHECK(times == growth - 1 && nestline_growth(other) == 0 && !nestline_can_shrink(other));
  FAILS(!nestline_shrink(other, error), "cannot shrink");
  WORKS(nestline_fit(other, NULL, error));
  CHECK(nestline_size(other) == kKeys && nestline_may_contain_u64(other, numbers[7], NULL));
  options_of_the_worst_case();
  nestline_free(filter);
  nestline_free(other);
  nestline_free(wider);
}

// Of keys that all pass, each 4,096 are asked and the next 65,536 are not.
static void test_pass_rate(void) {
  nestline_pass_rate rate = {0};
  uint64_t asked = 0;
  for (int i = 0; i < 2 * (4096 + 65536); ++i) {
    if (!nestline_asks_next(&rate, 1)) continue;
    ++asked;
    nestline_note_passed(&rate, 1, 1);
  }
  CHECK(asked == 2 * 4096 && rate.asked == asked && rate.passed == asked);
  for (int i = 0; i < 100; ++i) {  // of batches, of which half passes
    CHECK(nestline_asks_next(&rate, 4096));
    nestline_note_passed(&rate, 4096, 2048);
  }
  CHECK(rate.asked == asked + 100 * 4096 && rate.passed == asked + 100 * 2048);
  CHECK(nestline_asks_next(NULL, 1));
  nestline_note_passed(NULL, 1, 1);
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
  test_hostile_keys();
  test_build();
  test_pass_rate();
  test_whole();
  return summary();
}
