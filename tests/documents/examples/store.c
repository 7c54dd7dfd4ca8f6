#include <nestline/nestline_store.h>
#include <stdio.h>

int main(void) {
  const char* error;
  size_t size;
  nestline_store* store = nestline_store_open("c-users.db", NULL, &error);
  if (store == NULL) {
    fprintf(stderr, "%s\n", error);
    return 1;
  }
  if (!nestline_store_put(store, "user:17", 7, "Ada", 3, &error)) fprintf(stderr, "%s\n", error);
  char* value = nestline_store_get(store, "user:17", 7, &size, &error);
  if (value != NULL) printf("%s has %zu bytes\n", value, size);
  nestline_free_bytes(value);
  if (!nestline_store_checkpoint(store, &error)) fprintf(stderr, "%s\n", error);
  nestline_store_close(store);
  return 0;
}
