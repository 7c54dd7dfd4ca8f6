// A number for each thread that needs one: 1, 2, and so on; never given to a second thread.
#ifndef NESTLINE_LIB_FILTERS_CONCURRENT_THREAD_NUMBER_H_
#define NESTLINE_LIB_FILTERS_CONCURRENT_THREAD_NUMBER_H_

#include <atomic>
#include <cstdint>

// This library's thread-local variables take two bytes and a word: with glibc a shared library
// reaches them without a call, and finds room for so few also when dlopen loads it.
#ifdef __GLIBC__
#define NESTLINE_NEAR_TLS [[gnu::tls_model("initial-exec")]]
#else
#define NESTLINE_NEAR_TLS
#endif

namespace nestline { inline namespace v0_3 {

inline std::uint64_t thread_number() noexcept {
  static std::atomic<std::uint64_t> threads{0};
  NESTLINE_NEAR_TLS static thread_local constinit std::uint64_t number = 0;
  if (number == 0) [[unlikely]]
    number = ++threads;
  return number;
}

}}  // namespace nestline

#endif  // NESTLINE_LIB_FILTERS_CONCURRENT_THREAD_NUMBER_H_
