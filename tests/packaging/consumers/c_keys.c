// The library for C with keys in local variables. Compiled as C and as C++, with TRY_C as the name
// of its function.
#include <nestline/nestline.h>
#include <stdio.h>
#include <string.h>

#define SEED 7

#ifdef __cplusplus
#define FUNCTION extern "C" unsigned
#else
#define FUNCTION unsigned
unsigned TRY_C(void);
#endif

// What a key is compared with: a copy of its bytes, which everybody may read.
struct kept_key {
  unsigned char bytes[32];
  size_t size;
};
#define KEPT_C(name) KEPT_C_(name)
#define KEPT_C_(name) name##_kept
struct kept_key KEPT_C(TRY_C);
#define kept KEPT_C(TRY_C)

static unsigned wrong;

static void check(bool right, const char* what) {
  if (!right) printf("C, %s\n", what);
  wrong += !right;
}

// A key of 16 bytes, and one of text.
struct flow {
  uint32_t from, to, port, protocol;
};
static struct flow flow_of(uint32_t i) {
  const struct flow made = {i, ~i, 80, 6};
  return made;
}

static void keep_flow(uint32_t i) {
  const struct flow made = flow_of(i);
  memcpy(kept.bytes, &made, sizeof(made));
  kept.size = sizeof(made);
}
static bool is_kept(const nestline_filter* filter) {
  return nestline_may_contain_bytes(filter, kept.bytes, kept.size, NULL);
}

__attribute__((noinline)) static bool insert_flow(nestline_filter* filter, uint32_t i) {
  const struct flow made = flow_of(i);
  return nestline_insert_bytes(filter, &made, sizeof(made), NULL);
}
__attribute__((noinline)) static bool insert_text(nestline_filter* filter, uint32_t i) {
  char text[24];
  const int length = snprintf(text, sizeof(text), "user:%u", (unsigned)i);
  return nestline_insert_bytes(filter, text, (size_t)length, NULL);
}
__attribute__((noinline)) static uint64_t hash_of_flow(uint32_t i) {
  const struct flow made = flow_of(i);
  return nestline_hash_bytes(&made, sizeof(made), SEED, NULL);
}

// Batches of two keys: by pointers, by offsets, and of integers.
__attribute__((noinline)) static uint64_t find_flows(const nestline_filter* filter, uint32_t i) {
  const struct flow first = flow_of(i), second = flow_of(i + 1);
  const void* const keys[2] = {&first, &second};
  const size_t sizes[2] = {sizeof(first), sizeof(second)};
  uint8_t found[2];
  return nestline_may_contain_batch(filter, nestline_keys_bytes(keys, sizes, 2), found, NULL) +
         found[1];
}
__attribute__((noinline)) static uint64_t find_flows_by_offset(const nestline_filter* filter,
                                                               uint32_t i) {
  const struct flow flows[2] = {flow_of(i), flow_of(i + 1)};
  const int32_t offsets[3] = {0, sizeof(flows[0]), sizeof(flows)};
  uint32_t positions[2];
  return nestline_select(filter, nestline_keys_offsets32(flows, sizeof(flows), offsets, 2),
                         positions, NULL) +
         positions[1];
}
__attribute__((noinline)) static uint64_t insert_integers(nestline_filter* filter, uint32_t i) {
  const uint64_t keys[2] = {i, ~(uint64_t)i};
  return nestline_insert_batch(filter, nestline_keys_u64(keys, 2), NULL, NULL);
}

FUNCTION TRY_C(void) {
  nestline_options options = NESTLINE_OPTIONS_INIT;
  options.capacity = 1000;
  options.bits = 16;
  options.seed = SEED;
  nestline_filter* filter = nestline_create(&options, NULL);
  for (uint32_t i = 0; i < 20; ++i) {
    check(insert_flow(filter, i), "insert");
    keep_flow(i);
    check(is_kept(filter), "insert: another key");
    check(hash_of_flow(i) == nestline_hash_bytes(kept.bytes, kept.size, SEED, NULL), "hash");
    check(insert_text(filter, i), "insert of text");
    kept.size = (size_t)snprintf((char*)kept.bytes, sizeof(kept.bytes), "user:%u", (unsigned)i);
    check(is_kept(filter), "insert of text: another key");
    check(insert_integers(filter, i) == 2, "batch of integers");
    check(nestline_may_contain_u64(filter, ~(uint64_t)i, NULL), "batch of integers: other keys");
  }
  for (uint32_t i = 0; i < 20; i += 2) {
    check(find_flows(filter, i) == 3, "batch by pointers");
    check(find_flows_by_offset(filter, i) == 3, "batch by offsets");
  }
  nestline_free(filter);
  return wrong;
}
