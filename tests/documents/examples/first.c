#include <nestline/nestline.h>
#include <stdio.h>

int main(void) {
  const char* error;
  nestline_options options = NESTLINE_OPTIONS_INIT;
  options.capacity = 1000000;
  options.fpr = 0.01;
  nestline_filter* filter = nestline_create(&options, &error);
  if (filter == NULL) {
    fprintf(stderr, "%s\n", error);
    return 1;
  }
  if (!nestline_insert_bytes(filter, "user:17", 7, &error)) fprintf(stderr, "%s\n", error);
  if (nestline_may_contain_bytes(filter, "user:17", 7, NULL)) puts("look in the database");
  nestline_erase_bytes(filter, "user:17", 7, NULL);
  if (!nestline_may_contain_bytes(filter, "user:17", 7, NULL)) puts("not there: no need to look");
  nestline_free(filter);
  return 0;
}
