// For the tests in C of files: the folder, and memory that is written and read through callbacks,
// as if it were a file.
#ifndef NESTLINE_TESTS_C_TAPE_H_
#define NESTLINE_TESTS_C_TAPE_H_

#include <nestline/nestline.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static size_t read_nothing(void* context, void* bytes, size_t size) {
  (void)context, (void)bytes, (void)size;
  return NESTLINE_READ_FAILED;
}

#endif  // NESTLINE_TESTS_C_TAPE_H_
