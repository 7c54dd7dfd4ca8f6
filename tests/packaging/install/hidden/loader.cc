// Loads libraries of part.cc and prints what each one returns: loader FILE LIBRARY...
#include <dlfcn.h>

#include <iostream>

int main(int argc, char** argv) {
  for (int i = 2; i < argc; ++i) {
    void* library = dlopen(argv[i], RTLD_NOW | RTLD_GLOBAL);
    void* part = library == nullptr ? nullptr : dlsym(library, "part");
    if (part == nullptr) {
      std::cerr << dlerror() << '\n';
      return 1;
    }
    std::cout << reinterpret_cast<int (*)(const char*)>(part)(argv[1]) << '\n';
  }
}
