// Uses the installed library for C: a filter, a file, an error.
#include <nestline/nestline.h>
#include <stdio.h>

int main(int argc, char** argv) {
  nestline_options options = NESTLINE_OPTIONS_INIT;
  const char* error = NULL;
  nestline_filter* filter;
  nestline_filter* mapped;
  if (argc != 2) {
    fprintf(stderr, "usage: consumer FILE\n");
    return 2;
  }
  options.capacity = 1000;
  filter = nestline_create(&options, &error);
  nestline_insert_bytes(filter, "a string", 8, &error);
  if (error == NULL) nestline_save(filter, argv[1], &error);
  mapped = nestline_map(argv[1], NESTLINE_VERIFY_LAZILY, &error);
  if (error != NULL) {
    fprintf(stderr, "%s\n", error);
    return 1;
  }
  printf("found %d\n", nestline_may_contain_bytes(mapped, "a string", 8, &error));
  nestline_clear(mapped, &error);
  printf("%s\n", error);
  nestline_free(mapped);
  nestline_free(filter);
  return 0;
}
