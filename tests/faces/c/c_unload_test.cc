// Loads each library for C, uses it in a thread, and unloads it while the thread lives:
// c_unload_test LIBRARY...
#include <dlfcn.h>

#include <iostream>
#include <latch>
#include <thread>

#include "nestline/nestline.h"

namespace {

template <class Function>
Function* named(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

bool works(const char* path) {
  void* const library = dlopen(path, RTLD_NOW);
  if (library == nullptr) {
    std::cerr << dlerror() << '\n';
    return false;
  }
  nestline_options options = NESTLINE_OPTIONS_INIT;
  options.capacity = 1000;
  nestline_filter* const filter =
      named<decltype(nestline_create)>(library, "nestline_create")(&options, nullptr);
  std::latch used(1), unloaded(1);
  bool is_stored = false;
  std::thread thread([&] {
    const auto insert = named<decltype(nestline_insert_u64)>(library, "nestline_insert_u64");
    is_stored = insert(filter, 17, nullptr);
    used.count_down();
    unloaded.wait();
  });
  used.wait();
  named<decltype(nestline_free)>(library, "nestline_free")(filter);
  const bool is_closed = dlclose(library) == 0;
  unloaded.count_down();
  thread.join();
  return is_stored && is_closed;
}

}  // namespace

int main(int count, char** arguments) {
  bool all = count > 1;
  for (int i = 1; i < count; ++i) all = works(arguments[i]) && all;
  return all ? 0 : 1;
}
