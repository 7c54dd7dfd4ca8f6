// Tests every C function on maplets, and every error, as a C program sees them.
//
//   c_maplet_test FOLDER
//
// Writes into FOLDER, which must exist.
#include <nestline/nestline_maplet.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/faces/c/checks.h"
#include "tests/faces/c/keys.h"
#include "tests/faces/c/tape.h"

enum { kRoom = 16 * kKeys };

static uint64_t values[kKeys];
static uint8_t outcomes[kKeys];
static uint32_t first[kKeys + 1];
static uint64_t found[kRoom];
static uint64_t sets[kKeys + 1];
static const uint64_t kTooLarge = NESTLINE_MAPLET_MAX_VALUE + 1;

static nestline_maplet_options options_for(uint64_t capacity, int value_bits) {
  nestline_maplet_options options = NESTLINE_MAPLET_OPTIONS_INIT;
  options.capacity = capacity;
  options.seed = 5;
  options.value_bits = value_bits;
  return options;
}

static nestline_maplet* create_small(uint64_t capacity, int value_bits) {
  const nestline_maplet_options options = options_for(capacity, value_bits);
  return made(nestline_maplet_create(&options, &sentence));
}

static nestline_maplet* create(uint64_t capacity) { return create_small(capacity, 0); }

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
  REFUSES_LAYOUTS(options, nestline_maplet_create(&options.known, error));
  options.known.value_bits = 5;
  FAILS(nestline_maplet_create(&options.known, error) == NULL, "value_bits must be 4, 8, 16 or 40");
  options.known.value_bits = -4;
  FAILS(nestline_maplet_create(&options.known, error) == NULL, "it is -4");
  options.known.value_bits = 0;
  options.known.fpr = 1.5;
  FAILS(nestline_maplet_create(&options.known, error) == NULL, "fpr");
  options.known.fpr = 0;
  options.known.reserved = 1;
  FAILS(nestline_maplet_create(&options.known, error) == NULL, "does not know");
  options.known.reserved = 0;
  WORKS((maplet = nestline_maplet_create(&options.known, error)) != NULL);
  CHECK(nestline_maplet_seed(maplet) == 77 && nestline_maplet_size(maplet) == 0);
  CHECK(nestline_maplet_capacity(maplet) >= 1000 && nestline_maplet_max_capacity(maplet) == 4000);
  CHECK(nestline_maplet_insert_batch(maplet, integers(kKeys), values, NULL, NULL) == kKeys);
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
    WORKS(nestline_maplet_find_set_##kind(one, __VA_ARGS__, 8, error) == (8 | 1 << 7));           \
    FAILS(nestline_maplet_find_set_##kind(NULL, __VA_ARGS__, 0, error) == UINT64_MAX,             \
          "the maplet is NULL");                                                                  \
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
  for (i = 0; i < NESTLINE_MAPLET_MAX_CANDIDATES; ++i) {
    good = good && nestline_maplet_insert_u64(maplet, 1, i, NULL);
  }
  CHECK(good && nestline_maplet_find_u64(maplet, 1, found, NULL) == 16);
  FAILS(!nestline_maplet_insert_u64(maplet, 1, 99, error), "as many pairs");
  CHECK(nestline_outcome_of(false, sentence) == NESTLINE_TOO_MANY_COPIES);
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
  unsigned times = 0;
  WORKS(nestline_maplet_fit(maplet, &times, error));
  CHECK(times == 15 || times == 16);
  CHECK(nestline_maplet_growth(maplet) == 16 - times);
  CHECK(nestline_maplet_find_u64(maplet, i, found, NULL) > 0);
  nestline_maplet_free(maplet);
  FAILS(!nestline_maplet_grow(NULL, error), "the maplet is NULL");
}

// Values of this width: what fits, what does not, and too many of one key.
static void test_width(int value_bits, int bits, size_t copies, double fpr) {
  nestline_maplet_options options = options_for(1000, value_bits);
  nestline_maplet* maplet;
  const uint64_t most = (UINT64_C(1) << value_bits) - 1;
  const uint64_t low = most < 60 ? most : 60;  // the values below are in a set
  uint64_t table[2];
  uint64_t i;

  options.fpr = fpr;
  maplet = made(nestline_maplet_create(&options, &sentence));
  CHECK(nestline_maplet_value_bits(maplet) == value_bits && nestline_maplet_bits(maplet) == bits);
  CHECK(nestline_maplet_max_value(maplet) == most && nestline_maplet_anywhere(maplet) == most);
  CHECK(nestline_maplet_max_copies(maplet) == copies);
  WORKS(nestline_maplet_insert_u64(maplet, 1, 0, error));
  WORKS(nestline_maplet_insert_u64(maplet, 1, most, error));
  WORKS(nestline_maplet_find_u64(maplet, 1, found, error) == 2);
  CHECK(has(found, 2, 0) && has(found, 2, most));
  WORKS(nestline_maplet_find_set_u64(maplet, 1, 1 << 5, error) == (1 | 1 << 5));
  FAILS(!nestline_maplet_insert_u64(maplet, 1, most + 1, error), "is above");
  FAILS(!nestline_maplet_replace_u64(maplet, 1, 0, most + 1, error), "is above");
  FAILS(!nestline_maplet_replace_u64(maplet, 1, most + 1, 2, error), "is above");
  FAILS(!nestline_maplet_erase_u64(maplet, 1, most + 1, error), "is above");
  FAILS(nestline_maplet_erase_value(maplet, most + 1, error) == NO, "is above");
  table[0] = 0;
  table[1] = most + 1;
  FAILS(nestline_maplet_rename(maplet, table, 2, error) == NO, "is above");
  FAILS(nestline_maplet_insert_batch(maplet, integers(2), table, NULL, error) == NO, "is above");
  FAILS(nestline_maplet_build(&options, integers(2), table, error) == NULL, "is above");
  CHECK(nestline_maplet_size(maplet) == 2);
  WORKS(nestline_maplet_find_set_u64(maplet, 1, 1 << 5, error) == (1 | 1 << 5));

  for (i = 2; i < copies; ++i) WORKS(nestline_maplet_insert_u64(maplet, 1, i % low, error));
  FAILS(!nestline_maplet_insert_u64(maplet, 1, 1, error), "as many pairs");
  if (value_bits < 40) {  // a pair turns into anywhere
    WORKS(nestline_maplet_insert_u64(maplet, 1, most, error));
  } else {
    FAILS(!nestline_maplet_insert_u64(maplet, 1, most, error), "as many pairs");
  }
  CHECK(nestline_maplet_size(maplet) == copies);
  nestline_maplet_free(maplet);
}

static void test_small_values(void) {
  test_width(4, 8, 8, 0);
  test_width(4, 12, 10, 0.002);
  test_width(8, 8, 10, 0);
  test_width(8, 12, 8, 0.002);
  test_width(16, 16, 10, 0);
  test_width(40, 20, 16, 0);
}

// Gives the pairs of all keys the value 3 or 7, by turns.
static void threes_and_sevens(void) {
  size_t i;
  for (i = 0; i < kKeys; ++i) values[i] = i % 2 == 0 ? 3 : 7;
}

static void test_sets_of(int kind) {
  const nestline_maplet_options options = options_for(kKeys, 4);
  const nestline_keys all = first_keys(kind, kKeys);
  nestline_maplet* maplet = NULL;
  bool good = true;
  size_t i;

  threes_and_sevens();
  WORKS((maplet = nestline_maplet_build(&options, all, values, error)) != NULL);
  CHECK(nestline_maplet_size(maplet) == kKeys);
  sets[kKeys] = 99;
  WORKS(nestline_maplet_find_sets(maplet, all, sets, 1, error));
  for (i = 0; i < kKeys; ++i) good = good && (sets[i] >> values[i] & 1) == 1;
  CHECK(good && sets[kKeys] == 99);
  WORKS(nestline_maplet_find_sets(maplet, first_keys(kind, 0), NULL, 1, error));
  FAILS(!nestline_maplet_find_sets(maplet, all, NULL, 1, error), "the array of sets is NULL");
  FAILS(!nestline_maplet_find_sets(NULL, all, sets, 1, error), "the maplet is NULL");
  FAILS(nestline_maplet_build(&options, all, NULL, error) == NULL, "the array of values is NULL");
  FAILS(nestline_maplet_build(NULL, all, values, error) == NULL, "the options are NULL");
  nestline_maplet_free(maplet);
  WORKS((maplet = nestline_maplet_build(&options, first_keys(kind, 0), NULL, error)) != NULL);
  CHECK(nestline_maplet_size(maplet) == 0);
  nestline_maplet_free(maplet);
}

static void test_sets(void) {
  nestline_maplet_options options = options_for(kKeys / 3, 4);
  nestline_maplet* maplet = create_small(10, 4);
  nestline_keys bad = integers(1);
  int kind;
  FOR_EACH_KIND(kind) test_sets_of(kind);
  bad.keys = NULL;
  FAILS(!nestline_maplet_find_sets(maplet, bad, sets, 0, error), "the array of keys is NULL");
  FAILS(nestline_maplet_build(&options, bad, values, error) == NULL, "the array of keys is NULL");
  nestline_maplet_free(maplet);
  FAILS(nestline_maplet_build(&options, integers(kKeys), values, error) == NULL, "finds no room");
  options.max_capacity = kKeys;
  WORKS((maplet = nestline_maplet_build(&options, integers(kKeys), values, error)) != NULL);
  CHECK(nestline_maplet_size(maplet) == kKeys && nestline_maplet_growth(maplet) >= 1);
  nestline_maplet_free(maplet);
}

// Counts in the second number the values that are the first.
static bool count_value(void* context, uint64_t value) {
  uint64_t* seen = context;
  seen[1] += value == seen[0];
  return true;
}

// How many pairs have the value.
static uint64_t with_value(const nestline_maplet* maplet, uint64_t value) {
  uint64_t seen[2];
  seen[0] = value;
  seen[1] = 0;
  if (!nestline_maplet_for_each(maplet, count_value, seen, NULL)) return NO;
  return seen[1];
}

static void test_values_of_all_pairs(void) {
  static const uint64_t kTable[] = {9, 9, 9, NESTLINE_MAPLET_ERASED, 9, 9, 9, 5};
  static uint64_t too_long[17];
  const nestline_maplet_options options = options_for(kKeys, 4);
  nestline_maplet* maplet;
  threes_and_sevens();
  maplet = made(nestline_maplet_build(&options, integers(kKeys), values, &sentence));
  WORKS(nestline_maplet_erase_value(maplet, 4, error) == 0);
  WORKS(nestline_maplet_rename(maplet, NULL, 0, error) == 0);
  WORKS(nestline_maplet_rename(maplet, kTable, 3, error) == 0);
  CHECK(with_value(maplet, 3) == kKeys / 2 && with_value(maplet, 7) == kKeys / 2);
  WORKS(nestline_maplet_rename(maplet, kTable, 8, error) == kKeys);
  CHECK(nestline_maplet_size(maplet) == kKeys / 2 && with_value(maplet, 5) == kKeys / 2);
  FAILS(nestline_maplet_rename(maplet, too_long, 17, error) == NO, "the table has 17 entries");
  FAILS(nestline_maplet_rename(maplet, NULL, 1, error) == NO, "the table is NULL");
  FAILS(nestline_maplet_rename(NULL, kTable, 8, error) == NO, "the maplet is NULL");
  FAILS(nestline_maplet_erase_value(NULL, 5, error) == NO, "the maplet is NULL");
  CHECK(with_value(maplet, 5) == kKeys / 2);
  WORKS(nestline_maplet_erase_value(maplet, 5, error) == kKeys / 2);
  CHECK(nestline_maplet_size(maplet) == 0);
  nestline_maplet_free(maplet);
}

static void test_merge(void) {
  nestline_maplet* maplet = create_small(kKeys, 4);
  nestline_maplet* other = create_small(kKeys, 4);
  nestline_maplet* third = create_small(kKeys, 8);
  CHECK(nestline_maplet_insert_u64(maplet, 1, 3, NULL));
  CHECK(nestline_maplet_insert_u64(other, 1, 7, NULL));
  WORKS(nestline_maplet_merge(maplet, other, error));
  WORKS(nestline_maplet_find_set_u64(maplet, 1, 0, error) == (1 << 3 | 1 << 7));
  WORKS(nestline_maplet_merge(maplet, maplet, error));
  CHECK(nestline_maplet_size(maplet) == 4 && nestline_maplet_size(other) == 1);
  WORKS(nestline_maplet_merge(maplet, maplet, error));
  FAILS(!nestline_maplet_merge(maplet, maplet, error), "more copies of one key");
  FAILS(!nestline_maplet_merge(maplet, third, error), "values of the same width");
  FAILS(!nestline_maplet_merge(maplet, NULL, error), "the other maplet is NULL");
  FAILS(!nestline_maplet_merge(NULL, other, error), "the maplet is NULL");
  CHECK(nestline_maplet_size(maplet) == 8);
  nestline_maplet_free(maplet);
  nestline_maplet_free(other);
  nestline_maplet_free(third);
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

static void test_batches_of(int kind) {
  nestline_maplet* maplet = create(kKeys);
  const nestline_keys all = first_keys(kind, kKeys);
  const nestline_keys none = first_keys(kind, 0);
  uint64_t count = 0;

  WORKS(nestline_maplet_insert_batch(maplet, all, values, outcomes, error) == kKeys);
  CHECK(outcomes[0] == NESTLINE_STORED && outcomes[kKeys - 1] == NESTLINE_STORED);
  WORKS((count = nestline_maplet_find_batch(maplet, all, first, found, kRoom, error)) >= kKeys);
  CHECK(all_found(count));
  // Too little room: the number all the same, and nothing behind the room.
  found[1100] = found[1101] = 0;
  WORKS(nestline_maplet_find_batch(maplet, all, first, found, 1101, error) == count);
  CHECK(found[1100] != 0 && found[1101] == 0);
  WORKS(nestline_maplet_find_batch(maplet, all, first, NULL, 0, error) == count);
  FAILS(nestline_maplet_find_batch(maplet, all, NULL, found, kRoom, error) == NO,
        "first positions is NULL");
  FAILS(nestline_maplet_find_batch(maplet, all, first, NULL, 1, error) == NO, "its room is not 0");
  FAILS(nestline_maplet_find_batch(NULL, all, first, found, kRoom, error) == NO,
        "the maplet is NULL");
  FAILS(nestline_maplet_insert_batch(maplet, all, NULL, NULL, error) == NO,
        "the array of values is NULL");
  FAILS(nestline_maplet_insert_batch(NULL, all, values, NULL, error) == NO, "the maplet is NULL");
  values[kKeys - 1] = kTooLarge;
  FAILS(nestline_maplet_insert_batch(maplet, all, values, NULL, error) == NO, "is above");
  values[kKeys - 1] = 3;
  CHECK(nestline_maplet_size(maplet) == kKeys);
  WORKS(nestline_maplet_find_batch(maplet, none, first, NULL, 0, error) == 0 && first[0] == 0);
  WORKS(nestline_maplet_insert_batch(maplet, none, NULL, NULL, error) == 0);
  nestline_maplet_free(maplet);
}

static void test_batches(void) {
  nestline_maplet* maplet = create(10);
  nestline_keys bad = integers(1);
  int kind;
  FOR_EACH_KIND(kind) test_batches_of(kind);
  bad.keys = NULL;
  FAILS(nestline_maplet_find_batch(maplet, bad, first, found, kRoom, error) == NO,
        "the array of keys is NULL");
  FAILS(nestline_maplet_insert_batch(maplet, bad, values, NULL, error) == NO,
        "the array of keys is NULL");
  CHECK(nestline_maplet_insert_batch(maplet, integers(kKeys), values, outcomes, NULL) < kKeys);
  CHECK(outcomes[0] == NESTLINE_STORED && outcomes[kKeys - 1] == NESTLINE_FULL);
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
         all_found(nestline_maplet_find_batch(maplet, integers(kKeys), first, found, kRoom, NULL));
}

// Values of 4 bits in a view: what can be asked.
static void test_small_view(void) {
  const nestline_maplet_options options = options_for(kKeys, 4);
  nestline_maplet* maplet = NULL;
  nestline_maplet* view = NULL;
  size_t size = 0;
  bool good = true;
  void* saved;
  char* aligned;
  size_t i;
  threes_and_sevens();
  maplet = made(nestline_maplet_build(&options, integers(kKeys), values, &sentence));
  saved = made(nestline_maplet_to_bytes(maplet, &size, &sentence));
  aligned = aligned_copy(saved, size);
  WORKS((view = nestline_maplet_view(aligned, size, NESTLINE_VERIFY_LAZILY, error)) != NULL);
  CHECK(nestline_maplet_value_bits(view) == 4 && nestline_maplet_bits(view) == 8);
  CHECK(nestline_maplet_max_value(view) == 15 && nestline_maplet_anywhere(view) == 15);
  CHECK(nestline_maplet_max_copies(view) == 8);
  WORKS(nestline_maplet_find_sets(view, integers(kKeys), sets, 0, error));
  for (i = 0; i < kKeys; ++i) {
    good = good && (sets[i] >> values[i] & 1) == 1 &&
           sets[i] == nestline_maplet_find_set_u64(maplet, numbers[i], 0, NULL) &&
           sets[i] == nestline_maplet_find_set_u64(view, numbers[i], 0, NULL);
  }
  CHECK(good);
  FAILS(!nestline_maplet_merge(maplet, view, error), "answers from a mapped file");
  nestline_maplet_free(view);
  aligned[5000] ^= 1;
  WORKS((view = nestline_maplet_view(aligned, size, NESTLINE_VERIFY_LAZILY, error)) != NULL);
  FAILS(nestline_maplet_find_set_u64(view, numbers[1], 0, error) == UINT64_MAX, "at byte 64:");
  FAILS(!nestline_maplet_find_sets(view, integers(kKeys), sets, 0, error), "at byte 64:");
  nestline_maplet_free(view);
  nestline_maplet_free(maplet);
  nestline_free_bytes(saved);
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
  FAILS(nestline_maplet_erase_value(mapped, 1, error) == NO, kRefusal);
  FAILS(nestline_maplet_rename(mapped, values, 1, error) == NO, kRefusal);
  FAILS(!nestline_maplet_merge(mapped, mapped, error), kRefusal);
  FAILS(!nestline_maplet_grow(mapped, error), kRefusal);
  FAILS(!nestline_maplet_for_each(mapped, see, &seen, error), kRefusal);
  FAILS(nestline_maplet_snapshot(mapped, error) == NULL, kRefusal);
  FAILS(!nestline_maplet_save_to(mapped, write_tape, NULL, error), kRefusal);
  FAILS(nestline_maplet_insert_batch(mapped, integers(1), values, NULL, error) == NO, kRefusal);
}

static void test_whole(const char* folder) {
  static char path[4096];
  nestline_maplet* maplet = create(kKeys);
  nestline_maplet* other = NULL;
  char* aligned;
  void* saved;
  size_t saved_size = 0;
  seen_t seen = {0, 0, kKeys + 1};
  uint64_t sum = 0;
  size_t i;

  CHECK(nestline_maplet_insert_batch(maplet, integers(kKeys), values, NULL, NULL) == kKeys);
  for (i = 0; i < kKeys; ++i) sum += values[i];
  WORKS(nestline_maplet_for_each(maplet, see, &seen, error));
  CHECK(seen.count == kKeys && seen.sum == sum);
  seen.count = 0;
  seen.most = 5;
  WORKS(!nestline_maplet_for_each(maplet, see, &seen, error));
  CHECK(seen.count == 5);
  FAILS(!nestline_maplet_for_each(maplet, NULL, NULL, error), "takes values is NULL");
  FAILS(!nestline_maplet_for_each(NULL, see, &seen, error), "the maplet is NULL");

  WORKS((other = nestline_maplet_snapshot(maplet, error)) != NULL);
  CHECK(same(other) && !nestline_maplet_is_mapped(other));
  nestline_maplet_free(other);
  FAILS(nestline_maplet_snapshot(NULL, error) == NULL, "the maplet is NULL");

  snprintf(path, sizeof path, "%s/c_maplet_test.nest", folder);
  TEST_FILES(nestline_maplet, nestline_maplet, nestline_maplet, maplet, same, path, folder);
  WORKS((other = nestline_maplet_map(path, NESTLINE_VERIFY_ALL, error)) != NULL);
  test_mapped(other);
  nestline_maplet_free(other);
  saved = made(nestline_maplet_to_bytes(maplet, &saved_size, &sentence));
  aligned = aligned_copy(saved, saved_size);
  WORKS((other = nestline_maplet_view(aligned, saved_size, NESTLINE_VERIFY_LAZILY, error)) != NULL);
  test_mapped(other);
  nestline_maplet_free(other);
  FAILS(nestline_maplet_view(aligned + 8, saved_size, NESTLINE_VERIFY_LAZILY, error) == NULL, "64");
  FAILS(nestline_maplet_view(NULL, 5, NESTLINE_VERIFY_LAZILY, error) == NULL, "bytes are NULL");
  aligned[5000] ^= 1;
  FAILS(nestline_maplet_view(aligned, saved_size, NESTLINE_VERIFY_ALL, error) == NULL,
        "at byte 64:");
  nestline_free_bytes(saved);
  FAILS(nestline_load(path, error) == NULL, "c_maplet_test.nest");  // it is not a filter
  remove(path);
  FAILS(nestline_maplet_map(path, NESTLINE_VERIFY_ALL, error) == NULL,
        "c_maplet_test.nest: " MISSING);
  nestline_maplet_free(maplet);

  CHECK(nestline_maplet_size(NULL) == 0 && nestline_maplet_capacity(NULL) == 0);
  CHECK(nestline_maplet_max_capacity(NULL) == 0 && nestline_maplet_growth(NULL) == 0);
  CHECK(nestline_maplet_load_factor(NULL) == 0 && nestline_maplet_seed(NULL) == 0);
  CHECK(nestline_maplet_expected_false_candidates(NULL) == 0);
  CHECK(nestline_maplet_memory_bytes(NULL) == 0 && !nestline_maplet_is_mapped(NULL));
  CHECK(nestline_maplet_value_bits(NULL) == 0 && nestline_maplet_bits(NULL) == 0);
  CHECK(nestline_maplet_max_value(NULL) == 0 && nestline_maplet_anywhere(NULL) == 0);
  CHECK(nestline_maplet_max_copies(NULL) == 0);
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
  test_small_values();
  test_sets();
  test_values_of_all_pairs();
  test_merge();
  test_small_view();
  return summary();
}
