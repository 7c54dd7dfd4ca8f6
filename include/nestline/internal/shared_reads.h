// How a lookup reads memory that other threads change: the part of lib/engine/place/memory_order.h,
// which explains it, that callers inline. Not for direct use.
#ifndef NESTLINE_INTERNAL_SHARED_READS_H_
#define NESTLINE_INTERNAL_SHARED_READS_H_

#include <cstdint>

#include "nestline/internal/home.h"

#if defined(__SANITIZE_THREAD__)
#define NESTLINE_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define NESTLINE_TSAN 1
#endif
#endif
#ifndef NESTLINE_TSAN
#define NESTLINE_TSAN 0
#endif

namespace nestline { inline namespace v0_3 { namespace internal {

using SharedWord [[gnu::may_alias]] = std::uint32_t;

// The header before the block is read. Acquire: nothing after it is read earlier.
NESTLINE_INLINE std::uint32_t load_acquire(const SharedWord& from) {
  return __atomic_load_n(&from, __ATOMIC_ACQUIRE);
}

// The header after the block was read. The fence: nothing before it is read later.
NESTLINE_INLINE std::uint32_t load_again(const SharedWord& from) {
#if !NESTLINE_TSAN  // there the block was read by acquire loads
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
  return __atomic_load_n(&from, __ATOMIC_RELAXED);
}

// The table of a filter for many threads, in a section. `table`: where the pointer to it is.
NESTLINE_INLINE const BlocksView& load_table(const void* table) {
  using AnyPointer [[gnu::may_alias]] = const void*;
  return *static_cast<const BlocksView*>(
      __atomic_load_n(static_cast<const AnyPointer*>(table), __ATOMIC_SEQ_CST));
}

}}}  // namespace nestline::internal

#endif  // NESTLINE_INTERNAL_SHARED_READS_H_
