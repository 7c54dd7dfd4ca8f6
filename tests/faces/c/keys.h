// The keys of the tests in C: texts, in each form that a batch takes, and integers that are hashes
// too.
#ifndef NESTLINE_TESTS_FACES_C_KEYS_H_
#define NESTLINE_TESTS_FACES_C_KEYS_H_

#include <nestline/nestline.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { kKeys = 3000 };  // more than the part in which a batch of bytes is passed on

static char texts[kKeys * 16];
static size_t text_bytes;
static const void* keys[kKeys];
static size_t sizes[kKeys];
static int32_t offsets32[kKeys + 1];
static int64_t offsets64[kKeys + 1];
static uint64_t numbers[kKeys];

static void make_keys(void) {
  size_t i;
  for (i = 0; i < kKeys; ++i) {
    keys[i] = texts + text_bytes;
    sizes[i] = (size_t)sprintf(texts + text_bytes, "key %u", (unsigned)i);
    text_bytes += sizes[i];
    offsets32[i + 1] = (int32_t)text_bytes;
    offsets64[i + 1] = (int64_t)text_bytes;
    numbers[i] = i * 0x9e3779b97f4a7c15u;
  }
}

static inline nestline_keys integers(size_t count) { return nestline_keys_u64(numbers, count); }

// The first `count` keys in a form: the nestline_key_kind of it.
static inline nestline_keys first_keys(int kind, size_t count) {
  switch (kind) {
    case NESTLINE_KEYS_BYTES:
      return nestline_keys_bytes(keys, sizes, count);
    case NESTLINE_KEYS_OFFSETS32:
      return nestline_keys_offsets32(texts, text_bytes, offsets32, count);
    case NESTLINE_KEYS_OFFSETS64:
      return nestline_keys_offsets64(texts, text_bytes, offsets64, count);
    case NESTLINE_KEYS_U64:
      return integers(count);
    default:
      return nestline_keys_hash(numbers, count);
  }
}

#define FOR_EACH_KIND(kind) for (kind = NESTLINE_KEYS_BYTES; kind <= NESTLINE_KEYS_HASH; ++kind)

#endif  // NESTLINE_TESTS_FACES_C_KEYS_H_
