#include <nestline/nestline.h>
#include <stdio.h>

int main(void) {
  const char* error;
  const uint64_t ten_minutes = UINT64_C(600000000000);  // in nanoseconds
  nestline_expiring_options options = NESTLINE_EXPIRING_OPTIONS_INIT;
  options.capacity = 1000000;
  options.fpr = 0.001;
  nestline_filter* seen = nestline_expiring_create(&options, &error);
  nestline_expiring_clock* clock = NULL;
  if (seen != NULL) clock = nestline_expiring_clock_create(seen, ten_minutes, &error);
  if (clock == NULL) {
    fprintf(stderr, "%s\n", error);
    nestline_free(seen);
    return 1;
  }
  for (int delivery = 1; delivery <= 2; ++delivery) {
    nestline_expiring_clock_catch_up(clock, NULL);
    if (nestline_insert_bytes(seen, "message 17", 10, &error)) {
      printf("delivery %d: handle it\n", delivery);
    } else {
      printf("delivery %d: %s\n", delivery, error == NULL ? "seen" : error);
    }
  }
  nestline_expiring_clock_free(clock);
  nestline_free(seen);
  return 0;
}
