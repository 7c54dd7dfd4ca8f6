#include <nestline/nestline.h>
#include <stdio.h>

int main(void) {
  const char names[] = "AdaGraceBarbara";  // one buffer, as in a column of Arrow
  const int32_t offsets[] = {0, 3, 8, 15};
  const nestline_keys keys = nestline_keys_offsets32(names, sizeof names - 1, offsets, 3);
  const char* error;
  uint8_t outcomes[3], found[3];
  nestline_options options = NESTLINE_OPTIONS_INIT;
  options.capacity = 1000;
  nestline_filter* filter = nestline_create(&options, &error);
  if (filter == NULL) return 1;
  if (nestline_insert_unique_batch(filter, keys, outcomes, &error) != 3) puts("not all are new");
  nestline_erase_bytes(filter, "Grace", 5, NULL);
  nestline_may_contain_batch(filter, keys, found, NULL);
  for (int i = 0; i < 3; ++i) {
    printf("%.*s: %s\n", (int)(offsets[i + 1] - offsets[i]), names + offsets[i],
           found[i] ? "maybe" : "certainly not");
  }
  nestline_free(filter);
  return 0;
}
