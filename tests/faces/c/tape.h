// For the tests in C of files: the folder, and memory that is written and read through callbacks,
// as if it were a file.
#ifndef NESTLINE_TESTS_FACES_C_TAPE_H_
#define NESTLINE_TESTS_FACES_C_TAPE_H_

#include <nestline/nestline.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/faces/c/checks.h"

// The program's argument.
static const char* folder_of(int argc, char** argv) {
  if (argc == 2) return argv[1];
  fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
  exit(2);
}

typedef struct {
  char bytes[1 << 20];
  size_t size;  // written
  size_t done;  // read
  size_t most;  // is read at a time; 0: as much as is asked for
} tape_t;

// Refuses what has no room.
static bool write_tape(void* context, const void* bytes, size_t size) {
  tape_t* to = context;
  if (size > sizeof to->bytes - to->size) return false;
  memcpy(to->bytes + to->size, bytes, size);
  to->size += size;
  return true;
}

static size_t read_tape(void* context, void* bytes, size_t size) {
  tape_t* from = context;
  if (from->most != 0 && size > from->most) size = from->most;
  if (size > from->size - from->done) size = from->size - from->done;
  memcpy(bytes, from->bytes + from->done, size);
  from->done += size;
  return size;
}

static inline size_t read_too_much(void* context, void* bytes, size_t size) {
  (void)context, (void)bytes;
  return size + 1;
}

static size_t read_nothing(void* context, void* bytes, size_t size) {
  (void)context, (void)bytes, (void)size;
  return NESTLINE_READ_FAILED;
}

// A copy at a multiple of 64, in memory that lasts as long as the program.
static inline char* aligned_copy(const void* bytes, size_t size) {
  static char room[(1 << 20) + 64];
  char* const to = room + (64 - (uintptr_t)room % 64) % 64;
  if (size > 1 << 20) exit(2);
  return memcpy(to, bytes, size);
}

// The functions on files and bytes, which every kind of filter has: SAVE is how the names of those
// begin that write, LOAD of those that read. `whole(filter)` states whether it is the same filter.
// Leaves the file at `path`.
#define TEST_FILES(SAVE, LOAD, Handle, filter, whole, path, folder)                             \
  do {                                                                                          \
    static tape_t tape;                                                                         \
    Handle* again = NULL;                                                                       \
    unsigned char* bytes = NULL;                                                                \
    size_t size = 0;                                                                            \
    WORKS((bytes = SAVE##_to_bytes(filter, &size, error)) != NULL);                             \
    WORKS((again = LOAD##_from_bytes(bytes, size, error)) != NULL);                             \
    CHECK(whole(again));                                                                        \
    SAVE##_free(again);                                                                         \
    bytes[0] ^= 1;                                                                              \
    FAILS(LOAD##_from_bytes(bytes, size, error) == NULL, "bytes");                              \
    bytes[0] ^= 1;                                                                              \
    bytes[size - 1] ^= 1;                                                                       \
    FAILS(LOAD##_from_bytes(bytes, size, error) == NULL, "bytes");                              \
    bytes[size - 1] ^= 1;                                                                       \
    FAILS(LOAD##_from_bytes(bytes, size - 1, error) == NULL, "bytes");                          \
    FAILS(LOAD##_from_bytes(bytes, 0, error) == NULL, "bytes");                                 \
    FAILS(LOAD##_from_bytes(NULL, 5, error) == NULL, "the bytes are NULL");                     \
    FAILS(LOAD##_from_bytes(bytes, SIZE_MAX, error) == NULL, "more than memory can hold");      \
    FAILS(SAVE##_to_bytes(filter, NULL, error) == NULL, "pointer to the size is NULL");         \
    FAILS(SAVE##_to_bytes(NULL, &size, error) == NULL, " is NULL");                             \
                                                                                                \
    WORKS(SAVE##_save_to(filter, write_tape, &tape, error));                                    \
    /* The bytes differ by the header alone, which has 64 bytes or 128 in place of 4096. */     \
    CHECK(tape.size == size + 4032 || tape.size == size + 3968);                                \
    CHECK(memcmp(tape.bytes + 4096, bytes + (size + 4096 - tape.size), tape.size - 4096) == 0); \
    nestline_free_bytes(bytes);                                                                 \
    nestline_free_bytes(NULL);                                                                  \
    tape.most = 1000;                                                                           \
    WORKS((again = LOAD##_load_from(read_tape, &tape, error)) != NULL);                         \
    CHECK(whole(again) && tape.done == tape.size);                                              \
    SAVE##_free(again);                                                                         \
    FAILS(LOAD##_load_from(read_tape, &tape, error) == NULL, "stream: at byte 0");              \
    tape.size = sizeof tape.bytes - 1;                                                          \
    FAILS(!SAVE##_save_to(filter, write_tape, &tape, error),                                    \
          "the function that writes has failed");                                               \
    FAILS(!SAVE##_save_to(filter, NULL, &tape, error), "the function that writes is NULL");     \
    FAILS(!SAVE##_save_to(NULL, write_tape, &tape, error), " is NULL");                         \
    FAILS(LOAD##_load_from(NULL, &tape, error) == NULL, "the function that reads is NULL");     \
    FAILS(LOAD##_load_from(read_nothing, NULL, error) == NULL,                                  \
          "the function that reads has failed");                                                \
    FAILS(LOAD##_load_from(read_too_much, NULL, error) == NULL, "asked for");                   \
                                                                                                \
    remove(path);                                                                               \
    FAILS(LOAD##_load(path, error) == NULL, ".nest: " MISSING);                                 \
    FAILS(LOAD##_load(NULL, error) == NULL, "the path is NULL");                                \
    FAILS(!SAVE##_save(filter, folder, error), "Is a directory");                               \
    FAILS(!SAVE##_save(filter, NULL, error), "the path is NULL");                               \
    FAILS(!SAVE##_save(NULL, path, error), " is NULL");                                         \
    WORKS(SAVE##_save(filter, path, error));                                                    \
    WORKS((again = LOAD##_load(path, error)) != NULL);                                          \
    CHECK(whole(again));                                                                        \
    SAVE##_free(again);                                                                         \
  } while (0)

#endif  // NESTLINE_TESTS_FACES_C_TAPE_H_
