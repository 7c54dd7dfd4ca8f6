// How errors leave C functions: no exception does, and nothing here allocates.
//
//   guarded(error, failed, work)  is the body of every function that can fail
//
// A sentence that is the same each time is a literal. One with details is copied into a buffer of
// the thread: the caller does not free it, no other thread writes it, and the next one replaces it
// (C4 in nestline.h). The buffer is plain memory without a destructor, so that using it for the
// first time in a thread cannot throw. (If a program loads the library with dlopen, glibc allocates
// the 5 KiB when a thread first uses the buffer, and ends the program if it cannot. The error of
// missing memory itself is a literal, so it does not use the buffer.)
#ifndef NESTLINE_LIB_C_ERRORS_H_
#define NESTLINE_LIB_C_ERRORS_H_

namespace nestline::c {

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

// Sets *error to the message of the exception that is being handled.
void set_caught_error(const char** error) noexcept;

// Returns what work() returns, or `failed` when it throws; *error is NULL or the sentence. The work
// may set *error itself.
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

}  // namespace nestline::c

#endif  // NESTLINE_LIB_C_ERRORS_H_
