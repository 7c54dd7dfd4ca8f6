// Which threads are inside a function of the caller that get() calls.
//
// Such a thread is in a ReadSection. Whoever frees an index or a segment waits for it, perhaps with
// a store's mutex held, so it would wait for ever if it took that mutex, of this store or another.
// It is refused instead.
#ifndef NESTLINE_LIB_STORE_ANSWERING_H_
#define NESTLINE_LIB_STORE_ANSWERING_H_

#include <stdexcept>

namespace nestline {

class Answering {
 public:
  Answering() noexcept { ++depth; }
  ~Answering() { --depth; }
  Answering(const Answering&) = delete;
  Answering& operator=(const Answering&) = delete;

  // For calls that take a mutex or wait for readers. Throws std::logic_error inside such a
  // function.
  static void refuse() {
    if (depth == 0) return;
    throw std::logic_error(
        "the function that get() calls can only ask stores: call for_each, files, refresh, sync "
        "and "
        "what changes a store when get() has returned");
  }

 private:
  static inline thread_local constinit unsigned depth = 0;
};

}  // namespace nestline

#endif  // NESTLINE_LIB_STORE_ANSWERING_H_
