// A number for each thread that ever needs one: 1, 2, and so on. No two threads of a process
// have the same one, also when one has ended before the other began.
#ifndef NESTLINE_LIB_CONCURRENT_THREAD_NUMBER_H_
#define NESTLINE_LIB_CONCURRENT_THREAD_NUMBER_H_

#include <atomic>
#include <cstdint>

// The thread-local variables of this library take two bytes and a word in all. With glibc they are
// reached without a call, also in a shared library, and one that is loaded by dlopen still finds
// room for so few bytes.
#ifdef __GLIBC__
#define NESTLINE_NEAR_TLS [[gnu::tls_model("initial-exec")]]
#else
#define NESTLINE_NEAR_TLS
#endif

namespace nestline {

inline std::uint64_t thread_number() noexcept {
  static std::atomic<std::uint64_t> threads{0};
  NESTLINE_NEAR_TLS static thread_local constinit std::uint64_t number = 0;
  if (number == 0) [[unlikely]]
    number = ++threads;
  return number;
}

}  // namespace nestline

#endif  // NESTLINE_LIB_CONCURRENT_THREAD_NUMBER_H_
