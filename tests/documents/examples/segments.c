#include <nestline/nestline.h>
#include <stdio.h>

int main(void) {
  const char* error;
  nestline_maplet_options options = NESTLINE_MAPLET_OPTIONS_INIT;
  options.capacity = 1000000;
  options.value_bits = 4;  // one of up to 15 files
  nestline_maplet* files = nestline_maplet_create(&options, &error);
  if (files == NULL) {
    fprintf(stderr, "%s\n", error);
    return 1;
  }
  if (!nestline_maplet_insert_bytes(files, "user:17", 7, 0, &error) ||
      !nestline_maplet_insert_bytes(files, "user:17", 7, 6, &error)) {
    fprintf(stderr, "%s\n", error);
  }
  const uint64_t merged[] = {4, 4, 4, NESTLINE_MAPLET_ERASED};  // 0 to 2 are file 4, 3 has gone
  nestline_maplet_rename(files, merged, 4, NULL);
  uint64_t set = nestline_maplet_find_set_bytes(files, "user:17", 7, UINT64_MAX, NULL);
  for (int file = 0; set != 0; ++file, set >>= 1) {
    if (set & 1) printf("look into file %d\n", file);
  }
  nestline_maplet_free(files);
  return 0;
}
