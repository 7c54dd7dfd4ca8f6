// How errors leave C functions: no exception does. guarded(error, failed, work) is the body of
// every function that can fail. A constant sentence is a literal. One with details is copied into a
// buffer of the thread, valid until the next (C4 in nestline.h), and allocated when first needed;
// if that fails, the sentence is the literal about missing memory. (To free it, the thread
// registers it with glibc, which ends the program if it lacks the few bytes for that.)
//
// The buffer must not be a thread_local array. lib/filters/concurrent has initial-exec variables,
// so all thread_local variables of the library must fit into the space, less than 2 KiB, that glibc
// keeps for libraries that are loaded by dlopen; ctypes could not load the library.
#ifndef NESTLINE_LIB_FACES_C_ERRORS_H_
#define NESTLINE_LIB_FACES_C_ERRORS_H_

namespace nestline { inline namespace v0_3 { namespace c {

// Thrown for wrong arguments from a C caller; the sentence is a literal.
struct Refusal {
  const char* sentence;
};

inline void require(bool good, const char* sentence) {
  if (!good) throw Refusal{sentence};
}

inline void set_error(const char** error, const char* sentence) noexcept {
  if (error != nullptr) *error = sentence;
}

void set_caught_error(const char** error) noexcept;

// What work() returns, or `failed` when it throws. *error is NULL or the sentence; work may set it.
template <typename Result, typename Work>
Result guarded(const char** error, Result failed, Work&& work) noexcept {
  set_error(error, nullptr);
  try {
    return work();
  } catch (...) {
    set_caught_error(error);
    return failed;
  }
}

bool done(const char** error, auto&& work) noexcept {
  return guarded(error, false, [&] {
    work();
    return true;
  });
}

// For work that shows things to the caller's function, and throws Stop when it wants no more.
struct Stop {};
bool visited(const char** error, auto&& work) noexcept {
  return guarded(error, false, [&] {
    try {
      work();
    } catch (const Stop&) {
      return false;
    }
    return true;
  });
}

}}}  // namespace nestline::c

#endif  // NESTLINE_LIB_FACES_C_ERRORS_H_
