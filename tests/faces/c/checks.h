// What the tests in C share. A check that fails prints its line; summary() ends main.
#ifndef NESTLINE_TESTS_FACES_C_CHECKS_H_
#define NESTLINE_TESTS_FACES_C_CHECKS_H_

#include <nestline/nestline.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32  // which has sentences in its own language
#define MISSING ""
#define TOO_LONG ""
#else
#define MISSING "No such file or directory"
#define TOO_LONG "File"  // "File name too long", or of musl "Filename too long"
#endif

static int checks, failures;
static const char* sentence;
static const char** error;

static void check(bool good, const char* what, int line) {
  ++checks;
  if (good) return;
  ++failures;
  fprintf(stderr, "line %d: %s; the error is: %s\n", line, what,
          sentence == NULL ? "none" : sentence);
}

#define CHECK(condition) check((condition), #condition, __LINE__)

// The call in `condition` passes `error`. It must succeed and report success.
#define WORKS(condition)                                          \
  do {                                                            \
    error = &sentence;                                            \
    sentence = "not set";                                         \
    check((condition) && sentence == NULL, #condition, __LINE__); \
  } while (0)

// The call must fail, with `part` in its message. It must also fail when `error` is NULL.
#define FAILS(condition, part)                                                 \
  do {                                                                         \
    error = NULL;                                                              \
    sentence = NULL;                                                           \
    check((condition) && sentence == NULL, #condition, __LINE__);              \
    error = &sentence;                                                         \
    check((condition) && sentence != NULL && strstr(sentence, (part)) != NULL, \
          #condition " fails with " #part, __LINE__);                          \
  } while (0)

// Options that are otherwise good, in a struct with a member behind them that is `known`, must be
// refused where their size is wrong or a member of a later version is set.
#define REFUSES_LAYOUTS(options, call)                    \
  do {                                                    \
    options.known.struct_size = sizeof options.known - 1; \
    FAILS((call) == NULL, "struct_size is wrong");        \
    options.known.struct_size = SIZE_MAX;                 \
    FAILS((call) == NULL, "struct_size is wrong");        \
    options.known.struct_size = sizeof options;           \
    options.later = 1;                                    \
    FAILS((call) == NULL, "does not know");               \
    options.later = 0;                                    \
  } while (0)

// What a call has returned that gives `sentence`; without it the test cannot go on.
static void* made(void* handle) {
  if (handle != NULL) return handle;
  fprintf(stderr, "nothing was made: %s\n", sentence);
  exit(2);
}

// What a call returns that counts and has failed.
#define NO NESTLINE_NO_COUNT

// The changes that only a filter in memory makes whose keys do not expire.
static inline void refuses_changes(nestline_filter* filter, const char* why) {
  static const uint64_t key = 1;
  const nestline_keys one = nestline_keys_u64(&key, 1);
  FAILS(!nestline_insert_unique_u64(filter, 1, error), why);
  FAILS(nestline_insert_unique_batch(filter, one, NULL, error) == NO, why);
  FAILS(!nestline_update_u64(filter, 1, 2, error), why);
  FAILS(!nestline_erase_u64(filter, 1, error), why);
  FAILS(nestline_erase_batch(filter, one, NULL, error) == NO, why);
  FAILS(!nestline_grow(filter, error), why);
  FAILS(!nestline_shrink(filter, error), why);
  FAILS(!nestline_fit(filter, NULL, error), why);
  FAILS(!nestline_merge(filter, NULL, NESTLINE_MERGE_ALL, NULL, error), why);
}

static int summary(void) {
  printf("%d checks, %d failed\n", checks, failures);
  return failures == 0 ? 0 : 1;
}

#endif  // NESTLINE_TESTS_FACES_C_CHECKS_H_
