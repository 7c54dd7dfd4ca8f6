// A number for each thread that ever asks for one: 1, 2, and so on. No two threads of a process
// have the same one, also when one has ended before the other began.
#ifndef NESTLINE_LIB_CONCURRENT_THREAD_NUMBER_H_
#define NESTLINE_LIB_CONCURRENT_THREAD_NUMBER_H_

#include <atomic>
#include <cstdint>

namespace nestline {

inline std::uint64_t thread_number() noexcept {
  static std::atomic<std::uint64_t> threads{0};
  // The model that needs no call, in a shared library either.
  [[gnu::tls_model("initial-exec")]] static thread_local constinit std::uint64_t number = 0;
  if (number == 0) [[unlikely]]
    number = ++threads;
  return number;
}

}  // namespace nestline

#endif  // NESTLINE_LIB_CONCURRENT_THREAD_NUMBER_H_
