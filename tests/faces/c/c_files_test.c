// Tests the C functions on files and bytes, and each of their errors, as a C program sees them.
//
//   c_files_test FOLDER
//
// Writes into FOLDER, which must exist.
#include <nestline/nestline.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/faces/c/checks.h"
#include "tests/faces/c/tape.h"

enum { kKeys = 50000 };

static uint64_t keys[kKeys];
static uint8_t found[kKeys];
static char path[4096];

static nestline_keys all_keys(void) { return nestline_keys_u64(keys, kKeys); }

static bool has_all(const nestline_filter* filter) {
  return nestline_size(filter) == kKeys &&
         nestline_may_contain_batch(filter, all_keys(), found, NULL) == kKeys;
}

static bool is_loaded(const nestline_filter* filter) {
  return has_all(filter) && !nestline_is_mapped(filter);
}

static nestline_filter* filled(void) {
  nestline_options options = NESTLINE_OPTIONS_INIT;
  nestline_filter* filter;
  size_t i;
  options.capacity = kKeys;
  filter = made(nestline_create(&options, &sentence));
  for (i = 0; i < kKeys; ++i) keys[i] = i;
  CHECK(nestline_insert_batch(filter, all_keys(), NULL, NULL) == kKeys);
  return filter;
}

// A mapped filter refuses every change, and nothing else.
static void test_mapped(const nestline_filter* filter, nestline_filter* mapped) {
  static const char kRefusal[] = "mapped file and cannot be changed";
  const nestline_keys one = nestline_keys_u64(keys, 1);
  uint32_t positions[] = {0, 1};
  uint64_t bitmap[1];
  nestline_filter* copy = NULL;
  size_t size = 0, size_mapped = 0;
  void* bytes;
  void* bytes_mapped = NULL;

  CHECK(has_all(mapped) && nestline_is_mapped(mapped) && !nestline_is_mapped(filter));
  CHECK(nestline_capacity(mapped) == nestline_capacity(filter));
  CHECK(nestline_max_capacity(mapped) == 0 && nestline_growth(mapped) == 0);
  CHECK(nestline_bits(mapped) == nestline_bits(filter) && nestline_seed(mapped) == 0);
  CHECK(nestline_load_factor(mapped) > 0.5 && nestline_load_factor(mapped) < 1);
  CHECK(nestline_expected_fpr(mapped) > 0 && nestline_expected_fpr(mapped) < 0.02);
  CHECK(nestline_memory_bytes(mapped) > nestline_memory_bytes(filter));
  WORKS(nestline_count_u64(mapped, 3, error) >= 1 && nestline_may_contain_u64(mapped, 3, error));
  WORKS(nestline_prepare_u64(mapped, 3, error) == nestline_hash_u64(3, 0));
  WORKS(nestline_may_contain_bits(mapped, nestline_keys_u64(keys, 64), bitmap, error) == 64);
  WORKS(nestline_select(mapped, one, positions, error) == 1);
  WORKS(nestline_select_from(mapped, all_keys(), positions, 1, positions, error) == 1);
  WORKS(nestline_count_batch(mapped, all_keys(), found, error) && found[9] >= 1);
  WORKS(nestline_verify(mapped, error));
  FAILS(!nestline_verify(filter, error), "only a filter that answers from a mapped file");

  FAILS(!nestline_insert_bytes(mapped, "a", 1, error), kRefusal);
  FAILS(!nestline_insert_u64(mapped, 1, error), kRefusal);
  FAILS(!nestline_insert_hash(mapped, 1, error), kRefusal);
  refuses_changes(mapped, kRefusal);
  FAILS(nestline_insert_batch(mapped, one, NULL, error) == NO, kRefusal);
  FAILS(!nestline_clear(mapped, error), kRefusal);

  // It can be copied, shipped and merged.
  bytes = nestline_to_bytes(filter, &size, NULL);
  WORKS((bytes_mapped = nestline_to_bytes(mapped, &size_mapped, error)) != NULL);
  CHECK(size == size_mapped && memcmp(bytes, bytes_mapped, size) == 0);
  nestline_free_bytes(bytes);
  nestline_free_bytes(bytes_mapped);
  WORKS((copy = nestline_snapshot(mapped, error)) != NULL);
  CHECK(has_all(copy) && !nestline_is_mapped(copy));
  WORKS(nestline_clear(copy, error) &&
        nestline_merge(copy, mapped, NESTLINE_MERGE_ALL, NULL, error));
  CHECK(has_all(copy));
  nestline_free(copy);
}

// A filter in bytes of ours, which lie at a multiple of 64.
static void test_view(const nestline_filter* filter) {
  nestline_filter* other = NULL;
  size_t size = 0;
  void* bytes = made(nestline_to_bytes(filter, &size, &sentence));
  char* aligned = aligned_copy(bytes, size);

  WORKS((other = nestline_view(aligned, size, NESTLINE_VERIFY_LAZILY, error)) != NULL);
  test_mapped(filter, other);
  WORKS(nestline_undamaged(other, error));
  nestline_free(other);
  FAILS(nestline_view(aligned, size - 1, NESTLINE_VERIFY_LAZILY, error) == NULL, "bytes");
  FAILS(nestline_view(NULL, 5, NESTLINE_VERIFY_LAZILY, error) == NULL, "the bytes are NULL");
  FAILS(nestline_view(aligned, SIZE_MAX, NESTLINE_VERIFY_LAZILY, error) == NULL,
        "more than memory");
  FAILS(nestline_view(aligned, size, (nestline_verify_mode)3, error) == NULL, "verify is none of");
  aligned[5000] ^= 1;
  FAILS(nestline_view(aligned, size, NESTLINE_VERIFY_ALL, error) == NULL, "at byte 64:");
  WORKS((other = nestline_view(aligned, size, NESTLINE_VERIFY_LAZILY, error)) != NULL);
  CHECK(has_all(other));
  FAILS(!nestline_undamaged(other, error), "at byte 64:");
  nestline_free(other);
  FAILS(nestline_view(aligned + 8, size - 8, NESTLINE_VERIFY_LAZILY, error) == NULL, "64");
  nestline_free_bytes(bytes);
}

// Writes one byte of the file at `path`.
static void put_byte(long offset, int byte) {
  FILE* file = fopen(path, "r+b");
  bool good = file != NULL && fseek(file, offset, SEEK_SET) == 0 && fputc(byte, file) == byte;
  CHECK(good && fclose(file) == 0);
}

// The file at `path` is damaged at byte 5000, in its only section.
static void test_damaged(void) {
  nestline_filter* other = NULL;
  uint64_t absent = 1u << 30;

  FAILS(nestline_map(path, NESTLINE_VERIFY_ALL, error) == NULL, "c_files_test.nest");
  WORKS((other = nestline_map(path, NESTLINE_VERIFY_NONE, error)) != NULL);
  CHECK(nestline_may_contain_batch(other, all_keys(), found, NULL) <= kKeys);
  WORKS(nestline_undamaged(other, error));  // as far as this function can know
  nestline_free(other);
  WORKS((other = nestline_map(path, NESTLINE_VERIFY_LAZILY, error)) != NULL);
  WORKS(nestline_undamaged(other, error));
  CHECK(has_all(other) && nestline_may_contain_u64(other, absent, NULL));
  FAILS(!nestline_undamaged(other, error), "c_files_test.nest: at byte 4096");
  nestline_free(other);
}

static void test_files(const char* folder) {
  static char too_long[9000];
  nestline_filter* filter = filled();
  nestline_filter* other = NULL;

  snprintf(path, sizeof path, "%s/c_files_test.nest", folder);
  TEST_FILES(nestline, nestline, nestline_filter, filter, is_loaded, path, folder);
  WORKS((other = nestline_map(path, NESTLINE_VERIFY_LAZILY, error)) != NULL);
  test_mapped(filter, other);
  test_view(filter);
  WORKS(nestline_undamaged(filter, error) && nestline_undamaged(other, error));
  FAILS(!nestline_undamaged(NULL, error), "the filter is NULL");
  FAILS(nestline_map(path, (nestline_verify_mode)3, error) == NULL, "verify is none of");
#ifndef _WIN32
  WORKS(nestline_save(other, path, error));  // a mapped filter, to its own file
#endif
  CHECK(has_all(other));
  nestline_free(other);

  FAILS(nestline_map(NULL, NESTLINE_VERIFY_LAZILY, error) == NULL, "the path is NULL");

  // A message about a very long path keeps the end of the path, and the reason.
  memset(too_long, 'a', sizeof too_long - 1);
  FAILS(nestline_load(too_long, error) == NULL, "aaa: " TOO_LONG);
  CHECK(strncmp(sentence, "...aaa", 6) == 0 && strlen(sentence) < 6000);

  put_byte(5000, 99);
  FAILS(nestline_load(path, error) == NULL, "c_files_test.nest");
  test_damaged();
  WORKS((other = nestline_map(path, NESTLINE_VERIFY_LAZILY, error)) !=
        NULL);  // which does not check that section yet
  FAILS(!nestline_verify(other, error), "c_files_test.nest");
  FAILS(nestline_snapshot(other, error) == NULL, "c_files_test.nest");
  FAILS(!nestline_save(other, path, error), "c_files_test.nest");
  nestline_free(other);
  put_byte(0, 99);
  FAILS(nestline_map(path, NESTLINE_VERIFY_LAZILY, error) == NULL, "c_files_test.nest");
  remove(path);
  FAILS(nestline_map(path, NESTLINE_VERIFY_LAZILY, error) == NULL, "nest: " MISSING);
  nestline_free(filter);
}

int main(int argc, char** argv) {
  test_files(folder_of(argc, argv));
  return summary();
}
