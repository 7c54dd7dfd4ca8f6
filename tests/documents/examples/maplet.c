#include <nestline/nestline.h>
#include <stdio.h>

int main(void) {
  const char* error;
  uint64_t places[NESTLINE_MAPLET_MAX_CANDIDATES];
  nestline_maplet_options options = NESTLINE_MAPLET_OPTIONS_INIT;
  options.capacity = 1000000;
  nestline_maplet* maplet = nestline_maplet_create(&options, &error);
  if (maplet == NULL) {
    fprintf(stderr, "%s\n", error);
    return 1;
  }
  if (!nestline_maplet_insert_bytes(maplet, "user:17", 7, 4096, &error)) {
    fprintf(stderr, "%s\n", error);
  }
  uint64_t count = nestline_maplet_find_bytes(maplet, "user:17", 7, places, NULL);
  for (uint64_t i = 0; i < count; ++i) printf("look at offset %u\n", (unsigned)places[i]);
  nestline_maplet_free(maplet);
  return 0;
}
