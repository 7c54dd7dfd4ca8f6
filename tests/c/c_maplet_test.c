// Tests every C function on maplets, and every error, as a C program sees them.
//
//   c_maplet_test FOLDER
//
// Writes into FOLDER, which must exist.
#include <nestline/nestline.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/c/checks.h"
#include "tests/c/keys.h"
#include "tests/c/tape.h"

enum { kRoom = 16 * kKeys };

static uint64_t values[kKeys];
static uint8_t stored[kKeys];
static uint32_t first[kKeys + 1];
static uint64_t found[kRoom];
static const uint64_t kTooLarge = NESTLINE_MAPLET_MAX_VALUE + 1;

static nestline_maplet* create(uint64_t capacity) {
  nestline_maplet_options options = NESTLINE_MAPLET_OPTIONS_INIT;
  options.capacity = capacity;
  options.seed = 5;
  return made(nestline_maplet_create(&options, &sentence));
}

static bool has(const uint64_t* list, uint64_t count, uint64_t value) {
  uint64_t i;
  if (count == NO) return false;
  for (i = 0; i < count; ++i) {
    if (list[i] == value) return true;
  }
  return false;
}

static void test_options(void) {
  struct {
    nestline_maplet_options known;
    uint64_t later;
  } options = {NESTLINE_MAPLET_OPTIONS_INIT, 0};
  nestline_maplet* maplet = NULL;

  FAILS(nestline_maplet_create(NULL, error) == NULL, "the options are NULL");
  FAILS(nestline_maplet_create(&options.known, error) == NULL, "capacity must be");
  options.known.capacity = 1000;
  options.known.max_capacity = 4000;
  options.known.seed = 77;
  options.known.struct_size = sizeof(size_t);
  FAILS(nestline_maplet_create(&options.known, error) == NULL, "struct_size is wrong");
  options.known.struct_size = sizeof options;
  options.later = 1;
  FAILS(nestline_maplet_create(&options.known, error) == NULL, "does not know");
  options.later = 0;
  WORKS((maplet = nestline_maplet_create(&options.known, error)) != NULL);
  CHECK(nestline_maplet_seed(maplet) == 77 && nestline_maplet_size(maplet) == 0);
  CHECK(nestline_maplet_capacity(maplet) >= 1000 && nestline_maplet_max_capacity(maplet) == 4000);
  CHECK(nestline_maplet_insert_batch_u64(maplet, numbers, kKeys, values, NULL, NULL) == kKeys);
  CHECK(nestline_maplet_growth(maplet) >= 1 && nestline_maplet_size(maplet) == kKeys);
  nestline_maplet_free(maplet);
  nestline_maplet_free(NULL);
}

// Inserts, finds, replaces and erases one key of each kind.
#define TEST_ONE_KEY(kind, ...)                                                                   \
  do {                                                                                            \
    nestline_maplet* one = create(1000);                                                          \
    const uint64_t most = NESTLINE_MAPLET_MAX_VALUE;                                              \
    WORKS(nestline_maplet_find_##kind(one, __VA_ARGS__, found, error) == 0);                      \
    WORKS(nestline_maplet_insert_##kind(one, __VA_ARGS__, most, error));                          \
    WORKS(nestline_maplet_insert_##kind(one, __VA_ARGS__, 7, error));                             \
    WORKS(nestline_maplet_find_##kind(one, __VA_ARGS__, found, error) == 2);                      \
    CHECK(has(found, 2, most) && has(found, 2, 7));                                               \
    WORKS(nestline_maplet_replace_##kind(one, __VA_ARGS__, 7, 8, error));                         \
    WORKS(!nestline_maplet_replace_##kind(one, __VA_ARGS__, 7, 8, error));                        \
    WORKS(nestline_maplet_erase_##kind(one, __VA_ARGS__, most, error));                           \
    WORKS(!nestline_maplet_erase_##kind(one, __VA_ARGS__, most, error));                          \
    WORKS(nestline_maplet_find_##kind(one, __VA_ARGS__, found, error) == 1);                      \
    CHECK(found[0] == 8 && nestline_maplet_size(one) == 1);                                       \
    FAILS(!nestline_maplet_insert_##kind(one, __VA_ARGS__, kTooLarge, error), "is above");        \
    FAILS(!nestline_maplet_replace_##kind(one, __VA_ARGS__, 8, kTooLarge, error), "is above");    \
    FAILS(!nestline_maplet_erase_##kind(one, __VA_ARGS__, kTooLarge, error), "is above");         \
    FAILS(nestline_maplet_find_##kind(one, __VA_ARGS__, NULL, error) == NO,                       \
          "the array of values is NULL");                                                         \
    FAILS(!nestline_maplet_insert_##kind(NULL, __VA_ARGS__, 1, error), "the maplet is NULL");     \
    FAILS(!nestline_maplet_replace_##kind(NULL, __VA_ARGS__, 1, 2, error), "the maplet is NULL"); \
    FAILS(!nestline_maplet_erase_##kind(NULL, __VA_ARGS__, 1, error), "the maplet is NULL");      \
    FAILS(nestline_maplet_find_##kind(NULL, __VA_ARGS__, found, error) == NO,                     \
          "the maplet is NULL");                                                                  \
    nestline_maplet_free(one);                                                                    \
  } while (0)

static void test_one_key(void) {
  nestline_maplet* maplet = create(1000);
  TEST_ONE_KEY(bytes, "a\0b", 3);
  TEST_ONE_KEY(u64, 42);
  TEST_ONE_KEY(hash, 0x123456789abcdef0u);
  FAILS(!nestline_maplet_insert_bytes(maplet, NULL, 1, 1, error), "a key is NULL");
  // The kinds are different keys, and equal to those of a filter's hash functions.
  WORKS(nestline_maplet_insert_u64(maplet, 17, 1, error));
  CHECK(nestline_maplet_find_bytes(maplet, "17", 2, found, NULL) == 0);
  CHECK(nestline_maplet_find_hash(maplet, nestline_hash_u64(17, 5), found, NULL) == 1);
  nestline_maplet_free(maplet);
}

static void test_no_room(void) {
  nestline_maplet* maplet = create(1);
  uint64_t i;
  bool good = true;
  for (i = 0; i < NESTLINE_MAPLET_MOST_CANDIDATES; ++i) {
    good = good && nestline_maplet_insert_u64(maplet, 1, i, NULL);
  }
  CHECK(good && nestline_maplet_find_u64(maplet, 1, found, NULL) == 16);
  FAILS(!nestline_maplet_insert_u64(maplet, 1, 99, error), "as many pairs");
  CHECK(nestline_outcome_of(false, sentence) == NESTLINE_COPIES);
  for (i = 2; nestline_maplet_insert_u64(maplet, i, i, &sentence); ++i) continue;
  CHECK(nestline_outcome_of(false, sentence) == NESTLINE_FULL && i > 100);
  CHECK(strstr(sentence, "the maplet is full") != NULL);
  CHECK(nestline_maplet_load_factor(maplet) > 0.5 && nestline_maplet_load_factor(maplet) <= 1);
  CHECK(nestline_maplet_expected_false_candidates(maplet) > 0);
  CHECK(nestline_maplet_expected_false_candidates(maplet) < 0.001);
  WORKS(nestline_maplet_grow(maplet, error));
  WORKS(nestline_maplet_insert_u64(maplet, i, i, error));
  CHECK(nestline_maplet_growth(maplet) == 1 &&
        nestline_maplet_find_u64(maplet, i, found, NULL) > 0);
  while (nestline_maplet_growth(maplet) < 16 && nestline_maplet_grow(maplet, &sentence)) continue;
  FAILS(!nestline_maplet_grow(maplet, error), "as often as it can");
  nestline_maplet_free(maplet);
  FAILS(!nestline_maplet_grow(NULL, error), "the maplet is NULL");
}

static bool all_found(uint64_t count) {
  size_t i;
  if (count == NO || first[0] != 0 || first[kKeys] != count) return false;
  for (i = 0; i < kKeys; ++i) {
    if (first[i] > first[i + 1] || first[i + 1] > kRoom) return false;
    if (!has(found + first[i], first[i + 1] - first[i], values[i])) return false;
  }
  return true;
}

#define TEST_BATCHES(kind, ...)                                                                    \
  do {                                                                                             \
    nestline_maplet* one = create(kKeys);                                                          \
    uint64_t all = 0;                                                                              \
    memset(stored, 9, sizeof stored);                                                              \
    WORKS(nestline_maplet_insert_batch_##kind(one, __VA_ARGS__, kKeys, values, stored, error) ==   \
          kKeys);                                                                                  \
    CHECK(stored[0] == 1 && stored[1500] == 1 && stored[kKeys - 1] == 1);                          \
    WORKS((all = nestline_maplet_find_batch_##kind(one, __VA_ARGS__, kKeys, first, found, kRoom,   \
                                                   error)) >= kKeys);                              \
    CHECK(all_found(all));                                                                         \
    /* Too little room: the number all the same, and nothing behind the room. */                   \
    found[1100] = found[1101] = 0;                                                                 \
    WORKS(nestline_maplet_find_batch_##kind(one, __VA_ARGS__, kKeys, first, found, 1101, error) == \
          all);                                                                                    \
    CHECK(found[1100] != 0 && found[1101] == 0);                                                   \
    WORKS(nestline_maplet_find_batch_##kind(one, __VA_ARGS__, kKeys, first, NULL, 0, error) ==     \
          all);                                                                                    \
    FAILS(nestline_maplet_find_batch_##kind(one, __VA_ARGS__, kKeys, NULL, found, kRoom, error) == \
              NO,                                                                                  \
          "first positions is NULL");                                                              \
    FAILS(nestline_maplet_find_batch_##kind(one, __VA_ARGS__, kKeys, first, NULL, 1, error) == NO, \
          "its room is not 0");                                                                    \
    FAILS(nestline_maplet_find_batch_##kind(NULL, __VA_ARGS__, kKeys, first, found, kRoom,         \
                                            error) == NO,                                          \
          "the maplet is NULL");                                                                   \
    FAILS(nestline_maplet_insert_batch_##kind(one, __VA_ARGS__, kKeys, NULL, NULL, error) == NO,   \
          "the array of values is NULL");                                                          \
    FAILS(                                                                                         \
        nestline_maplet_insert_batch_##kind(NULL, __VA_ARGS__, kKeys, values, NULL, error) == NO,  \
        "the maplet is NULL");                                                                     \
    values[kKeys - 1] = kTooLarge;                                                                 \
    FAILS(nestline_maplet_insert_batch_##kind(one, __VA_ARGS__, kKeys, values, NULL, error) == NO, \
          "is above");                                                                             \
    values[kKeys - 1] = 3;                                                                         \
    CHECK(nestline_maplet_size(one) == kKeys);                                                     \
    nestline_maplet_free(one);                                                                     \
  } while (0)

static void test_batches(void) {
  nestline_maplet* maplet = create(10);
  TEST_BATCHES(bytes, keys, sizes);
  TEST_BATCHES(u64, numbers);
  TEST_BATCHES(hash, numbers);
  FAILS(nestline_maplet_find_batch_u64(maplet, NULL, 1, first, found, kRoom, error) == NO,
        "the array of keys is NULL");
  WORKS(nestline_maplet_find_batch_u64(maplet, NULL, 0, first, NULL, 0, error) == 0);
  CHECK(first[0] == 0);
  WORKS(nestline_maplet_insert_batch_u64(maplet, NULL, 0, NULL, NULL, error) == 0);
  nestline_maplet_free(maplet);
}

typedef struct {
  uint64_t count, sum, most;
} seen_t;

static bool see(void* context, uint64_t value) {
  seen_t* seen = context;
  ++seen->count;
  seen->sum += value;
  return seen->count < seen->most;
}

static bool same(const nestline_maplet* maplet) {
  return nestline_maplet_size(maplet) == kKeys && nestline_maplet_seed(maplet) == 5 &&
         all_found(
             nestline_maplet_find_batch_u64(maplet, numbers, kKeys, first, found, kRoom, NULL));
}

static void test_mapped(nestline_maplet* mapped) {
  static const char kRefusal[] = "answers from a mapped file";
  seen_t seen = {0, 0, 0};
  CHECK(same(mapped) && nestline_maplet_is_mapped(mapped));
  CHECK(nestline_maplet_capacity(mapped) >= kKeys && nestline_maplet_memory_bytes(mapped) > kKeys);
  CHECK(nestline_maplet_max_capacity(mapped) == 0 && nestline_maplet_load_factor(mapped) == 0);
  WORKS(nestline_maplet_find_u64(mapped, numbers[7], found, error) >= 1);
  FAILS(!nestline_maplet_insert_u64(mapped, 1, 1, error), kRefusal);
  FAILS(!nestline_maplet_replace_u64(mapped, 1, 1, 2, error), kRefusal);
  FAILS(!nestline_maplet_erase_u64(mapped, 1, 1, error), kRefusal);
  FAILS(!nestline_maplet_grow(mapped, error), kRefusal);
  FAILS(!nestline_maplet_for_each(mapped, see, &seen, error), kRefusal);
  FAILS(nestline_maplet_copy(mapped, error) == NULL, kRefusal);
  FAILS(!nestline_maplet_save_to(mapped, write_tape, NULL, error), kRefusal);
  FAILS(nestline_maplet_insert_batch_u64(mapped, numbers, 1, values, NULL, error) == NO, kRefusal);
}

static void test_whole(const char* folder) {
  static char path[4096];
  static tape_t tape;
  nestline_maplet* maplet = create(kKeys);
  nestline_maplet* other = NULL;
  seen_t seen = {0, 0, kKeys + 1};
  uint64_t sum = 0;
  size_t i;

  CHECK(nestline_maplet_insert_batch_u64(maplet, numbers, kKeys, values, NULL, NULL) == kKeys);
  for (i = 0; i < kKeys; ++i) sum += values[i];
  WORKS(nestline_maplet_for_each(maplet, see, &seen, error));
  CHECK(seen.count == kKeys && seen.sum == sum);
  seen.count = 0;
  seen.most = 5;
  WORKS(!nestline_maplet_for_each(maplet, see, &seen, error));
  CHECK(seen.count == 5);
  FAILS(!nestline_maplet_for_each(maplet, NULL, NULL, error), "takes values is NULL");
  FAILS(!nestline_maplet_for_each(NULL, see, &seen, error), "the maplet is NULL");

  WORKS((other = nestline_maplet_copy(maplet, error)) != NULL);
  CHECK(same(other) && !nestline_maplet_is_mapped(other));
  nestline_maplet_free(other);
  FAILS(nestline_maplet_copy(NULL, error) == NULL, "the maplet is NULL");

  WORKS(nestline_maplet_save_to(maplet, write_tape, &tape, error));
  WORKS((other = nestline_maplet_load_from(read_tape, &tape, error)) != NULL);
  CHECK(same(other) && tape.done == tape.size);
  nestline_maplet_free(other);
  FAILS(!nestline_maplet_save_to(maplet, NULL, NULL, error), "the function that writes is NULL");
  tape.size = sizeof tape.bytes - 1;
  FAILS(!nestline_maplet_save_to(maplet, write_tape, &tape, error),
        "the function that writes has failed");
  FAILS(nestline_maplet_load_from(NULL, NULL, error) == NULL, "the function that reads is NULL");
  FAILS(nestline_maplet_load_from(read_nothing, NULL, error) == NULL,
        "the function that reads has failed");

  snprintf(path, sizeof path, "%s/c_maplet_test.nest", folder);
  remove(path);
  FAILS(nestline_maplet_load(path, error) == NULL, "c_maplet_test.nest: No such file");
  FAILS(nestline_maplet_map(path, error) == NULL, "c_maplet_test.nest: No such file");
  WORKS(nestline_maplet_save(maplet, path, error));
  FAILS(!nestline_maplet_save(maplet, folder, error), "Is a directory");
  FAILS(!nestline_maplet_save(maplet, NULL, error), "the path is NULL");
  FAILS(!nestline_maplet_save(NULL, path, error), "the maplet is NULL");
  WORKS((other = nestline_maplet_load(path, error)) != NULL);
  CHECK(same(other));
  nestline_maplet_free(other);
  WORKS((other = nestline_maplet_map(path, error)) != NULL);
  test_mapped(other);
  nestline_maplet_free(other);
  FAILS(nestline_load(path, error) == NULL, "c_maplet_test.nest");  // it is not a filter
  remove(path);
  nestline_maplet_free(maplet);

  CHECK(nestline_maplet_size(NULL) == 0 && nestline_maplet_capacity(NULL) == 0);
  CHECK(nestline_maplet_max_capacity(NULL) == 0 && nestline_maplet_growth(NULL) == 0);
  CHECK(nestline_maplet_load_factor(NULL) == 0 && nestline_maplet_seed(NULL) == 0);
  CHECK(nestline_maplet_expected_false_candidates(NULL) == 0);
  CHECK(nestline_maplet_memory_bytes(NULL) == 0 && !nestline_maplet_is_mapped(NULL));
}

int main(int argc, char** argv) {
  size_t i;
  for (i = 0; i < kKeys; ++i) values[i] = NESTLINE_MAPLET_MAX_VALUE - i;
  make_keys();
  test_options();
  test_one_key();
  test_no_room();
  test_batches();
  test_whole(folder_of(argc, argv));
  return summary();
}
