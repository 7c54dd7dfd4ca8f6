// Tests every C function on stores, and every error, as a C program sees them.
//
//   c_store_test FOLDER
//
// Makes the store FOLDER/c_store_test.db, which must not exist.
#include <nestline/nestline_store.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/faces/c/checks.h"
#include "tests/faces/c/keys.h"
#include "tests/faces/c/tape.h"

static char path[4096];

static nestline_store* open_store(bool read_only) {
  nestline_store_options options = NESTLINE_STORE_OPTIONS_INIT;
  options.read_only = read_only ? 1 : 0;
  return made(nestline_store_open(path, &options, &sentence));
}

static bool put_text(nestline_store* store, const char* key, const char* value) {
  return nestline_store_put(store, key, strlen(key), value, strlen(value), NULL);
}

static bool is(const nestline_store* store, const char* key, const char* expected) {
  size_t size = 0;
  char* value = nestline_store_get(store, key, strlen(key), &size, NULL);
  bool good = value != NULL && size == strlen(expected) && strcmp(value, expected) == 0;
  nestline_free_bytes(value);
  return good;
}

static uint64_t records(const nestline_store* store) { return nestline_store_size(store, NULL); }

static void test_options(void) {
  struct {
    nestline_store_options known;
    uint64_t later;
  } options = {NESTLINE_STORE_OPTIONS_INIT, 0};
  nestline_store* store = NULL;

  FAILS(nestline_store_open(NULL, NULL, error) == NULL, "the path is NULL");
  options.known.create = 0;
  FAILS(nestline_store_open(path, &options.known, error) == NULL, "No such file or directory");
  options.known.create = 2;
  FAILS(nestline_store_open(path, &options.known, error) == NULL, "are 0 or 1");
  options.known.create = 1;
  options.known.sync = 3;
  FAILS(nestline_store_open(path, &options.known, error) == NULL, "options.sync is none of");
  options.known.sync = NESTLINE_SYNC_EACH;
  options.known.reserved = 1;
  FAILS(nestline_store_open(path, &options.known, error) == NULL, "does not know");
  options.known.reserved = 0;
  REFUSES_LAYOUTS(options, nestline_store_open(path, &options.known, error));
  WORKS((store = nestline_store_open(path, &options.known, error)) != NULL);
  FAILS(nestline_store_open(path, NULL, error) == NULL, "c_store_test");  // one writer only
  nestline_store_close(store);
  nestline_store_close(NULL);
  WORKS((store = nestline_store_open(path, NULL, error)) != NULL);
  nestline_store_close(store);
}

static void test_one_key(nestline_store* store) {
  static char long_key[70000];
  char room[8] = "-------";
  size_t size = 99;
  void* value = NULL;

  WORKS(nestline_store_get(store, "a", 1, &size, error) == NULL);
  WORKS(!nestline_store_contains(store, "a", 1, error) && size == 99);
  WORKS(!nestline_store_get_into(store, "a", 1, room, sizeof room, &size, error));
  WORKS(!nestline_store_erase(store, "a", 1, error));
  WORKS(nestline_store_put(store, "a", 1, "first", 5, error));
  WORKS(!nestline_store_insert_unique(store, "a", 1, "second", 6, error));
  CHECK(is(store, "a", "first"));
  WORKS(nestline_store_put(store, "a", 1, "third", 5, error));
  CHECK(is(store, "a", "third"));
  WORKS(nestline_store_insert_unique(store, "a\0b", 3, "x\0y", 3, error));
  WORKS((value = nestline_store_get(store, "a\0b", 3, &size, error)) != NULL);
  CHECK(size == 3 && memcmp(value, "x\0y", 4) == 0);
  nestline_free_bytes(value);
  WORKS(nestline_store_contains(store, "a\0b", 3, error));

  // As much as there is room for.
  WORKS(nestline_store_get_into(store, "a", 1, room, sizeof room, &size, error));
  CHECK(size == 5 && memcmp(room, "third--", 8) == 0);
  WORKS(nestline_store_get_into(store, "a", 1, room, 2, &size, error));
  CHECK(size == 5 && memcmp(room, "third--", 8) == 0);
  WORKS(nestline_store_get_into(store, "a", 1, NULL, 0, &size, error));

  // An empty key and an empty value are a key and a value.
  WORKS(nestline_store_put(store, NULL, 0, NULL, 0, error));
  WORKS((value = nestline_store_get(store, "", 0, &size, error)) != NULL);
  CHECK(size == 0);
  nestline_free_bytes(value);
  WORKS(nestline_store_erase(store, NULL, 0, error));
  WORKS(nestline_store_erase(store, "a\0b", 3, error));
  CHECK(records(store) == 1);

  FAILS(!nestline_store_put(store, NULL, 1, "v", 1, error), "a key is NULL");
  FAILS(!nestline_store_put(store, "k", 1, NULL, 1, error), "the value is NULL");
  FAILS(!nestline_store_put(store, "k", 1, "v", SIZE_MAX, error), "more than memory can hold");
  FAILS(!nestline_store_put(store, long_key, sizeof long_key, "v", 1, error), "key");
  FAILS(!nestline_store_insert_unique(store, long_key, sizeof long_key, "v", 1, error), "key");
  FAILS(nestline_store_get(store, "a", 1, NULL, error) == NULL, "pointer to the size is NULL");
  FAILS(!nestline_store_get_into(store, "a", 1, room, 1, NULL, error),
        "pointer to the size is NULL");
  FAILS(!nestline_store_get_into(store, "a", 1, NULL, 1, &size, error), "its room is not 0");

  FAILS(!nestline_store_put(NULL, "k", 1, "v", 1, error), "the store is NULL");
  FAILS(!nestline_store_insert_unique(NULL, "k", 1, "v", 1, error), "the store is NULL");
  FAILS(!nestline_store_erase(NULL, "k", 1, error), "the store is NULL");
  FAILS(!nestline_store_contains(NULL, "k", 1, error), "the store is NULL");
  FAILS(nestline_store_get(NULL, "k", 1, &size, error) == NULL, "the store is NULL");
  FAILS(!nestline_store_get_into(NULL, "k", 1, room, 1, &size, error), "the store is NULL");
}

typedef struct {
  uint8_t answers[kKeys];
  bool good;
} answers_t;

// The value of an even key is its position.
static void take(void* context, size_t i, const void* value, size_t size) {
  answers_t* to = context;
  char text[16];
  to->answers[i] = 1;
  sprintf(text, "%u", (unsigned)i);
  to->good = to->good && i % 2 == 0 && size == strlen(text) && memcmp(value, text, size) == 0;
}

static bool count_record(void* context, const void* key, size_t size, const void* value,
                         size_t value_size) {
  uint64_t* left = context;
  (void)key, (void)size, (void)value, (void)value_size;
  return --*left > 0;
}

// What would wait for the call that it is made in is refused.
static void clear_filter(void* filter, size_t i, const void* value, size_t size) {
  CHECK(i == 0 && value != NULL && size == 1);
  FAILS(!nestline_clear(filter, error), "its own thread");
}

static void test_many(nestline_store* store) {
  static answers_t answers;
  nestline_options options = NESTLINE_OPTIONS_INIT;
  nestline_filter* filter = NULL;
  nestline_store_batch* batch = NULL;
  char text[16];
  const nestline_keys one = nestline_keys_bytes(keys, sizes, 1);
  uint64_t left = UINT64_MAX;
  size_t i;
  int kind;
  bool good = true;

  WORKS((batch = nestline_store_batch_create(error)) != NULL);
  for (i = 0; i < kKeys; ++i) {
    sprintf(text, "%u", (unsigned)i);
    good =
        good && nestline_store_batch_put(batch, keys[i], sizes[i], text, strlen(text), &sentence);
  }
  for (i = 1; i < kKeys; i += 2) {
    good = good && nestline_store_batch_erase(batch, keys[i], sizes[i], &sentence);
  }
  CHECK(good && nestline_store_batch_size(batch) == kKeys + kKeys / 2);
  WORKS(nestline_store_write(store, batch, error));
  CHECK(records(store) == 1 + kKeys / 2 && is(store, "key 2", "2"));
  nestline_store_batch_clear(batch);
  CHECK(nestline_store_batch_size(batch) == 0);
  FAILS(!nestline_store_batch_put(batch, NULL, 1, "v", 1, error), "a key is NULL");
  FAILS(!nestline_store_batch_put(NULL, "k", 1, "v", 1, error), "the batch is NULL");
  FAILS(!nestline_store_batch_erase(NULL, "k", 1, error), "the batch is NULL");
  FAILS(!nestline_store_write(store, NULL, error), "the batch is NULL");
  FAILS(!nestline_store_write(NULL, batch, error), "the store is NULL");
  nestline_store_batch_free(batch);
  nestline_store_batch_free(NULL);
  nestline_store_batch_clear(NULL);
  CHECK(nestline_store_batch_size(NULL) == 0);

  answers.good = true;
  for (kind = NESTLINE_KEYS_BYTES; kind <= NESTLINE_KEYS_OFFSETS64; ++kind) {
    memset(answers.answers, 0, sizeof answers.answers);
    WORKS(nestline_store_get_batch(store, first_keys(kind, kKeys), take, &answers, error) ==
          kKeys / 2);
    for (i = 0; i < kKeys; ++i) good = good && answers.answers[i] == (i % 2 == 0);
    CHECK(good && answers.good);
    WORKS(nestline_store_get_batch(store, first_keys(kind, 0), take, NULL, error) == 0);
  }
  options.capacity = 100;
  WORKS((filter = nestline_create(&options, error)) != NULL);
  CHECK(nestline_store_get_batch(store, one, clear_filter, filter, NULL) == 1);
  WORKS(nestline_clear(filter, error));
  nestline_free(filter);
  FAILS(nestline_store_get_batch(store, integers(1), take, NULL, error) == NO,
        "the keys of a store are bytes");
  FAILS(
      nestline_store_get_batch(store, nestline_keys_bytes(NULL, sizes, 1), take, NULL, error) == NO,
      "the array of keys is NULL");
  FAILS(nestline_store_get_batch(store, one, NULL, NULL, error) == NO, "takes values is NULL");
  FAILS(nestline_store_get_batch(NULL, one, take, NULL, error) == NO, "the store is NULL");

  WORKS(nestline_store_for_each(store, count_record, &left, error));
  CHECK(UINT64_MAX - left == 1 + kKeys / 2);
  left = 3;
  WORKS(!nestline_store_for_each(store, count_record, &left, error));
  CHECK(left == 0);
  FAILS(!nestline_store_for_each(store, NULL, NULL, error), "takes records is NULL");
  FAILS(!nestline_store_for_each(NULL, count_record, &left, error), "the store is NULL");
}

static bool name_files(void* context, const void* name, size_t size, uint64_t bytes,
                       uint64_t pieces) {
  char* text = context;
  text += strlen(text);
  sprintf(text, "%.*s:%u/%u ", (int)size, (const char*)name, (unsigned)bytes, (unsigned)pieces);
  return *text != 'z';
}

static void test_files(nestline_store* store) {
  static tape_t in, out;
  char names[100] = "";
  size_t i;

  for (i = 0; i < 10000; ++i) in.bytes[i] = i % 100 == 99 ? '\n' : (char)('a' + i % 26);
  in.size = 10000;
  WORKS(nestline_store_put_file(store, "name", 4, read_tape, &in, 0, false, error) == 10000);
  in.done = 0;
  WORKS(nestline_store_put_file(store, "lines", 5, read_tape, &in, 0, true, error) == 10000);
  in.done = 0;
  WORKS(nestline_store_put_file(store, "z", 1, read_tape, &in, 1000, false, error) == 10000);
  WORKS(nestline_store_get_file(store, "name", 4, write_tape, &out, error));
  CHECK(out.size == 10000 && memcmp(in.bytes, out.bytes, 10000) == 0);
  out.size = 0;
  WORKS(nestline_store_get_file(store, "lines", 5, write_tape, &out, error));
  CHECK(out.size == 10000 && memcmp(in.bytes, out.bytes, 10000) == 0);
  WORKS(!nestline_store_get_file(store, "none", 4, write_tape, &out, error));
  WORKS(!nestline_store_files(store, name_files, names, error));
  CHECK(strcmp(names, "lines:10000/100 name:10000/3 z:10000/10 ") == 0);
  WORKS(nestline_store_erase_file(store, "z", 1, error));
  WORKS(!nestline_store_erase_file(store, "z", 1, error));
  WORKS(nestline_store_files(store, name_files, names, error));

  out.size = sizeof out.bytes - 1;
  FAILS(!nestline_store_get_file(store, "name", 4, write_tape, &out, error),
        "the function that writes has failed");
  FAILS(nestline_store_put_file(store, "name", 4, read_nothing, NULL, 0, false, error) == NO,
        "the function that reads has failed");
  FAILS(
      nestline_store_put_file(store, "n", 1, read_tape, &in, UINT64_C(1) << 32, false, error) == NO,
      "a piece has 1 to 4294967295 bytes");
  FAILS(nestline_store_put_file(store, "n", 1, NULL, NULL, 0, false, error) == NO,
        "the function that reads is NULL");
  FAILS(!nestline_store_get_file(store, "name", 4, NULL, NULL, error),
        "the function that writes is NULL");
  FAILS(!nestline_store_files(store, NULL, NULL, error), "takes files is NULL");
  FAILS(nestline_store_put_file(NULL, "n", 1, read_tape, &in, 0, false, error) == NO,
        "the store is NULL");
  FAILS(!nestline_store_get_file(NULL, "n", 1, write_tape, &out, error), "the store is NULL");
  FAILS(!nestline_store_erase_file(NULL, "n", 1, error), "the store is NULL");
  FAILS(!nestline_store_files(NULL, name_files, names, error), "the store is NULL");
}

static void test_upkeep(nestline_store* store) {
  struct {
    nestline_store_counts known;
    uint64_t later;
  } counts;

  WORKS(nestline_store_sync(store, error));
  WORKS(nestline_store_checkpoint(store, error));
  WORKS(nestline_store_compact(store, error));
  WORKS(!nestline_store_refresh(store, error));
  FAILS(!nestline_store_sync(NULL, error), "the store is NULL");
  FAILS(!nestline_store_checkpoint(NULL, error), "the store is NULL");
  FAILS(!nestline_store_compact(NULL, error), "the store is NULL");
  FAILS(!nestline_store_refresh(NULL, error), "the store is NULL");
  FAILS(nestline_store_size(NULL, error) == NO, "the store is NULL");

  counts.later = 7;
  counts.known.struct_size = sizeof counts;
  WORKS(nestline_store_stats(store, &counts.known, error));
  CHECK(counts.known.struct_size == sizeof counts && counts.later == 0);
  CHECK(counts.known.records == records(store) && counts.known.segments >= 1);
  CHECK(counts.known.index_bytes > 0 && counts.known.index_slots >= counts.known.records);
  CHECK(counts.known.lookups > kKeys && counts.known.questions == counts.known.lookups &&
        counts.known.found > kKeys / 2);
  CHECK(counts.known.reads >= counts.known.found && counts.known.cut_records == 0);
  CHECK(counts.known.index_doublings_left > 0);
  counts.known.struct_size = 0;
  FAILS(!nestline_store_stats(store, &counts.known, error), "struct_size is wrong");
  FAILS(!nestline_store_stats(store, NULL, error), "the counts are NULL");
  FAILS(!nestline_store_stats(NULL, &counts.known, error), "the store is NULL");
}

// A folder lies where the store wants to write its next checkpoint.
static void test_background_error(const char* folder) {
  nestline_store_options options = NESTLINE_STORE_OPTIONS_INIT;
  char db[4096 + 32], block[4096 + 64];
  nestline_store* store;
  char* found = NULL;
  char* value = calloc(1, 1 << 20);
  int i;

  snprintf(db, sizeof db, "%s/c_store_background.db", folder);
  snprintf(block, sizeof block, "%s/index.nest.new", db);
  options.segment_bytes = 1 << 16;
  store = nestline_store_open(db, &options, &sentence);
  CHECK(store != NULL && value != NULL);
  WORKS(nestline_store_background_error(store, error) == NULL);
  FAILS(nestline_store_background_error(NULL, error) == NULL, "the store is NULL");
  nestline_store_close(nestline_store_open(block, NULL, NULL));
  for (i = 0; i < 4; ++i) WORKS(nestline_store_put(store, &i, sizeof i, value, 1 << 20, error));
  for (i = 0; i < 50000000; ++i) {  // a minute or more
    found = nestline_store_background_error(store, &sentence);
    if (found != NULL) break;
  }
  CHECK(found != NULL && sentence == NULL && strstr(found, "index.nest.new") != NULL);
  nestline_free_bytes(found);
  free(value);
  nestline_store_close(store);
}

static void test_reader(nestline_store* store) {
  nestline_store* reader = open_store(true);
  CHECK(is(reader, "key 4", "4") && records(reader) == records(store));
  WORKS(!nestline_store_refresh(reader, error));
  FAILS(!nestline_store_put(reader, "k", 1, "v", 1, error), "");
  CHECK(put_text(store, "late", "news"));
  WORKS(nestline_store_refresh(reader, error));
  CHECK(is(reader, "late", "news"));
  nestline_store_close(reader);
}

static void count_problem(void* context, const char* problem) {
  unsigned* count = context;
  if (strlen(problem) > 10) ++*count;
}

// Changes one byte near the beginning of the oldest file of the log.
static void damage(void) {
  char name[4200];
  FILE* file = NULL;
  unsigned number;
  int byte = EOF;
  for (number = 1; file == NULL && number < 100; ++number) {
    snprintf(name, sizeof name, "%s/%08u.log", path, number);
    file = fopen(name, "r+b");
  }
  CHECK(file != NULL);
  if (file == NULL) return;
  CHECK(fseek(file, 300, SEEK_SET) == 0 && (byte = fgetc(file)) != EOF);
  CHECK(fseek(file, 300, SEEK_SET) == 0 && fputc(byte ^ 1, file) != EOF);
  CHECK(fclose(file) == 0);
}

static void test_damage(void) {
  nestline_store_report report;
  unsigned problems = 0;

  report.struct_size = sizeof report;
  WORKS(nestline_store_verify(path, &report, count_problem, &problems, error));
  CHECK(problems == 0 && report.problems == 0 && report.records > kKeys / 2);
  WORKS(nestline_store_verify(path, NULL, NULL, NULL, error));
  damage();
  FAILS(!nestline_store_verify(path, &report, count_problem, &problems, error), ".log");
  CHECK(report.problems > 0 && problems == 2 * report.problems);
  FAILS(!nestline_store_verify(NULL, NULL, NULL, NULL, error), "the path is NULL");
  FAILS(!nestline_store_repair(NULL, NULL, NULL, NULL, error), "the path is NULL");
  problems = 0;
  WORKS(nestline_store_repair(path, &report, count_problem, &problems, error));
  CHECK(problems > 0 && report.lost_bytes > 0 && report.records >= kKeys / 2);
  WORKS(nestline_store_verify(path, &report, NULL, NULL, error));
  report.struct_size = 1;
  FAILS(!nestline_store_verify(path, &report, NULL, NULL, error), "struct_size is wrong");
}

int main(int argc, char** argv) {
  const char* const folder = folder_of(argc, argv);
  nestline_store* store;
  snprintf(path, sizeof path, "%s/c_store_test.db", folder);
  make_keys();
  test_options();
  store = open_store(false);
  test_one_key(store);
  test_many(store);
  test_files(store);
  test_upkeep(store);
  test_reader(store);
  nestline_store_close(store);
  store = open_store(false);  // all is there
  CHECK(is(store, "a", "third") && is(store, "late", "news") && is(store, "key 2498", "2498"));
  nestline_store_close(store);
  test_damage();
  test_background_error(folder);
  return summary();
}
