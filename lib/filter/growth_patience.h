// How long a filter that could not grow waits before it asks for memory again.
//
// Asking is expensive: it is a system call, and in a ConcurrentFilter all writers wait for it.
// After a failure the filter therefore takes kKeys more keys that need growth, storing those that
// still find room, and only then tries again. Each of these keys counts once, whether it is stored
// or refused, alone or in a batch. Both filters keep this in their state, and a state
// that has grown starts with a new one. So a filter uses memory that has become available within
// kKeys keys, or at once when grow() is called.
#ifndef NESTLINE_LIB_FILTER_GROWTH_PATIENCE_H_
#define NESTLINE_LIB_FILTER_GROWTH_PATIENCE_H_

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace nestline {

class GrowthPatience {
 public:
  static constexpr std::uint64_t kKeys = std::uint64_t{1} << 16;

  // Growing has failed.
  void begin() noexcept { left_ = kKeys; }

  [[nodiscard]] bool is_waiting() const noexcept { return left_ != 0; }

  // Counts keys that need growth. False: it is time to try again. When several threads call this at
  // once, some of their keys may not be counted, and the wait becomes a little longer.
  bool waits(std::uint64_t keys) noexcept {
    const std::uint64_t left = left_;
    if (left == 0) return false;
    left_ = left - std::min(left, keys);
    return true;
  }

 private:
  std::atomic<std::uint64_t> left_{0};
};

}  // namespace nestline

#endif  // NESTLINE_LIB_FILTER_GROWTH_PATIENCE_H_
