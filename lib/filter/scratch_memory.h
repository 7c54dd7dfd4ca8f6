// Memory for what is needed for a while: arrays are cut from it and given back all at once.
//
// It comes straight from the system, in huge pages unless all of it is small, and small pages are
// provided in one call. Without that a build of a small filter would wait for page faults longer
// than it works.
#ifndef NESTLINE_LIB_FILTER_SCRATCH_MEMORY_H_
#define NESTLINE_LIB_FILTER_SCRATCH_MEMORY_H_

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/filter/storage.h"

namespace nestline {

class ScratchMemory {
 public:
  // `usual`: how many bytes are taken in all if nothing is unusual.
  explicit ScratchMemory(std::size_t usual)
      : unit_(usual < kSmall ? round_up(usual + 1, kBlockBytes) : kHugePage) {}

  // Memory for `bytes` bytes, aligned for a block. Any thread. Throws std::bad_alloc.
  std::byte* take(std::size_t bytes) {
    const std::lock_guard<std::mutex> guard(mutex_);
    bytes = round_up(bytes, kBlockBytes);
    if (bytes > left_.size()) {
      Storage fresh = Storage::allocate(round_up(bytes, unit_) / kBlockBytes);
      fresh.populate();
      // The rest of this one, or of the one before: whichever is larger.
      const std::span<std::byte> all = fresh.bytes();
      all_.push_back(std::move(fresh));
      if (all.size() - bytes > left_.size()) left_ = all.subspan(bytes);
      return all.data();
    }
    std::byte* const taken = left_.data();
    left_ = left_.subspan(bytes);
    return taken;
  }

 private:
  static constexpr std::size_t kHugePage = std::size_t{2} << 20;
  static constexpr std::size_t kSmall = kHugePage / 8;  // takes longer in one huge page
  static std::size_t round_up(std::size_t bytes, std::size_t unit) {
    return (bytes + unit - 1) / unit * unit;
  }

  std::size_t unit_;
  std::mutex mutex_;
  std::vector<Storage> all_;
  std::span<std::byte> left_;
};

// An array of numbers whose content is lost when it grows.
template <typename Number>
class ScratchArray {
  static_assert(std::is_trivially_copyable_v<Number>);

 public:
  // Room for so many numbers. Throws std::bad_alloc.
  Number* at_least(std::size_t count, ScratchMemory& memory) {
    if (count > size_) {
      size_ = count;
      data_ = reinterpret_cast<Number*>(memory.take(count * sizeof(Number)));
    }
    return data_;
  }

 private:
  Number* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace nestline

#endif  // NESTLINE_LIB_FILTER_SCRATCH_MEMORY_H_
