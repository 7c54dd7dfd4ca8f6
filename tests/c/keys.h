// The keys of the tests in C: texts, and integers that are hashes too.
#ifndef NESTLINE_TESTS_C_KEYS_H_
#define NESTLINE_TESTS_C_KEYS_H_

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { kKeys = 3000 };  // more than the part in which a batch of bytes is passed on

static char texts[kKeys][16];
static const void* keys[kKeys];
static size_t sizes[kKeys];
static uint64_t numbers[kKeys];

static void make_keys(void) {
  size_t i;
  for (i = 0; i < kKeys; ++i) {
    keys[i] = texts[i];
    sizes[i] = (size_t)sprintf(texts[i], "key %u", (unsigned)i);
    numbers[i] = i * 0x9e3779b97f4a7c15u;
  }
}

#endif  // NESTLINE_TESTS_C_KEYS_H_
